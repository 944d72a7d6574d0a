"""`lisax run verbalizer` and `lisax verbalize` with models of a moment, and the choice among hypotheses."""

import dataclasses
import functools
import json

import pytest
import ray_cluster
import stages_alone
from hypothesis import given, settings
from hypothesis import strategies as st

from lisax.cli import main
from lisax.corpora import open_folder
from lisax.devices.workers import Workers
from lisax.errors import DataError, LisaxError
from lisax.faithful.facts import Facts
from lisax.files.writing import write_json_lines
from lisax.formats.triples import Triples
from lisax.formats.verbalizing import Encoder, VerbalExample, marker_ids
from lisax.papers.verbalizer import report
from lisax.papers.verbalizer.recipe import VerbalizerRecipe
from lisax.papers.verbalizer.run import VerbalizerTraining, plain_words, read_examples
from lisax.predict import verbalizer as module
from lisax.predict.file_steps import units
from lisax.predict.verbalizer import (
    PLAIN_WORDS,
    Choices,
    Verbalized,
    Verbalizer,
    read_verbalized,
    shares,
    verbalize_to_file,
)
from lisax.sampling.verbal_examples import kept_curve, rouge_of, sample
from lisax.scoring.generating import Hypothesis

GIN = """
include 'models/t5_1_1_micro.gin'
include 'runs/finetune.gin'
INITIAL_CHECKPOINT_PATH = None
TRAIN_STEPS = 3
BATCH_SIZE = 4
EVAL_PERIOD = 3
network.T5Config.emb_dim = 8
network.T5Config.num_encoder_layers = 1
"""
RECIPE = """
VerbalizerRecipe.train = {{'verbalize_t_f': '{gin}', 'verbalize_t_f_id_t': '{gin}'}}
VerbalizerRecipe.max_tokens = 40
VerbalizerRecipe.target_tokens = 12
VerbalizerRecipe.vocabulary_size = 300
VerbalizerRecipe.beam_size = 2
VerbalizerRecipe.target_threshold = 0.0
VerbalizerRecipe.faithful_only = False
VerbalizerRecipe.plain_word_count = 1
VerbalizerRecipe.swapped_copies = 2
VerbalizerRecipe.target_pairs = 1
"""


class Says:
    """A generator whose model always says the same things."""

    def __init__(self, *texts: str):
        self.texts = texts
        self.calls = 0

    def hypotheses(self, tokens):
        self.calls += len(tokens)
        return [[Hypothesis([ord(c) for c in text], 0.0) for text in self.texts] for _ in tokens]


class Characters:
    """A vocabulary of characters, the markers above them."""

    size = 1_200_000

    def encode(self, text):
        return [ord(c) for c in text]

    def decode(self, ids):
        return "".join(map(chr, ids))


def saying(*texts, max_tokens=1000, plain_words=None, **choices):
    encoder = Encoder(Characters().encode, marker_ids(Characters.size))
    return Verbalizer(Says(*texts), Characters(), encoder, max_tokens, Choices(**choices), plain_words)


ADA = Triples("g", "Ada Lovelace", (("born", "1815"), ("papers", "7")))
RULE = "Ada Lovelace: the born is 1815; the papers is 7."
EDGES = ((0, "Ada Lovelace: the born is 1815."), (1, "Ada Lovelace: the papers is 7."))


# --- The choice -----------------------------------------------------------------------------


def test_the_closest_hypothesis_that_is_faithful_is_taken():
    first, second = (
        "ada lovelace, born in 1815, wrote 9",
        "she, ada lovelace, was born in 1815 and wrote as many as 7 papers",
    )
    assert saying(second, first).verbalize([ADA]) == [
        Verbalized("g", "Ada Lovelace", "She, Ada Lovelace, was born in 1815 and wrote as many as 7 papers.", 0, 1)
    ]
    assert saying(second, first, check=False).verbalize([ADA])[0].text == "Ada Lovelace, born in 1815, wrote 9."


