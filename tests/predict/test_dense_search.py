"""Indexes with vectors of a small random encoder: what is encoded, the fused search, and what goes wrong."""

import gc
import json
import weakref
from pathlib import Path

import click
import numpy as np
import pytest
from random_encoder import write_encoder

from lisax import cli
from lisax.errors import DataError, LisaxError
from lisax.predict.dense_search import DenseSearch, PassageSearch
from lisax.predict.index import Index
from lisax.predict.ranker import Bm25Ranker, Ranker
from lisax.predict.retriever import add_vectors, open_encoder
from lisax.predict.sentence_encoder import SentenceEncoder
from lisax.records import Document, Sentence, Table
from lisax.retrieval import dense, documents, few_texts, fusion, mixed, table_text, tables
from lisax.retrieval.cells import Strategy
from lisax.retrieval.dense import keep_weight
from lisax.retrieval.folder import read_components
from lisax.retrieval.passages import Passage, Source
from lisax.weights.pretrained import MODELS

WORDS = ["Anna", "harbour", "town", "opened", "number", "Müller", "the", "of", "was"]


def text(number, words=6):
    return " ".join(np.random.default_rng(number).choice(WORDS, words)) + "."


def page(name, count=4):
    made = (Sentence(name, i, "" if i == 1 else text(hash_of(name, i))) for i in range(count))
    return Document(name, name.replace("_", " "), tuple(made))


def hash_of(name, number):
    return sum(map(ord, name)) * 10 + number


@pytest.fixture(scope="module")
def encoder(model):
    return SentenceEncoder.open(model, max_tokens=32)


PAGES = [page(f"Page_{i}") for i in range(12)]
TABLES = [Table(f"t{i}", f"Table {i}", ("name", ""), ((text(i, 2), "7"), (text(i + 50, 2), ""))) for i in range(8)]
CLAIM = "Anna opened the harbour of the town."


@pytest.fixture
def pages(tmp_path, model):
    folder = documents.build_index(PAGES, tmp_path / "index").folder
    add_vectors(folder, open_encoder(model))
    return folder


def test_a_pages_cosine_is_its_best_sentences(pages, model):
    index, encoder = Index.open(pages), open_encoder(model)
    (query,) = encoder.questions([CLAIM])
    best = {
        one.id: max(encoder.encode([f"{one.title}: {s.text}" for s in one.sentences if s.text]) @ query)
        for one in PAGES
    }
    words = dict(index.index.bm25.search([CLAIM], 50)[0])
    found = dict(DenseSearch.open(pages, only="sentences").search([CLAIM], 50)[0])
    assert found.keys() == best.keys()
    for name, score in found.items():
        assert score == pytest.approx(words.get(name, 0) / max(words.values()) + 1.5 * best[name], abs=1e-5)
    assert list(found.values()) == sorted(found.values(), reverse=True)


