"""How fast the page is: `lisax serve` with a warm model, asked over HTTP as a browser asks it.

    .venv/bin/python -m benchmarks.page --bundle MODEL --index INDEX --data DATA [--split e2e_dev] [--questions 30]
        [--warm 30] [--pool 20] [--together 10]

Milliseconds until the first page is there whole (its one style sheet is loaded for itself), and until an answer's page
is, heatmaps and all: one question after the other, then `--together` at once, of whom each waits for those before;
`--warm` other questions come first, uncounted, for each size of a batch is compiled when it is first met. A browser's
own work comes on top. The aims are an answer within 2 s and a first paint within 200 ms on two cores.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from pathlib import Path

from lisax.corpora import open_folder


class Visitor:
    """One client with its cookies."""

    def __init__(self, address: str):
        self.address = address
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, path: str = "/") -> str:
        with self._opener.open(urllib.parse.urljoin(self.address, path)) as response:
            return response.read().decode()

    def ask(self, question: str) -> float:
        """Milliseconds to the answer's page; the form is read anew, outside of the time."""
        home = self.get()
        key = re.search(r'name="form_key"[^>]*value="([^"]+)"', home)[1]
        corpus = re.search(r'<(?:option|input[^>]*name="corpus")[^>]*value="([^"]+)"', home)[1]
        fields = urllib.parse.urlencode({"form_key": key, "text": question, "kind": "question", "corpus": corpus})
        return self.timed(lambda: self._opener.open(urllib.parse.urljoin(self.address, "/ask"), fields.encode()).read())

    @staticmethod
    def timed(work: Callable[[], object]) -> float:
        started = time.perf_counter()
        work()
        return 1000 * (time.perf_counter() - started)


def spread(values: list[float]) -> dict[str, float]:
    most = sorted(values)[int(0.95 * (len(values) - 1))]
    return {"median": round(statistics.median(values), 1), "95 %": round(most, 1), "most": round(max(values), 1)}


def paced(questions: list[str]) -> Iterator[str]:
    """A client may ask twice a second."""
    for question in questions:
        yield question
        time.sleep(0.6)


def measure(address: str, questions: list[str], warm: int, together: int) -> dict:
    visitor = Visitor(address)
    before = [visitor.ask(question) for question in paced(questions[:warm])]
    sheet = re.search(r'href="(/static/[^"]+\.css[^"]*)"', visitor.get())[1]
    first = [visitor.timed(visitor.get) for _ in range(50)]
    style = [visitor.timed(lambda: visitor.get(sheet)) for _ in range(50)]
    alone = [visitor.ask(question) for question in paced(questions[warm:])]
    with ThreadPoolExecutor(together) as threads:
        crowd = list(
            threads.map(
                lambda question: Visitor(address).ask(question),
                itertools.islice(itertools.cycle(questions[warm:]), together),
            )
        )
    return {
        "first page, ms": spread(first),
        "style sheet, ms": spread(style),
        "the first answer, ms": round(before[0], 1) if before else None,
        "answer, ms": spread(alone),
        f"{together} at once, ms": spread(crowd),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split", default="e2e_dev")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--warm", type=int, default=30)
    parser.add_argument("--pool", type=int, default=20)
    parser.add_argument("--together", type=int, default=10)
    arguments = parser.parse_args()
    questions = [
        question.text
        for question in itertools.islice(
            open_folder(arguments.data).questions(arguments.split), arguments.warm + arguments.questions
        )
    ]
    with tempfile.TemporaryDirectory() as state:
        command = [
            sys.executable,
            "-P",
            "-m",
            "lisax",
            "serve",
            "--model",
            str(arguments.bundle),
            "--index",
            str(arguments.index),
            "--pool",
            str(arguments.pool),
            "--port",
            "0",
            "--state",
            state,
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as page:
            try:
                address = page.stdout.readline().strip()
                print(
                    json.dumps(
                        {
                            "cores": len(os.sched_getaffinity(0)),
                            "load": os.getloadavg()[0],
                            "questions": len(questions) - arguments.warm,
                            "pool": arguments.pool,
                        }
                        | measure(address, questions, arguments.warm, arguments.together),
                        indent=2,
                    )
                )
            finally:
                page.terminate()


if __name__ == "__main__":
    main()