def test_the_rule_is_the_last_resort():
    row = dataclasses.replace(ADA, id="t#r0")
    assert saying("ada", "").verbalize([row]) == [Verbalized("t#r0", "Ada Lovelace", RULE, -1, 2, True)]


def test_the_rule_tells_each_edge_of_a_graph_on_its_own():
    text = " ".join(text for _, text in EDGES)
    assert saying("ada", "").verbalize([ADA]) == [Verbalized("g", "Ada Lovelace", text, -1, 2, True, EDGES)]
    months = Triples("g", "", (("", "March"), ("", "1932-03-15")))
    assert saying("x").verbalize([months])[0].text == "March; 1932-03-15."  # not `March. 1932`
    # So it does in a piece of two edges, after one that the model told.
    longer = dataclasses.replace(ADA, pairs=(("name", "Ada"), ("field", "x"), *ADA.pairs))
    (found,) = saying("ada lovelace is x", max_pairs=2).verbalize([longer])
    assert found.fallback and found.parts == ((0, "Ada Lovelace is x."), *((first + 2, text) for first, text in EDGES))


def test_a_word_that_texts_do_not_use_is_invented():
    said = "ada lovelace of mars was born in 1815 and wrote 7"
    assert saying(said).verbalize([ADA])[0].beam == 0
    assert saying(said, plain_words={"wrote", "born"}).verbalize([ADA])[0].fallback
    assert not saying(said, plain_words={"wrote", "mars"}).verbalize([ADA])[0].fallback


def test_a_long_unit_is_read_in_pieces_and_joined():
    verbalizer = saying("ada lovelace was born in 1815", "ada lovelace wrote 7", max_pairs=1)
    assert verbalizer.verbalize([ADA]) == [
        Verbalized(
            "g",
            "Ada Lovelace",
            "Ada Lovelace was born in 1815. Ada Lovelace wrote 7.",
            1,
            parts=((0, "Ada Lovelace was born in 1815."), (1, "Ada Lovelace wrote 7.")),
        )
    ]
    # A value that is cut where its date is cannot be said in pieces.
    long = Triples("g", "Ada", (("born", "x " * 20 + "10 December 1815"),))
    found = saying("ada", max_tokens=50).verbalize([long])[0]
    assert found.fallback and "10 December 1815" in found.text


def test_a_name_that_was_cut_is_checked_whole():
    unit = Triples("u", "5", (("1,234 1,234 1,234", "5"),))
    found = saying("", max_tokens=40).verbalize([unit])[0]
    assert found.text == "5: the 1,234 1,234 1,234 is 5."


def test_shares():
    found = [Verbalized("a", "", "", 0), Verbalized("b", "", "", 3, 1), Verbalized("c", "", "", -1, 2, True)]
    assert shares(found[:2]) == {"units": 2, "first_choice": 0.5, "later_hypothesis": 0.5, "fallback": 0.0}
    assert shares(found)["fallback"] == pytest.approx(1 / 3) and shares([])["units"] == 0


WORDS = st.sampled_from(
    [*"5 1,234 25.0 007 1932-03-15 15 March Łódź A-1 the goals , . ; 東京 1st".split(), "March 15, 1932"]
)
PART = st.lists(WORDS, max_size=5).map(" ".join)
UNITS = st.builds(Triples, st.just("u"), PART, st.lists(st.tuples(PART, PART.filter(bool)), max_size=5).map(tuple))


@settings(max_examples=150)
@given(UNITS, st.lists(PART, min_size=1, max_size=4), st.one_of(st.none(), st.integers(1, 2)), st.integers(40, 90))
def test_every_number_and_date_is_said_whatever_the_model_says(unit, texts, max_pairs, max_tokens):
    """The guarantee: what comes out is faithful, by a hypothesis or by the rule."""
    found = saying(*texts, max_pairs=max_pairs, max_tokens=max_tokens).verbalize([unit])[0]
    assert Facts(unit).judge(found.text).faithful
    for text in (unit.title, *(part for pair in unit.pairs for part in pair)):
        numbers = Facts(Triples("", text, ())).numbers
        assert all(number in found.text for number in numbers)


