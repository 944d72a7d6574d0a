"""Files that were made, or broken, to harm: each ends in a sentence with its place, in bounded memory."""

import gzip
import io
import json
import re
import subprocess
import sys
import zipfile

import pytest
from dataset_files import MCQS, packed, put

from lisax.corpora import archives, fever, open_folder, tabmcq
from lisax.corpora.check import check
from lisax.corpora.reading import Watch
from lisax.errors import DataError

HALF = b"\xed\xa0\x80"  # U+D800 as UTF-8 would have it
BOX = b'{"title": ["T"], "key": ["%s"]}'
OTT_TABLE = b'{"title": "T", "header": [["h", []]], "data": [[["%s", []]]]}'
HYPOTHESES = b"annotater_id\ttable_id\thypothesis\tlabel\nG\tT0\tx\tE\n"
WTQ = b"id\tutterance\tcontext\ttargetValue\nnt-0\twhat?\tcsv/1-csv/1.csv\ta\n"


# --- Text that cannot be written ------------------------------------------------------------


@pytest.mark.parametrize(
    "text, said",
    [(HALF, "not valid JSON: byte .* is not UTF-8"), (b"\\ud800", "a string holds half of a surrogate pair")],
)
@pytest.mark.parametrize(
    "place, files",
    [
        (
            "tables.tar.gz/T0.json",
            lambda text: {"infotabs_train.tsv": HYPOTHESES, "tables.tar.gz": packed(**{"T0.json": BOX % text})},
        ),
        (
            "train_examples.json",
            lambda text: {"all_csv/1.csv": b"h\na\n", "train_examples.json": b'{"1.csv": [["c %s"], [1], ""]}' % text},
        ),
        (
            "traindev_tables_tok/T.json",
            lambda text: {"dev.json": b"[]", "traindev_tables_tok/T.json": OTT_TABLE % text},
        ),
        (
            "all_plain_tables.json",
            lambda text: {"dev.json": b"[]", "all_plain_tables.json": b'{"T": %s}' % (OTT_TABLE % text)},
        ),
        (
            "dart-v1-full-dev.json",
            lambda text: {
                "dart-v1-full-dev.json": b'[{"tripleset": [["a", "b", "%s"]], "annotations": [{"text": "t"}]}]' % text
            },
        ),
    ],
)
def test_halves_of_surrogate_pairs_are_problems(tmp_path, place, files, text, said):
    put(tmp_path, files(text))
    if place == "all_plain_tables.json" and text == HALF:
        said = "not valid JSON: not UTF-8"
    with pytest.raises(DataError, match=f"{place}: {said}"):
        read_all(tmp_path)
    assert any(f"{place}: " in problem for problem in check(tmp_path).problems)


def test_a_half_in_utf_16(tmp_path):
    put(tmp_path, {"webquestions-train.json": '[{"qId": "1", "qText": "\\ud800", "answers": []}]'.encode("utf-16")})
    with pytest.raises(DataError, match="webquestions-train.json: a string holds half of a surrogate pair"):
        read_all(tmp_path)


@pytest.mark.parametrize("name, content", [("T\udc80.csv", b"a,b\n1,2\n"), ("T\udc80.html", b"<table><td>a</table>")])
def test_a_file_s_name_that_is_not_utf_8(tmp_path, name, content):
    put(tmp_path, {name: content, "other.csv": b"a,b\n1,2\n"})
    summary = check(tmp_path)
    assert summary.counts == {"tables": 1} and not summary.sound
    assert r"T\udc80" in summary.problems[0] and "not UTF-8" in summary.problems[0]
    "\n".join(summary.lines()).encode()


@pytest.mark.parametrize("stem", ["claims", "table_claims", "questions"])
def test_a_split_s_name_that_is_not_utf_8(tmp_path, stem):
    put(
        tmp_path,
        {f"{stem}.T\udc80.jsonl": b'{"id": 1, "claim": "c"}\n', "pages.jsonl": b'{"id": "P", "sentences": []}\n'},
    )
    with pytest.raises(DataError, match="a file's name must be UTF-8"):
        open_folder(tmp_path)


def test_the_command_prints_a_name_that_is_not_utf_8(tmp_path):
    put(tmp_path, {"T\udc80.csv": b"a,b\n1,2\n"})
    done = subprocess.run([sys.executable, "-m", "lisax", "data", "check", tmp_path], capture_output=True, check=False)
    assert done.returncode == 1 and rb"T\udc80.csv" in done.stdout and not done.stderr


