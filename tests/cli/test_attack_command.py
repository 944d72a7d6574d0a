"""`lisax attack`: folders in both layouts that read back, decisions that last, the terminal that takes them."""

import json
import unicodedata

import click
import pytest

from lisax import shipped, world
from lisax.adversary import decisions, making
from lisax.adversary.attack import AttackKind
from lisax.adversary.lexicon import CorpusLexicon
from lisax.adversary.review import pages_beside
from lisax.cli import invoke
from lisax.corpora import open_folder, read_claims
from lisax.errors import DataError, LisaxError
from lisax.files.reading import read_json_lines
from lisax.files.writing import write_json_lines
from lisax.records import LABELS, Label
from lisax.retrieval.documents import build_index


def attack(*args, verb: str = "make") -> int:
    return invoke(["attack", verb, *map(str, args)])


LAYOUTS = ("plain", "fever")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacked")
    world.write(folder / "world", pages=150, seed=3)
    for layout in LAYOUTS:
        attack("--claims", folder / "world", "--out", folder / layout, "--layout", layout)
    return folder


def test_a_folder_in_the_plain_layout(folder, capsys):
    made, source = open_folder(folder / "plain"), open_folder(folder / "world")
    assert made.splits == ("train", "dev", "test")
    assert list(made.documents()) == list(source.documents())
    claims = list(made.claims("train"))
    assert {claim.kind for claim in claims} == set(AttackKind) - {AttackKind.LEXICAL}
    _, row = next(read_json_lines(folder / "plain" / "claims.train.jsonl"))
    assert row["source"] and row["edit"] and row["reason"]
    summary = json.loads((folder / "plain" / "attacks.json").read_text())
    assert sum(sum(labels.values()) for labels in summary["counts"]["train"].values()) == len(claims)


def test_the_same_in_fevers_layout(folder):
    made = open_folder(folder / "fever")
    assert made.layout == "fever"
    ours, theirs = (list(open_folder(folder / name).claims("dev")) for name in LAYOUTS)
    assert [(c.text, c.label, c.evidence_sets) for c in ours] == [(c.text, c.label, c.evidence_sets) for c in theirs]
    kinds = {"conjunction", "Multihop", "Phrasal Additions", "date manipulation", "multi-hop temporal reasoning"}
    assert {claim.kind for claim in theirs} <= {*kinds, "Entity Disambiguation"}
    found, expected = (
        [[s.text for s in d.sentences] for d in open_folder(folder / name).documents()] for name in LAYOUTS
    )
    assert found == expected


def test_pages_and_evidence_have_one_form_of_an_id(tmp_path):
    """FEVER's pages are called in NFD, as its evidence."""
    own = unicodedata.normalize("NFD", "Zoë_Lee")
    write_json_lines(
        tmp_path / "source" / "wiki-pages.jsonl", [{"id": own, "text": "x", "lines": "0\tZoë Lee was born in 1950 ."}]
    )
    claim = {"id": 1, "label": "SUPPORTS", "verifiable": "VERIFIABLE", "claim": "Zoë Lee was born in 1950."}
    claim |= {"evidence": [[[1, 2, own, 0]]]}
    write_json_lines(tmp_path / "source" / "dev.jsonl", [claim])
    for layout, names, form in (
        ("plain", ("claims.dev.jsonl", "pages.jsonl"), "NFC"),
        ("fever", ("dev.jsonl", "wiki-pages.jsonl"), "NFD"),
    ):
        attack("--claims", tmp_path / "source", "--out", tmp_path / layout, "--layout", layout, "--kind", "date")
        for name in names:
            row = json.loads((tmp_path / layout / name).read_text().splitlines()[0])
            said = row["id"] if "pages" in name else row["evidence"][0][0]
            said = said if isinstance(said, str) else said[2]
            assert said.startswith(unicodedata.normalize(form, own))