def test_sentences_are_found_by_words_and_vectors(pages, model):
    index, encoder = Index.open(pages), open_encoder(model)
    found = index.search_many([CLAIM], 7, documents=12)[0]
    (query,) = encoder.questions([CLAIM])
    texts = {s.id: f"{p.title}: {s.text}" for p in PAGES for s in p.sentences if s.text}
    cosines = dict(zip(texts, encoder.encode(list(texts.values())) @ query))
    assert len(found) == 7 and [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        assert one.similarity == pytest.approx(cosines[one.unit], abs=1e-5)
    ranked = Bm25Ranker().rank(CLAIM, found)
    words = np.array(few_texts.scores(CLAIM, [f"{one.source} {one.text}" for one in found]))
    expected = words / words.max() + 1.5 * np.array([one.similarity for one in found])
    assert [one.score for one in ranked] == pytest.approx(sorted(expected, reverse=True))
    compared = index.compared(CLAIM, index.evidence([one.unit for one in found]))
    assert [one.similarity for one in compared] == pytest.approx([one.similarity for one in found], abs=1e-5)


def test_a_vector_ranker_scores_the_same_with_and_without_vectors_in_the_index(pages, model, tmp_path):
    ranker, index = Ranker.open(model), Index.open(pages)
    plain = Index.open(documents.build_index(PAGES, tmp_path / "plain").folder)
    found = index.search(CLAIM, 7)
    other = ranker.rank(CLAIM, plain.evidence([one.unit for one in found]))
    by_index = Bm25Ranker().rank(CLAIM, found)
    for ranked in (ranker.rank(CLAIM, found), by_index):
        assert [one.unit for one in ranked] == [one.unit for one in other]
        assert [one.score for one in ranked] == pytest.approx([one.score for one in other], abs=1e-5)


def test_without_vectors_and_with_the_weight_0_nothing_changes(pages, tmp_path):
    plain = Index.open(documents.build_index(PAGES, tmp_path / "plain").folder)
    index = Index.open(pages)
    index.weight = 0
    assert index.search(CLAIM, 9) == plain.search(CLAIM, 9)
    assert all(one.similarity is None for one in plain.search(CLAIM, 9))
    assert plain.compared(CLAIM, plain.search(CLAIM, 3)) == plain.search(CLAIM, 3)


def test_added_pages_are_encoded_alone_and_replaced_ones_lose_their_vectors(pages, model):
    encoder, told = open_encoder(model), []
    documents.add_documents([page("New_page")], pages)
    with pytest.raises(DataError, match="its sentences have no vectors yet; make them with `lisax index vectors"):
        Index.open(pages).search(CLAIM)
    assert dense.to_encode(pages, encoder.digest) == 3
    assert dense.encode_index(pages, encoder, told.append) == 39 and sum(told) == 3
    query = encoder.encode(["New page: " + page("New_page").sentences[0].text])
    assert dense.DenseIndex.open(pages).search(query, 1)[0][0] == ("New_page", pytest.approx(1, abs=1e-5))
    documents.build_index([*PAGES, page("New_page")], pages)  # the same pages, in one part
    assert dense.source_of_vectors(pages) is None
    dense.encode_index(pages, encoder)
    documents.build_index([*PAGES, page("New_page")], pages)  # the same part: an interrupted verb goes on
    assert dense.to_encode(pages, encoder.digest) == 0
    documents.build_index(PAGES[1:], pages)
    assert dense.source_of_vectors(pages) is None and Index.open(pages).search(CLAIM)[0].similarity is None


def test_tables_are_found_by_words_and_vectors(tmp_path, model):
    folder, encoder = tmp_path / "tables", open_encoder(model)
    table_text.build_index(TABLES, folder)
    before = Index.open(folder).search(CLAIM, 8)
    add_vectors(folder, encoder)
    found = Index.open(folder).search(CLAIM, 8)
    assert len(found) == 8 and [one.unit for one in found] != [one.unit for one in before]
    first, second = TABLES[0].rows
    cosine = encoder.similarities(CLAIM, [f"Table 0: name: {first[0]}, 7. name: {second[0]}"])[0]
    words = {one.unit: one.score for one in before}
    expected = words.get("t0", 0) / max(words.values()) + 1.5 * cosine
    assert {one.unit: one.score for one in found}["t0"] == pytest.approx(expected, abs=1e-5)
    table_text.build_index([Table("new", "New", ("name",), (("x",),))], folder, add=True)
    assert dense.to_encode(folder, encoder.digest) == 1


def test_passages_are_found_by_words_and_vectors(tmp_path, model):
    made = [Passage(f"text:p{i}:0", f"p{i}", text(i), (f"p{i}_0",), (0,)) for i in range(9)]
    folder, encoder = mixed.build_index({Source.TEXT: made}, tmp_path / "mixed").folder, open_encoder(model)
    add_vectors(folder, encoder)
    query = encoder.encode([f"{made[3].title}: {made[3].text}"])[0]
    assert dense.DenseIndex.open(folder).search(query[None], 1)[0][0][0] == made[3].id
    searched = PassageSearch(folder, method="fused", retriever=encoder)({"q": CLAIM}, 9)["q"]
    assert searched == DenseSearch.open(folder).search([CLAIM], 9)[0]
    units = [made[int(hit[6])].provenance[0] for hit, _ in searched]
    assert [one.unit for one in Index.open(folder).search_many([CLAIM], 9)[0]] == units
    mixed.build_index({Source.TEXT: made}, folder)
    assert dense.to_encode(folder, encoder.digest) == 0


def test_an_index_built_with_vectors_is_kept_apart(tmp_path, model, monkeypatch):
    monkeypatch.setenv("LISAX_CACHE", str(tmp_path / "cache"))
    built = [Index.build(PAGES, vectors=vectors).folder for vectors in (None, model, model)]
    assert built[0] != built[1] == built[2]
    assert [dense.source_of_vectors(folder) for folder in built] == [None, str(model), str(model)]
    with_tables = Index.build(TABLES, kind="tables", vectors=model).folder
    assert {name: table_text.open_index(with_tables).settings[name] for name in ("k1", "b")} == {"k1": 0.3, "b": 0.9}
    with pytest.raises(LisaxError, match="an index of cells has no vectors"):
        Index.build(TABLES, kind="cells", vectors=model)


def test_vectors_of_another_model_are_refused(pages, model, tmp_path):
    other = open_encoder(write_encoder(tmp_path / "other", seed=1))
    with pytest.raises(LisaxError, match="vectors of another model than .*other is: make them again by `lisax index"):
        DenseSearch(dense.DenseIndex.open(pages), other, Index.open(pages).index.bm25.search)
    assert dense.to_encode(pages, other.digest) == 36
    dense.encode_index(pages, other)
    assert dense.source_of_vectors(pages) == str(tmp_path / "other")


def test_the_verbs(tmp_path, model, capsys):
    corpus, index = tmp_path / "corpus", tmp_path / "index"
    corpus.mkdir()
    (corpus / "Anna.txt").write_text("Anna was born. The harbour was opened by Anna.")
    (corpus / "Town.txt").write_text("The town has a harbour.")
    assert cli.main(["index", "documents", "--corpus", str(corpus), "--out", str(index), "--vectors", str(model)]) == 0
    assert "3 vectors" in capsys.readouterr().out
    more = tmp_path / "more"
    more.mkdir()
    (more / "Müller.txt").write_text("Müller opened the town.")
    assert cli.main(["index", "documents", "--corpus", str(more), "--out", str(index), "--add"]) == 0
    assert "4 vectors" in capsys.readouterr().out
    claims = tmp_path / "claims.jsonl"
    claims.write_text('{"id": "1", "claim": "Anna opened the harbour."}\n')
    runs = {}
    for weight in ("0", "1.5", "3"):
        out = tmp_path / f"{weight}.trec"
        arguments = ["retrieve", "documents", "--index", index, "--claims", claims, "--out", out, "--method", "bm25"]
        assert cli.main([*map(str, arguments), "--weight", weight]) == 0
        runs[weight] = out.read_text()
    assert len(set(runs.values())) == 3
    out = str(tmp_path / "sentences.trec")
    words = ["rerank", "--model=bm25", f"--index={index}", f"--claims={claims}"]
    assert cli.main([*words, f"--run={tmp_path}/3.trec", f"--out={out}"]) == 0
    assert len(Path(out).read_text().splitlines()) == 4
    assert cli.main(["index", "check", str(index)]) == 0


def test_the_weight_is_fitted_to_judged_claims(pages, tmp_path, capsys):
    claims = tmp_path / "claims.jsonl"
    rows = [
        {"id": str(i), "claim": one.sentences[0].text, "label": "SUPPORTS", "evidence": [[f"{one.id}_0"]]}
        for i, one in enumerate(PAGES)
    ]
    claims.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert cli.main(["retrieve", "weight", "--index", str(pages), "--claims", str(claims)]) == 0
    title, _, *lines = capsys.readouterr().out.splitlines()
    table = {float(line.split()[0]): float(line.split()[1]) for line in lines}
    assert title == "12 queries with known evidence" and list(table) == list(fusion.WEIGHTS)
    (best,) = [float(line.split()[0]) for line in lines if line.endswith("*")]
    assert table[best] == max(table.values())
    gold = {row["claim"]: one.id for row, one in zip(rows, PAGES)}
    dense_search = DenseSearch.open(pages, best, "sentences") or Index.open(pages).index.bm25
    ranks = [
        1 + [hit for hit, _ in hits].index(gold[text]) for text, hits in zip(gold, dense_search.search(list(gold), 12))
    ]
    assert np.mean(1 / np.array(ranks)) == pytest.approx(table[best], abs=1e-4)

    assert DenseSearch.open(pages, only="sentences").weight == fusion.WEIGHT
    assert cli.main(["retrieve", "weight", "--index", str(pages), "--claims", str(claims), "--keep"]) == 0
    assert f"{pages} is searched with the weight {best:g} from now on" in capsys.readouterr().out
    assert cli.main(["index", "check", str(pages)]) == 0


def test_a_kept_weight_is_of_one_models_vectors(pages, tmp_path):
    keep_weight(pages, "sentences", 0.25, 12)
    assert DenseSearch.open(pages, only="sentences").weight == 0.25
    assert DenseSearch.open(pages, 3, "sentences").weight == 3 and DenseSearch.open(pages, 0, "sentences") is None
    keep_weight(pages, "sentences", 0, 12)
    assert DenseSearch.open(pages, only="sentences") is None
    add_vectors(pages, open_encoder(write_encoder(tmp_path / "other", 1)))
    assert DenseSearch.open(pages, only="sentences").weight == fusion.WEIGHT


def test_a_weight_is_the_least_of_the_best_and_misses_count():
    clear = fusion.Judged(np.array([2.0, 0]), np.array([0.0, 1]), np.array([False, True]))
    missed = fusion.Judged(np.array([1.0]), np.array([0.5]), np.array([False]), missed=1)
    weight, precisions = fusion.fit([clear, missed])
    assert weight == 1.25 and precisions[1.0] == 0.25 and precisions[1.25] == 0.5
    with pytest.raises(LisaxError, match="no query has a relevant record"):
        fusion.fit([fusion.Judged(np.ones(1), np.ones(1), np.array([False]))])
    assert fusion.fused([], [], 1.5).shape == (0,)


def test_the_inverted_file_is_used_where_there_is_one(pages):
    exact = DenseSearch.open(pages, only="sentences").search([CLAIM], 12)[0]
    dense.approximate(pages)
    vectors = dense.DenseIndex.open(pages)
    assert vectors.is_listed
    near = DenseSearch.open(pages, only="sentences").search([CLAIM], 12)[0]
    assert [hit for hit, _ in near] == [hit for hit, _ in exact]
    assert [score for _, score in near] == pytest.approx([score for _, score in exact], abs=1e-5)


def test_an_interrupted_encoding_of_sentences_resumes(tmp_path, model, monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", 8)
    folder, encoder = documents.build_index(PAGES, tmp_path / "index").folder, open_encoder(model)
    blocks, encode = [], encoder.passages

    def interrupted(passages, progress=None):
        if len(blocks) == 2:
            raise KeyboardInterrupt
        blocks.append(passages)
        return encode(passages, progress)

    monkeypatch.setattr(encoder, "passages", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dense.encode_index(folder, encoder)
    with pytest.raises(DataError, match="have no vectors yet"):
        Index.open(folder).search(CLAIM)
    monkeypatch.setattr(encoder, "passages", encode)
    assert dense.to_encode(folder, encoder.digest) == 36 - 16 and dense.encode_index(folder, encoder) == 36
    texts = [f"{one.title}: {s.text}" for one in PAGES for s in one.sentences if s.text]
    index, vectors = dense.DenseIndex.open(folder), encoder.encode(texts)
    (query,) = encoder.questions([CLAIM])
    found = np.concatenate([index.products(query, one.id) for one in PAGES])
    np.testing.assert_allclose(found, vectors @ query, atol=1e-5)


def test_minilm_finds_what_shares_no_word_with_the_claim(tmp_path):
    if not MODELS["minilm"].is_there:
        pytest.skip("needs MiniLM's weights: lisax models get minilm")
    texts = {"Rain": "It pours nearly all winter long.", "Bread": "Bakers knead dough.", "Cars": "Engines burn petrol."}
    made = [Document(name, name, (Sentence(name, 0, text),)) for name, text in texts.items()]
    index = Index.build(made, tmp_path / "index", vectors="minilm")
    claim = "The weather is wet during the cold season."
    assert index.search(claim, 1)[0].unit == "Rain_0"
    words = Index.open(tmp_path / "index")
    words.weight = 0
    assert not words.search(claim, 1)


def test_what_is_no_encoder_is_told(tmp_path, pages, model, capsys):
    (tmp_path / "empty").mkdir()
    for wrong in ("empty", "nothing"):
        assert cli.main(["index", "vectors", str(pages), "--retriever", str(tmp_path / wrong)]) == 1
        assert str(tmp_path / wrong) in capsys.readouterr().err
    cells = tmp_path / "cells"
    tables.build_index(TABLES, cells, Strategy.ENTITY_EXACT)
    assert cli.main(["index", "vectors", str(cells), "--retriever", str(model)]) == 1
    assert "vectors are of passages, pages or tables, and this index has cells" in capsys.readouterr().err


def test_shards_from_the_command_line(tmp_path, pages, model, monkeypatch, capsys):
    monkeypatch.setattr(dense, "BLOCK", 8)
    folder = documents.build_index(PAGES, tmp_path / "shards").folder

    def vectors(*more):
        return cli.invoke(["index", "vectors", str(folder), "--retriever", str(model), *more])

    assert [vectors("--shard", f"{shard}/2", "--bits", "8") for shard in (1, 2)] == [0, 0]
    with pytest.raises(DataError, match="of 5 of 5 blocks of 'sentences' are missing"):
        vectors("--join")  # of 32 bits
    assert vectors("--join", "--bits", "8", "--approximate", "lists") == 0
    printed = capsys.readouterr().out
    assert "16 vectors of shard 1 of 2" in printed and "36 vectors" in printed
    index = dense.DenseIndex.open(folder)
    assert index.is_listed and not (folder / "shards").exists()
    dense.encode_index(pages, open_encoder(model), bits=8)
    one, joined = (read_components(of)["dense-sentences"] for of in (pages, folder))
    assert one["digest"] == joined["digest"]  # the bytes of one process
    for wrong in (["--shard", "3/2"], ["--shard", "0/2"], ["--shard", "1"], ["--shard", "1/2", "--join"]):
        with pytest.raises(click.UsageError, match="expected K/N|leave --join"):
            vectors(*wrong)


def test_indexes_with_vectors_of_one_model_share_it_in_memory(model):
    one, other = open_encoder(model), open_encoder(model)
    assert one is other
    kept = weakref.ref(one)
    del one, other
    gc.collect()
    assert kept() is None  # what nobody uses is not kept
