"""A local server that answers as MediaWiki's api.php does: what it is asked, the answers that it gives in turn or by
request, in the form of `action=query&formatversion=2`."""

import contextlib
import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse

Reply = tuple[int, dict[str, str], object]  # status, headers, body


@contextlib.contextmanager
def serving(reply: Callable[[dict[str, str]], Reply]) -> Iterator[tuple[str, list[tuple[dict[str, str], dict]]]]:
    """Yields (URL of the api.php, the requests received as (parameters, headers))."""
    requests: list[tuple[dict[str, str], dict]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = {name: values[0] for name, values in parse_qs(urlparse(self.path).query).items()}
            requests.append((asked, dict(self.headers)))
            status, headers, body = reply(asked)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/w/api.php", requests
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def dripping(begin: bytes) -> Iterator[str]:
    """The URL of a server that answers `begin`, and then a byte every tenth of a second."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                self.request.recv(1 << 16)
                self.request.sendall(begin)
                while not ended.wait(0.1):
                    self.request.sendall(b"a")

    ended = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/w/api.php"
        ended.set()
        server.shutdown()


def titles(*found: str) -> Reply:
    """The answer to `list=search`."""
    return 200, {}, {"batchcomplete": True, "query": {"search": [{"ns": 0, "title": title} for title in found]}}


def pages(*found: tuple[str, str], disambiguation: str = "") -> Reply:
    """The answer to `generator=search&prop=extracts|info|pageprops` with (title, introduction) pairs; as in MediaWiki's, the
    pages stand in the order of their ids, and `index` is their rank."""
    made = [
        {
            "pageid": 100 - rank,
            "ns": 0,
            "title": title,
            "index": rank,
            "extract": text,
            "fullurl": f"https://wiki.example/wiki/{title.replace(' ', '_')}",
            "lastrevid": 1000 + rank,
        }
        | ({"pageprops": {"disambiguation": ""}} if title == disambiguation else {})
        for rank, (title, text) in enumerate(found, start=1)
    ]
    return 200, {}, {"batchcomplete": True, "query": {"pages": made[::-1]}} if made else {"batchcomplete": True}
