"""The client against a substitute for a cluster: over HTTP with the official clients, where they are installed."""

import contextlib
import json
import sys

import pytest

from lisax import cli
from lisax.errors import LisaxError
from lisax.files.writing import write_json_lines
from lisax.retrieval import cluster_client, elastic
from lisax.retrieval.elastic import TEXT, ElasticIndex, scored
from tests.small_cluster import ELASTICSEARCH, OPENSEARCH, Cluster, answering, stand_in

CLIENTS = ["stand-in client", "elasticsearch", "opensearchpy"]
FAMILIES = {"elasticsearch": ELASTICSEARCH, "opensearchpy": OPENSEARCH}


@pytest.fixture
def serving():
    """`serving(package, …)`: a cluster that the client of a package speaks to, and its URL."""
    with contextlib.ExitStack() as stack:

        def serving(package, version=None):
            pytest.importorskip(package)
            return stack.enter_context(answering(FAMILIES[package], version))

        yield serving


@pytest.fixture(params=CLIENTS)
def client_and_cluster(request, serving, monkeypatch):
    monkeypatch.setattr(elastic, "FIRST_WAIT", 0)
    monkeypatch.setattr(elastic, "WRITERS", 1)  # failures come in order
    if request.param == CLIENTS[0]:
        cluster = Cluster()
        return stand_in(cluster), cluster
    cluster, url = serving(request.param)
    return cluster_client.connect(url, {}), cluster


DOCUMENTS = [("b", "red red fish"), ("a", "red fish"), ("c", "blue"), ("d", "red fish")]


def texts(documents):
    return ((id, {TEXT: text}) for id, text in documents)


def build(client, name, documents, *, k1=0.6, b=0.5, made_from="", replace=False, **more):
    """An index of texts, as `lisax index cluster` makes one."""
    settings, text = scored(k1, b)
    index = ElasticIndex(client, name)
    make = index.replace if replace else index.build
    meta = {"k1": k1, "b": b, "made_from": made_from}
    make(texts(documents), properties={TEXT: text}, meta=meta, settings=settings | more)
    return index


def ids(found):
    """The ids that each query has found, best first."""
    return [[id for id, _ in hits] for hits in found]


def test_build_add_search(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 3)
    monkeypatch.setattr(elastic, "QUERIES_AT_A_TIME", 1)
    index = build(client, "pages", iter(DOCUMENTS), k1=0.9, b=0.4)
    (created,) = (
        lines[0] for method, _, lines in cluster.requests if method == "PUT" and lines and "mappings" in lines[0]
    )
    meta = cluster.meta["pages"]["lisax"]
    assert meta.pop("made") > 1e9 and meta == {"k1": 0.9, "b": 0.4, "made_from": "", "complete": True}
    assert created["settings"]["similarity"]["lisax"] == {"type": "BM25", "k1": 0.9, "b": 0.4}
    assert created["mappings"]["properties"]["text"]["analyzer"] == "english"
    assert ids(index.search(["red", "blue", "none"], 2)) == [["b", "a"], ["c"], []]
    index.add(texts([("e", "blue blue")]))
    assert ids(index.search(["blue"], 5)) == [["e", "c"]]
    assert cluster.settings["pages"]["refresh_interval"] is None  # the cluster's own again


def test_several_batches_are_sent_at_a_time_and_a_broken_build_misses_none(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 2)
    monkeypatch.setattr(elastic, "WRITERS", 3)
    numbered = [(str(i), f"text {i}") for i in range(40)]

    def breaking():
        for i, text in enumerate(numbered):
            if i == 20:
                cluster.failures = [("_bulk", 0, False)] * elastic.TRIES * elastic.WRITERS
            yield text

    with pytest.raises(LisaxError, match="resumes"):
        build(client, "pages", breaking(), made_from="here")
    assert 10 <= len(cluster.indices["pages"]) < 40
    cluster.failures = []
    build(client, "pages", numbered, made_from="here")
    found = {key: (row["number"], row["text"]) for key, row in cluster.indices["pages"].items()}
    assert found == {id: (number, text) for number, (id, text) in enumerate(numbered)}


