"""The page over one index of text, tables and graphs: claims checked and questions answered from all of them."""

import io
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from markup import HOSTILE
from small_page import Browser, caller, last_answers, models, shown, words
from small_readers import build_mixed, reader_bundle, retriever_bundle

from lisax import Index
from lisax.cli import main
from lisax.corpora import open_folder
from lisax.errors import LisaxError
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.ranking import RANK_ENTITIES
from lisax.predict.dense_search import PassageSearch
from lisax.predict.judging import verifying
from lisax.predict.passage_index import PassageIndex
from lisax.predict.ranker import SentenceRanker, ranking
from lisax.predict.reader import Reader
from lisax.predict.retriever import Retriever
from lisax.predict.verifier import Labeller
from lisax.records import Claim, Graph
from lisax.retrieval import mixed, passages
from lisax.retrieval.dense import encode_index
from lisax.retrieval.entities import default_spotter
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.passages import Source
from lisax.retrieval.runs import read_run
from lisax.serve import start
from lisax.serve.answering import Engine
from lisax.serve.contents import warming
from lisax.serve.export import gather
from lisax.serve.library import Library
from lisax.serve.limits import Limits
from lisax.serve.models import LABELLER, PARTS, RANKER, READER, RETRIEVER, Models

CLAIM, QUESTION = "Tarn, whose mayor is Mara Velin, won 18 points in 1971.", "Who is the mayor of Tarn?"
PLACES = {
    "text": "text: sentence {} of the page Tarn_1",
    "table": "table (raw): row {} of the table Tarn_1:seasons",
    "graph": "graph (raw): edge {} of the graph Tarn_1:graph",
}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    """(reader, retriever)"""
    folder = tmp_path_factory.mktemp("readers")
    return reader_bundle(folder / "reader"), retriever_bundle(folder / "retriever")


@pytest.fixture(scope="module")
def made(tmp_path_factory, bundles):
    """A ranker and a labeller of sentences, a reader and a retriever."""
    hashing = models(tmp_path_factory.mktemp("models"), **{RANKER: RANK_ENTITIES, LABELLER: LABEL_POINTWISE})
    return Models(
        {
            LABELLER: hashing[LABELLER],
            RANKER: hashing[RANKER],
            READER: Reader(bundles[0]),
            RETRIEVER: Retriever(bundles[1]),
        }
    )


@pytest.fixture(scope="module")
def index(tmp_path_factory, made):
    folder = build_mixed(tmp_path_factory.mktemp("mixed") / "index")
    encode_index(folder, made[RETRIEVER])
    return folder


@pytest.fixture
def page(page):
    page.engine.check(page.library)
    return page


def place(unit: str) -> str:
    """How the page says where a unit of the small world stands."""
    source = {"#r": "table", "#e": "graph"}.get(unit[-3:-1], "text")
    return PLACES[source].format(int(unit[-1]) + 1)


def test_a_claim_is_checked_by_sentences_rows_and_edges_as_the_pipeline_does(browser, page, index, made, tmp_path):
    found = words(shown(browser.ask(CLAIM, "claim")))
    (row,) = last_answers(page.store, 1)[0].result["verdicts"]
    claim, evidence = Claim("c", CLAIM), PassageIndex(MixedIndex.open(index))
    candidates = evidence.retrieve([claim], 20)
    units = evidence.evidence(candidates[claim.id], 100)
    rank = ranking(SentenceRanker(made[RANKER]), lambda claim: units, default_spotter().spot, "ranker")
    (tmp_path / "run.trec").write_text("\n".join(rank([claim])))
    (verdict,) = verifying(Labeller(made[LABELLER]), read_run(tmp_path / "run.trec"), evidence)([claim])
    assert row["label"] == verdict.label and row["evidence"] == [one.unit for one in verdict.evidence]
    assert row["probabilities"] == pytest.approx(list(verdict.probabilities.values()), abs=1e-6)
    assert "From text, tables and graphs:" in found and len(row["evidence"]) == 5
    assert all(place(unit) in found and evidence.lookup(unit).text in found for unit in row["evidence"])
    assert {place(unit).partition(":")[0] for unit in row["evidence"]} == {"text", "table (raw)", "graph (raw)"}


