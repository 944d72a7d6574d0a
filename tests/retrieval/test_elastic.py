"""The client against a stand-in cluster: with the official client over HTTP where it is installed."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import urlparse

import pytest

from lisax import cli
from lisax.records import LisaxError
from lisax.retrieval import elastic
from lisax.retrieval.elastic import ElasticIndex


class Cluster:
    """As much of a cluster as the client speaks to: documents score by the number of shared words."""

    def __init__(self):
        self.indices, self.requests = {}, []

    def handle(self, method, path, lines):
        self.requests.append((method, path, lines))
        name, _, action = path.strip("/").partition("/")
        if method == "HEAD":
            return (200 if name in self.indices else 404), {}
        if method == "PUT" and not action:
            self.indices[name] = {}
            return 200, {"acknowledged": True, "index": name}
        if method == "DELETE":
            del self.indices[name]
            return 200, {"acknowledged": True}
        documents = self.indices[name]
        if action == "_bulk":
            items = []
            for head, body in zip(lines[::2], lines[1::2]):
                id = head["create"]["_id"]
                if "boom" in body["text"]:
                    items.append({"create": {"_id": id, "status": 400, "error": {"reason": "boom"}}})
                else:
                    items.append({"create": {"_id": id, "status": 409 if id in documents else 201}})
                    documents.setdefault(id, body["text"].split())
            return 200, {"errors": any(item["create"]["status"] > 201 for item in items), "items": items}
        if action == "_msearch":
            return 200, {"responses": [self.answer(documents, body) for body in lines[1::2]]}
        return 200, {"_shards": {}}

    @staticmethod
    def answer(documents, body):
        words = body["query"]["match"]["text"].split()
        if "boom" in words:
            return {"error": {"reason": "boom"}, "status": 400}
        scores = sorted((-sum(map(text.count, words)), id) for id, text in documents.items())
        hits = [{"_id": id, "_score": -score} for score, id in scores if score]
        return {"hits": {"hits": hits[:body["size"]]}, "status": 200}


def stand_in(cluster):
    """A client object with the four calls that both official clients have."""
    def call(method, path, body=None):
        return cluster.handle(method, path, body)[1]

    return SimpleNamespace(
        indices=SimpleNamespace(
            exists=lambda index: cluster.handle("HEAD", index, None)[0] == 200,
            create=lambda index, body: call("PUT", index, [body]), delete=lambda index: call("DELETE", index),
            refresh=lambda index: call("POST", f"{index}/_refresh")),
        bulk=lambda index, body: call("POST", f"{index}/_bulk", body),
        msearch=lambda index, body: call("POST", f"{index}/_msearch", body))


@pytest.fixture
def over_http():
    """The official client, speaking HTTP to the stand-in cluster."""
    pytest.importorskip("elasticsearch")
    cluster = Cluster()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self):
            content = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            status, answer = cluster.handle(self.command, urlparse(self.path).path,
                                            [json.loads(line) for line in content.splitlines()])
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
    yield elastic.connect(f"http://127.0.0.1:{server.server_port}"), cluster
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["stand-in client", "official client"])
def client_and_cluster(request):
    if request.param == "official client":
        return request.getfixturevalue("over_http")
    cluster = Cluster()
    return stand_in(cluster), cluster


DOCUMENTS = [("b", "red red fish"), ("a", "red fish"), ("c", "blue"), ("d", "red fish")]


def test_build_add_search(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 3)
    monkeypatch.setattr(elastic, "QUERIES_AT_A_TIME", 1)
    index = ElasticIndex.build(client, "pages", iter(DOCUMENTS), k1=0.9, b=0.4)
    created, = (lines[0] for method, _, lines in cluster.requests
                if method == "PUT" and lines and "mappings" in lines[0])
    assert created["settings"]["similarity"]["lisax"] == {"type": "BM25", "k1": 0.9, "b": 0.4}
    assert created["mappings"]["properties"]["text"]["analyzer"] == "english"
    assert index.search(["red", "blue", "none"], 2) == [[("b", 2.0), ("a", 1.0)], [("c", 1.0)], []]
    index.add([("e", "blue blue")])
    assert index.search(["blue"], 5) == [[("e", 2.0), ("c", 1.0)]]


def test_errors_are_sentences_and_a_failed_build_leaves_nothing(client_and_cluster):
    client, cluster = client_and_cluster
    with pytest.raises(LisaxError, match="'a' occurs twice"):
        ElasticIndex.build(client, "pages", [*DOCUMENTS, ("a", "again")])
    with pytest.raises(LisaxError, match="refused document 'x'.*boom"):
        ElasticIndex.build(client, "pages", [("x", "boom")])
    assert cluster.indices == {}
    index = ElasticIndex.build(client, "pages", DOCUMENTS)
    with pytest.raises(LisaxError, match="already"):
        ElasticIndex.build(client, "pages", DOCUMENTS)
    with pytest.raises(LisaxError, match="refused the query 'boom'"):
        index.search(["red", "boom"], 2)
    with pytest.raises(LisaxError, match="k = 20000"):
        index.search(["red"], 20_000)


def test_without_the_client_the_user_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "elasticsearch", None)
    with pytest.raises(LisaxError, match="lisax.elastic."):
        elastic.connect("http://127.0.0.1:9200")


def test_the_verbs_fill_and_search_a_cluster(monkeypatch, tmp_path, capsys):
    cluster = Cluster()
    monkeypatch.setattr(elastic, "connect", lambda url: stand_in(cluster) if url == "http://host:1" else None)
    corpus, run = tmp_path / "corpus", tmp_path / "run.trec"
    corpus.mkdir()
    (corpus / "pages.jsonl").write_text("".join(
        json.dumps({"id": i, "title": i, "sentences": [text]}) + "\n" for i, text in DOCUMENTS))
    claims = corpus / "claims.train.jsonl"
    claims.write_text(json.dumps({"id": "1", "claim": "red", "label": "NOT ENOUGH INFO"}) + "\n")
    at = ["--cluster", "http://host:1/pages"]
    assert cli.main(["index", "bm25", "--corpus", str(corpus), *at]) == 0
    assert cluster.indices["pages"]["b"] == ["b", "red", "red", "fish"]
    assert cli.main(["index", "documents", "--corpus", str(corpus), "--out", str(tmp_path / "index")]) == 0
    asked = ["retrieve", "--index", str(tmp_path / "index"), "--claims", str(claims), "--out", str(run), *at]
    assert cli.main([*asked, "--method", "bm25", "--k", "2"]) == 0
    assert [line.split()[2:5] for line in run.read_text().splitlines()] == [["b", "1", "2.0"], ["a", "2", "1.0"]]
    capsys.readouterr()
    for wrong, message in ((["index", "documents", "--corpus", str(corpus), *at], "holds BM25 only"),
                           (["index", "bm25", "--corpus", str(corpus)], "say where"),
                           (["index", "bm25", "--corpus", str(corpus), "--cluster", "host"], "URL that ends in"),
                           ([*asked, "--method", "titles"], "--cluster searches BM25")):
        assert cli.main(wrong) == 1
        assert message in capsys.readouterr().err