def test_ids_of_any_length(client_and_cluster):
    client, _ = client_and_cluster
    long = "Ä" * 400
    index = build(client, "pages", [*DOCUMENTS, (long, "green")])
    assert ids(index.search(["green"], 1)) == [[long]]
    with pytest.raises(LisaxError, match=f"'{long}' occurs twice"):
        index.add(texts([(long, "yellow")]))


def test_a_new_index_takes_the_name_of_the_old_one(client_and_cluster):
    client, cluster = client_and_cluster
    first = {"made_from": "1" * 64, "number_of_shards": 3, "replace": True}
    index = build(client, "pages", DOCUMENTS, **first)
    assert list(cluster.indices) == ["pages-111111111111"] and ids(index.search(["blue"], 1)) == [["c"]]
    assert cluster.settings["pages-111111111111"]["number_of_shards"] == 3
    cluster.failures = [("_bulk", 0, False)] * elastic.TRIES
    with pytest.raises(LisaxError, match="resumes"):
        build(client, "pages", [("z", "blue")], made_from="2" * 64, replace=True)
    cluster.failures = []
    assert ids(ElasticIndex(client, "pages").search(["blue"], 1)) == [["c"]]
    for _ in range(2):  # the second changes nothing
        index = build(client, "pages", [("z", "blue")], made_from="2" * 64, replace=True)
        assert list(cluster.indices) == ["pages-222222222222"] and ids(index.search(["blue"], 1)) == [["z"]]
    build(client, "own", DOCUMENTS)
    with pytest.raises(LisaxError, match="'own' already, which no alias can replace"):
        build(client, "own", DOCUMENTS, **first)


@pytest.mark.parametrize("version", [8, 9])
def test_one_client_serves_two_versions_of_elasticsearch(serving, version):
    _, url = serving("elasticsearch", version)
    index = build(cluster_client.connect(url, {}), "pages", DOCUMENTS)
    assert ids(index.search(["blue"], 1)) == [["c"]]


def test_a_server_of_another_version_is_named(serving):
    _, url = serving("elasticsearch", 7)
    with pytest.raises(LisaxError, match="install the client of the server's major version"):
        build(cluster_client.connect(url, {}), "pages", DOCUMENTS)


@pytest.mark.parametrize("package", CLIENTS[1:])
def test_a_server_without_tls_is_told_as_such_at_once(serving, package):
    _, url = serving(package)
    url = url.replace("http:", "https:")
    with pytest.raises(LisaxError, match="no trusted TLS connection.*LISAX_CLUSTER_CA"):
        build(cluster_client.connect(url, {}), "pages", DOCUMENTS)


def test_requests_are_signed_for_aws(serving, monkeypatch):
    pytest.importorskip("boto3")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    cluster, url = serving("opensearchpy")
    client = cluster_client.connect(url, {"LISAX_CLUSTER_AWS": "eu-west-1/aoss"})
    build(client, "pages", DOCUMENTS)
    assert cluster.authorization.startswith("AWS4-HMAC-SHA256 Credential=me/")
    assert "/eu-west-1/aoss/aws4_request" in cluster.authorization


def test_errors_are_sentences_and_a_failed_build_leaves_nothing(client_and_cluster):
    client, cluster = client_and_cluster
    with pytest.raises(LisaxError, match="'a' occurs twice"):
        build(client, "pages", [*DOCUMENTS, ("a", "again")])
    with pytest.raises(LisaxError, match="refused document 'x'.*boom"):
        build(client, "pages", [("x", "boom")])
    assert cluster.indices == {}
    index = build(client, "pages", DOCUMENTS)
    with pytest.raises(LisaxError, match="already"):
        build(client, "pages", DOCUMENTS, made_from="others")
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
    index = build(client, "pages", DOCUMENTS)
    assert not cluster.failures and sorted(cluster.indices["pages"]) == ["a", "b", "c", "d"]
    cluster.failures = [("_msearch", 503, False)]
    assert ids(index.search(["blue"], 1)) == [["c"]]