def test_files_of_an_earlier_run_are_not_left_among_those_of_this_one(folder, tmp_path, capfd):
    def names():
        return {path.name for path in tmp_path.iterdir()}

    attack("--claims", folder / "world", "--out", tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    attack("--claims", folder / "world", "--out", tmp_path, "--layout", "fever", "--split", "dev")
    assert names() == {"dev.jsonl", "wiki-pages.jsonl", "attacks.json", "notes.txt"}
    assert open_folder(tmp_path).splits == ("dev",)
    attack("--claims", folder / "world", "--out", tmp_path, "--split", "test", "--without-pages")
    assert names() == {"claims.test.jsonl", "attacks.json", "notes.txt"}
    attack("--claims", folder / "world", "--out", tmp_path, "--split", "dev", "--without-pages")
    assert names() == {"claims.dev.jsonl", "attacks.json", "notes.txt"}
    assert f"removed {tmp_path / 'claims.test.jsonl'} of an earlier run" in capfd.readouterr().err
    (tmp_path / "attacks.json").write_text("[]")
    with pytest.raises(DataError, match="choose another folder"):
        attack("--claims", folder / "world", "--out", tmp_path)


def test_an_index_serves_as_corpus(folder, tmp_path):
    build_index(open_folder(folder / "world").documents(), tmp_path / "index", components=["pages"])
    given = f"--claims={folder}/world/claims.dev.jsonl", f"--corpus={tmp_path}/index", f"--out={tmp_path}/out"
    attack(*given, "--without-pages")
    assert (tmp_path / "out" / "claims.dev.jsonl").read_bytes() == (folder / "plain" / "claims.dev.jsonl").read_bytes()
    assert not (tmp_path / "out" / "pages.jsonl").exists()


def test_an_unknown_split_is_told_and_nothing_is_written(folder, tmp_path):
    with pytest.raises(LisaxError, match="valid"):
        attack("--claims", folder / "world", "--out", tmp_path / "out", "--split", "valid")
    assert not (tmp_path / "out").exists()


def test_a_split_is_a_name(folder, tmp_path):
    claims = folder / "world" / "claims.dev.jsonl"
    with pytest.raises(LisaxError, match=r"expected a split's name, as dev, found 'x/\.\./\.\./y'"):
        attack("--claims", claims, "--corpus", folder / "world", "--out", tmp_path / "out", "--split", "x/../../y")
    assert not any(tmp_path.iterdir())


def test_claims_that_allow_nothing_write_nothing(folder, tmp_path):
    (tmp_path / "claims.dev.jsonl").write_text('{"id": "1", "claim": "It rains.", "label": "SUPPORTS"}\n')
    with pytest.raises(LisaxError, match="none of the claims"):
        attack("--claims", tmp_path / "claims.dev.jsonl", "--corpus", folder / "world", "--out", tmp_path / "out")
    assert not any((tmp_path / "out").glob("*"))


def test_a_model_that_never_errs_is_told(folder, tmp_path, monkeypatch):
    from lisax.adversary import lexical

    def sure(checkpoint, corpus):
        return lambda claims: [[float(claim.label is label) for label in LABELS] for claim in claims]

    monkeypatch.setattr(lexical, "evidence_model", sure)
    monkeypatch.setattr(making, "best_lexicon", lambda corpus, claims: CorpusLexicon(corpus, claims))
    given = f"--claims={folder}/world", "--split=dev", f"--out={tmp_path}/out", "--kind=lexical"
    with pytest.raises(LisaxError, match=r"of [\d,]+ claims that the model gets right .* errs on 0"):
        attack(*given, f"--model={tmp_path}")
    assert not any((tmp_path / "out").glob("*"))


def test_words_are_exchanged_unguided_or_until_the_shipped_labeller_errs(folder, tmp_path, monkeypatch):
    from lisax.adversary import lexical

    asked = []

    def never_right(checkpoint, corpus):
        asked.append(checkpoint)
        return lambda claims: [[1 / 3] * 3 for _ in claims]

    monkeypatch.setattr(lexical, "evidence_model", never_right)
    monkeypatch.setattr(making, "best_lexicon", lambda corpus, claims: CorpusLexicon(corpus, claims))
    args = ["--claims", folder / "world", "--kind", "lexical", "--without-pages", "--fluency", 5]
    attack(*args, "--out", tmp_path / "unguided", "--unguided")
    assert asked == [] and list(open_folder(tmp_path / "unguided").claims("train"))
    attack(*args, "--out", tmp_path / "guided")
    assert asked == [shipped.labeller()]
    with pytest.raises(click.UsageError, match="--unguided attacks no model"):
        attack(*args, "--out", tmp_path / "none", "--unguided", "--model", tmp_path)


def test_decided_claims_without_evidence_at_hand_are_left_out_and_counted(tmp_path, capsys):
    source = tmp_path / "source"
    source.mkdir()
    (source / "pages.jsonl").write_text(
        '{"id": "Ann", "title": "Ann Lee", "sentences": ["Ann Lee was born in 1950."]}\n'
    )
    claims = [
        ("Ann Lee was born in 1950.", "SUPPORTS", [["Ann_0"], ["Gone_0", "Ann_0"]]),
        ("Ann Lee was born on May 1, 1950.", "SUPPORTS", []),
        ("Ann Lee was born in 1990.", "REFUTES", [["Gone_0"]]),
        ("Ann Lee sang in 1970.", "NOT ENOUGH INFO", []),
    ]
    rows = [{"id": str(n), **dict(zip(("claim", "label", "evidence"), one))} for n, one in enumerate(claims)]
    write_json_lines(source / "claims.dev.jsonl", rows)
    attack("--claims", source, "--out", tmp_path / "out", "--kind", "date")
    assert "dev: 2 of 4 claims are left out" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "attacks.json").read_text())["left_out"] == {"dev": 2}
    rows = [row for _, row in read_json_lines(tmp_path / "out" / "claims.dev.jsonl")]
    assert {(tuple(row["source"]), str(row["evidence"])) for row in rows} == {(("0",), "[['Ann_0']]"), (("3",), "[]")}


