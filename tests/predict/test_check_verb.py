"""`lisax check` and `lisax ask` as a user gives them."""

import io
import json
import types

import pytest

from lisax import Checker, example_pages, shipped
from lisax.cli import main
from lisax.corpora.fever import read_predictions
from lisax.errors import LisaxError
from lisax.files.resumable import partial
from lisax.files.writing import write_json_lines
from lisax.predict import checking
from lisax.records import Claim
from lisax.serve.models import RANKER, Models
from lisax.weights import pretrained

CLAIM = "Vova Brugard was born in Torimoor."
BM25 = ["--ranker", "bm25"]
CLAIMS = [
    {"id": i, "claim": f"{name} was born in Torimoor."}
    for i, name in enumerate(("Vova Brugard", "Lenas Brugard", "Zzz") * 3)
]


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    found = capsys.readouterr()
    return code, found.out, found.err


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def claims(tmp_path):
    write_json_lines(tmp_path / "claims.jsonl", CLAIMS)
    return tmp_path / "claims.jsonl"


def test_one_claim_against_a_folder_of_pages(capsys, bundles, pages):
    given = ["check", CLAIM, "--corpus", example_pages(), "--model", bundles["pointwise"], *BM25]
    wanted = Checker(pages, model=bundles["pointwise"]).check(CLAIM)
    code, out, err = run(capsys, *given)
    assert code == 0 and out == f"{wanted}\n" and "the index of" in err
    code, out, err = run(capsys, *given, "--json")
    assert code == 0 and rows(out) == [wanted.to_dict()] and err.startswith("reused the index of")


@pytest.mark.parametrize("is_there", [True, False])
def test_beside_a_named_labeller_the_better_ranker_that_is_there_is_used_and_named(
    capsys, bundles, pages, monkeypatch, is_there
):
    monkeypatch.setattr(pretrained.Pretrained, "is_there", is_there)
    monkeypatch.setattr(shipped, "ranker", lambda: bundles["ranker"])
    given = ["check", CLAIM, "--index", pages.folder, "--model", bundles["listwise"], "--json"]
    code, out, err = run(capsys, *given)
    ranker = bundles["ranker"] if is_there else "bm25"
    assert code == 0 and rows(out) == rows(run(capsys, *given, "--ranker", ranker)[1])
    assert ("the shipped ranker: BM25, vectors" if is_there else "BM25; after `lisax models get minilm`") in err
    assert (RANKER in Models.open([bundles["listwise"]])) is is_there


def test_a_tier_is_a_shipped_labeller(capsys, bundles, pages, monkeypatch):
    tiers = {"light": bundles["listwise"], "accurate": bundles["pointwise"]}
    monkeypatch.setattr(shipped, "labeller", lambda reads="sentences", tier="light": tiers[tier])
    monkeypatch.setattr(shipped, "ranker", lambda: bundles["ranker"])
    given = ["check", CLAIM, "--index", pages.folder, "--json"]
    for tier, model in tiers.items():
        wanted = Checker(pages, bundles["ranker"], model).check(CLAIM)
        assert Checker(pages, tier=tier).check(CLAIM) == wanted
        assert rows(run(capsys, *given, "--tier", tier)[1]) == [wanted.to_dict()]
    # Without --tier: LISAX_TIER, or else `accurate` if its encoder is here.
    assert rows(run(capsys, *given)[1]) == rows(run(capsys, *given, "--tier", "light")[1])
    monkeypatch.delenv("LISAX_TIER")
    settings = []
    for is_there, tier in ((True, "accurate"), (False, "light")):
        monkeypatch.setattr(
            pretrained, "find", lambda name, is_there=is_there: types.SimpleNamespace(is_there=is_there)
        )
        assert rows(run(capsys, *given)[1]) == rows(run(capsys, *given, "--tier", tier)[1])
        settings.append(checking.Settings(None, pages.folder))
    # Workers and a call that resumes keep the tier that was chosen first.
    assert [one.tier for one in settings] == ["accurate", "light"] == [one.for_workers().tier for one in settings]
    assert settings[0].digest(pages.folder) != settings[1].digest(pages.folder)
    code, _, err = run(capsys, *given, "--tier", "accurate", "--model", bundles["listwise"])
    assert code == 2 and "leave it out with --model" in err
    for arguments, complaint in (
        ({"tier": "big"}, "there are light, accurate"),
        ({"tier": "accurate", "verifier": "x"}, "leave it out"),
    ):
        with pytest.raises(LisaxError, match=complaint):
            Checker(pages, **arguments)


def test_two_labels_to_choose_from(capsys, bundles, pages):
    given = ["check", CLAIM, "--index", pages.folder, "--model", bundles["listwise"], *BM25, "--json", "--two-way"]
    (row,) = rows(run(capsys, *given)[1])
    assert set(row["label_probabilities"]) == {"SUPPORTS", "REFUTES"} and row["predicted_label"] != "NOT ENOUGH INFO"
    assert row == Checker(pages, "bm25", bundles["listwise"], two_way=True).check(CLAIM).to_dict()


