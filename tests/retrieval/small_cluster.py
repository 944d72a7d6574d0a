"""A substitute for a cluster of Elasticsearch or OpenSearch, over HTTP or as a client."""

import contextlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import urlparse


class Cluster:
    """As much of a cluster as the client speaks to: documents score by the number of shared words. It refuses, as a
    server of Elasticsearch does, clients of a newer version and of the one before the last."""

    def __init__(self):
        self.version = 8
        self.indices, self.meta, self.settings, self.aliases, self.requests = {}, {}, {}, {}, []
        self.busy = 0  # tries of 'd' that are rejected
        self.parts = []  # what comes instead of whole answers to queries
        self.failures = []  # (action, status, whether the request is done all the same); status 0: no answer

    def handle(self, method, path, lines):
        self.requests.append((method, path, lines))
        name, _, action = path.strip("/").partition("/")
        failure = next((one for one in self.failures if one[0] == action), None)
        if failure is None:
            return self.answered(method, name, action, lines)
        self.failures.remove(failure)
        if failure[2]:
            self.answered(method, name, action, lines)
        return failure[1], {"error": {"reason": "failing", "root_cause": []}, "status": failure[1]}

    def answered(self, method, name, action, lines):
        if name == "_alias":
            index = self.aliases.get(action)
            return (200, {index: {"aliases": {action: {}}}}) if index else (404, {"error": "alias missing"})
        if name == "_aliases":
            for act in lines[0]["actions"]:
                for verb, given in act.items():
                    if verb == "add":
                        self.aliases[given["alias"]] = given["index"]
                    else:
                        del self.indices[given["index"]]
            return 200, {"acknowledged": True}
        name = self.aliases.get(name, name)
        if method == "HEAD":
            return (200 if name in self.indices else 404), {}
        if method == "PUT" and not action:
            self.indices[name], self.meta[name] = {}, lines[0]["mappings"]["_meta"]
            self.settings[name] = lines[0]["settings"]
            return 200, {"acknowledged": True, "index": name}
        if method == "DELETE":
            del self.indices[name]
            return 200, {"acknowledged": True}
        documents = self.indices.get(name)
        if documents is not None and action == "_settings":
            self.settings[name] |= lines[0]["index"]
            return 200, {"acknowledged": True}
        if documents is None:
            return 404, {"error": {"reason": "no such index", "root_cause": []}, "status": 404}
        if action == "_mapping" and method == "GET":
            return 200, {name: {"mappings": {"_meta": self.meta[name]}}}
        if action == "_mapping":
            self.meta[name] = lines[0]["_meta"]
            return 200, {"acknowledged": True}
        if action == "_count":
            return 200, {"count": len(documents)}
        if action == "_mget":
            return 200, {"docs": [{"_id": id, "_source": documents[id]} for id in lines[0]["ids"]]}
        if action == "_bulk":
            items = []
            for head, body in zip(lines[::2], lines[1::2]):
                id = head["create"]["_id"]
                assert len(id.encode()) <= 512, "id is too long"
                if id == "d" and self.busy:
                    self.busy -= 1
                    items.append({"create": {"_id": id, "status": 429, "error": {"type": "rejected"}}})
                elif "boom" in body["text"]:
                    items.append({"create": {"_id": id, "status": 400, "error": {"reason": "boom"}}})
                else:
                    conflict = {"status": 409, "error": {"type": "version_conflict_engine_exception"}}
                    items.append({"create": {"_id": id} | (conflict if id in documents else {"status": 201})})
                    documents.setdefault(id, body)
            return 200, {"errors": any(item["create"]["status"] > 201 for item in items), "items": items}
        if action == "_msearch":
            answers = [self.answer(documents, body) for body in lines[1::2]]
            if self.parts:
                answers[0] = {"hits": {"hits": []}, "status": 200} | self.parts.pop()
            return 200, {"responses": answers}
        return 200, {"_shards": {}}

    @staticmethod
    def answer(documents, body):
        words = body["query"]["match"]["text"].split()
        if "boom" in words:
            return {"error": {"reason": "boom"}, "status": 400}
        scores = sorted((-sum(map(row["text"].split().count, words)), row["id"], id) for id, row in documents.items())
        hits = [{"_id": key, "_score": -score, "fields": {"id": [id]}} for score, id, key in scores if score]
        return {"hits": {"hits": hits[: body["size"]]}, "status": 200}


class Failed(Exception):
    def __init__(self, status):
        self.status_code = status


def stand_in(cluster):
    """A client object with the calls that both official clients have."""

    def call(method, path, body=None):
        status, answer = cluster.handle(method, path, body)
        if status == 0:
            raise ConnectionError("no answer")
        if status >= 400:
            raise Failed(status)
        return answer

    return SimpleNamespace(
        indices=SimpleNamespace(
            exists=lambda index: cluster.handle("HEAD", index, None)[0] == 200,
            create=lambda index, body: call("PUT", index, [body]),
            delete=lambda index: call("DELETE", index),
            get_mapping=lambda index: call("GET", f"{index}/_mapping"),
            put_settings=lambda index, body: call("PUT", f"{index}/_settings", [body]),
            exists_alias=lambda name: cluster.handle("HEAD", f"_alias/{name}", None)[0] == 200,
            get_alias=lambda name: call("GET", f"_alias/{name}"),
            update_aliases=lambda body: call("POST", "_aliases", [body]),
            put_mapping=lambda index, body: call("PUT", f"{index}/_mapping", [body]),
            refresh=lambda index: call("POST", f"{index}/_refresh"),
        ),
        count=lambda index: call("GET", f"{index}/_count"),
        mget=lambda index, body: call("POST", f"{index}/_mget", [body]),
        bulk=lambda index, body: call("POST", f"{index}/_bulk", body),
        msearch=lambda index, body, search_type: call("POST", f"{index}/_msearch", body),
    )


@contextlib.contextmanager
def answering():
    """A cluster and the URL at which it answers."""
    cluster = Cluster()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self):
            cluster.authorization = self.headers.get("Authorization")
            content = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            speaks = re.search(r"compatible-with=(\d+)", self.headers.get("Accept", ""))
            if speaks and int(speaks[1]) not in (cluster.version, cluster.version - 1):
                reason = f"A compatible version is required, given {speaks[1]}"
                error = {"type": "media_type_header_exception", "reason": reason}
                status, answer = 400, {"error": error, "status": 400}
            else:
                status, answer = cluster.handle(
                    self.command, urlparse(self.path).path, [json.loads(line) for line in content.splitlines()]
                )
            if status == 0:
                self.close_connection = True
                return
            body = b"" if self.command == "HEAD" else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("X-Elastic-Product", "Elasticsearch")
            self.send_header("Content-Type", self.headers.get("Accept", "application/json").split(",")[0])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = respond

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield cluster, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
