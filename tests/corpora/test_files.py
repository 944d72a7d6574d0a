"""Folders of ordinary files, and what was not read of them."""

import os

import pytest

from lisax.corpora import open_folder
from lisax.corpora.check import check
from lisax.corpora.files import FileFolder
from lisax.errors import DataError
from lisax.predict.building import account_of, build_index
from lisax.records import Table


def texts(page):
    return [sentence.text for sentence in page.sentences]


def test_a_folder_of_everything(tmp_path):
    (tmp_path / "b sub").mkdir()
    (tmp_path / "b sub/a b.tsv").write_text("x\ty\n1\t2\n")
    (tmp_path / "page.html").write_text("<table><tr><td>1</table><table><tr><td>2</table>")
    (tmp_path / "other.png").write_text("1")
    (tmp_path / "notes.txt").write_text("no table")
    tables = list(open_folder(tmp_path).tables())
    assert [t.id for t in tables] == ["b_sub/a_b.tsv", "page.html:0", "page.html:1"]
    assert tables[0] == Table("b_sub/a_b.tsv", "a b", ("x", "y"), (("1", "2"),), original_id="b sub/a b.tsv")
    summary = check(tmp_path)
    assert summary.sound and summary.counts == {"tables": 3, "pages": 1, "sentences with text": 1}
    assert summary.files == "read 3 of 4 files; skipped 1 .png"


def test_links_and_closed_folders_are_named(tmp_path, monkeypatch):
    for folder in ("files/closed", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "Orm.txt").write_text("The Orm is a river.")
    (tmp_path / "files/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "files/lost.txt").symlink_to(tmp_path / "nothing.txt")
    scan = os.scandir

    def scandir(folder):
        if str(folder).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(folder))
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scandir)  # to root no folder is closed
    assert [str(one) for one in FileFolder(tmp_path / "files").account().skipped] == [
        "closed: folder that cannot be opened",
        "linked: linked folder",
        "lost.txt: cannot be read: No such file or directory",
    ]


def test_problems_have_their_place(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"")
    (tmp_path / "b.csv").write_text("x\n1\n")
    found = [problem.replace(str(tmp_path), "") for problem in check(tmp_path).problems]
    assert found == ["/a.csv: empty"]


def test_a_user_s_claims_over_a_folder_of_tables(tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/cats.csv").write_text("name,kg\nlion,190\n")
    (tmp_path / "claims.dev.jsonl").write_text(
        '{"id": 1, "claim": "A lion weighs 190 kg.", "label": "SUPPORTS", "evidence": [["cats.csv"]]}\n'
    )
    dataset = open_folder(tmp_path)
    assert (dataset.layout, dataset.table_claim_splits) == ("plain", ("dev",))
    assert [claim.gold_ids for claim in dataset.table_claims("dev")] == [("cats.csv",)]
    assert [table.id for table in dataset.tables()] == ["cats.csv"] and not list(dataset.documents())
    assert check(tmp_path).sound
    with pytest.raises(DataError, match="no claims over tables for split 'test'; there are dev"):
        dataset.table_claims("test")
    (tmp_path / "tables/cats.csv").unlink()
    assert not check(tmp_path).sound


def test_claims_over_tables_jsonl_beside_claims_over_pages(tmp_path):
    claim = '{{"id": {0}, "claim": "c", "label": "SUPPORTS", "evidence": [["{1}"]]}}\n'
    (tmp_path / "pages.jsonl").write_text('{"id": "P", "title": "P", "sentences": ["a"]}\n')
    (tmp_path / "tables.jsonl").write_text('{"id": "T", "title": "", "header": ["h"], "rows": [["c"]]}\n')
    (tmp_path / "claims.dev.jsonl").write_text(claim.format(1, "P_0"))
    assert open_folder(tmp_path).table_claim_splits == ()
    (tmp_path / "table_claims.dev.jsonl").write_text(claim.format(2, "T"))
    dataset = open_folder(tmp_path)
    assert [c.id for c in dataset.claims("dev")] == ["1"] and [c.id for c in dataset.table_claims("dev")] == ["2"]
    summary = check(tmp_path)
    assert summary.sound and summary.counts["table claims in dev"] == 1


def test_a_folder_of_tables_has_no_claims(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    assert FileFolder(tmp_path).splits == ()
    with pytest.raises(DataError, match="no claims for split 'dev'"):
        open_folder(tmp_path).claims("dev")


def test_a_name_that_is_not_utf_8_is_named_and_the_others_are_indexed(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "odd\udcff.txt").write_text("Never read.")
    (tmp_path / "pages" / "tarn.txt").write_text("Tarn is a town.")
    (tmp_path / "pages" / "a\nread all.log").write_bytes(b"\0")
    folder = build_index(tmp_path / "pages", tmp_path / "index").folder
    summary, *others = account_of(folder).lines()
    assert summary.startswith("read 1 of 3 files; skipped")
    assert r"not read: odd\udcff.txt: a name that is not UTF-8" in others
    assert any(line.startswith("not read: a read all.log: ") for line in others)  # a name has one line


def test_names_that_have_the_same_id(tmp_path):
    for number, name in enumerate(("Report 2023", "Report_2023", "Report_2023-2")):
        (tmp_path / f"{name}.txt").write_text(f"Tarn has {number} mills.")
    for name in ("Towns 1", "Towns_1", "Towns#1"):
        (tmp_path / f"{name}.csv").write_text("Town,People\nTarn,900\nOrm,412\n")
    (tmp_path / "Towns_1.txt").write_text("Orm is a town.")
    folder = FileFolder(tmp_path)
    assert {page.id: page.sentences[0].text for page in folder.documents()} == {
        "Report_2023.txt": "Tarn has 0 mills.",
        "Report_2023.txt-2": "Tarn has 1 mills.",
        "Report_2023-2": "Tarn has 2 mills.",
        "Towns_1.txt": "Orm is a town.",
    }
    assert sorted(table.id for table in folder.tables()) == ["Towns_1.csv", "Towns_1.csv-2", "Towns_1.csv-3"]


def test_only_whole_names_are_not_evidence(tmp_path):
    for name in ("README.md", "LICENSE.txt", "readme.de.txt", "License fees 2023.txt", "Readme_minutes.txt"):
        (tmp_path / name).write_text("Tarn is a town.")
    assert [page.id for page in FileFolder(tmp_path).documents()] == ["License_fees_2023", "Readme_minutes"]