def test_a_build_goes_on_where_the_connection_broke(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 1)

    def documents():
        for number, document in enumerate(DOCUMENTS):
            if number == 3:
                cluster.failures = [("_bulk", 0, False)] * elastic.TRIES
            yield document

    with pytest.raises(LisaxError, match="cannot be reached.*resumes"):
        build(client, "pages", documents(), made_from="here")
    stored = set(cluster.indices["pages"])
    assert stored in ({"b", "a"}, {"b", "a", "c"})  # the third is on its way when the connection breaks
    with pytest.raises(LisaxError, match="not filled to its end"):
        ElasticIndex(client, "pages").search(["red"], 1)
    for other in ({"made_from": "there"}, {"made_from": "here", "k1": 2.0}):
        with pytest.raises(LisaxError, match="already"):
            build(client, "pages", DOCUMENTS, **other)
    cluster.failures, cluster.requests = [], []
    index = build(client, "pages", DOCUMENTS, made_from="here")
    sent = [lines[0]["create"]["_id"] for _, path, lines in cluster.requests if path.endswith("_bulk")]
    assert sent == [id for id, _ in DOCUMENTS][len(stored) - 1 :] and ids(index.search(["red"], 1)) == [["b"]]
    cluster.requests = []
    build(client, "pages", DOCUMENTS, made_from="here")
    assert not any(method in ("PUT", "DELETE") or path.endswith("_bulk") for method, path, _ in cluster.requests)


def test_an_addition_goes_on_and_an_id_with_another_text_is_an_error(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 1)
    index, more = build(client, "pages", DOCUMENTS), [("e", "red"), ("f", "blue"), ("g", "red")]

    def documents():
        yield from more[:2]
        cluster.failures = [("_bulk", 0, False)] * elastic.TRIES
        yield more[2]

    with pytest.raises(LisaxError, match="resumes"):
        index.add(texts(documents()))
    cluster.failures = []
    index.add(texts(more))
    assert sorted(cluster.indices["pages"]) == list("abcdefg")
    with pytest.raises(LisaxError, match="'e' occurs twice"):
        index.add(texts([("e", "green")]))


def test_a_cluster_that_stays_busy_keeps_what_it_has(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 3)
    cluster.busy = elastic.TRIES
    with pytest.raises(LisaxError, match="too busy.*resumes"):
        build(client, "pages", DOCUMENTS)
    assert sorted(cluster.indices["pages"]) == ["a", "b", "c"]
    cluster.busy = 1
    assert ids(build(client, "pages", DOCUMENTS).search(["red"], 1)) == [["b"]]


@pytest.mark.parametrize(
    "part",
    [{"_shards": {"total": 2, "failed": 1}}, {"timed_out": True}, {"status": 429, "error": {"type": "rejected"}}],
    ids=["a shard failed", "timed out", "rejected"],
)
def test_an_answer_in_part_is_none(client_and_cluster, part):
    client, cluster = client_and_cluster
    index = build(client, "pages", DOCUMENTS)
    cluster.parts = [part]
    assert ids(index.search(["blue", "red"], 1)) == [["c"], ["b"]]
    cluster.parts = [part] * elastic.TRIES
    with pytest.raises(LisaxError, match="query 'blue'"):
        index.search(["blue"], 1)


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        *(("_msearch", answer) for answer in ("<html>", {}, {"responses": []}, {"responses": [1]})),
        *(("_msearch", {"responses": [{"hits": hits}]}) for hits in ([], {"hits": [{"_id": 1, "_score": 1}]})),
        *(("_mapping", answer) for answer in ({}, {"pages": {"mappings": {"_meta": {"lisax": 1}}}})),
        *(("_count", answer) for answer in ({}, {"count": 1e999})),
        *(
            ("_bulk", answer)
            for answer in ({}, {"errors": True}, {"errors": True, "items": [{"create": {"_id": "z"}}]})
        ),
    ],
)
def test_answers_of_another_shape_are_refused(action, answer):
    cluster = Cluster()
    index, usual = build(stand_in(cluster), "pages", DOCUMENTS), cluster.handle
    cluster.handle = lambda method, path, *more: (200, answer) if path.endswith(action) else usual(method, path, *more)
    with pytest.raises(LisaxError, match="the cluster's index 'pages'"):
        if action in ("_count", "_bulk"):
            index.add(texts([("e", "red")]))
        index.search(["red"], 1)