def test_what_the_options_say_is_what_the_checker_does(capsys, bundles, pages):
    code, out, _ = run(
        capsys, "check", "Vova Brugard was born in 1950.", "--index", pages.folder, "--model", bundles["pointwise"],
        "--ranker", bundles["ranker"], "--aggregate", "sum", "--temporal", "--hops", "2", "--documents", 4,
        "--candidates", 9, "--evidence", 3, "--json",
    )  # fmt: skip
    checker = Checker(
        pages, bundles["ranker"], bundles["pointwise"],
        aggregate="sum", temporal=True, hops=2, documents=4, candidates=9, evidence=3,
    )  # fmt: skip
    assert code == 0 and rows(out) == [json.loads(checker.check("Vova Brugard was born in 1950.").to_json())]
    given = ["--index", pages.folder, "--model", bundles["pointwise"], "--ranker", "bm25", "--temporal", "--json"]
    _, out, _ = run(capsys, "check", "Besa Siton was born in 1950.", *given)
    assert rows(out)[0]["temporal"]["label"] == rows(out)[0]["predicted_label"] == "REFUTES"


def test_a_file_of_claims(capsys, bundles, pages, claims, tmp_path):
    given = ["check", "--claims", claims, "--index", pages.folder, "--model", bundles["listwise"], *BM25]
    code, out, err = run(capsys, *given, "--out", tmp_path / "out" / "verdicts.jsonl")
    assert code == 0 and out == "" and "verdicts.jsonl: " in err
    written = (tmp_path / "out" / "verdicts.jsonl").read_text()
    assert [(row["id"], row["claim"]) for row in rows(written)] == [(row["id"], row["claim"]) for row in CLAIMS]
    wanted = Checker(pages, model=bundles["listwise"]).check_many(
        Claim(str(row["id"]), row["claim"], original_id=row["id"]) for row in CLAIMS
    )
    assert rows(written) == [json.loads(verdict.to_json()) for verdict in wanted]
    for more in ([], ["--out", "-"]):
        assert run(capsys, *given, *more)[1] == written
    assert [verdict.claim_id for verdict in read_predictions(tmp_path / "out" / "verdicts.jsonl")] == list("012345678")


def test_an_interrupted_file_goes_on(capsys, bundles, pages, claims, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "CLAIMS_AT_A_TIME", 2)
    given = ["check", "--claims", claims, "--index", pages.folder, "--model", bundles["listwise"], "--out"]
    assert run(capsys, *given, tmp_path / "whole.jsonl")[0] == 0
    read, check_many = [], Checker.check_many

    def stops(self, group):
        if len(read) == 3:
            raise KeyboardInterrupt
        read.append(group)
        return check_many(self, group)

    monkeypatch.setattr(Checker, "check_many", stops)
    code, _, err = run(capsys, *given, tmp_path / "cut.jsonl")
    assert code == 130 and "resumes" in err and not (tmp_path / "cut.jsonl").exists()
    assert partial(tmp_path / "cut.jsonl").is_file()

    def counts(self, group):
        read.append(group)
        return check_many(self, group)

    monkeypatch.setattr(Checker, "check_many", counts)
    assert run(capsys, *given, tmp_path / "cut.jsonl")[0] == 0 and len(read) == 5  # three groups before, two after
    assert (tmp_path / "cut.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    monkeypatch.setattr(Checker, "check_many", stops)
    read.clear()
    assert run(capsys, *given, tmp_path / "cut.jsonl")[0] == 130
    monkeypatch.setattr(Checker, "check_many", counts)
    assert run(capsys, *given, tmp_path / "cut.jsonl", "--candidates", 7)[0] == 0
    assert len(read) == 3 + 5  # with other settings it begins anew


def test_standard_input_and_output(capsys, bundles, pages, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO('{"claim": "Torimoor is  a town."}\n\n{"id": "x", "claim": "zzz"}\n'))
    code, out, _ = run(capsys, "check", "--claims", "-", "--index", pages.folder, "--model", bundles["listwise"])
    assert code == 0 and [(row["id"], row["claim"]) for row in rows(out)] == [(1, "Torimoor is a town."), ("x", "zzz")]
    assert rows(out)[1]["reason"] == "no evidence was found for it"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"text": "x"}', "standard input:2: field 'claim': the field is missing"),
        ('{"claim": 7}', "standard input:2: field 'claim': expected str"),
        ('{"claim": " "}', "standard input:2: field 'claim': the text is empty"),
        ('{"claim": "x", "id": []}', "standard input:2: field 'id'"),
        ('{"claim": "y", "id": 1}', "standard input:2: field 'id': duplicate id '1', first on line 1"),
    ],
)
def test_lines_that_are_no_claims(capsys, bundles, pages, monkeypatch, line, complaint):
    monkeypatch.setattr("sys.stdin", io.StringIO(f'{{"claim": "x"}}\n{line}\n'))
    code, _, err = run(capsys, "check", "--claims", "-", "--index", pages.folder, "--model", bundles["listwise"])
    assert code == 1 and complaint in err


