"""Our own code against the libraries that could replace it, on the same work in one run.

    make peers
    .venv/bin/python -m benchmarks.libraries [html records stores …] [--rounds 5] [--json FILE]

Prints medians of rounds that alternate, and the ratio of a library's seconds to ours: above 1 ours is faster. Results
are compared, and a difference ends the run; where a library cannot do the same, a line says what it does instead. What
follows from it is said in one line where our code stands.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import gc
import hashlib
import http.server
import importlib.metadata
import json
import logging
import os
import platform
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

# What is installed, and what of it is imported.
PEERS = {name: name for name in ("msgspec", "pydantic", "lmdb", "pyarrow", "pooch", "urllib3", "num2words")}
PEERS |= {"starlette": "starlette.applications", "lxml": "lxml.etree", "scikit-learn": "sklearn.metrics"}


class Run:
    """Times work that is done in several ways, prints it, and keeps it for `--json`."""

    def __init__(self, rounds: int):
        self.rounds, self.figures = rounds, {}

    def compare(self, work: str, ways: dict[str, Callable[[], object]]) -> None:
        """The first way is ours; all must return the same."""
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(self.rounds):
            digests = set()
            for name, way in ways.items():
                gc.collect()
                started = time.perf_counter()
                result = way()
                seconds[name].append(time.perf_counter() - started)
                digests.add(hashlib.sha256(repr(result).encode()).digest())
                del result
            if len(digests) > 1:
                raise SystemExit(f"{work}: the results differ")
        medians = {name: statistics.median(values) for name, values in seconds.items()}
        ours = next(iter(medians.values()))
        self.figures[work] = {name: {"seconds": value, "ratio": value / ours} for name, value in medians.items()}
        print(work + "".join(f"\n  {name:30}{value:9.4f} s{value / ours:8.2f}" for name, value in medians.items()))

    def note(self, text: str) -> None:
        print(f"  {text}", flush=True)


def prose(rng: random.Random, words: int) -> str:
    return " ".join("".join(rng.choices("abcdefghijklmnop", k=rng.randint(2, 9))) for _ in range(words))


def html(run: Run) -> None:
    """Tables of orderly pages, and of pages that nobody closed."""
    from lxml import etree

    from lisax.corpora import html_tables

    def by_lxml(text: str) -> html_tables.HtmlPage:
        """libxml2's events, by our rules of what a table is."""
        rules = html_tables._Parser(20_000, html_tables.LIMITS.cells)
        rules.getpos = lambda: (0, 0)  # events have no lines

        class Target:
            def start(self, tag, attributes):
                rules.handle_starttag(tag, attributes.items())

            end, data = staticmethod(rules.handle_endtag), staticmethod(rules.handle_data)

            def close(self):
                pass

        parser = etree.HTMLParser(target=Target(), huge_tree=True)
        parser.feed(html_tables.closed(text))
        parser.close()
        return html_tables.HtmlPage("".join(rules.title), rules.tables, rules.left_out)

    def cells(read: Callable, pages: list[str]) -> list:
        return [[[["".join(c.text) for c in row] for row in t.rows] for t in read(page).tables] for page in pages]

    rng = random.Random(0)
    row = "<tr>" + "<td align=left><a href='/{0}'>{0}</a>&#160;{0}\n</td>" * 6 + "</tr>\n"
    table = "<h2>{0}</h2><table class=y><caption>{0}</caption>" + row * 40 + "</table>"
    pages = [
        "<title>t</title>" + "".join(f"<p>{prose(rng, 400)}</p>" + table.format(prose(rng, 2)) for _ in range(5))
        for _ in range(10)
    ]
    ours = functools.partial(html_tables.parse, row_limit=20_000)
    unclosed = {
        f"a page of {count:,} <i> and as many </b>": ["<table><tr><td>" + "<i>" * count + "</b>" * count + "x</table>"]
        for count in (5_000, 20_000)
    }
    for work, given in {f"tables of {sum(map(len, pages)) / 1e6:.1f} MB of pages": pages, **unclosed}.items():
        ways = {"html.parser": functools.partial(cells, ours, given), "lxml": functools.partial(cells, by_lxml, given)}
        run.compare(work, ways)
    deep = "<table><tr><td>" + "<b>" * 5_000 + "</table><table><tr><td>after</table>"
    tree = etree.fromstring(deep, etree.HTMLParser(huge_tree=True))
    run.note(
        f"two tables, 5,000 <b> in the first: ours {len(ours(deep).tables)}, lxml's tree {len(tree.findall('.//table'))}"
    )


