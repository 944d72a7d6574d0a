"""A cluster's index finds what an index folder of the same corpus finds, in both families of servers."""

import json

import pytest
from random_encoder import write_encoder

from lisax import cli
from lisax.corpora import open_folder
from lisax.errors import DataError, LisaxError
from lisax.predict.answerer import Answerer
from lisax.predict.checker import Checker
from lisax.predict.checking import Settings
from lisax.predict.dense_search import PassageSearch
from lisax.predict.file_steps import verify_file
from lisax.predict.index import Index
from lisax.predict.retriever import add_vectors, open_encoder
from lisax.records import split_sentence_id
from lisax.retrieval import cluster_client, documents, elastic, mixed
from lisax.retrieval.cluster import fill_cluster, open_documents
from lisax.retrieval.corpus_passages import passages_of
from tests.small_cluster import ELASTICSEARCH, HOST, OPENSEARCH, fill, stand_in


@pytest.fixture(scope="module")
def claims(corpus):
    return [claim.text for claim in open_folder(corpus).claims("train")][:20]


@pytest.fixture(scope="module")
def local(tmp_path_factory, corpus, model):
    """`local(of, vectors)`: an index folder of pages or of passages, with Lucene's terms and scores."""
    made = {}

    def local(of, vectors=False):
        if (of, vectors) not in made:
            folder, data = tmp_path_factory.mktemp("local") / "index", open_folder(corpus)
            if of == "documents":
                documents.build_index(data.documents(), folder, analyzer="lucene")
            else:
                mixed.build_index(passages_of(data), folder, analyzer="lucene")
            if vectors:
                add_vectors(folder, open_encoder(model))
            made[of, vectors] = folder
        return Index.open(made[of, vectors])

    return local


def units(found):
    return [one.unit for one in found]


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("of", ["documents", "passages"])
def test_the_evidence_is_that_of_a_folder(server, corpus, local, claims, model, of, vectors):
    remote, here = Index.open(fill(corpus, of, model if vectors else None)), local(of, vectors)
    assert (remote.dense is not None) is vectors is (here.dense is not None)
    server.requests.clear()
    found = remote.search_many(claims, 2000, documents=5)
    assert len(server.requests) < (6 if not vectors else 5 + 3 * len(claims))  # not one for each page
    expected = here.search_many(claims, 2000, documents=5)
    same = [set(units(one)) == set(units(other)) for one, other in zip(found, expected, strict=True)]
    # Names of pages are scored by our own terms in a folder, and by Lucene's in a cluster.
    assert all(found) and sum(same) >= (0.9 if of == "documents" else 1) * len(claims)
    texts = {one.unit: (one.text, one.source, one.place, one.page) for one_claim in expected for one in one_claim}
    read = {one.unit: (one.text, one.source, one.place, one.page) for one_claim in found for one in one_claim}
    assert all(read[unit] == texts[unit] for unit in read.keys() & texts.keys())
    if vectors and of == "documents":
        cosines = {one.unit: one.similarity for one in here.compared(claims[0], found[0])}
        for one in [*found[0], *remote.compared(claims[0], found[0])]:
            assert one.similarity == pytest.approx(cosines[one.unit], abs=1e-5)