def test_tables_are_indexed_as_the_model_reads_them(capsys, bundles, tmp_path):
    (tmp_path / "towns.csv").write_text("town,people\nTarn,18\nOstra,9\n")
    given = ["check", "Torimoor has 18 people.", "--corpus", tmp_path, "--json", "--model"]
    code, out, err = run(capsys, *given, bundles["fusion"])
    assert code == 0 and "(cells)" in err and rows(out)[0]["predicted_evidence"] == [["towns.csv", None]]
    code, out, err = run(capsys, *given, bundles["listwise"])
    assert code == 0 and "(whole)" in err and rows(out)[0]["evidence"][0]["place"] == "row 1"


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        ([], 2, "give one claim in quotation marks, or --claims"),
        ([CLAIM, "--claims", "x"], 2, "give one claim"),
        ([CLAIM], 2, "one of --corpus DIR, --index INDEX, --wikipedia"),
        ([CLAIM, "--index", "i", "--corpus", "c"], 2, "one of --corpus DIR, --index INDEX, --wikipedia"),
        ([CLAIM, "--index", "i", "--out", "o"], 2, "--out is for --claims FILE"),
        (["--claims", "c", "--index", "i", "--out", "o", "--two-way", "--calibrate"], 2, "leave --two-way out"),
        (["--claims", "-", "--index", "i", "--out", "o"], 2, "--out is for --claims FILE"),
        ([" ", "--index", "i"], 1, "the claim is empty"),
    ],
)
def test_arguments_that_do_not_fit(capsys, bundles, arguments, code, complaint):
    found, _, err = run(capsys, "check", *arguments, "--model", bundles["listwise"])
    assert found == code and complaint in err


# --- Questions ---------------------------------------------------------------------------------


def test_a_question_about_pages(capsys, bundles):
    given = ["ask", "Where was Vova Brugard born?", "--corpus", example_pages(), "--model", bundles["reader"]]
    code, out, err = run(capsys, *given, "--json", "--answers", 3)
    assert code == 0 and "(mixed)" in err and len(rows(out)) == 3
    for row in rows(out):
        assert row["evidence"]["unit"] == row["unit"] and row["evidence"]["place"].startswith("sentence ")
        assert row["evidence"]["text"] in (example_pages() / f"{row['unit'][:-2]}.txt").read_text()
    found = [row["probability"] for row in rows(run(capsys, *given, "--json")[1])]
    shown = run(capsys, *given)[1].splitlines()  # the first answer, and of the others no 0.000
    assert len(found) == 5 and len(shown) == max(1, sum(share >= 0.0005 for share in found)) < 5
    assert run(capsys, "ask", "zzz?", *given[2:])[1] == "no answer was found\n"


def test_a_question_about_tables(capsys, bundles, tmp_path):
    (tmp_path / "towns.csv").write_text("town,people\nTarn,18\nOstra,9\n")
    given = ["ask", "How many people has Ostra?", "--corpus", tmp_path, "--json", "--model", bundles["parts"]]
    code, out, err = run(capsys, *given)
    (row,) = rows(out)
    assert code == 0 and "(tables)" in err and row["evidence"]["unit"].startswith("towns.csv#r")
    assert row["answer"] in row["evidence"]["text"] and row["evidence"]["place"].startswith("row ")


@pytest.mark.parametrize(
    ("arguments", "model", "code", "complaint"),
    [
        (["q"], "reader", 2, "--corpus DIR or --index INDEX"),
        ([" ", "--corpus", "pages"], "reader", 1, "the question is empty"),
        (["q", "--index", "pages"], "reader", 1, "index of `lisax index mixed`"),
        (["q", "--index", "pages"], "parts", 1, "index of `lisax index tables`"),
        (["q", "--index", "pages"], "listwise", 1, "answers no questions"),
        (["q", "--index", "pages", "--columns", "x"], "reader", 1, "leave the models of columns"),
        (["q", "--index", "pages", "--retriever", "x"], "parts", 1, "leave the retriever out"),
    ],
)
def test_questions_that_do_not_fit(capsys, bundles, pages, arguments, model, code, complaint):
    arguments = [pages.folder if argument == "pages" else argument for argument in arguments]
    found, _, err = run(capsys, "ask", *arguments, "--model", bundles[model])
    assert found == code and complaint in err


def test_a_retriever_needs_a_reader(capsys, pages):
    found, _, err = run(capsys, "ask", "q", "--index", pages.folder, "--retriever", "x")
    assert found == 1 and "name a reader as the model, or leave the retriever out" in err