def test_the_source_is_not_overwritten(folder):
    with pytest.raises(LisaxError, match="overwrite"):
        attack("--claims", folder / "world", "--out", folder / "world")


def test_data_of_ones_own_are_not_replaced(folder, tmp_path):
    (tmp_path / "claims.train.jsonl").write_text("mine\n")
    with pytest.raises(LisaxError, match=r"claims\.train\.jsonl was not written by this command"):
        attack("--claims", folder / "world", "--out", tmp_path, "--split", "dev")
    assert [path.name for path in tmp_path.iterdir()] == ["claims.train.jsonl"]


# --- Review ---------------------------------------------------------------------------------


@pytest.fixture
def attacks_file(folder):
    return folder / "plain" / "claims.dev.jsonl"


@pytest.fixture
def review(monkeypatch, capsys):
    """Reviews a file with these answers, then ends the input; returns what was printed."""

    def review(file, out, *answers):
        given = iter(answers)

        def answer(question):
            try:
                return next(given)
            except StopIteration:
                raise EOFError from None

        monkeypatch.setattr("builtins.input", answer)
        assert attack("--attacks", file, "--out", out, verb="review") == 0
        return capsys.readouterr().out

    return review


def test_decisions_are_kept_and_gone_on_with(attacks_file, tmp_path, review):
    out = tmp_path / "decisions.jsonl"
    rows = decisions.read_attacks(attacks_file)
    first, second, third = [id for id, row in rows.items() if row["label"] != "NOT ENOUGH INFO"][:3]
    file = tmp_path / "attacks.jsonl"
    file.write_text("".join(json.dumps(rows[id]) + "\n" for id in (first, second, third)))
    shown = review(file, out, "accept", "", "r", "a note")
    assert f"{first}  (0 of 3 decided)" in shown and "2 of 3 decided: " in shown
    assert decisions.read_decisions(out, rows)[second].note == "a note"
    with out.open("a") as cut:
        cut.write('{"id": "cut off')
    # A change of mind, then a mended claim.
    shown = review(file, out, "back", "accept", "", "mend", "Mended  text.", "REF", "")
    assert first not in shown and "3 of 3 decided: " in shown
    found = decisions.read_decisions(out, rows)
    assert {id: one.decision for id, one in found.items()} == {first: "accept", second: "accept", third: "mend"}
    assert found[first].claim == rows[first]["claim"] and found[third].claim == "Mended text."
    assert decisions.reviewed(file, out) == {first: True, second: True, third: False}
    attack("--attacks", file, "--decisions", out, "--out", tmp_path / "claims.dev.jsonl", verb="accept")
    kept = {claim.id: claim for claim in read_claims(tmp_path / "claims.dev.jsonl")}
    assert list(kept) == [first, second, third]
    assert kept[third].text == "Mended text." and kept[third].label is Label.REFUTES