# --- Files ----------------------------------------------------------------------------------


def test_an_interrupted_file_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "UNITS_AT_A_TIME", 2)
    units = [Triples(str(i), "Ada", (("n", str(i)),)) for i in range(5)]
    verbalizer, out = saying("x"), tmp_path / "out.jsonl"

    def interrupted():
        yield from units[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verbalize_to_file(lambda: verbalizer, interrupted(), out, "a")
    assert verbalizer._generator.calls == 2 and not out.exists()
    counted = []
    assert verbalize_to_file(lambda: verbalizer, units, out, "a", counted.append)["units"] == 5
    assert verbalizer._generator.calls == 5 and counted == [2, 1]
    assert [(found.id, found.digest) for found in read_verbalized(out)] == [(unit.id, unit.digest) for unit in units]
    out.write_text("{}\n")
    with pytest.raises(DataError, match="out.jsonl:1: not a line of `lisax verbalize`"):
        list(read_verbalized(out))


def test_a_file_beside_its_tables_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "UNITS_AT_A_TIME", 2)
    (tmp_path / "t.csv").write_text("name\n" + "".join(f"Town {i}\n" for i in range(5)))
    verbalizer = saying("x")
    monkeypatch.setattr(Verbalizer, "open", lambda *_: verbalizer)
    command = ["verbalize", f"--model={tmp_path}/none", f"--tables={tmp_path}", f"--out={tmp_path}/sentences.jsonl"]
    (tmp_path / "none").mkdir()
    read, calls = verbalizer.verbalize, []

    def stopped(units):
        calls.append(len(units))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return read(units)

    monkeypatch.setattr(verbalizer, "verbalize", stopped)
    assert main(command) != 0
    assert main(command) == 0 and calls == [2, 2, 2, 1]
    assert len(list(read_verbalized(tmp_path / "sentences.jsonl"))) == 5


# --- Examples -------------------------------------------------------------------------------


def example(key: str, text: str) -> VerbalExample:
    return VerbalExample(Triples(key, "Ada", (("born", "1815"),)), text, (text,))


def test_the_filter_and_its_curve():
    assert rouge_of(example("a", "Ada 1815")) == 1 and rouge_of(example("a", "nobody")) == 0
    assert kept_curve([0.2, 0.5, 0.9], (0, 0.5, 1)) == [
        {"threshold": 0, "kept": 3, "share": 1},
        {"threshold": 0.5, "kept": 2, "share": 2 / 3},
        {"threshold": 1, "kept": 0, "share": 0},
    ]


def test_a_sample_is_the_same_wherever_it_is_drawn():
    examples = [example(str(i), "x") for i in range(50)]
    drawn = sample(examples, 10, seed=1)
    assert len(drawn) == 10 and drawn == [e for e in examples if e in drawn]
    assert set(sample(examples[::-1], 10, seed=1)) == set(drawn) != set(sample(examples, 10, seed=2))
    assert sample(examples, 99, seed=1) == examples


def test_plain_words_are_in_small_letters_and_not_of_the_input():
    examples = [example("a", "Ada was born in 1815 in London"), example("b", "Ada was born in London")]
    assert plain_words(examples, 2) == ["in", "was"]


def test_records_of_examples():
    one = VerbalExample(ADA, "a", ("a", "b"))
    assert VerbalExample.from_row(one.to_row()) == one
    assert VerbalExample.from_row(example("a", "x").to_row()) == example("a", "x")
    with pytest.raises(DataError, match="field 'texts'"):
        VerbalExample.from_row(one.to_row() | {"texts": []})


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"train": {"verbalize_t": "a"}}, "must name a gin file"),
        ({"train": {"t": "a"}}, "names t;"),
        ({"threshold": 2}, "threshold must lie"),
        ({"validation_share": 0}, "validation_share must lie"),
        ({"validation_by": "page"}, "validation_by must be 'source' or 'id', found 'page'"),
    ],
)
def test_a_wrong_recipe(fields, said):
    train = {"verbalize_t_f": "a", "verbalize_t_f_id_t": "a"}
    with pytest.raises(LisaxError, match=said):
        VerbalizerRecipe(**{"train": train} | fields)