def test_titles_and_second_hops_are_those_of_a_folder(server, corpus, local, claims):
    remote, here = Index.open(fill(corpus, "documents")), local("documents")
    for claim in claims:
        assert remote.titles.mentions(claim) == here.titles.mentions(claim)
        assert remote.titles.mentioned(claim) == here.titles.mentioned(claim)
    for title in ("Siege of Noravik", "siege of noravik", "No such page"):
        assert remote.titles.page_with_title(title) == here.titles.page_with_title(title)
        assert remote.titles.is_title(title) == here.titles.is_title(title)
    assert len(remote.titles) == len(here.titles) == 60
    assert list(remote.index.pages) == list(here.index.pages) and len(remote.index.pages) == 60
    assert list(remote.index.pages.titles) == list(here.index.pages.titles)
    for page in here.index.pages:
        assert remote.page(page) == here.page(page)
        assert remote.index.pages.sentence(f"{page}_1") == here.index.pages.sentence(f"{page}_1")
    with pytest.raises(DataError, match="no page with id 'Gone'"):
        remote.index.pages.page("Gone")
    assert remote.lookup("Gone_0") is None and not remote.evidence(["Gone_0", "Gone_1"])
    hopped = [set(map(page_of, units(found))) for found in remote.search_many(claims, 100, hops=2)]
    expected = [set(map(page_of, units(found))) for found in here.search_many(claims, 100, hops=2)]
    assert all(expected) and sum(one == other for one, other in zip(hopped, expected)) >= 0.9 * len(claims)


def page_of(unit):
    return split_sentence_id(unit)[0]


def test_titles_that_were_forgotten_are_looked_up_again(server, corpus, claims, monkeypatch):
    titles = Index.open(fill(corpus, "documents")).titles
    expected = [titles.mentioned(claim) for claim in claims]
    monkeypatch.setattr("lisax.retrieval.cluster_pages.CACHED_KEYS", 0)
    assert [titles.mentioned(claim) for claim in claims] == expected
    number = titles._lookup(next(iter(titles._known)))
    titles._documents.clear()
    assert all(titles.title(one) for _, one in number)


def test_passages_of_each_source_and_of_units(server, corpus, local):
    remote, here = Index.open(fill(corpus, "passages")), local("passages")
    assert remote.index.sources == here.index.sources and len(remote.index) == len(here.index)
    assert remote.components == {"bm25", *(f"passages-{source}" for source in here.index.sources)}
    for source, store in here.index.stores.items():
        passages = list(store)
        assert list(remote.index.stores[source]) == passages
        for passage in passages[:5]:
            assert remote.index.passage(passage.id) == passage
            assert [remote.lookup(unit) for unit in passage.leading] == [here.lookup(unit) for unit in passage.leading]
            owner = passage.id.partition(":")[2].rpartition(":")[0]
            assert list(remote.index.of_owner(source, owner)) == list(here.index.of_owner(source, owner))
    assert remote.index.passage("text:Gone:0") is None and remote.index.passage("Gone") is None
    assert remote.lookup("Gone_0") is None
    with pytest.raises(LisaxError, match="the model reads tables, and this index holds sentences"):
        remote.reading("tables")


def test_a_claim_is_checked_and_a_question_answered_with_no_index_here(server, corpus, local, claims, model, bundles):
    at = fill(corpus, "documents", model)
    verdicts = list(Checker(Index.open(at), model=bundles["pointwise"]).check_many(claims[:8]))
    expected = list(Checker(local("documents", True), model=bundles["pointwise"]).check_many(claims[:8]))
    assert sum(one.label is other.label for one, other in zip(verdicts, expected)) >= 6
    passages = fill(corpus, "passages", name="mixed")
    answerer = Answerer.open(passages, bundles["reader"])
    answers = answerer.ask("Where was Nudric Gilund born?", 2)
    assert answers and answerer.searched == {"passages": len(local("passages").index)}
    with pytest.raises(LisaxError, match="needs an index|answers from an index of `lisax index mixed`"):
        Answerer.open(at, bundles["reader"])


