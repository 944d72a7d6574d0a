"""Google Cloud Storage for tests: gcp-storage-emulator in a thread, with what tensorstore and locks ask of it besides.

The emulator itself returns no generation of an object, ignores conditions on generations and the ends of a listing, and
drops a last carriage return.
"""

import contextlib
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus, server
from unittest import mock

BUCKET = "lisax-tests"


@contextlib.contextmanager
def bucket() -> Iterator[dict[str, str]]:
    """A bucket of its own, empty; the environment in which a process finds it, which is this process's own meanwhile."""
    from gcp_storage_emulator.handlers import buckets
    from gcp_storage_emulator.server import RequestHandler
    from gcp_storage_emulator.storage import Storage

    logging.getLogger("gcp_storage_emulator").setLevel(logging.CRITICAL)
    storage = Storage(use_memory_fs=True)
    buckets.create_bucket(BUCKET, storage)
    one_at_a_time = threading.Lock()

    class Handler(RequestHandler):
        def __init__(self, *args, **kwargs):
            super().__init__(storage, *args, **kwargs)

        def parse_request(self):
            """Requests come at once, and are answered one by one: the emulator's storage knows no threads."""
            parsed = super().parse_request()
            if parsed:
                method = getattr(self, f"do_{self.command}")
                setattr(self, f"do_{self.command}", lambda: _alone(method, one_at_a_time))
            return parsed

    with _amended(), server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        http.handle_error = lambda *_: None  # a client that was killed
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{http.server_port}"
        # Both names at each emulator: `lisax.files.places` derives the second from the first only once in a process.
        environment = {"STORAGE_EMULATOR_HOST": url, "TENSORSTORE_GCS_HTTP_URL": url}
        with mock.patch.dict(os.environ, environment):
            yield environment
        http.shutdown()


def _alone(method: Callable[[], None], lock: threading.Lock) -> None:
    with lock:
        method()


@contextlib.contextmanager
def _amended() -> Iterator[None]:
    from gcp_storage_emulator.handlers import objects

    def generation(storage, bucket_name, name) -> str:
        return str(storage.objects.get(bucket_name, {}).get(name, {}).get("generation", 0))

    def conditional(handle):
        def answer(request, response, storage, *args, **kwargs):
            name = request.params.get("object_id") or request.query.get("name", [""])[0]
            if not name and isinstance(request.data, dict):
                name = (request.data.get("meta") or request.data).get("name")
            wanted = request.query.get("ifGenerationMatch")
            if wanted and wanted[0] != generation(storage, request.params["bucket_name"], name):
                response.status = HTTPStatus.PRECONDITION_FAILED
                return
            handle(request, response, storage, *args, **kwargs)

        return answer

    def download(request, response, storage, *args, **kwargs):
        response["x-goog-generation"] = generation(storage, request.params["bucket_name"], request.params["object_id"])
        read(request, response, storage, *args, **kwargs)

    def ls(request, response, storage, *args, **kwargs):
        first, end = (request.query.get(name, [""])[0] for name in ("startOffset", "endOffset"))
        send = response.json
        response.json = lambda found: send(
            found
            | {"items": [item for item in found["items"] if item["name"] >= first and (not end or item["name"] < end)]}
        )
        list_all(request, response, storage, *args, **kwargs)

    def sent(handler, query):
        """Content that comes with its description, to the last byte: the emulator takes a carriage return at its end
        for a part of the boundary."""
        if not handler.headers.get("Content-Type", "").startswith("multipart/related"):
            return read_data(handler, query)
        _, meta, content = emulator._read_raw_data(handler).split(b"\n\n", 2)
        meta, _, content_type = meta.partition(b"\n--==0==\nContent-Type: ")
        content = content.removesuffix(b"\n--==0==--")
        return {"meta": json.loads(meta), "content": content, "content-type": content_type.decode()}

    from gcp_storage_emulator import server as emulator

    read, list_all, read_data = objects.download, objects.ls, emulator._read_data
    amended = {
        "download": download,
        "ls": ls,
        "insert": conditional(objects.insert),
        "delete": conditional(objects.delete),
    }
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(emulator, "_read_data", sent))
        for name, function in amended.items():
            old = getattr(objects, name)
            stack.enter_context(mock.patch.object(objects, name, function))
            for _, handlers in emulator.HANDLERS:
                for method, handler in list(handlers.items()):
                    if handler is old:
                        stack.enter_context(mock.patch.dict(handlers, {method: function}))
        yield