def records(run: Run) -> None:
    """Pages from JSON Lines, and what is said of three bad lines."""
    import msgspec
    import pydantic

    from lisax.corpora import plain, titles
    from lisax.corpora.reading import Row, Watch
    from lisax.errors import DataError
    from lisax.files.reading import parse_json_object, read_lines
    from lisax.records import Document, Sentence, check_id
    from lisax.world import write

    class Struct(msgspec.Struct):
        id: str | int
        title: str
        sentences: list[str]
        redirects: list[str] = []

    class Model(pydantic.BaseModel, strict=True):
        id: str | int
        title: str
        sentences: list[str]
        redirects: list[str] = []

    def normal(page: Struct | Model) -> Document:
        """What `plain.parse_page` does beside checking types."""
        page_id = check_id(titles.normal_form(page.id) if isinstance(page.id, str) else page.id)
        sentences, redirects = (
            [titles.one_line(titles.normal_form(text)) for text in texts] for texts in (page.sentences, page.redirects)
        )
        numbered = tuple(Sentence(page_id, number, text) for number, text in enumerate(sentences))
        original = None if page.id == page_id else str(page.id)
        return Document(page_id, titles.one_line(page.title), numbered, tuple(redirects), original)

    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "world", 5_000, claims_per_page=1)
        path = Path(folder) / "world" / "pages.jsonl"
        decoders = {"msgspec": msgspec.json.Decoder(Struct).decode, "pydantic": Model.model_validate_json}

        def read(decode: Callable) -> list[Document]:
            return list({page.id: page for page in (normal(decode(line)) for _, line in read_lines(path))}.values())

        ways = {"ours": lambda: list(plain.read_pages(path, Watch()))}
        run.compare("5,000 pages", ways | {name: functools.partial(read, decode) for name, decode in decoders.items()})

    def ours(line: str) -> Document:
        return plain.parse_page(Row(parse_json_object(line, path="FILE", line=7), Path("FILE"), 7, Watch()))

    for field in (
        '"sentences": ["a", 3]',
        '"sentences": ["\\ud800"]',
        '"sentences": [], "x": ' + "[" * 150 + "]" * 150,
    ):
        line = f'{{"id": 1, "title": "t", {field}}}'
        for name, parse in {"ours": ours, **decoders}.items():
            try:
                told = f"accepted as {parse(line)!r}"
            except (DataError, msgspec.MsgspecError, pydantic.ValidationError) as error:
                told = " ".join(str(error).split())
            run.note(f"{field:.35}: {name}: {told:.100}")