def test_a_claim_mended_to_undecided_reads_back_in_fevers_layout(folder, tmp_path, review):
    row = next(row for _, row in read_json_lines(folder / "fever" / "dev.jsonl") if row["label"] == "SUPPORTS")
    file, out = tmp_path / "attacks.jsonl", tmp_path / "decisions.jsonl"
    file.write_text(json.dumps(row) + "\n")
    assert "None" not in review(file, out, "mend", "Mended text.", "not", "")
    attack("--attacks", file, "--decisions", out, "--out", tmp_path / "dev.jsonl", verb="accept")
    row = json.loads((tmp_path / "dev.jsonl").read_text())
    assert row["verifiable"] == "NOT VERIFIABLE" and row["evidence"] == []
    (claim,) = read_claims(tmp_path / "dev.jsonl")
    assert claim.label is Label.NOT_ENOUGH_INFO and claim.text == "Mended text."


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_text_of_the_evidence_is_shown(folder, tmp_path, layout, review):
    file = folder / layout / ("claims.dev.jsonl" if layout == "plain" else "dev.jsonl")
    corpus, claims = pages_beside(file), list(read_claims(file))
    shown = review(file, tmp_path / "d", *["accept", ""] * len(claims))
    assert f"{len(claims)} of {len(claims)} decided" in shown
    for unit in next(claim for claim in claims if claim.evidence_sets).evidence_sets[0]:
        assert corpus.text(unit) and f"    {unit}: {corpus.text(unit)}\n" in shown
    alone = tmp_path / "alone.jsonl"
    alone.write_bytes(file.read_bytes())
    assert pages_beside(alone) is None and len(pages_beside(alone, folder / "world")) == 150
    unit = next(claim for claim in claims if claim.evidence_sets).evidence_sets[0][0]
    assert f"    {unit}\n" in review(alone, tmp_path / "e", *["accept", ""] * len(claims))


def test_wrong_answers_are_asked_again(attacks_file, tmp_path, review):
    rows = decisions.read_attacks(attacks_file)
    undecided = next(row for row in rows.values() if row["label"] == "NOT ENOUGH INFO")
    file = tmp_path / "attacks.jsonl"
    file.write_text(json.dumps(undecided) + "\n")
    shown = review(file, tmp_path / "d", "back", "", "maybe", "mend", "Said so.", "SUPPORTS")
    assert "found ''" in shown and "found 'maybe'" in shown and "NOT ENOUGH INFO, found 'SUPPORTS'" in shown
    assert not (tmp_path / "d").exists()
    with pytest.raises(LisaxError, match="another file"):
        review(file, file)
    with pytest.raises(DataError, match="one of accept"):
        row = {"id": str(undecided["id"]), "decision": "maybe", "claim": "", "label": "", "attack": ""}
        write_json_lines(tmp_path / "d", [row])
        review(file, tmp_path / "d")


@pytest.mark.parametrize(
    "changed, field, message",
    [
        ({"claim": 5}, "claim", "str"),
        ({"label": "FOO"}, "label", "SUPPORTS"),
        ({"id": 7}, "id", "str"),
        ({"decision": ["mend"]}, "decision", "str"),
        ({"note": None}, "note", "str"),
        ({"claim": " "}, "claim", "empty"),
        ({"id": "nobody"}, "id", "none of the attacks"),
        ({"decision": "maybe"}, "decision", "accept"),
        # The attacks were made again, and ids are those of other claims.
        ({"attack": "Ann sang."}, "attack", "is about 'Ann sang.', and .* is now"),
    ],
)
def test_decisions_are_checked_field_by_field(attacks_file, tmp_path, changed, field, message):
    id, row = next(iter(decisions.read_attacks(attacks_file).items()))
    good = {"id": id, "decision": "mend", "claim": "Ann sings.", "label": "SUPPORTS", "attack": row["claim"]}
    file = tmp_path / "d.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in (good, good | changed)))
    with pytest.raises(DataError, match=message) as caught:
        attack("--attacks", attacks_file, "--decisions", file, "--out", tmp_path / "out", verb="accept")
    assert (caught.value.path, caught.value.line, caught.value.field) == (file, 2, field)
    assert not (tmp_path / "out").exists()


def test_a_decision_names_the_claim_that_it_is_about(attacks_file, tmp_path):
    id, row = next(iter(decisions.read_attacks(attacks_file).items()))
    write_json_lines(tmp_path / "d", [{"id": id, "decision": "accept", "claim": row["claim"], "label": row["label"]}])
    with pytest.raises(DataError, match="d:1: field 'attack': the field is missing"):
        decisions.reviewed(attacks_file, tmp_path / "d")