def test_dates_decide_where_they_can_and_the_page_says_so(opened, made, tmp_path):
    graph = Graph("Tarn:graph", "Tarn", (("founded", "1850"), ("river", "Orm")))
    mixed.build_index({Source.GRAPH: passages.of_graph(graph)}, tmp_path / "index")
    page = opened(tmp_path / "index", Models({role: made[role] for role in (RANKER, LABELLER)}))
    for temporal in (True, False):
        page.engine.temporal = temporal
        found = words(shown(Browser(page).ask("Tarn was founded in 1900.", "claim")))
        (row,) = last_answers(page.store, 1)[0].result["verdicts"]
        assert ("The dates decide:" in found) is temporal and ("temporal" in row) is temporal
        if temporal:
            assert f"The dates decide: {row['temporal']['reason']}. Without them the model says:" in found
            assert row["label"] == row["temporal"]["label"] == "REFUTES"


def test_what_is_said_of_such_a_verdict_is_kept_and_can_be_trained_on(browser, page, tmp_path):
    address = browser.ask(CLAIM, "claim").url.path
    units = last_answers(page.store, 1)[0].result["verdicts"][0]["evidence"]
    row, edge = (next(unit for unit in units if mark in unit) for mark in ("#r", "#e"))
    said = browser.fill(
        f"{address}/feedback",
        say="verdict",
        source="passages",
        label="REFUTES",
        evidence=[row, edge],
        back="v-passages",
    )
    assert said.url.fragment == "v-passages" and said.text.count(" checked> <b>") == 2
    assert "Kept: the right verdict from text, tables and graphs is: refuted" in words(shown(said))
    zipfile.ZipFile(io.BytesIO(browser.get("/feedback/export.zip").content)).extractall(tmp_path / "out")
    data = open_folder(tmp_path / "out" / "feedback")
    (claim,) = data.claims("train")
    assert claim.label == "REFUTES" and claim.evidence_sets == ((f"index:{row}_0", f"index:{edge}_0"),)
    texts = {
        sentence.id: (document.title, sentence.text) for document in data.documents() for sentence in document.sentences
    }
    assert set(claim.candidates) == set(texts) and len(texts) == 6  # all that was retrieved
    for unit in units:
        passage = page.engine.evidence(page.library.get("index")).lookup(unit)
        assert texts[f"index:{unit}_0"] == (passage.title, passage.text)


def test_a_question_is_answered_with_its_place_marked_as_lisax_answer_does(browser, page, index, made):
    response = browser.ask(QUESTION)
    found = shown(response)
    rows = last_answers(page.store, 1)[0].result["answers"]
    hits = PassageSearch(index, method="fused", retriever=made[RETRIEVER])({"q": QUESTION}, 100)["q"]
    opened = MixedIndex.open(index)
    (answers,) = made[READER].read([(QUESTION, [opened.passage(hit) for hit, _ in hits])])
    assert [row["answer"] for row in rows] == [answer.text for answer in answers] and len(rows) == 5
    assert [row["probability"] for row in rows] == pytest.approx([answer.probability for answer in answers], rel=1e-5)
    marked = re.findall(r'<p class="passage">(.*?)<mark>(.*?)</mark>(.*?)</p>', response.text, re.DOTALL)
    assert [(before + answer + after, answer) for before, answer, after in marked] == [
        (opened.passage(row["passage"]).text, row["answer"]) for row in rows
    ]  # nothing in them is escaped
    assert all(place(row["unit"]) in words(found) for row in rows)
    assert f"{100 * rows[0]['probability']:.1f} %" in words(found)
    assert QUESTION in words(shown(browser.get(response.url.path)))
    refused = browser.fill(f"{response.url.path}/feedback", say="table right", table="x")
    assert refused.status_code == 400 and "not of this answer" in words(shown(refused))


