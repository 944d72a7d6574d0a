"""The client against a substitute for a cluster: over HTTP with the official clients, where they are installed."""

import json

import pytest
from small_cluster import Cluster, answering, stand_in

from lisax import cli
from lisax.errors import LisaxError
from lisax.retrieval import elastic
from lisax.retrieval.elastic import ElasticIndex


@pytest.fixture
def served():
    """A cluster and its URL."""
    with answering() as found:
        yield found


CLIENTS = ["stand-in client", "elasticsearch", "opensearchpy"]


@pytest.fixture(params=CLIENTS)
def client_and_cluster(request, monkeypatch):
    monkeypatch.setattr(elastic, "FIRST_WAIT", 0)
    monkeypatch.setattr(elastic, "WRITERS", 1)  # failures come in order
    if request.param == CLIENTS[0]:
        cluster = Cluster()
        return stand_in(cluster), cluster
    pytest.importorskip(request.param)
    cluster, url = request.getfixturevalue("served")
    return elastic.connect(("opensearch+" if request.param == "opensearchpy" else "") + url, {}), cluster


DOCUMENTS = [("b", "red red fish"), ("a", "red fish"), ("c", "blue"), ("d", "red fish")]


def test_build_add_search(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 3)
    monkeypatch.setattr(elastic, "QUERIES_AT_A_TIME", 1)
    index = ElasticIndex.build(client, "pages", iter(DOCUMENTS), k1=0.9, b=0.4)
    (created,) = (
        lines[0] for method, _, lines in cluster.requests if method == "PUT" and lines and "mappings" in lines[0]
    )
    assert cluster.meta["pages"]["lisax"] == {"k1": 0.9, "b": 0.4, "made_from": "", "complete": True}
    assert created["settings"]["similarity"]["lisax"] == {"type": "BM25", "k1": 0.9, "b": 0.4}
    assert created["mappings"]["properties"]["text"]["analyzer"] == "english"
    assert index.search(["red", "blue", "none"], 2) == [[("b", 2.0), ("a", 1.0)], [("c", 1.0)], []]
    index.add([("e", "blue blue")])
    assert index.search(["blue"], 5) == [[("e", 2.0), ("c", 1.0)]]
    assert cluster.settings["pages"]["refresh_interval"] is None  # the cluster's own again


def test_several_batches_are_sent_at_a_time_and_a_broken_build_misses_none(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 2)
    monkeypatch.setattr(elastic, "WRITERS", 3)
    texts = [(str(i), f"text {i}") for i in range(40)]

    def breaking():
        for i, text in enumerate(texts):
            if i == 20:
                cluster.failures = [("_bulk", 0, False)] * elastic.TRIES * elastic.WRITERS
            yield text

    with pytest.raises(LisaxError, match="resumes"):
        ElasticIndex.build(client, "pages", breaking(), made_from="here")
    assert 10 <= len(cluster.indices["pages"]) < 40
    cluster.failures = []
    ElasticIndex.build(client, "pages", texts, made_from="here")
    assert {key: (row["number"], row["text"]) for key, row in cluster.indices["pages"].items()} == {
        id: (number, text) for number, (id, text) in enumerate(texts)
    }


def test_ids_of_any_length(client_and_cluster):
    client, _ = client_and_cluster
    long = "Ä" * 400
    index = ElasticIndex.build(client, "pages", [*DOCUMENTS, (long, "green")])
    assert index.search(["green"], 1) == [[(long, 1.0)]]
    with pytest.raises(LisaxError, match=f"'{long}' occurs twice"):
        index.add([(long, "yellow")])


def test_a_new_index_takes_the_name_of_the_old_one(client_and_cluster):
    client, cluster = client_and_cluster
    build = {"made_from": "1" * 64, "number_of_shards": 3}
    index = ElasticIndex.replace(client, "pages", DOCUMENTS, **build)
    assert list(cluster.indices) == ["pages-111111111111"] and index.search(["blue"], 1) == [[("c", 1.0)]]
    assert cluster.settings["pages-111111111111"]["number_of_shards"] == 3
    cluster.failures = [("_bulk", 0, False)] * elastic.TRIES
    with pytest.raises(LisaxError, match="resumes"):
        ElasticIndex.replace(client, "pages", [("z", "blue")], made_from="2" * 64)
    cluster.failures = []
    assert ElasticIndex(client, "pages").search(["blue"], 1) == [[("c", 1.0)]]
    for _ in range(2):  # the second changes nothing
        index = ElasticIndex.replace(client, "pages", [("z", "blue")], made_from="2" * 64)
        assert list(cluster.indices) == ["pages-222222222222"] and index.search(["blue"], 1) == [[("z", 1.0)]]
    ElasticIndex.build(client, "own", DOCUMENTS)
    with pytest.raises(LisaxError, match="'own' already, which no alias can replace"):
        ElasticIndex.replace(client, "own", DOCUMENTS, **build)


