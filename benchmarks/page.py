"""How fast the page and the API are: `lisax serve` in a process of its own, asked over HTTP as browsers and clients do.

    .venv/bin/python -m benchmarks.page [--together 50] [--seconds 60] [--model MODEL] [--index INDEX] [--claims FILE]
    .venv/bin/python -m benchmarks.page --page --model MODEL --index INDEX --data DATA [--split e2e_dev] [--pool 20]

The API: milliseconds until a claim's verdict, one after the other, then `--together` at once, each from an address of its
own; then for `--seconds` as many as come, while the server's memory is read from its metrics. Without a model the checker
that ships is asked, without an index five pages that come along; `--model example` is their small model.

The page: milliseconds until the first page is there whole (its one style sheet is loaded for itself), and until an
answer's page is, heatmaps and all; `--warm` other questions come first, uncounted, for each size of a batch is compiled
when it is first met. A browser's own work comes on top. The aims are an answer within 2 s and a first paint within 200 ms
on two cores.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.client
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from pathlib import Path

from lisax import Index, example_model, example_pages
from lisax.corpora import open_folder, read_claims


class From(urllib.request.HTTPHandler):
    """Connects from another address of the loopback network, as another client."""

    def __init__(self, number: int):
        super().__init__()
        self.source = f"127.0.{1 + number // 200}.{1 + number % 200}"

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(functools.partial(http.client.HTTPConnection, source_address=(self.source, 0)), request)


class Visitor:
    """One client, with its address and its cookies."""

    def __init__(self, address: str, number: int = 0):
        self.address = address
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()), From(number))

    def check(self, claim: str) -> float:
        """Milliseconds to the verdict of the API."""
        return self.timed(lambda: self._post({"claim": claim}))

    def check_all(self, claims: Sequence[str]) -> None:
        self._post({"claims": claims})

    def check_lines(self, claims: Sequence[str]) -> Iterator[bytes]:
        """The verdicts as JSON lines, as they come."""
        with self._opener.open(self._request({"claims": claims}, accept="application/x-ndjson")) as lines:
            yield from lines

    def _post(self, row: dict) -> None:
        self._opener.open(self._request(row)).read()

    def _request(self, row: dict, **headers: str) -> urllib.request.Request:
        body, address = json.dumps(row).encode(), urllib.parse.urljoin(self.address, "/v1/check")
        return urllib.request.Request(address, body, {"content-type": "application/json"} | headers)

    def metric(self, name: str) -> float:
        return float(re.search(rf"^{name} (\S+)$", self.get("/metrics"), re.MULTILINE)[1])

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


def spread(values: Sequence[float]) -> dict[str, float]:
    ranked = sorted(values)
    quantiles = {name: ranked[int(share * (len(ranked) - 1))] for name, share in (("95 %", 0.95), ("99 %", 0.99))}
    found = {"median": statistics.median(ranked), **quantiles, "most": ranked[-1]}
    return {name: round(value, 1) for name, value in found.items()}


def at_once(address: str, together: int, ask: Callable[[Visitor, str], float], texts: Sequence[str]) -> dict:
    visitors = [Visitor(address, number) for number in range(together)]
    with ThreadPoolExecutor(together) as threads:
        return spread(list(threads.map(ask, visitors, itertools.cycle(texts))))


def measure_api(address: str, claims: Sequence[str], together: int, seconds: float) -> dict:
    visitor = Visitor(address)
    first = visitor.check(claims[0])
    visitor.check_all(list(itertools.islice(itertools.cycle(claims), together)))  # what is compiled for batches
    alone = [visitor.check(claim) for claim in claims[:30]]
    crowd = at_once(address, together, Visitor.check, claims)
    computed = [visitor.metric(f"lisax_batch_size_{name}") for name in ("sum", "count")]
    return {
        "the first verdict, ms": round(first, 1),
        "verdict, ms": spread(alone),
        f"{together} at once, ms": crowd,
        "claims computed together, mean": round(computed[0] / computed[1], 1),
        **(endurance(address, claims, seconds) if seconds else {}),
    }


def endurance(address: str, claims: Sequence[str], seconds: float, clients: int = 8) -> dict:
    """Requests in so many seconds, and the server's resident memory in MiB at their start and after each quarter."""
    watcher, sizes, until = Visitor(address), [], time.monotonic()
    begun = watcher.metric('lisax_items_total{call="check"}')

    def ask(number: int) -> None:
        visitor = Visitor(address, number)
        for claim in itertools.islice(itertools.cycle(claims), number, None):
            if time.monotonic() >= until:
                return
            visitor.check(claim)

    for _ in range(5):
        sizes.append(round(watcher.metric("process_resident_memory_bytes") / 2**20))
        if len(sizes) < 5:
            until = time.monotonic() + seconds / 4
            with ThreadPoolExecutor(clients) as threads:
                list(threads.map(ask, range(clients)))
    done = watcher.metric('lisax_items_total{call="check"}') - begun
    return {"requests": round(done), "requests a second": round(done / seconds, 1), "memory, MiB": sizes}