def test_the_search_of_a_reader(server, corpus, local, claims, model):
    encoder = open_encoder(model)
    remote, here = Index.open(fill(corpus, "passages", model)).index, local("passages", True)
    asked = dict(enumerate(claims[:5]))
    for method in ("dense", "fused"):
        found = PassageSearch(remote, method=method, retriever=encoder)(asked, 10)
        expected = PassageSearch(here.folder, method=method, retriever=encoder)(asked, 10)
        for key in asked:
            scores = dict(expected[key])
            assert found[key][0][0] == expected[key][0][0]
            # A random encoder's cosines differ little, so that BM25's small differences reorder the rest.
            assert len(scores.keys() & dict(found[key]).keys()) >= (9 if method == "dense" else 4)
            for id, score in found[key] if method == "dense" else ():
                assert scores.get(id, score) == pytest.approx(score, abs=1e-5)
    bare = Index.open(fill(corpus, "passages", name="bare")).index
    with pytest.raises(LisaxError, match="has no vectors"):
        PassageSearch(bare, method="dense", retriever=encoder)


# --- Vectors ---------------------------------------------------------------------------------------


def test_vectors_are_of_the_model_that_the_index_names(server, corpus, claims, model, tmp_path):
    at = fill(corpus, "documents", model)
    described = server.meta["wiki-vectors"]["lisax"]
    assert described["source"] == str(model) and described["model"] == open_encoder(model).digest
    assert described["over"] == "wiki" and described["records"] == 60 and described["complete"]
    count = len(server.indices["wiki-vectors"])
    assert add_vectors(at, open_encoder(model)) == count  # nothing is left to do
    other = write_encoder(tmp_path / "other", seed=1)
    server.meta["wiki-vectors"]["lisax"]["model"] = open_encoder(other).digest
    with pytest.raises(LisaxError, match=r"vectors of another model than .*small is: make them again by `lisax index"):
        Index.open(at).search(claims[0])
    assert add_vectors(at, open_encoder(other)) == count
    assert Index.open(at).search(claims[0]) and server.meta["wiki-vectors"]["lisax"]["source"] == str(other)
    index = Index.open(at)
    index.weight = 0
    assert index.dense is None


