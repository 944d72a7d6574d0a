"""KELM: sub-graphs of Wikidata with sentences, found in Wikipedia (TEKGEN) or generated (KELM).

    quadruples-{train,validation,test}.tsv    TEKGEN: {"triples": [[s, r, o], …], "serialized_triples", "sentence"}
    kelm_generated_corpus.jsonl               KELM: {"triples", "serialized_triples", "gen_sentence"}, read as train
    *{train,validation,test}*.tsv             or `serialized triples TAB sentence`, which cannot be taken apart

A triple with a qualifier has four members: (subject, object, qualifier, value). Its pair is named by the qualifier and
the object. A line without triples becomes one unnamed value with the serialised triples.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lisax.corpora import titles
from lisax.corpora.dataset import SPLITS, StructureDataset
from lisax.corpora.reading import Row, Watch, one_file, told
from lisax.corpora.triple_sets import to_pairs
from lisax.records import DataError, DataText, parse_json_object, read_lines

NAMES = {"train": "train", "validation": "dev", "dev": "dev", "test": "test"}


class Kelm(StructureDataset):
    layout = "kelm"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.text_files = kelm_files(folder)

    @property
    def data_text_splits(self):
        return tuple(self.text_files)

    def data_texts(self, split, watch=None):
        return told(lambda w: read_kelm(self.text_files[split], split, w), watch)


def kelm_files(folder: Path) -> dict[str, Path]:
    """Split -> its file."""
    found: dict[str, Path] = {}
    for path in sorted([*folder.glob("quadruples-*.tsv"), *folder.glob("kelm*.tsv")]):
        if split := next((split for name, split in NAMES.items() if name in path.stem), None):
            one_file(found, split, path)
    if (corpus := folder / "kelm_generated_corpus.jsonl").is_file():
        one_file(found, "train", corpus)
    return {split: found[split] for split in SPLITS if split in found}


def read_kelm(path: Path, split: str, watch: Watch) -> Iterator[DataText]:
    """One record per line with the id `kelm:{split}:{line}`; an invalid line is a problem."""
    try:
        for line, text in read_lines(path):
            try:
                record = parse_kelm(text, split, path, line, watch)
            except DataError as error:
                watch.problem(error)
                continue
            watch.where = (path, line)
            yield record
    except DataError as error:
        watch.problem(error)


def parse_kelm(text: str, split: str, path: Path, line: int, watch: Watch) -> DataText:
    key = f"kelm:{split}:{line}"
    if not text.startswith("{"):
        parts = [titles.one_line(part) for part in text.split("\t")]
        if len(parts) != 2 or not all(parts):
            raise DataError(
                f"expected `triples TAB sentence` or a JSON object, found {len(parts)} columns", path=path, line=line
            )
        return DataText(key, "", (("", parts[0]),), (parts[1],), "kelm")
    row = Row(parse_json_object(text, path=path, line=line), path, line, watch)
    triples = []
    for i, members in enumerate(row.each("triples", row.get("triples", list), list)):
        members = [titles.one_line(member) for member in row.each(f"triples[{i}]", members, str)]
        if len(members) not in (3, 4):
            raise row.error(f"triples[{i}]", f"expected three or four members, found {len(members)}")
        subject, *rest = members
        triples.append((subject, rest[0], rest[1]) if len(rest) == 2 else (subject, f"{rest[0]} {rest[1]}", rest[2]))
    if not triples:
        raise row.error("triples", "the list is empty")
    title, pairs = to_pairs(triples)
    return DataText(
        key, title, pairs, (row.text("gen_sentence" if "gen_sentence" in row.value else "sentence"),), "kelm"
    )