# --- Values that are not what they should be ------------------------------------------------


def test_a_row_s_number_of_any_length(tmp_path):
    put(
        tmp_path,
        {
            "MCQs.tsv": (MCQS + f"q\ta\tb\tc\td\t1\tauto-1\t{'9' * 4301}\t0\n" * 21).encode(),
            "Tables/auto/1.tsv": b"h\tg\na\tb\n",
        },
    )
    with pytest.raises(DataError, match=r"MCQs.tsv:2: field 'RELEVANT ROW': expected 1 to 1, found '999"):
        list(tabmcq.TabMcq(tmp_path).questions("dev"))


@pytest.mark.parametrize(
    "lines, texts",
    [
        ("0\ta\n" + "9" * 5000 + "\tb", ["a b"]),
        ("0\ta\n" + "0" * 5000 + "1\tb", ["a b"]),
        ("0\ta\n1000000001\tb", ["a b"]),
        ("0\ta\n0003\tb", ["a", "", "", "b"]),
        ("\n".join(f"{1000 * i + 1000}\ta" for i in range(5000)), [""] * 1000 + [" ".join("a" * 5000)]),
    ],
)
def test_sentence_numbers_of_any_length(tmp_path, lines, texts):
    (tmp_path / "wiki-pages.jsonl").write_text(json.dumps({"id": "P", "lines": lines}) + "\n")
    (page,) = fever.read_pages(tmp_path / "wiki-pages.jsonl", Watch())
    assert [sentence.text for sentence in page.sentences] == texts


@pytest.mark.parametrize("depth", [101, 995, 100_000])
@pytest.mark.parametrize("brackets", ["[]", '{"a":1}'])
def test_what_is_nested_too_deep_is_told(tmp_path, depth, brackets):
    opening, closing = brackets[:-1].replace("1", ""), brackets[-1]
    value = opening * depth + ("1" if closing == "}" else "") + closing * depth
    put(
        tmp_path,
        {
            "claims.dev.jsonl": f'{{"id": 1, "claim": {value}}}\n'.encode(),
            "pages.jsonl": b'{"id": "P", "title": "", "sentences": []}\n',
        },
    )
    with pytest.raises(DataError, match="claims.dev.jsonl:1: not valid JSON"):
        list(open_folder(tmp_path).claims("dev"))


# --- Archives -------------------------------------------------------------------------------


def zipped(kind: int, content: bytes = b"a,b\n1,2\n" * 50) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", kind) as archive:
        archive.writestr("T.csv", content)
    return data.getvalue()


def damaged(data: bytes, at: int) -> bytes:
    return data[:at] + bytes(byte ^ 0xFF for byte in data[at : at + 20]) + data[at + 20 :]


@pytest.mark.parametrize(
    "data, said",
    [
        (damaged(zipped(zipfile.ZIP_LZMA), 44), "broken or encrypted"),
        (damaged(zipped(zipfile.ZIP_DEFLATED), 40), "broken or encrypted"),
        (zipped(zipfile.ZIP_BZIP2), "'T.csv' is compressed with bzip2"),
        (damaged(packed("w:xz", a=b"x" * 5000), 60), "broken or encrypted"),
        (damaged(packed("w:bz2", a=b"x" * 5000), 40), "cannot be"),
        (packed("w:gz", a=b"x" * 5000)[:-30], "broken or encrypted"),
        (packed("w:", a=b"x" * 600, b=b"y")[:1600] + b"x" * 512, "broken"),
        (packed(**{"": b"x"}), "an unsafe name, ''"),
        (packed(**{"a" * 256: b"x"}), "a name that is too long for a file"),
        (packed(**{"T\udc80": b"x"}), "a name that is not UTF-8"),
        (gzip.compress(b"no tar"), "neither a zip nor a tar"),
        (b"", "neither a zip nor a tar"),
    ],
    ids=lambda value: "bytes" if isinstance(value, bytes) else value,
)  # an archive says when it was made
def test_a_damaged_archive_is_told_of(tmp_path, data, said):
    (tmp_path / "archive").write_bytes(data)
    with pytest.raises(DataError, match=f"archive: .*{said}"):
        archives.unpack(tmp_path / "archive", tmp_path / "out")
    with pytest.raises(DataError, match=f"archive: .*{said}"):
        list(archives.read_files(tmp_path / "archive"))
    assert not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    "data",
    [packed(mode, **{"T.csv": b"a,b\n1,2\n" * 50}) for mode in ("w:", "w:gz", "w:bz2", "w:xz")]
    + [zipped(kind) for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)],
    ids=lambda _: "bytes",
)
def test_every_kind_of_archive_is_read(tmp_path, data):
    (tmp_path / "archive").write_bytes(data)
    assert [(str(name), content) for name, content in archives.read_files(tmp_path / "archive")] == [
        ("T.csv", b"a,b\n1,2\n" * 50)
    ]


