"""However the bytes of a layout's files are changed, reading them gives records that can be written, or a sentence that
names the folder's file."""

import io
import json
import logging
import shutil
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisax.corpora import open_folder
from lisax.corpora.check import check
from lisax.errors import LisaxError

XML = (
    "<b><entries><entry eid='1'><modifiedtripleset><mtriple>A é | b | C</mtriple></modifiedtripleset>"
    "<lex comment='good'>A is é.</lex></entry></entries></b>"
)
TABLE = '{"title": "T é", "header": [["h", []]], "data": [[["a é", []]]], "section_title": "s"}'
MCQS = "QUESTION\tCHOICE 1\tCHOICE 2\tCHOICE 3\tCHOICE 4\tCORRECT CHOICE\tRELEVANT TABLE\tRELEVANT ROW\tRELEVANT COL\n"


def packed(mode: str, name: str, content: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content.encode())
        archive.addfile(info, io.BytesIO(content.encode()))
    return data.getvalue()


LAYOUTS = {
    "fever": {
        "train.jsonl": '{"id": 1, "claim": "é", "label": "SUPPORTS", "evidence": [[[1, 2, "P", 0]]]}\n',
        "wiki-pages.jsonl": '{"id": "P", "lines": "0\\ta é\\n1\\tb"}\n',
    },
    "beir": {
        "corpus.jsonl": '{"_id": "d", "text": "é"}\n',
        "queries.jsonl": '{"_id": "q", "text": "é"}\n',
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq\td\t1\n",
    },
    "tabfact": {
        "all_csv.tar.gz": packed("w:gz", "all_csv/1.csv", "h#g\na é#1\n"),
        "train_examples.json": '{"1.csv": [["é"], [1], "caption"]}',
        "table_to_page.json": '{"1.csv": ["T", "https://en.wikipedia.org/wiki/T%C3%A9"]}',
    },
    "infotabs": {
        "infotabs_train.tsv": 'annotater_id\ttable_id\thypothesis\tlabel\nG\tT0\t"é"\tE\n',
        "tables.tar.gz": packed("w:bz2", "T0.json", '{"title": ["é"], "key": ["a", "b"]}'),
    },
    "wtq": {
        "training.tsv": "id\tutterance\tcontext\ttargetValue\nnt-0\té?\tcsv/1-csv/1.csv\ta\\p|b\n",
        "csv.tar.gz": packed("w:xz", "csv/1-csv/1.csv", '"h","g"\n"a","é"\n'),
    },
    "tabmcq": {"MCQs.tsv": MCQS + "é\ta\tb\tc\td\t1\tauto-1\t1\t0\n", "Tables/auto/1.tsv": "h\tg\na\té\n"},
    "dart": {"dart-v1-full-dev.json": '[{"tripleset": [["é", "b", "c"]], "annotations": [{"text": "é"}]}]'},
    "webnlg": {"webnlg_a.tar.gz": packed("w:gz", "w/train/1triples/a.xml", XML)},
    "webnlg unpacked": {"dev/1triples/a.xml": XML},
    "ottqa": {
        "dev.json": '[{"question_id": "1", "question": "é", "table_id": "T", "answer-text": "a"}]',
        "traindev_tables_tok/T.json": TABLE,
    },
    "ottqa, all tables": {"dev.json": "[]", "all_plain_tables.json": f'{{"T": {TABLE}, "U": {TABLE}}}'},
    "questions": {"webquestions.examples.test.json": '[{"utterance": "é", "targetValue": "(list (description é))"}]'},
    "tables": {
        "a.csv": 'h,g\n1,"é\n2"\n',
        "b.tsv": "h\tg\n1\té\n".encode("utf-16"),
        "c.html": "<title>é</title><table><tr><th rowspan=2>h<th>g<tr><td colspan=2>&eacute;<td>1</table>",
    },
}
PIECES = st.one_of(
    st.binary(max_size=4),
    st.sampled_from(
        [
            *rb'\ud800 # , " \ { ] 1e999 NaN null [1] <table> <entry> &x; &#xD800; <!-- charset=utf-7'.split(),
            *(b"\xed\xa0\x80", b"\xff\xfe", b"\xef\xbb\xbf", b"\0", b"\r", b"\n", b"\t", b"PK\x03\x04", b"\x1f\x8b"),
            *(b"[" * 1500, b'{"a":' * 300, b"9" * 4400, b"0" * 3000 + b"1", b",," * 600, b"encoding='utf-16'"),
            b"<td colspan=1000 rowspan=65000>",
            b"<!DOCTYPE a [<!ENTITY x 'y'>]>",
        ]
    ),
)
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 8), PIECES), min_size=1, max_size=3)


def edited(content: bytes, edits) -> bytes:
    for place, deleted, inserted in edits:
        at = int(place * len(content))
        content = content[:at] + inserted + content[at + deleted :]
    return content


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_records_or_a_sentence(layout, tmp_path, caplog, data):
    caplog.set_level(logging.CRITICAL)
    files = LAYOUTS[layout]
    chosen = data.draw(st.sampled_from(sorted(files)))
    edits = data.draw(EDITS)
    folder = tmp_path / "data"
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        content = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(edited(content, edits) if name == chosen else content)
    for read in (read_all, told):
        try:
            read(folder)
        except LisaxError as error:
            assert str(folder) in str(error)


def read_all(folder: Path) -> None:
    dataset = open_folder(folder)
    for stream in (
        *map(dataset.claims, dataset.splits),
        *map(dataset.questions, dataset.question_splits),
        *map(dataset.data_texts, dataset.data_text_splits),
        dataset.documents(),
        dataset.tables(),
        dataset.graphs(),
    ):
        for record in stream:
            json.dumps(dataclass_values(record), ensure_ascii=False).encode()


def dataclass_values(record) -> list:
    return [
        getattr(record, name) if name != "sentences" else [sentence.text for sentence in record.sentences]
        for name in record.__slots__
    ]


def told(folder: Path) -> None:
    "\n".join(check(folder).lines()).encode()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_files_are_sound_unless_they_are_changed(layout, tmp_path):
    for name, content in LAYOUTS[layout].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    summary = check(tmp_path)
    assert summary.sound and sum(summary.counts.values())