def stores(run: Run, count: int = 100_000, gets: int = 20_000) -> None:
    """Texts by id: storing, random look-ups, all in the order of the collection, bytes on disk."""
    import lmdb
    import pyarrow as pa

    from lisax.retrieval.strings import Strings, StringsWriter, StringTable, StringTableWriter

    rng = random.Random(0)
    texts = {f"Page_{number}_{rng.randrange(10**6)}": prose(rng, rng.randint(40, 120)) for number in range(count)}
    wanted = rng.choices(list(texts), k=gets)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def fresh(name: str) -> Path:
            for old in folder.glob(name + "*"):
                old.unlink()
            return folder / name

        def store_ours() -> None:
            ids, contents = StringTableWriter(fresh("ours-ids")), StringsWriter(fresh("ours-texts"))
            for key, text in texts.items():
                ids.append(key)
                contents.append(text)
            ids.close()
            contents.close()

        def store_sqlite() -> None:
            db = sqlite3.connect(fresh("sqlite"))
            db.execute("create table texts (number integer primary key, id text unique, text text)")
            with db:
                db.executemany("insert into texts (id, text) values (?, ?)", texts.items())
            db.close()

        def store_lmdb() -> None:
            with lmdb.open(str(fresh("lmdb")), map_size=1 << 32, subdir=False, max_dbs=2) as db:
                numbers, contents = db.open_db(b"numbers"), db.open_db(b"texts")
                with db.begin(write=True) as writing:
                    for number, (key, text) in enumerate(texts.items()):
                        writing.put(key.encode(), number.to_bytes(4, "big"), db=numbers)
                        writing.put(number.to_bytes(4, "big"), text.encode(), db=contents, append=True)

        def store_arrow() -> None:
            ids = StringTableWriter(fresh("arrow-ids"))
            for key in texts:
                ids.append(key)
            ids.close()
            table = pa.table({"text": list(texts.values())})
            with pa.OSFile(str(fresh("arrow-texts")), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
                out.write_table(table)

        arrow = "our ids, pyarrow's texts"
        run.compare(
            f"storing {count:,} texts",
            {"ours": store_ours, "sqlite3": store_sqlite, "LMDB": store_lmdb, arrow: store_arrow},
        )
        ids, contents = StringTable(folder / "ours-ids"), Strings(folder / "ours-texts")
        db = sqlite3.connect(folder / "sqlite")
        environment = lmdb.open(str(folder / "lmdb"), subdir=False, readonly=True, max_dbs=2)
        lmdb_ids, lmdb_texts = environment.open_db(b"numbers"), environment.open_db(b"texts")
        lmdb_get, cursor = (reading := environment.begin()).get, reading.cursor(lmdb_texts)
        arrow_texts = pa.ipc.open_file(pa.memory_map(str(folder / "arrow-texts"))).read_all()["text"].combine_chunks()
        select = "select text from texts where id = ?"
        run.compare(
            f"{gets:,} random look-ups",
            {
                "ours": lambda: [contents[ids.find(key)] for key in wanted],
                "sqlite3": lambda: [db.execute(select, (key,)).fetchone()[0] for key in wanted],
                "LMDB": lambda: [lmdb_get(lmdb_get(k.encode(), db=lmdb_ids), db=lmdb_texts).decode() for k in wanted],
                arrow: lambda: [arrow_texts[ids.find(key)].as_py() for key in wanted],
            },
        )
        run.compare(
            "all in their order",
            {
                "ours": lambda: list(contents),
                "sqlite3": lambda: [text for (text,) in db.execute("select text from texts order by number")],
                "LMDB": lambda: [text.decode() for _, text in cursor],
                arrow: arrow_texts.to_pylist,
            },
        )
        names = ("ours", "sqlite", "lmdb", "arrow")
        mib = {name: sum(path.stat().st_blocks for path in folder.glob(name + "*")) / 2**11 for name in names}
        run.figures["MiB on disk"] = mib
        run.note("MiB on disk: " + ", ".join(f"{name} {size:.0f}" for name, size in mib.items()))
        run.note(f"LMDB's keys have at most {environment.max_key_size()} bytes")
        db.close()
        environment.close()


def page(run: Run) -> None:
    """The guard of the page and Starlette's middleware before the same application, without a network."""
    from starlette.middleware.body_limit import RequestBodyLimitMiddleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse

    from lisax.serve.guard import Guard, Rules
    from lisax.serve.limits import Limits

    async def application(scope, receive, send) -> None:
        await PlainTextResponse(str(len(await Request(scope, receive).body())))(scope, receive, send)

    async def receive() -> dict:
        return {"type": "http.request", "body": b"x" * 60, "more_body": False}

    def ask(guarded: Callable, host: str = "127.0.0.1:8000") -> int:
        scope = {"type": "http", "method": "POST", "path": "/ask", "query_string": b"", "client": ("127.0.0.1", 1)}
        sent: list[dict] = []

        async def send(message: dict) -> None:
            sent.append(message)

        loop.run_until_complete(guarded(scope | {"headers": [(b"host", host.encode())]}, receive, send))
        return sent[0]["status"]

    loop, limits = asyncio.new_event_loop(), Limits(requests_burst=10**9, changes_burst=10**9)
    guard = Guard(application, Rules(b"secret", 8000, limits=limits))
    stack = RequestBodyLimitMiddleware(application, limits.form_bytes)
    stack = TrustedHostMiddleware(stack, ["localhost", "127.0.0.1", "[::1]"], www_redirect=False)
    ways = {"guard": guard, "TrustedHost, RequestBodyLimit": stack}
    run.compare(
        "2,000 requests", {name: lambda one=one: [ask(one) for _ in range(2_000)] for name, one in ways.items()}
    )
    for host in ("192.168.1.7:8000", "[fe80::1]:8000", "evil.example"):
        run.note(f"Host {host}: " + ", ".join(f"{name} {ask(one, host)}" for name, one in ways.items()))
    loop.close()


def download(run: Run, size: int = 32 << 20) -> None:
    """A file from a server of our own on this machine; then a connection that breaks off in its middle."""
    import pooch
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util.retry import Retry

    from lisax.corpora.download import Patience
    from lisax.corpora.download import download as resumed

    content = os.urandom(size)
    digest = hashlib.sha256(content).hexdigest()
    sent, breaks = 0, False

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            nonlocal sent, breaks
            start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
            self.send_header("ETag", '"one"')
            self.send_header("Content-Length", str(size - start))
            self.end_headers()
            end, breaks = size // 2 if breaks else size, False
            self.wfile.write(memoryview(content)[start:end])
            sent += end - start

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["NO_PROXY"] = "127.0.0.1"
    logging.getLogger("lisax").setLevel(logging.ERROR)
    pooch.utils.get_logger().setLevel("ERROR")
    url = f"http://127.0.0.1:{server.server_port}/"
    with tempfile.TemporaryDirectory() as name:
        target = Path(name) / "file"

        def ours() -> None:
            target.unlink(missing_ok=True)
            resumed(url + "file", target, checksum=f"sha256:{digest}", patience=Patience(first_wait_seconds=0))

        def by_pooch() -> None:
            target.unlink(missing_ok=True)
            pooch.create(name, url, registry={"file": f"sha256:{digest}"}, retry_if_failed=2).fetch("file")

        def by_urllib3() -> None:
            with requests.Session() as session, target.open("w+b") as file:
                session.mount("http://", HTTPAdapter(max_retries=Retry(3, status_forcelist=(429, 500, 503))))
                for chunk in session.get(url + "file", stream=True).iter_content(1 << 20):
                    file.write(chunk)
                file.seek(0)
                if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    raise SystemExit("urllib3: the checksum is wrong")

        ways = {"ours": ours, "pooch": by_pooch, "requests with urllib3's Retry": by_urllib3}
        run.compare(f"{size >> 20} MiB", ways)
        for label, way in ways.items():
            sent, breaks = 0, True
            try:
                way()
                end = f"whole after {sent / size:.2f} times its bytes"
            except requests.RequestException as error:
                end = f"{type(error).__name__}, and {target.stat().st_size / size:.2f} of it under its name"
            run.note(f"broken off in the middle: {label}: {end}")
    server.shutdown()


def ordinals(run: Run) -> None:
    from num2words import num2words

    from lisax.text.numbers import ordinal_words

    ways = {"ours": ordinal_words, "num2words": functools.partial(num2words, to="ordinal")}
    run.compare(
        "ordinals below a hundred", {name: lambda way=way: list(map(way, range(100))) for name, way in ways.items()}
    )


def curve(run: Run, count: int = 200_000) -> None:
    from sklearn.metrics import average_precision_score

    from lisax.metrics.tables import average_precision, precision_recall

    rng = np.random.default_rng(0)
    scores = rng.normal(size=count).round(3)
    positives = rng.random(count) < 1 / (1 + np.exp(-scores))
    ways = {
        "ours": lambda: round(average_precision(precision_recall(scores, positives)), 12),
        "scikit-learn": lambda: round(float(average_precision_score(positives, scores)), 12),
    }
    run.compare(f"average precision of {count:,} scores", ways)


def cost(run: Run) -> None:
    """The size of each library's own files, and its import in fresh processes."""
    for name, module in PEERS.items():
        files = (Path(file.locate()) for file in importlib.metadata.files(name) or ())
        mib = sum(file.stat().st_size for file in files if file.is_file()) / 2**20
        code = f"import time; started = time.perf_counter(); import {module}; print(time.perf_counter() - started)"
        command = [sys.executable, "-P", "-c", code]
        seconds = min(float(subprocess.check_output(command, text=True)) for _ in range(run.rounds))
        run.figures[f"cost of {name}"] = {"mib": mib, "import_seconds": seconds}
        run.note(f"{name}: {mib:.1f} MiB, imported in {seconds:.3f} s")


WORK = {work.__name__: work for work in (html, records, stores, page, download, ordinals, curve, cost)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", nargs="*", help=f"of {', '.join(WORK)}; all where none is named")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    processor = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), ": ?")
    print(f"{os.cpu_count()} ×{processor.partition(':')[2]}, Python {platform.python_version()}, ", end="")
    print(
        f"sqlite3 {sqlite3.sqlite_version}, "
        + ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PEERS)
    )
    run = Run(arguments.rounds)
    for name in arguments.work or WORK:
        WORK[name](run)
    if arguments.json:
        arguments.json.write_text(json.dumps(run.figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