def paced(questions: list[str]) -> Iterator[str]:
    """A client may ask the page twice a second."""
    for question in questions:
        yield question
        time.sleep(0.6)


def measure_page(address: str, questions: list[str], warm: int, together: int) -> dict:
    visitor = Visitor(address)
    before = [visitor.ask(question) for question in paced(questions[:warm])]
    sheet = re.search(r'href="(/static/[^"]+\.css[^"]*)"', visitor.get())[1]
    first = [visitor.timed(visitor.get) for _ in range(50)]
    style = [visitor.timed(lambda: visitor.get(sheet)) for _ in range(50)]
    alone = [visitor.ask(question) for question in paced(questions[warm:])]
    return {
        "first page, ms": spread(first),
        "style sheet, ms": spread(style),
        "the first answer, ms": round(before[0], 1) if before else None,
        "answer, ms": spread(alone),
        f"{together} at once, ms": at_once(address, together, Visitor.ask, questions[warm:]),
    }


@contextlib.contextmanager
def served(models: Sequence[str], index: Path, pool: int) -> Iterator[str]:
    """The address of `lisax serve`."""
    with tempfile.TemporaryDirectory() as state:
        command = [sys.executable, "-P", "-m", "lisax", "serve", "--index", str(index), "--pool", str(pool)]
        command += ["--port", "0", "--state", state, *(part for model in models for part in ("--model", model))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as page:
            try:
                yield page.stdout.readline().strip()
            finally:
                page.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--page", action="store_true", help="measure the page, not the API")
    parser.add_argument("--model", action="append", default=[], help="a model's folder, or `example`")
    parser.add_argument("--index", type=Path)
    parser.add_argument("--claims", type=Path, help="a file of claims for the API")
    parser.add_argument("--data", type=Path, help="the folder of questions for the page")
    parser.add_argument("--split", default="e2e_dev")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--warm", type=int, default=30)
    parser.add_argument("--pool", type=int, default=20)
    parser.add_argument("--together", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long memory is watched")
    arguments = parser.parse_args()
    models = [str(example_model()) if model == "example" else model for model in arguments.model]
    index = arguments.index or Index.build(example_pages()).folder
    figures = {"cores": len(os.sched_getaffinity(0)), "load": round(os.getloadavg()[0], 1)}
    with served(models, index, arguments.pool) as address:
        if arguments.page:
            found = open_folder(arguments.data).questions(arguments.split)
            questions = [one.text for one in itertools.islice(found, arguments.warm + arguments.questions)]
            figures |= {"questions": len(questions) - arguments.warm, "pool": arguments.pool}
            figures |= measure_page(address, questions, arguments.warm, arguments.together)
        else:
            towns = ("Torimoor", "Tarn", "Ostra", "Old Norestead", "Alithorpe")
            claims = [
                f"{name} was born in {town}." for town in towns for name in ("Vova Brugard", "Besa Siton", "Olin")
            ]
            if arguments.claims:
                claims = [claim.text for claim in read_claims(arguments.claims)]
            figures |= measure_api(address, claims, arguments.together, arguments.seconds)
    print(json.dumps(figures | {"load after": round(os.getloadavg()[0], 1)}, indent=2))


if __name__ == "__main__":
    main()