@pytest.mark.parametrize("version", [8, 9])
def test_one_client_serves_two_versions_of_elasticsearch(served, version):
    pytest.importorskip("elasticsearch")
    cluster, url = served
    cluster.version = version
    index = ElasticIndex.build(elastic.connect(url, {}), "pages", DOCUMENTS)
    assert index.search(["blue"], 1) == [[("c", 1.0)]]


def test_a_server_of_another_version_is_named(served):
    pytest.importorskip("elasticsearch")
    cluster, url = served
    cluster.version = 7
    with pytest.raises(LisaxError, match="install the client of the server's major version"):
        ElasticIndex.build(elastic.connect(url, {}), "pages", DOCUMENTS)


@pytest.mark.parametrize("package", CLIENTS[1:])
def test_a_server_without_tls_is_told_as_such_at_once(served, package):
    pytest.importorskip(package)
    _, url = served
    url = ("opensearch+" if package == "opensearchpy" else "") + url.replace("http:", "https:")
    with pytest.raises(LisaxError, match="no trusted TLS connection.*LISAX_CLUSTER_CA"):
        ElasticIndex.build(elastic.connect(url, {}), "pages", DOCUMENTS)


def test_requests_are_signed_for_aws(served, monkeypatch):
    pytest.importorskip("opensearchpy")
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    cluster, url = served
    client = elastic.connect(f"opensearch+{url}", {"LISAX_CLUSTER_AWS": "eu-west-1/aoss"})
    ElasticIndex.build(client, "pages", DOCUMENTS)
    assert cluster.authorization.startswith("AWS4-HMAC-SHA256 Credential=me/")
    assert "/eu-west-1/aoss/aws4_request" in cluster.authorization


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


@pytest.mark.parametrize(
    "broken",
    [("_bulk", 0, True), ("_bulk", 503, False), ("_bulk", 429, True), ("_refresh", 502, False)],
    ids=["answer lost", "unavailable", "too busy", "gateway"],
)
def test_what_passes_is_tried_again(client_and_cluster, monkeypatch, broken):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 3)
    cluster.failures = [broken, broken]
    index = ElasticIndex.build(client, "pages", DOCUMENTS)
    assert not cluster.failures and sorted(cluster.indices["pages"]) == ["a", "b", "c", "d"]
    cluster.failures = [("_msearch", 503, False)]
    assert index.search(["blue"], 1) == [[("c", 1.0)]]


def test_a_build_goes_on_where_the_connection_broke(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 1)

    def documents():
        for number, document in enumerate(DOCUMENTS):
            if number == 3:
                cluster.failures = [("_bulk", 0, False)] * elastic.TRIES
            yield document

    with pytest.raises(LisaxError, match="cannot be reached.*resumes"):
        ElasticIndex.build(client, "pages", documents(), made_from="here")
    stored = set(cluster.indices["pages"])
    assert stored in ({"b", "a"}, {"b", "a", "c"})  # the third is on its way when the connection breaks
    with pytest.raises(LisaxError, match="not filled to its end"):
        ElasticIndex(client, "pages").search(["red"], 1)
    for other in ({"made_from": "there"}, {"made_from": "here", "k1": 2.0}):
        with pytest.raises(LisaxError, match="already"):
            ElasticIndex.build(client, "pages", DOCUMENTS, **other)
    cluster.failures, cluster.requests = [], []
    index = ElasticIndex.build(client, "pages", DOCUMENTS, made_from="here")
    sent = [lines[0]["create"]["_id"] for _, path, lines in cluster.requests if path.endswith("_bulk")]
    assert sent == [id for id, _ in DOCUMENTS][len(stored) - 1 :] and index.search(["red"], 1) == [[("b", 2.0)]]
    with pytest.raises(LisaxError, match="already"):
        ElasticIndex.build(client, "pages", DOCUMENTS, made_from="here")