def test_without_a_retriever_passages_are_found_by_words(opened, made):
    by_words = opened(made=Models({READER: made[READER]}))
    assert by_words.engine.kinds(by_words.library.get("index")) == ("question", "search")
    browser = Browser(by_words)
    assert "mayor" in words(shown(browser.ask(QUESTION)))
    assert "No answer was found" in words(shown(browser.ask("zzz?")))
    assert browser.ask(CLAIM, "claim").status_code == 400


@pytest.mark.parametrize("bad", HOSTILE)
def test_hostile_passages_titles_and_answers_stay_text(tmp_path, opened, made, bad):
    index = build_mixed(tmp_path / "index", title=bad, said=bad)
    page = opened(index, Models({READER: made[READER], LABELLER: made[LABELLER]}))
    browser = Browser(page)
    claim = shown(browser.ask(f"Tarn 1972 known for {bad}", "claim"))
    assert words(claim).count(" ".join(bad.split())) >= 4  # what was asked, and a sentence, a row, an edge
    answered = browser.ask(f"Tarn mayor {bad}")
    (row, *_) = last_answers(page.store, 1)[0].result["answers"]
    # As it could be: an answer that is the hostile text itself.
    passage = page.engine.search(page.library.get("index")).index.passage("graph:Tarn_1:graph:0")
    said = " ".join(bad.split())
    begin = passage.text.index(said)
    row |= {"answer": said, "marked": said, "begin": begin, "end": begin + len(said)}
    row |= {"passage": passage.id, "unit": "Tarn_1:graph#e1"}
    kept = page.store.add_answer("index", "question", bad, {"seconds": 0.1, "answers": [row]})
    response = browser.get(f"/answers/{kept.id}")
    for found in (shown(answered), shown(response)):
        assert not {tag for tag, _ in found.elements} & {"img", "svg"} and found.count()["script"] == 1
    assert response.text.count("<mark>") == 1 and words(shown(response)).count(said) >= 3


def test_an_answer_whose_passage_has_changed_is_shown_without_it(tmp_path, opened, made):
    index, only = build_mixed(tmp_path / "index"), Models({READER: made[READER]})
    page = opened(index, only)
    address = Browser(page).ask(QUESTION).url.path
    rows = last_answers(page.store, 1)[0].result["answers"]
    build_mixed(index, said="x")
    page, now = opened(index, only), MixedIndex.open(index)
    found = shown(Browser(page).get(address))
    kept = [row for row in rows if now.passage(row["passage"]).text[row["begin"] : row["end"]] == row["answer"]]
    assert 0 < len(kept) < len(rows) == found.count()["li"] - 4  # those of the navigation
    assert found.count()["mark"] == len(kept)
    assert words(found).count("The documents no longer hold it") == len(rows) - len(kept)
    # A generated answer may stand in none from the start.
    nowhere = page.store.add_answer(
        "index", "question", QUESTION, {"seconds": 0.1, "answers": [{"answer": "Orm", "probability": 0.25}]}
    )
    assert "Orm 25.0 % The documents no longer hold it" in words(shown(Browser(page).get(f"/answers/{nowhere.id}")))


def test_evidence_that_is_gone_is_not_trained_on(tmp_path, opened, made):
    index, only = build_mixed(tmp_path / "index"), Models({LABELLER: made[LABELLER]})
    page = opened(index, only)
    browser = Browser(page)
    address = browser.ask(CLAIM, "claim").url.path
    edge = next(unit for unit in last_answers(page.store, 1)[0].result["verdicts"][0]["evidence"] if "#e" in unit)
    browser.fill(f"{address}/feedback", say="verdict", source="passages", label="SUPPORTS", evidence=[edge])
    mixed.remove_source(Source.GRAPH, index)
    page = opened(index, only)
    gathered = gather(page.store.feedback(), page.library, page.engine)
    assert not gathered.claims and gathered.skipped.total() == 1
    assert edge not in Browser(page).get(address).text