# --- The verbs ------------------------------------------------------------------------------


def of_towns(tmp_path):
    """`lisax run verbalizer` on 24 towns and a table of 30."""
    data = tmp_path / "dart"
    data.mkdir()
    entries = [
        {
            "tripleset": [[f"Town {i}", "FOUNDED", str(1800 + i)], [f"Town {i}", "COUNTRY", "Ruritania"]],
            "annotations": [{"source": "s", "text": f"Town {i} of Ruritania was founded in {1800 + i}."}],
        }
        for i in range(24)
    ]
    entries[0]["annotations"][0]["text"] = "Nothing of it."
    for split in ("train", "dev"):
        (data / f"dart-v1-{split}.json").write_text(json.dumps(entries if split == "train" else entries[1:4]))
    tables = tmp_path / "tables.jsonl"
    rows = [[f"Town {i}", str(1900 + i), "" if i % 2 else "a long cell of some seven words"] for i in range(30)]
    write_json_lines(tables, [{"id": "t", "title": "Towns", "header": ["name", "founded", "notes"], "rows": rows}])
    (tmp_path / "tiny.gin").write_text(GIN)
    (tmp_path / "recipe.gin").write_text(RECIPE.format(gin=tmp_path / "tiny.gin"))
    return [
        "run",
        "verbalizer",
        f"--data={data}",
        f"--tables={tables}",
        f"--out={tmp_path}/out",
        f"--report={data}",
        f"--gin_file={tmp_path}/recipe.gin",
    ]


def test_copies_stand_behind_the_pairs_that_they_are_of(tmp_path):
    assert main([*of_towns(tmp_path), "--until", "pairs"]) == 0
    read = functools.partial(read_examples, tmp_path / "out/examples/verbalize_t_f.train.jsonl")
    own, copies = [e for e in read() if "~" not in e.triples.id], [e for e in read() if "~" in e.triples.id]
    assert len(own) == 23 and len(copies) == 23 * 2 * 2  # of two values each
    assert [example.triples for example in read()][:23] == [example.triples for example in own]
    assert all(copy.triples.title in copy.text for copy in copies)
    assert any(value >= "1900" for copy in copies for _, value in copy.triples.pairs if value.isdigit())  # of the table


def test_a_threshold_that_leaves_no_pair_is_told_when_pairs_are_chosen(tmp_path, capsys):
    assert main([*of_towns(tmp_path), "--until", "pairs", "--gin.VerbalizerRecipe.threshold=1.0"]) == 1
    assert "threshold = 1.0 leaves none of 24 pairs in T-F, whose best ROUGE-1 is 0." in capsys.readouterr().err
    assert not (tmp_path / "out/stages/pairs.json").exists()


