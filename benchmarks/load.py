"""Fifty people at once: `lisax serve` in a process of its own, asked over HTTP until it has answered thousands of requests.

    taskset -c 0,1 .venv/bin/python -m benchmarks.load [--people 50] [--requests 10000] [--pause 5]

Each person has an address of their own and a new connection for each claim, waits for the verdict, reads for `--pause`
seconds on average, and checks the next claim. Then one client checks `--streamed` claims as JSON lines. Printed are the spread
of the milliseconds until a verdict, the requests without one by their kind, and the server's memory after each tenth of the
requests. The index is of 200 generated pages. The aims on two cores: a median of 2 s, 99 % within 6 s, none
reset, memory that does not grow.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import itertools
import json
import os
import random
import tempfile
import threading
import time
import urllib.error
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.page import Visitor, served, spread
from lisax import Index
from lisax.world import iterate_documents

BATCH = 250


class Crowd:
    """People who check claims until `requests` of them have ended."""

    def __init__(self, address: str, claims: Sequence[str], requests: int, pause: float):
        self.address, self.claims, self.requests, self.pause = address, claims, requests, pause
        self.milliseconds: list[float] = []
        self.failed: collections.Counter[str] = collections.Counter()
        self._numbers = itertools.count()

    def person(self, number: int) -> None:
        visitor, draw = Visitor(self.address, number), random.Random(number)
        time.sleep(draw.uniform(0, self.pause))
        while (request := next(self._numbers)) < self.requests:
            try:
                self.milliseconds.append(visitor.check(self.claims[request % len(self.claims)]))
            except urllib.error.HTTPError as error:
                self.failed[str(error.code)] += 1
            except OSError as error:
                self.failed[type(getattr(error, "reason", error)).__name__] += 1
            time.sleep(draw.expovariate(1 / self.pause) if self.pause else 0)

    @property
    def ended(self) -> int:
        return len(self.milliseconds) + sum(self.failed.values())

    def memory(self, people: int) -> Iterator[int]:
        """Lets people ask; the server's MiB after each tenth of the requests."""
        watcher = Visitor(self.address, people)
        threads = [threading.Thread(target=self.person, args=(number,)) for number in range(people)]
        for thread in threads:
            thread.start()
        for tenth in range(1, 11):
            while self.ended < tenth * self.requests // 10:
                time.sleep(0.2)
            yield round(watcher.metric("process_resident_memory_bytes") / 2**20)
        for thread in threads:
            thread.join()


def streamed(address: str, claims: Sequence[str], count: int) -> dict:
    """The seconds until the first and the last of so many claims, in batches that are streamed one after the other."""
    visitor, began, found, first = Visitor(address), time.perf_counter(), 0, None
    asked = list(itertools.islice(itertools.cycle(claims), count))
    for start in range(0, count, BATCH):
        for _ in visitor.check_lines(asked[start : start + BATCH]):
            found += 1
            first = first or time.perf_counter() - began
    return {"claims": found, "first, s": round(first, 2), "last, s": round(time.perf_counter() - began, 1)}


@contextlib.contextmanager
def two_hundred_pages() -> Iterator[tuple[Path, list[str]]]:
    """An index of generated pages, and claims over them."""
    pages = list(iterate_documents(200))
    with tempfile.TemporaryDirectory() as folder:
        claims = [sentence.text for page in pages for sentence in page.sentences[:3]]
        yield Index.build(pages, Path(folder) / "index").folder, claims


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--pause", type=float, default=5.0)
    parser.add_argument("--streamed", type=int, default=1_000)
    parser.add_argument("--model", action="append", default=[], help="a model's folder; by default the one that ships")
    arguments = parser.parse_args()
    figures = {"cores": len(os.sched_getaffinity(0)), "load before": round(os.getloadavg()[0], 1)}
    with two_hundred_pages() as (index, claims), served(arguments.model, index, pool=20) as address:
        Visitor(address).check_all(claims[:32])  # the first claims wait for the models
        crowd = Crowd(address, claims, arguments.requests, arguments.pause)
        began = time.perf_counter()
        figures["memory, MiB"] = list(crowd.memory(arguments.people))
        figures["requests a second"] = round(crowd.ended / (time.perf_counter() - began), 1)
        figures["verdict, ms"] = spread(crowd.milliseconds)
        figures["without a verdict"] = dict(crowd.failed)
        figures["streamed"] = streamed(address, claims, arguments.streamed)
    print(json.dumps(figures | {"load after": round(os.getloadavg()[0], 1)}, indent=1))


if __name__ == "__main__":
    main()
