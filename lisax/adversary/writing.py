"""Writes attacked claims as a folder: in our plain layout, or in FEVER's official one as in the FEVER 2.0 shared task.

    plain   claims.{split}.jsonl, pages.jsonl   {"id", "claim", "label", "evidence", "kind", "source", "edit", "reason"}
    fever   {split}.jsonl, wiki-pages.jsonl     {"id", "label", "claim", "evidence", "attack", "source", "edit", …}

Both can be read like any folder of their layout. Lines are streamed, and files are renamed into place only when all are
complete.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from lisax.adversary.attack import FEVER2_NAMES, Attack
from lisax.adversary.corpus import AttackCorpus
from lisax.corpora.plain import by_number
from lisax.errors import DataError, LisaxError
from lisax.files.writing import atomic_write, write_json
from lisax.progress import say
from lisax.records import Document, Label, split_sentence_id

LAYOUTS = {"plain": ("claims.{split}.jsonl", "pages.jsonl"), "fever": ("{split}.jsonl", "wiki-pages.jsonl")}
SUMMARY = "attacks.json"
# Ids in the official layout are numbers; the authors' own begin here.
FIRST_FEVER_ID = 500_000


class NoAttacks(LisaxError):
    """No attack could be made at all."""


def write_folder(
    out: Path,
    attacks: Mapping[str, Iterable[tuple[str, Attack]]],
    corpus: AttackCorpus,
    *,
    layout: str = "plain",
    pages: bool = True,
    settings: Mapping | None = None,
) -> dict:
    """Writes (id, attack) by split and, with `pages`, the corpus next to them. Returns the content of `attacks.json`:
    counts by split, kind and label, and the files. Raises NoAttacks, before writing anything, if there are none.

    Files of an earlier run that are not written again are removed; readers would take them for a part of this run."""
    if odd := [split for split in attacks if not re.fullmatch(r"\w[\w.-]*", split)]:
        raise LisaxError(f"expected a split's name, as dev, found {odd[0]!r}")
    claim_name, page_name = LAYOUTS[layout]
    before = _files_before(out)
    counts: dict[str, dict[str, Counter]] = {}
    fever_ids = itertools.count(FIRST_FEVER_ID)
    with contextlib.ExitStack() as stack:
        for split, made in attacks.items():
            made = iter(made)
            if (first := next(made, None)) is None:
                continue  # readers refuse empty files
            file = stack.enter_context(atomic_write(out / claim_name.format(split=split)))
            of_split = counts.setdefault(split, {})
            for id, attack in itertools.chain((first,), made):
                row = _plain_row(id, attack) if layout == "plain" else _fever_row(next(fever_ids), id, attack, corpus)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                of_split.setdefault(str(attack.kind), Counter())[str(attack.label)] += 1
        if not counts:
            raise NoAttacks("none of the claims allows any of these kinds of attack: nothing was written")
        if pages:
            file = stack.enter_context(atomic_write(out / page_name))
            for row in map(_page_row if layout == "plain" else _wiki_row, corpus.documents()):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    files = [claim_name.format(split=split) for split in counts] + [page_name] * pages
    for name in sorted(before - set(files)):
        (out / name).unlink(missing_ok=True)
        say(f"removed {out / name} of an earlier run")
    summary = {"layout": layout, **(settings or {}), "counts": counts, "files": files}
    write_json(out / SUMMARY, summary)
    return summary


def _files_before(out: Path) -> set[str]:
    """Names of the files that the `attacks.json` of an earlier run lists."""
    path = out / SUMMARY
    if not path.is_file():
        return set()
    try:
        return {Path(name).name for name in json.loads(path.read_text(encoding="utf-8"))["files"]}
    except (ValueError, KeyError, TypeError):
        raise DataError(
            "expected the file that `lisax attack make` writes next to its claims: choose another folder, or remove the file",
            path=path,
        ) from None


def _about(attack: Attack) -> dict:
    return {"source": list(attack.source), "edit": attack.edit, "reason": attack.reason}


def _plain_row(id: str, attack: Attack) -> dict:
    return {
        "id": id,
        "claim": attack.text,
        "label": str(attack.label),
        "evidence": [list(members) for members in attack.evidence_sets],
        "kind": str(attack.kind),
    } | _about(attack)


def _fever_row(number: int, id: str, attack: Attack, corpus: AttackCorpus) -> dict:
    undecided = attack.label is Label.NOT_ENOUGH_INFO
    evidence = (
        [[[None, None, None, None]]]
        if undecided
        else [[_fever_unit(unit, corpus) for unit in members] for members in attack.evidence_sets]
    )
    return {
        "id": number,
        "verifiable": "NOT VERIFIABLE" if undecided else "VERIFIABLE",
        "label": str(attack.label),
        "claim": attack.text,
        "evidence": evidence,
        "attack": FEVER2_NAMES[attack.kind],
        "original_id": id,
    } | _about(attack)


def _fever_unit(unit: str, corpus: AttackCorpus) -> list:
    page, number = split_sentence_id(unit)
    return [None, None, (corpus.page(page).original_id or page) if page in corpus else page, number]


def _page_row(document: Document) -> dict:
    """Uses our id, as in the evidence of the claims; FEVER's own may be decomposed (NFD) or have white space."""
    return {"id": document.id, "title": document.title, "sentences": by_number(document, "text")} | (
        {"redirects": list(document.redirects)} if document.redirects else {}
    )


def _wiki_row(document: Document) -> dict:
    texts = by_number(document, "text")
    return {
        "id": document.original_id or document.id,
        "text": " ".join(filter(None, texts)),
        "lines": "\n".join(f"{number}\t{text}" for number, text in enumerate(texts)),
    }