def test_an_addition_goes_on_and_an_id_with_another_text_is_an_error(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 1)
    index, more = ElasticIndex.build(client, "pages", DOCUMENTS), [("e", "red"), ("f", "blue"), ("g", "red")]

    def documents():
        yield from more[:2]
        cluster.failures = [("_bulk", 0, False)] * elastic.TRIES
        yield more[2]

    with pytest.raises(LisaxError, match="resumes"):
        index.add(documents())
    cluster.failures = []
    index.add(more)
    assert sorted(cluster.indices["pages"]) == list("abcdefg")
    with pytest.raises(LisaxError, match="'e' occurs twice"):
        index.add([("e", "green")])


def test_a_cluster_that_stays_busy_keeps_what_it_has(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 3)
    cluster.busy = elastic.TRIES
    with pytest.raises(LisaxError, match="too busy.*resumes"):
        ElasticIndex.build(client, "pages", DOCUMENTS)
    assert sorted(cluster.indices["pages"]) == ["a", "b", "c"]
    cluster.busy = 1
    assert ElasticIndex.build(client, "pages", DOCUMENTS).search(["red"], 1) == [[("b", 2.0)]]


@pytest.mark.parametrize(
    "part",
    [{"_shards": {"total": 2, "failed": 1}}, {"timed_out": True}, {"status": 429, "error": {"type": "rejected"}}],
    ids=["a shard failed", "timed out", "rejected"],
)
def test_an_answer_in_part_is_none(client_and_cluster, part):
    client, cluster = client_and_cluster
    index = ElasticIndex.build(client, "pages", DOCUMENTS)
    cluster.parts = [part]
    assert index.search(["blue", "red"], 1) == [[("c", 1.0)], [("b", 2.0)]]
    cluster.parts = [part] * elastic.TRIES
    with pytest.raises(LisaxError, match="query 'blue'"):
        index.search(["blue"], 1)


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        *(
            ("_msearch", answer)
            for answer in ([1], "<html>", {}, {"responses": {}}, {"responses": []}, {"responses": [1]})
        ),
        *(
            ("_msearch", {"responses": [{"hits": hits}]})
            for hits in ([], {"hits": 1}, {"hits": [{"_id": 1, "_score": 1}]})
        ),
        *(("_mapping", answer) for answer in ({}, [], {"pages": {}}, {"pages": {"mappings": {"_meta": {"lisax": 1}}}})),
        *(("_count", answer) for answer in ({}, {"count": "7"}, {"count": 1e999})),
        *(
            ("_bulk", answer)
            for answer in ({}, {"errors": True}, {"errors": True, "items": [{"create": {"_id": "z"}}]})
        ),
    ],
)
def test_answers_of_another_shape_are_refused(action, answer):
    cluster = Cluster()
    index, usual = ElasticIndex.build(stand_in(cluster), "pages", DOCUMENTS), cluster.handle
    cluster.handle = lambda method, path, lines: (200, answer) if path.endswith(action) else usual(method, path, lines)
    with pytest.raises(LisaxError, match="the cluster's index 'pages'"):
        if action in ("_count", "_bulk"):
            index.add([("e", "red")])
        index.search(["red"], 1)