@pytest.mark.slow
def test_iterate_and_verbalize(tmp_path, capsys, monkeypatch):
    command, out, tables = of_towns(tmp_path), tmp_path / "out", tmp_path / "tables.jsonl"
    assert main([*command, "--until", "select"]) == 0
    assert json.loads((out / "examples/filter.json").read_text())["kept"] == 23
    assert not (out / "models/verbalize_t_f_id_t").exists()
    assert main([*command, "--gin.VerbalizerRecipe.seed=42"]) == 0
    said = capsys.readouterr().err
    assert "[train.verbalize_t_f] done before" in said and "T-F 23, ID-T" in said
    figures = json.loads((out / "verbalizer.json").read_text())
    assert figures["baselines"]["dev"]["rule"]["values_kept"] == 1
    assert figures["models"]["verbalize_t_f"]["other"]["texts"] == 3
    checked = figures["models"]["verbalize_t_f_id_t"]["target"]["checked"]
    assert checked["faithfulness"]["numbers_and_dates_kept"] == 1 and checked["long_celled"]["units"] > 0

    monkeypatch.setattr(module, "UNITS_AT_A_TIME", 5)
    monkeypatch.setattr(report, "UNITS_AT_A_TIME", 5)
    data, recipe = open_folder(tmp_path / "dart"), VerbalizerRecipe.read([str(tmp_path / "recipe.gin")])
    made = functools.partial(VerbalizerTraining, data, lambda: units(tables, None), [], out, recipe, other=data)
    with ray_cluster.started(workers=2):
        stages_alone.check(made, monkeypatch, ["verbalize.target", "verbal_report"], Workers("ray", 2))

    written = tmp_path / "written.jsonl"
    verbalize = ["verbalize", "--model", str(out / "models/verbalize_t_f"), "--out", str(written), "--beams", "2"]
    assert main([*verbalize, "--tables", str(tables), "--pairs", "2"]) == 0
    found = list(read_verbalized(written))
    assert [text.id for text in found] == [f"t#r{i}" for i in range(30)]
    assert all(str(1900 + i) in text.text for i, text in enumerate(found))
    assert "30 texts; faithful at once" in capsys.readouterr().out
    assert Verbalizer.open(out / "models/verbalize_t_f").plain_words

    bundle = tmp_path / "bundle"
    assert main(["export", "--model", str(out / "models/verbalize_t_f"), "--out", str(bundle)]) == 0
    assert (bundle / PLAIN_WORDS).is_file()
    again = tmp_path / "again.jsonl"
    words = ["verbalize", f"--model={bundle}", f"--out={again}", "--beams=2"]
    assert main([*words, f"--tables={tables}", "--pairs=2", "--no-check"]) == 0
    assert len(list(read_verbalized(again))) == 30


@pytest.mark.parametrize("setting", [["--beams", "2"], ["--pairs", "2"], ["--no-check"]])
def test_settings_of_a_model_need_one(tmp_path, capsys, setting):
    out = tmp_path / "written.jsonl"
    assert main(["verbalize", "--tables", str(tmp_path), "--out", str(out), *setting]) == 2
    assert "give --model" in capsys.readouterr().err and not out.exists()


def test_data_that_cannot_be_reported_is_told_before_anything_is_trained(tmp_path, capsys):
    for name, split in (("data", "train"), ("other", "test")):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"dart-v1-{split}.json").write_text("[]")
    (tmp_path / "tables.jsonl").write_text("")
    words = ["run", "verbalizer", f"--data={tmp_path}/data", f"--report={tmp_path}/other"]
    assert main([*words, f"--tables={tmp_path}/tables.jsonl", f"--out={tmp_path}/out"]) == 1
    assert "needs texts for dev, found test" in capsys.readouterr().err


@pytest.mark.parametrize(
    "extra, code, said",
    [
        ([], 2, "nothing to verbalize"),
        (["--tables", "nowhere"], 1, "there is no nowhere"),
    ],
)
def test_wrong_usage(tmp_path, capsys, extra, code, said):
    assert main(["verbalize", "--model", str(tmp_path), "--out", str(tmp_path / "o"), *extra]) == code
    assert said in capsys.readouterr().err


def test_without_a_model_the_rule_writes_the_sentences(tmp_path, capsys):
    write_json_lines(
        tmp_path / "graphs.jsonl",
        [{"id": "g", "subject": "Torimoor", "edges": [["mayor", "Minell"], ["river", "Orm"]]}],
    )
    out = tmp_path / "sentences.jsonl"
    assert main(["verbalize", "--graphs", str(tmp_path / "graphs.jsonl"), "--out", str(out)]) == 0
    (written,) = read_verbalized(out)
    assert written.text == "Torimoor: the mayor is Minell. Torimoor: the river is Orm." and written.fallback
    assert "1 texts, by rule" in capsys.readouterr().out