def test_titles_of_passages_are_asked_about_at_the_start(page, monkeypatch):
    asked = []
    monkeypatch.setattr(page.engine, "ask", lambda corpus, kind, text: asked.append((kind, text)))
    for work in warming(page.engine, page.library):
        work()
    assert asked == [("question", "What is Tarn?"), ("claim", "What is Tarn?")]


@pytest.mark.parametrize(
    ("roles", "with_index", "complaint"),
    [
        ([RETRIEVER], True, "finds passages for a reader"),
        ([READER], False, "reads passages: give an index"),
        ([RANKER], True, "no model that is given reads them"),
        ([READER, RETRIEVER], True, "have no vectors"),
    ],
    ids=["no-reader", "no-passages", "no-model", "no-vectors"],
)
def test_models_and_indexes_that_do_not_fit(tmp_path, made, roles, with_index, complaint):
    library = Library([build_mixed(tmp_path / "index")] if with_index else [], tmp_path / "corpora", Limits())
    with pytest.raises(LisaxError, match=complaint):
        Engine(Models({role: made[role] for role in roles}, {role: tmp_path / role for role in roles})).check(library)


def test_a_model_of_tables_whose_vectors_are_missing_refuses_the_start(tmp_path):
    Index.build([{"id": "lakes", "header": ["lake", "depth"], "rows": [["Mira", "40"]]}], tmp_path / "i", kind="tables")
    parts = SimpleNamespace(card=SimpleNamespace(content={"retrieval": "vectors"}))
    library = Library([tmp_path / "i"], tmp_path / "corpora", Limits())
    with pytest.raises(LisaxError, match=r"minilm-parts cannot answer.*lisax index vectors \S+/i --retriever minilm"):
        Engine(Models({PARTS: parts}, {PARTS: Path("minilm-parts")})).check(library)


def test_rows_of_a_mixed_index_are_not_read_as_whole_tables_and_the_api_says_how_they_are(page):
    client = caller(page)
    answer = client.post("/v1/check", json={"claim": CLAIM, "reads": "tables"})
    error = answer.json()["error"]
    assert (answer.status_code, error["field"]) == (404, "reads") and "give 'sentences'" in error["message"]
    assert client.post("/v1/check", json={"claim": CLAIM, "reads": "sentences"}).status_code == 200


def test_from_the_command_line(bundles, index, tmp_path, capsys):
    """Bundles tell what they are for; complaints come before anything is served."""
    given = ["--model", str(bundles[0]), "--model", str(bundles[1]), "--state", str(tmp_path), "--keep", "2"]
    page = start.open_page(start.ServeSettings(bundles[:2], [index], tmp_path, keep=2), None)
    answered = Browser(page).ask(QUESTION)
    assert answered.status_code == 200 and shown(answered).count()["mark"] == 2
    page.close()
    assert main(["serve", *given, "--port", "0"]) == 1
    assert "give an index of `lisax index mixed`" in capsys.readouterr().err
    assert main(["serve", *given, "--model", str(bundles[0]), "--index", str(index)]) == 1
    assert "one reader too many" in capsys.readouterr().err


def test_uploads_are_read_beside_a_retriever_and_refuse_no_start(browser, page, opened, made):
    """Uploaded passages have no vectors, and an upload that no model fits any more keeps the page from nothing."""
    browser.load("Notes", ("orm.txt", b"The mayor of Orm is Ada Keld."))
    corpus = list(page.library)[-1]
    assert page.engine.kinds(corpus) == ("question", "claim", "search")
    assert browser.ask("Who is the mayor of Orm?", corpus=corpus.id).status_code == 200
    (row, *_) = last_answers(page.store, 1)[0].result["answers"]
    assert row["passage"].startswith("text:orm:")
    again = opened(made=Models({READER: made[READER]}))
    again.engine.models.pop(READER)
    again.engine.check([again.library.get(corpus.id)])