def test_requests_stay_small(client_and_cluster, monkeypatch):
    client, cluster = client_and_cluster
    monkeypatch.setattr(elastic, "BULK_CHARACTERS", 36)  # of the fields as JSON
    build(client, "pages", [*DOCUMENTS, ("e", "a long text of its own")])
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
def test_names_and_keys_come_from_the_environment(serving, package):
    cluster, url = serving(package)
    for environment, sent in (
        ({"LISAX_CLUSTER_API_KEY": "a2V5"}, "ApiKey a2V5"),
        ({"LISAX_CLUSTER_USER": "u", "LISAX_CLUSTER_PASSWORD": "p"}, "Basic dTpw"),
    ):
        build(cluster_client.connect(url, environment), sent[:3].lower(), DOCUMENTS)
        assert cluster.authorization == sent


def test_secrets_are_kept_out_of_commands():
    with pytest.raises(LisaxError, match="keep the password out"):
        cluster_client.connect("http://me:secret@host:9200", {})
    with pytest.raises(LisaxError, match="go together"):
        cluster_client.connect("http://host:9200", {"LISAX_CLUSTER_USER": "me"})


@pytest.mark.parametrize(
    ("package", "extra", "url"),
    [("elasticsearch", "elastic", "http://h:1"), ("opensearchpy", "opensearch", "opensearch+http://h:1")],
)
def test_without_the_client_the_user_is_told(monkeypatch, package, extra, url):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(LisaxError, match=rf"lisax\[{extra}"):
        cluster_client.connect(url, {})


def test_the_verbs_fill_and_search_a_cluster(monkeypatch, tmp_path, capsys):
    cluster = Cluster()
    monkeypatch.setattr(cluster_client, "connect", lambda url, **_: {"http://host:1": stand_in(cluster)}[url])
    corpus, run = tmp_path / "corpus", tmp_path / "run.trec"
    corpus.mkdir()
    write_json_lines(corpus / "pages.jsonl", ({"id": i, "title": i, "sentences": [text]} for i, text in DOCUMENTS))
    claims = corpus / "claims.train.jsonl"
    claims.write_text(json.dumps({"id": "1", "claim": "red", "label": "NOT ENOUGH INFO"}) + "\n")
    at = "http://host:1/pages"
    assert cli.main(["index", "cluster", at, "--corpus", str(corpus)]) == 0
    assert cluster.indices["pages"]["b"]["text"] == "b red red fish"
    asked = ["retrieve", "documents", "--index", at, "--claims", str(claims), "--out", str(run)]
    assert cli.main([*asked, "--method", "bm25", "--k", "2"]) == 0
    assert [line.split()[2:4] for line in run.read_text().splitlines()] == [["b", "1"], ["a", "2"]]
    capsys.readouterr()
    for wrong, code, message in (
        (["index", "cluster", at, "--corpus", str(corpus), "--of", "songs"], 2, "'songs' is not one of"),
        (["index", "cluster", at, "--corpus", str(corpus), "--add", "--b", "1"], 2, "keeps the k1 and b"),
        (["index", "cluster", "host", "--corpus", str(corpus)], 1, "URL that ends in"),
        (["retrieve", "tables", "--index", at, "--questions", str(corpus), "--out", "r"], 1, "no questions"),
    ):
        assert cli.main(wrong) == code
        assert message in capsys.readouterr().err