def test_a_table_s_page_whose_path_is_too_long_has_no_title(tmp_path):
    name = f"csv/{'a' * 250}-csv/1.csv"  # that of its page is longer, and no file's
    put(tmp_path, {"training.tsv": WTQ, "csv.tar.gz": packed(**{name: b'"h"\n"a"\n'})})
    (table,) = open_folder(tmp_path).tables()
    assert (table.id, table.title) == (name, "")


# --- Memory ---------------------------------------------------------------------------------

ENTRY = (
    b"<b><entries><entry eid='1'><modifiedtripleset><mtriple>A | b | C</mtriple></modifiedtripleset><lex>%s</lex>"
    b"</entry></entries></b>"
)
MEASURE = """
import re, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from lisax.corpora.check import check
from lisax.errors import LisaxError
try:
    print("\\n".join(check(sys.argv[1]).lines()))
except LisaxError as error:
    print(error)
print(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads a process's own memory from /proc")
@pytest.mark.parametrize(
    "files, said",
    [
        (
            lambda: {
                "webnlg_a.tar.gz": packed(
                    **{f"w__train__1triples__{i}.xml": ENTRY % (b"x" * 15_000_000) for i in range(8)}
                )
            },
            "records in train: 8",
        ),
        (
            lambda: {"training.tsv": WTQ, "csv.tar.gz": packed(**{"csv__1-csv__1.csv": b"," * 17_000_000})},
            "'csv/1-csv/1.csv' of more than 16,777,216 bytes",
        ),
        (
            lambda: {"training.tsv": WTQ, "csv.tar.gz": packed(**{"csv__1-csv__1.csv": b"," * 140_000_000})},
            "over 200 times",
        ),
        (
            lambda: {"dev.json": b"[" + b"{}," * 10_000_000 + b"0]", "all_plain_tables.json": b"{}"},
            "dev.json: the JSON holds more than 5,000,000 values",
        ),
        (
            lambda: {"dev.json": b"[]", "all_plain_tables.json": b'{"T": [' + b"{}," * 10_000_000 + b"0]}"},
            "members have at most 8,388,608 characters",
        ),
        (lambda: {"a.html": b"<table><tr><td colspan=1000 rowspan=65000>x</table>" * 4000}, "without their spans"),
        (lambda: {"all_csv/1.csv": b"#" * 999 + b"\n" * 3_000_000 + b"a", "train_examples.json": b"{}"}, "rows beyond"),
        (lambda: {"dart-v1-full-dev.xml": b"<b>" + b"<a/>" * 3_000_000 + b"</b>"}, "expected entries of at most"),
        (
            lambda: {"NQ-open.dev.jsonl": b'{"question": "' + b"a" * 70_000_000 + b'"}\n'},
            "the line has more than 67,108,864",
        ),
    ],
    ids=["webnlg", "member", "bomb", "values", "values of one", "spans", "tabfact", "xml", "line"],
)
def test_memory_is_bounded(tmp_path, files, said):
    put(tmp_path, files())
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, tmp_path], capture_output=True, text=True, timeout=60, check=False
    )
    *lines, kilobytes = done.stdout.splitlines()
    assert not done.stderr and int(kilobytes) < (300_000 if "line" in said or "members" in said else 100_000)
    assert re.search(said, "\n".join(lines))


def read_all(folder) -> None:
    dataset = open_folder(folder)
    for stream in (
        *map(dataset.claims, dataset.splits),
        *map(dataset.questions, dataset.question_splits),
        *map(dataset.data_texts, dataset.data_text_splits),
        dataset.documents(),
        dataset.tables(),
    ):
        for _ in stream:
            pass