def test_requests_stay_small(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_CHARACTERS", 12)
    ElasticIndex.build(client, "pages", [*DOCUMENTS, ("e", "a long text of its own")])
    sent = [[line["id"] for line in lines[1::2]] for _, path, lines in cluster.requests if path.endswith("_bulk")]
    assert sent == [["b"], ["a", "c"], ["d"], ["e"]]


def test_a_missing_index_and_denied_access_are_told(client_and_cluster):
    client, cluster = client_and_cluster
    with pytest.raises(LisaxError, match="no such index"):
        ElasticIndex(client, "pages").search(["red"], 1)
    cluster.failures = [("_mapping", 401, False)]
    with pytest.raises(LisaxError, match="access denied.*LISAX_CLUSTER_API_KEY"):
        ElasticIndex(client, "pages").search(["red"], 1)


@pytest.mark.parametrize("package", CLIENTS[1:])
def test_names_and_keys_come_from_the_environment(served, package):
    pytest.importorskip(package)
    cluster, url = served
    url = ("opensearch+" if package == "opensearchpy" else "") + url
    for environment, sent in (
        ({"LISAX_CLUSTER_API_KEY": "a2V5"}, "ApiKey a2V5"),
        ({"LISAX_CLUSTER_USER": "u", "LISAX_CLUSTER_PASSWORD": "p"}, "Basic dTpw"),
    ):
        ElasticIndex.build(elastic.connect(url, environment), sent[:3].lower(), DOCUMENTS)
        assert cluster.authorization == sent


def test_secrets_are_kept_out_of_commands():
    with pytest.raises(LisaxError, match="keep the password out"):
        elastic.connect("http://me:secret@host:9200", {})
    with pytest.raises(LisaxError, match="go together"):
        elastic.connect("http://host:9200", {"LISAX_CLUSTER_USER": "me"})


@pytest.mark.parametrize(
    ("package", "url", "message"),
    [
        ("elasticsearch", "http://127.0.0.1:9200", "lisax.elastic."),
        ("opensearchpy", "opensearch+http://host:9200", "lisax.opensearch."),
    ],
)
def test_without_the_client_the_user_is_told(monkeypatch, package, url, message):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(LisaxError, match=message):
        elastic.connect(url, {})


def test_the_verbs_fill_and_search_a_cluster(monkeypatch, tmp_path, capsys):
    cluster = Cluster()
    monkeypatch.setattr(elastic, "connect", lambda url: stand_in(cluster) if url == "http://host:1" else None)
    corpus, run = tmp_path / "corpus", tmp_path / "run.trec"
    corpus.mkdir()
    (corpus / "pages.jsonl").write_text(
        "".join(json.dumps({"id": i, "title": i, "sentences": [text]}) + "\n" for i, text in DOCUMENTS)
    )
    claims = corpus / "claims.train.jsonl"
    claims.write_text(json.dumps({"id": "1", "claim": "red", "label": "NOT ENOUGH INFO"}) + "\n")
    at = "http://host:1/pages"
    assert cli.main(["index", "cluster", at, "--corpus", str(corpus)]) == 0
    assert cluster.indices["pages"]["b"]["text"] == "b red red fish"
    assert cli.main(["index", "documents", "--corpus", str(corpus), "--out", str(tmp_path / "index")]) == 0
    asked = ["retrieve", "documents", "--index", str(tmp_path / "index"), "--claims", str(claims)]
    asked += ["--out", str(run), "--cluster", at]
    assert cli.main([*asked, "--method", "bm25", "--k", "2"]) == 0
    assert [line.split()[2:5] for line in run.read_text().splitlines()] == [["b", "1", "2.0"], ["a", "2", "1.0"]]
    capsys.readouterr()
    for wrong, code, message in (
        (["index", "cluster", at, "--corpus", str(corpus), "--of", "cells"], 2, "'cells' is not one of"),
        (["index", "cluster", at, "--corpus", str(corpus), "--add", "--b", "1"], 2, "keeps the k1 and b"),
        (["index", "cluster", "host", "--corpus", str(corpus)], 1, "URL that ends in"),
        ([*asked, "--method", "titles"], 2, "--cluster searches BM25"),
    ):
        assert cli.main(wrong) == code
        assert message in capsys.readouterr().err


def test_tables_in_a_cluster(monkeypatch, tmp_path):
    cluster = Cluster()
    monkeypatch.setattr(elastic, "connect", lambda url: stand_in(cluster))
    corpus, run = tmp_path / "corpus", tmp_path / "run.trec"
    corpus.mkdir()
    (corpus / "pages.jsonl").write_text(json.dumps({"id": "p", "title": "p", "sentences": ["p"]}) + "\n")
    (corpus / "tables.jsonl").write_text(
        "".join(
            json.dumps({"id": i, "title": "", "header": ["colour"], "rows": [[text]]}) + "\n" for i, text in DOCUMENTS
        )
    )
    (corpus / "questions.dev.jsonl").write_text(
        json.dumps({"id": "q", "question": "red", "answers": [], "evidence": ["a#r0c0"]}) + "\n"
    )
    at = "http://host:1/tables"
    assert cli.main(["index", "cluster", at, "--corpus", str(corpus), "--of", "tables"]) == 0
    assert cluster.indices["tables"]["b"] == {"id": "b", "number": 0, "text": "colour red red fish"}
    assert cluster.meta["tables"]["lisax"]["k1"] == 1.2
    assert cli.main(["index", "tables", "--corpus", str(corpus), "--out", str(tmp_path / "index")]) == 0
    asked = ["retrieve", "tables", "--index", str(tmp_path / "index"), "--questions", str(corpus)]
    assert cli.main([*asked, "--out", str(run), "--cluster", at]) == 0
    assert [line.split()[2:5] for line in run.read_text().splitlines()] == [
        ["b", "1", "2.0"],
        ["a", "2", "1.0000001192092896"],
        ["d", "3", "1.0"],
    ]  # equal in the cluster