def test_an_interrupted_encoding_goes_on_and_pages_that_are_added_get_vectors(
    server, corpus, claims, model, tmp_path, monkeypatch
):
    monkeypatch.setattr(elastic, "BULK_DOCUMENTS", 10)
    monkeypatch.setattr(elastic, "WRITERS", 1)
    monkeypatch.setattr("lisax.retrieval.cluster_vectors.BLOCK", 50)
    at, encoder = fill(corpus, "documents"), open_encoder(model)
    encode, seen = encoder.passages, []

    def breaking(texts, progress=None):
        seen.append(len(texts))
        if sum(seen) > 100:
            raise KeyboardInterrupt
        return encode(texts, progress)

    monkeypatch.setattr(encoder, "passages", breaking)
    with pytest.raises(KeyboardInterrupt):
        add_vectors(at, encoder)
    monkeypatch.setattr(encoder, "passages", encode)
    stored = len(server.indices["wiki-vectors"])
    assert 0 < stored < 120
    with pytest.raises(DataError, match="no vectors yet; make them with `lisax index vectors"):
        Index.open(at).search(claims[0])
    server.requests.clear()
    total = add_vectors(at, encoder)
    sent = [line for _, path, lines in server.requests if path.endswith("_bulk") for line in lines[::2]]
    assert len(sent) <= total - stored + 10 and total == len(server.indices["wiki-vectors"])
    more = tmp_path / "more"
    more.mkdir()
    rows = [{"id": f"New_{i}", "title": f"New {i}", "sentences": [f"New {i} is a town."]} for i in range(3)]
    (more / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fill(more, "documents", add=True)
    with pytest.raises(DataError, match="no vectors yet"):
        Index.open(at).search("New 1 is a town.")
    assert add_vectors(at, encoder) == total + 3
    assert Index.open(at).search("New 1 is a town.")[0].source == "New 1"


def test_a_replaced_index_has_its_vectors_before_it_has_the_name(server, corpus, claims, model):
    at = fill(corpus, "documents", model, replace=True)
    (first,) = (name for name in server.indices if not name.endswith("-vectors"))
    assert set(server.indices) == {first, f"{first}-vectors"} and Index.open(at).dense is not None
    fill_cluster(open_folder(corpus), "documents", at, corpus_print=[2], replace=True, encoder=open_encoder(model))
    (second,) = (name for name in server.indices if not name.endswith("-vectors"))
    assert set(server.indices) == {second, f"{second}-vectors"} and second != first
    assert Index.open(at).search(claims[0])


def test_encoders_without_cosines_and_fields_of_the_other_family_are_refused(server, corpus, model, monkeypatch):
    at, encoder = fill(corpus, "documents"), open_encoder(model)
    monkeypatch.setattr(encoder, "cosines", False, raising=False)
    with pytest.raises(LisaxError, match="by their cosine"):
        add_vectors(at, encoder)
    monkeypatch.undo()
    asked = {
        ELASTICSEARCH: {"knn": {"field": "vector", "query_vector": [1.0], "k": 1, "num_candidates": 1}},
        OPENSEARCH: {"query": {"knn": {"vector": {"vector": [1.0], "k": 1}}}},
    }
    index = elastic.ElasticIndex(stand_in(server), "wiki")
    with pytest.raises(LisaxError, match="dense_vector. fields|is not knn_vector type"):
        index.find([asked.pop(server.family)])
    with pytest.raises(LisaxError, match="unknown query|Unknown key"):
        index.find([asked.popitem()[1]])
    wrong = {ELASTICSEARCH: "knn_vector", OPENSEARCH: "dense_vector"}[server.family]
    with pytest.raises(LisaxError):
        elastic.ElasticIndex(stand_in(server), "other").begin(properties={"v": {"type": wrong}}, meta={}, settings={})
    assert "other" not in server.indices


# --- The command line ------------------------------------------------------------------------------


def test_the_verbs_take_an_address(server, corpus, claims, model, bundles, capsys, tmp_path):
    at = f"{'opensearch+' * (server.family == OPENSEARCH)}{HOST}/wiki"
    assert cli.main(["index", "cluster", at, "--corpus", str(corpus)]) == 0
    assert cli.main(["index", "vectors", at, "--retriever", str(model)]) == 0
    assert f"{len(server.indices['wiki-vectors']):,} vectors" in capsys.readouterr().out
    check = ["check", claims[0], "--index", at, "--verifier", str(bundles["pointwise"]), "--ranker", "bm25", "--json"]
    assert cli.main(check) == 0
    assert json.loads(capsys.readouterr().out)["evidence"]
    assert cli.main(["index", "cluster", f"{HOST}/mixed", "--corpus", str(corpus), "--of", "passages"]) == 0
    capsys.readouterr()
    asked = ["ask", "Where was Nudric Gilund born?", "--index", f"{HOST}/mixed", "--model", str(bundles["reader"])]
    assert cli.main([*asked, "--json"]) == 0 and json.loads(capsys.readouterr().out.splitlines()[0])["evidence"]
    many = tmp_path / "claims.jsonl"
    many.write_text("".join(json.dumps({"id": str(i), "claim": claim}) + "\n" for i, claim in enumerate(claims[:3])))
    settings = Settings(None, at, bundles["pointwise"])
    before = settings.digest(many)
    assert settings.digest(many) == before
    server.meta["wiki"]["lisax"]["made_from"] = "another"
    assert settings.digest(many) != before
    run, asked = tmp_path / "run.trec", corpus / "claims.train.jsonl"
    for verb, of in (("documents", at), ("mixed", f"{HOST}/mixed")):
        assert cli.main(["retrieve", verb, "--index", of, "--claims", str(asked), "--out", str(run), "--k", "3"]) == 0
        assert run.read_text().count("\n") > 100
    for wrong, of in (("mixed", at), ("documents", f"{HOST}/mixed")):
        assert cli.main(["retrieve", wrong, "--index", of, "--claims", str(asked), "--out", str(run)]) == 1
    capsys.readouterr()
    assert cli.main(["index", "vectors", at, "--retriever", str(model), "--approximate", "hnsw"]) == 2
    assert "its own way" in capsys.readouterr().err


def test_rerank_verify_and_answer_take_an_address(server, corpus, local, bundles, capsys, tmp_path):
    at, mixed = fill(corpus, "documents"), fill(corpus, "whole", name="mixed")
    few = (corpus / "claims.train.jsonl").read_text().splitlines()[:40]
    claims, asked = tmp_path / "claims.jsonl", tmp_path / "questions.jsonl"
    claims.write_text("".join(line + "\n" for line in few))
    asked.write_text("".join((corpus / "questions.train.jsonl").read_text().splitlines(True)[:3]))
    documents = tmp_path / "documents.trec"
    given = ["--claims", str(claims), "--index", at]
    assert cli.main(["retrieve", "documents", *given, "--out", str(documents), "--k", "5"]) == 0

    def written(name, *words, index):
        """The file that a command writes over the cluster, which is that over a folder."""
        server.requests.clear()
        out = tmp_path / name
        assert cli.main([*words, "--index", index, "--out", str(out)]) == 0
        assert len(server.requests) < 90  # not one for each page and passage
        here = local("documents" if index == at else "passages").folder
        assert cli.main([*words, "--index", str(here), "--out", str(tmp_path / "here")]) == 0
        assert out.read_bytes() == (tmp_path / "here").read_bytes() and out.stat().st_size
        (tmp_path / "here").unlink()
        return out

    rank = ["rerank", "--claims", str(claims), "--model", str(bundles["ranker"]), "--depth", "9", "--run"]
    verify = ["verify", "--claims", str(claims), "--model", str(bundles["pointwise"]), "--temporal", "--run"]
    ranked = written("ranked", *rank, str(documents), index=at)
    written("verdicts", *verify, str(ranked), index=at)
    rows = tmp_path / "rows.trec"
    found = ["retrieve", "mixed", "--claims", str(claims), "--index", mixed, "--out", str(rows), "--k", "5"]
    assert cli.main(found) == 0
    written("verdicts_of_rows", *verify, str(written("ranked_rows", *rank, str(rows), index=mixed)), index=mixed)
    written("answers", "answer", "--reader", str(bundles["reader"]), "--questions", str(asked), index=mixed)
    capsys.readouterr()
    answer = ["answer", "--reader", str(bundles["reader"]), "--questions", str(asked), "--out", str(tmp_path / "no")]
    assert cli.main([*answer, "--index", at]) == 1
    assert "a reader answers from an index of `lisax index mixed`" in capsys.readouterr().err
    with pytest.raises(LisaxError, match="the model reads tables, and this index holds sentences"):
        verify_file(bundles["fusion"], claims, rows, at, tmp_path / "no")


def test_an_index_of_another_kind_is_named(server, corpus):
    at = fill(corpus, "tables", name="tables")
    with pytest.raises(LisaxError, match="holds tables, and not documents: search it with `lisax retrieve tables`"):
        open_documents(at)
    server.meta["tables"]["lisax"]["of"] = "songs"
    with pytest.raises(DataError, match="'tables'.*holds no pages, passages or tables"):
        Index.open(at)
    with pytest.raises(LisaxError, match="no such index"):
        Index.open(f"{HOST}/nothing")
    fill(corpus, "documents", name="half")
    server.meta["half"]["lisax"]["complete"] = False
    with pytest.raises(LisaxError, match="not filled to its end"):
        Index.open(f"{HOST}/half")


def test_a_cluster_that_goes_away_is_told_and_answers_again(server, corpus, claims):
    index = Index.open(fill(corpus, "documents"))
    expected = units(index.search(claims[0]))
    server.is_away = True
    with pytest.raises(cluster_client.Unreachable, match="cannot be reached"):
        index.search(claims[1])
    server.is_away = False
    assert index.search(claims[1]) and units(index.search(claims[0])) == expected
