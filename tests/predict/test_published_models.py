"""Published T5s give the scores of their authors' rules, computed by transformers on the same random weights."""

import dataclasses
import functools
import itertools
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from lisax import Evidence, Label, LisaxError, Ranker, Verifier
from lisax.formats.prompts import linear_table
from lisax.formats.tables import TableView
from lisax.predict.prompt_model import PromptModel, chunks_of
from lisax.scoring.backends import softmax
from lisax.weights.public_models import USES, given_use
from tests.published import UMT5, V1_0, V1_1, publish, vocabulary

CLAIM, TEXT = "The harbour was opened in 1921 .", "Town 7 has a harbour . It was opened in 1921 by Anna ."
OTHER = "The harbour of town 9 ."


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Of an architecture, a published folder."""
    folder = tmp_path_factory.mktemp("published")
    pieces = vocabulary(folder).path
    return functools.cache(lambda config: publish(folder / str(abs(hash(config))), config, pieces))


def their_model(folder):
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    if model.config.model_type == "umt5":
        model.config.tie_word_embeddings = False  # which transformers 5 overlooks in the file, and then scales logits
    return model


def first_step(folder, ids):
    """Logits of the first decoder step."""
    torch = pytest.importorskip("torch", reason="needs torch and transformers: make peers")
    with torch.no_grad():
        found = their_model(folder)(input_ids=torch.tensor([ids]), decoder_input_ids=torch.zeros((1, 1), dtype=int))
    return found.logits[0, 0].numpy()


def shares_of(folder, vocabulary, text, pieces):
    """The shares of pieces at the first decoder step after a text."""
    ids = [*vocabulary.encode(text), 1]
    return softmax(first_step(folder, ids)[[vocabulary.id_of(piece) for piece in pieces]])


@pytest.mark.parametrize("config", [V1_0, V1_1, UMT5], ids=["t5_1_0", "t5_1_1", "umt5"])
@pytest.mark.parametrize(
    "use, template, pieces",
    [
        (USES["monot5"], "Query: {c} Document: {t} Relevant:", ("▁true", "▁false")),
        (USES["mmarco"], "Query: {c} Document: {t} Relevant:", ("▁yes", "▁no")),
        (USES["mmarco_13b"], "Query: {c} Document: {t} Relevant:", ("▁true", "▁")),
        (USES["true"], "premise: {t} hypothesis: {c}", ("▁1", "▁")),
        (USES["xnli"], "xnli: premise: {t} hypothesis: {c}", ("▁0", "▁2", "▁1")),
    ],
    ids=["monot5", "mmarco", "mmarco_13b", "true", "xnli"],
)
def test_shares_of_first_pieces_are_the_references(made, config, use, template, pieces):
    model = PromptModel.open(made(config), use)
    wanted = shares_of(made(config), model.vocabulary, template.format(c=CLAIM, t=TEXT), pieces)
    np.testing.assert_allclose(model.score([(CLAIM, TEXT)])[0], wanted, atol=1e-5)


def test_rankt5_is_one_raw_logit(made):
    model = PromptModel.open(made(V1_1), USES["rankt5"])
    ids = [*model.vocabulary.encode(f"Query: {CLAIM} Document: {TEXT}"), 1]
    sentinel = model.vocabulary.size - 1 - 10
    wanted = first_step(made(V1_1), ids)[sentinel]
    np.testing.assert_allclose(model.score([(CLAIM, TEXT)]), [[wanted]], atol=1e-5)
    ranked = Ranker.open(made(V1_1), USES["rankt5"]).rank(CLAIM, [TEXT, OTHER])
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert any(one.score == pytest.approx(wanted, abs=1e-5) for one in ranked)


def test_minicheck_reads_chunks_of_sentences_and_one_sentence_of_the_claim_at_a_time(made):
    use = dataclasses.replace(USES["minicheck"], chunk_words=12)
    model = PromptModel.open(made(V1_1), use)
    encode, pieces = model.vocabulary.encode, [model.vocabulary.id_of(piece) for piece in ("▁1", "▁")]
    document = "Town 7 has a harbour. It was opened in 1921 by Anna. The town was opened in 1907. " * 2
    chunks, claims = chunks_of(document, 12), ["The harbour was opened in 1921.", "Anna opened town 9."]
    assert len(chunks) > 2 and all(len(chunk.split()) <= 12 for chunk in chunks)

    def support(chunk, claim):
        ids = [*encode(f"predict: {chunk}"), 1, *encode(claim), 1]
        return softmax(first_step(made(V1_1), ids)[pieces])[0]

    wanted = min(max(support(chunk, claim) for chunk in chunks) for claim in claims)
    found = model.shares([" ".join(claims)], [document])[0]
    np.testing.assert_allclose(found, [wanted, 1 - wanted], atol=1e-5)


def test_flan_scores_whole_options(made):
    torch = pytest.importorskip("torch")
    model, theirs = PromptModel.open(made(V1_1), USES["flan"]), their_model(made(V1_1))
    prompt = f'{TEXT} Based on the paragraph above can we conclude that "{CLAIM}"? OPTIONS: - Yes - It\'s impossible to say - No'
    ids, scores = [*model.vocabulary.encode(prompt), 1], []
    for option in ("Yes", "No", "It's impossible to say"):
        labels = torch.tensor([[*model.vocabulary.encode(option), 1]])
        with torch.no_grad():
            loss = theirs(input_ids=torch.tensor([ids]), labels=labels).loss
        scores.append(-float(loss) * labels.shape[1])
    np.testing.assert_allclose(model.score([(CLAIM, TEXT)])[0], softmax(np.array(scores)), atol=1e-5)


def test_duot5_compares_the_best_of_another_ranker_in_both_orders(made):
    ranker = Ranker.open(made(V1_0), USES["duot5"])
    ranker.top = 3
    texts = [TEXT, OTHER, "Anna opened town 9 .", "Nobody was there ."]
    first = [one.text for one in ranker.first.rank(CLAIM, texts)]
    wanted = dict.fromkeys(first[:3], 0.0)
    for a, b in itertools.permutations(wanted, 2):
        text = f"Query: {CLAIM} Document0: {a} Document1: {b} Relevant:"
        share = shares_of(made(V1_0), ranker.model.vocabulary, text, ("▁true", "▁false"))[0]
        wanted[a] += share / 4
        wanted[b] += (1 - share) / 4
    found = ranker.rank(CLAIM, texts)
    assert [one.text for one in found] == [*sorted(wanted, key=wanted.get, reverse=True), first[3]]
    np.testing.assert_allclose([one.score for one in found[:3]], sorted(wanted.values(), reverse=True), atol=1e-5)
    assert found[3].score < 0


def test_a_long_document_keeps_the_end_of_the_prompt(made):
    model = PromptModel.open(made(V1_1), USES["monot5"])
    long = " ".join(["The harbour was opened in 1921 ."] * 200)
    ids = USES["monot5"].prompt.ids(CLAIM, long, vocabulary=model.vocabulary, max_tokens=512)
    assert 480 < len(ids) <= 512 and model.vocabulary.decode(ids).endswith("Relevant:")
    assert np.isfinite(model.score([(CLAIM, long)])).all()


def test_a_two_way_checker_says_supported_or_not(made, monkeypatch):
    verifier = Verifier.open(made(V1_1), use=USES["true"])
    evidence = [Evidence("Town_7_0", TEXT, "Town 7")]
    monkeypatch.setattr(verifier.model, "shares", lambda claims, documents: np.array([[0.2, 0.8]]))
    verdict = verifier.verify(CLAIM, evidence)
    assert verdict.label is Label.NOT_ENOUGH_INFO and Label.REFUTES not in verdict.probabilities
    assert str(verdict).startswith("NOT SUPPORTED  ") and "REFUTES" not in str(verdict)
    assert "NOT SUPPORTED 0.800" in str(verdict) and "NOT SUPPORTED" in verdict._repr_html_()
    assert verdict.to_dict()["label_probabilities"] == {"SUPPORTS": 0.2, "NOT ENOUGH INFO": 0.8}
    assert str(verifier.verify(CLAIM, [])).startswith("NOT ENOUGH INFO  ")


def test_evidence_is_read_as_one_text_with_each_title_once(made, monkeypatch):
    verifier, seen = Verifier.open(made(V1_1), use=USES["xnli"]), []

    def shares(claims, documents):
        seen.extend(documents)
        return np.array([[0.1, 0.7, 0.2]])

    monkeypatch.setattr(verifier.model, "shares", shares)
    verdict = verifier.verify(
        CLAIM, [Evidence(f"T_{n}", f"Sentence {n} .", t) for n, t in enumerate(["A", "A", "B", ""])]
    )
    assert seen == ["A . Sentence 0 . Sentence 1 . B . Sentence 2 . Sentence 3 ."]
    assert verdict.label is Label.REFUTES and len(verdict.probabilities) == 3


def test_a_model_that_is_not_listed_takes_prompt_and_words(made):
    use = given_use("premise: {text} hypothesis: {claim}", ("yes", "no", "true"), ranks=False)
    model = PromptModel.open(made(V1_1), use)
    text = f"premise: {TEXT} hypothesis: {CLAIM}"
    wanted = shares_of(made(V1_1), model.vocabulary, text, ("▁yes", "▁no", "▁true"))
    np.testing.assert_allclose(model.score([(CLAIM, TEXT)])[0], wanted, atol=1e-5)
    assert Verifier.open(made(V1_1), use=use).verify(CLAIM, [TEXT]).probabilities.keys() == set(Label)


@pytest.mark.parametrize(
    "given, said",
    [
        ((None, ("yes", "no")), "belong together"),
        (("monot5", ("yes",)), "found the prompt 'monot5' and the words yes"),
        (("Query: {claim}", ("yes", "no")), r"expected \{claim\} and \{text\} once each"),
        (("bert", ("yes", "no")), "no prompt is named 'bert'"),
    ],
)
def test_what_a_user_says_wrong_of_a_model_is_told(given, said):
    with pytest.raises(LisaxError, match=said):
        given_use(*given, ranks=True)


def test_what_does_not_fit_is_told(made):
    with pytest.raises(LisaxError, match="is a T5 as published, and its prompt is not known here"):
        Ranker.open(made(V1_1))
    with pytest.raises(LisaxError, match="does not rank texts: its job is to verify"):
        Ranker.open(made(V1_1), USES["true"])
    with pytest.raises(LisaxError, match="does not check claims: its job is to rank"):
        Verifier.open(made(V1_1), use=USES["monot5"])
    with pytest.raises(LisaxError, match="scores texts one by one"):
        Ranker.open(f"bm25,{made(V1_1)}", USES["monot5"])


def test_chunks_are_whole_sentences():
    assert chunks_of("", 5) == [""]
    found = chunks_of("One two three. Four five.\nSix seven eight nine ten eleven twelve. Last.", 5)
    assert found == ["One two three. Four five.", "Six seven eight nine ten eleven twelve.", "Last."]


def test_unifiedskg_answers_from_a_table(made, tmp_path):
    """Weights under `pretrain_model.*`, and two rows of embedding more than `config.json` says."""
    torch = pytest.importorskip("torch")
    theirs, folder = their_model(made(V1_1)), tmp_path / "skg"
    shutil.copytree(made(V1_1), folder)
    arrays = {f"pretrain_model.{name}": array for name, array in load_file(folder / "model.safetensors").items()}
    for name in ("shared", "lm_head"):
        grown = np.pad(arrays[f"pretrain_model.{name}.weight"], ((0, 2), (0, 0)))
        arrays[f"pretrain_model.{name}.weight"] = grown
    save_file(arrays, folder / "model.safetensors")
    table = TableView("t", "", ("Town", "Opened"), (("Town 7", "1921"), ("Town 9", "in the year " * 9)))
    verifier = Verifier.open(folder, use=USES["unifiedskg"])
    vocabulary, scores = verifier.model.vocabulary, []
    found = verifier.model.use.prompt.text(CLAIM, linear_table(table.header, table.rows[:1], vocabulary))
    assert found == "the harbour was opened in 1921 . ; structured knowledge: col : town | opened row 1 : town 7 | 1921"
    cut = vocabulary.decode(vocabulary.encode("in the year " * 9)[:15])
    prompt = f"{CLAIM} ; structured knowledge: col : Town | Opened row 1 : Town 7 | 1921 row 2 : Town 9 | {cut}".lower()
    for answer in ("entailed", "refuted"):
        labels = torch.tensor([[*vocabulary.encode(answer), 1]])
        ids = torch.tensor([[*vocabulary.encode(prompt), 1]])
        with torch.no_grad():
            logits = theirs(input_ids=ids, labels=labels).logits[0]
        logits = torch.nn.functional.pad(logits, (0, 2)).log_softmax(-1)  # of the rows that the file has more
        scores.append(float(logits.gather(1, labels[0, :, None]).sum()))
    verdict = verifier.verify(CLAIM, [Evidence("t", "", table=table)])
    shares = [verdict.probabilities[label] for label in (Label.SUPPORTS, Label.REFUTES)]
    np.testing.assert_allclose(shares, softmax(np.array(scores)), atol=1e-5)
    assert verifier.verify(CLAIM, []).label is Label.NOT_ENOUGH_INFO
    long = dataclasses.replace(table, rows=table.rows * 200)
    verifier.verify(CLAIM, [Evidence("t", "", table=long)])
    assert 0 < verifier.model.dropped_rows < 400
