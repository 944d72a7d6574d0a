"""Questions that sentences answer: fits the probability of the shipped ranker's best sentence, and measures it.

    python -m benchmarks.asked --data ../shared/data/fever ../shared/data/wtq --out OUT [--questions 400]

Three sources: claims of FEVER's sample, turned into questions by rules, with the sentences that decide them; questions of
WikiTableQuestions' `e2e_train`, whose rows are written as sentences; questions of a generated world. Each is asked twice:
of all pages, and without the pages that answer it. The values go into OUT/asked.json; in the ranker's `model.json`
they are the field `asked`. Figures are of questions over pages and tables (`dev`) that the fit has not seen, and of
each source by values that were fitted on the other two.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import itertools
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lisax import Index, shipped
from lisax.corpora import open_folder, plain
from lisax.devices.batching import windows
from lisax.files.writing import write_json
from lisax.metrics.calibration import binned, expected_error
from lisax.predict import sentence_answers
from lisax.predict.answer_confidence import AnswerConfidence
from lisax.predict.ranker import Ranker
from lisax.predict.verdicts import Evidence
from lisax.records import Claim, Document, Label, Sentence, Table, split_cell_id, split_sentence_id
from lisax.sampling.files import hashed_share
from lisax.text.titles import id_to_title
from lisax.world import writing

DEV, ROWS, WORLD_PAGES = 0.1, 30, 400  # share of tables, rows of a table at most, pages of the world
DOCUMENTS, CANDIDATES, KEPT, AT_A_TIME = 8, 40, 5, 16  # pages and sentences of a question, those kept, and its batch
# Of a claim that says this of its page: the question, with {s} for the page's title.
PARTS = (
    (r"(?:was|is) (?:a|an|the) (?!\d).+", ("What is {s}?", "Who or what is {s}?")),
    (
        r"(?P<v>was|were) (?P<p>\w+(?:ed|en|rn|ade|lt|old)) (?:in|on) (?:\w+ )?(?:\d+,? ?)*(?:of )?[12]\d{3}",
        ("When {v} {s} {p}?", "In which year {v} {s} {p}?"),
    ),
    (r"(?P<v>was|were) (?P<p>\w+(?:ed|en|rn|ade|lt|old)) (?:in|at) [A-Z].+", ("Where {v} {s} {p}?",)),
    (
        r"(?P<v>was|were|is) (?P<p>\w+(?:ed|en|rn|ade|lt|old)) by (?!a )[A-Z].+",
        ("Who {p} {s}?", "By whom {v} {s} {p}?"),
    ),
    (r"(?:stars|starred|features|featured) .+", ("Who starred in {s}?",)),
    (r"(?P<v>is|was) (?:located |situated )?in [A-Z].+", ("Where is {s}?", "Where is {s} located?")),
    (r"(?:has|had) (?P<p>\w+) (?P<n>\w+s)", ("How many {n} does {s} have?",)),
    (r"(?:won|received) .+", ("What did {s} win?",)),
    (r"(?:played|plays) .+", ("What did {s} play?",)),
    (r"(?:died|married|attended|directed|wrote|founded|produced) .+", ()),
)
VERBS = {
    "died": "When did {s} die?",
    "married": "Whom did {s} marry?",
    "attended": "What did {s} attend?",
    "directed": "What did {s} direct?",
    "wrote": "What did {s} write?",
    "founded": "What did {s} found?",
    "produced": "What did {s} produce?",
}
SUBJECT = re.compile(
    r"(?:is|was|were|has|had|won|played|plays|wrote|directed|starred|died|lives|lived|received|works|worked|produced|founded|attended|married|made|appeared|hosted|released|acted|performed)\b.{20,}"
)


class Case(NamedTuple):
    """A question with its best sentences, which of them answer it, and its best ones without the pages that do."""

    split: str
    kind: str
    question: str
    found: list[Evidence]
    right: list[bool]
    others: list[Evidence]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, nargs=2, required=True, help="FEVER's sample and WikiTableQuestions")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=400)
    given = parser.parse_args()
    write(*given.data, given.out)
    cases = list(cases_of(given.out, given.questions))
    report(cases)
    fitted = sentence_answers.fit(asked([one for one in cases if one.split == "train"]))
    write_json(given.out / "asked.json", dataclasses.asdict(fitted))


def cases_of(folder: Path, most: int) -> Iterator[Case]:
    """The `most` questions, of both splits and the three kinds in turn, with the sentences that are found for them."""
    index, ranker = Index.build(folder), Ranker.open(shipped.answers())
    groups: dict[tuple[str, str], list[Claim]] = collections.defaultdict(list)
    for split in ("train", "dev"):
        for claim in plain.read_claims(folder / f"claims.{split}.jsonl"):
            groups[split, claim.kind].append(claim)
    keyed = (
        [(*key, claim) for claim in sorted(some, key=lambda one: hashed_share(one.text))]
        for key, some in groups.items()
    )
    turns = (one for row in itertools.zip_longest(*keyed) for one in row if one is not None)
    for group in windows(itertools.islice(turns, most), AT_A_TIME):
        texts = [claim.text for _, _, claim in group]
        found = index.search_many(texts, CANDIDATES, documents=DOCUMENTS)
        gold = [set(itertools.chain(*claim.evidence_sets)) for _, _, claim in group]
        pages = [{split_sentence_id(unit)[0] for unit in units} for units in gold]
        without = [
            [one for one in some if split_sentence_id(one.unit)[0] not in own] for some, own in zip(found, pages)
        ]
        ranked = zip(ranker.rank_many(texts, found), ranker.rank_many(texts, without))
        for (split, kind, claim), units, (best, others) in zip(group, gold, ranked):
            yield Case(split, kind, claim.text, best[:KEPT], [one.unit in units for one in best[:KEPT]], others[:KEPT])


def asked(cases: Iterable[Case]) -> list[sentence_answers.Asked]:
    return [
        one
        for case in cases
        for one in ((case.question, case.found, case.right), (case.question, case.others, [False] * len(case.others)))
    ]


def report(cases: list[Case]) -> None:
    """Prints the share of right first sentences, and the figures of the fitted probability."""
    for kind in sorted({one.kind for one in cases}):
        some = [one.right[:1] == [True] for one in cases if one.kind == kind]
        print(f"{kind}: the first sentence answers {np.mean(some):.1%} of {len(some)} questions")
    pairs = [("dev", *split(cases, lambda one: one.split == "dev"))]
    pairs += [
        (kind, *split(cases, lambda one, kind=kind: one.kind == kind)) for kind in sorted({one.kind for one in cases})
    ]
    for name, measured, fitted_on in pairs:
        print(name, figures(sentence_answers.fit(asked(fitted_on)), measured))


def split(cases: list[Case], wanted: Callable[[Case], bool]) -> tuple[list[Case], list[Case]]:
    return [one for one in cases if wanted(one)], [one for one in cases if not wanted(one)]


def figures(fitted: AnswerConfidence, cases: list[Case]) -> dict[str, float]:
    """As of `answer_confidence.figures`: of the answers given the share that is right, of the questions the share that is
    answered rightly, of those without their pages the share that gets no answer, and the calibration error of both."""

    def best(case: Case, found: list[Evidence]) -> float:
        return float(fitted.probabilities(sentence_answers.features(case.question, found))[0]) if found else 0.0

    shares = [(best(one, one.found), one.right[:1] == [True]) for one in cases]
    others = [(best(one, one.others), False) for one in cases]
    given = [right for share, right in (*shares, *others) if share >= fitted.threshold]
    return {
        "questions": len(cases),
        "precision": float(np.mean(given)) if given else 0.0,
        "answered_right": float(np.mean([right and share >= fitted.threshold for share, right in shares])),
        "refused_without": float(np.mean([share < fitted.threshold for share, _ in others])),
        "expected_error": expected_error(binned([*shares, *others])),
    }


def write(fever: Path, wtq: Path, out: Path) -> None:
    """Writes pages.jsonl, claims.train.jsonl and claims.dev.jsonl."""
    pages: dict[str, Document] = {}
    asked: dict[str, list[Claim]] = {"train": [], "dev": []}
    for source in (of_claims(fever), of_tables(wtq), of_world()):
        for split, questions, documents in source:
            asked[split] += questions
            pages |= {page.id: page for page in documents}
    plain.write_pages(out / "pages.jsonl", pages.values())
    for split, questions in asked.items():
        print(split, len(questions), collections.Counter(one.kind for one in questions))
        plain.write_claims(out / f"claims.{split}.jsonl", questions)


def of_claims(folder: Path) -> Iterator[tuple[str, list[Claim], Iterable[Document]]]:
    data = open_folder(folder)
    pages, numbers = {page.id: page for page in data.documents()}, itertools.count()
    for split in ("train", "dev"):
        made = {}
        for claim in data.claims(split):
            sets = [one for one in claim.evidence_sets if len(one) == 1]
            if claim.label is Label.NOT_ENOUGH_INFO or not sets:
                continue
            owner = split_sentence_id(sets[0][0])[0]
            title = re.sub(r" \(.*", "", id_to_title(owner))
            for text in questions_of(claim.text, title, claim.label):
                known = made.get(text)
                ids = {unit for (unit,) in sets} | ({unit for (unit,) in known.evidence_sets} if known else set())
                made[text] = Claim(
                    f"f{next(numbers)}", text, Label.SUPPORTS, tuple((one,) for one in sorted(ids)), kind="fever"
                )
        yield split, list(made.values()), pages.values()


def questions_of(claim: str, title: str, label: Label) -> Iterator[str]:
    """Yields questions that a claim's deciding sentence answers: about the predicate and, if the claim is true, the subject."""
    said = claim.removeprefix("The ").removesuffix(".").strip()
    if not said.startswith(f"{title} "):
        return
    rest, about = said.removeprefix(title).strip(), f"the {title}" if claim.startswith("The ") else title
    for pattern, forms in PARTS:
        if found := re.fullmatch(pattern, rest):
            form = forms[int(hashed_share(claim) * len(forms))] if forms else VERBS[rest.split()[0]]
            yield form.format(s=about, **found.groupdict())
            break
    if label is Label.SUPPORTS and SUBJECT.fullmatch(rest):
        yield f"{'Who' if 2 <= len(title.split()) <= 3 else 'What'} {rest}?"


def of_tables(folder: Path) -> Iterator[tuple[str, list[Claim], Iterable[Document]]]:
    data = open_folder(folder)
    questions = [one for one in data.questions("e2e_train") if one.evidence and "#r" in one.evidence[0]]
    wanted = {split_cell_id(one.evidence[0])[0] for one in questions}
    tables = {one.id: one for one in data.tables() if one.id in wanted and len(one.rows) <= ROWS}
    for split in ("train", "dev"):
        made, pages = [], {}
        for one in questions:
            table, row, _ = split_cell_id(one.evidence[0])
            if table not in tables or (hashed_share(table) < DEV) != (split == "dev"):
                continue
            pages[table] = page_of(tables[table])
            made.append(Claim(f"t{one.id}", one.text, Label.SUPPORTS, ((f"{pages[table].id}_{row}",),), kind="wtq"))
        yield split, made, pages.values()


def page_of(table: Table) -> Document:
    """A table as a page: each row a sentence about its first cell."""
    name = table.id.replace("/", "-")
    header = [column.lower() for column in table.header]
    rows = (
        f"{row[0]}: "
        + ", ".join(f"the {column} is {cell}" for column, cell in zip(header[1:], row[1:]) if cell.strip())
        + "."
        for row in table.rows
    )
    return Document(
        name, table.title or "Table", tuple(Sentence(name, i, " ".join(row.split())) for i, row in enumerate(rows))
    )


def of_world() -> Iterator[tuple[str, list[Claim], Iterable[Document]]]:
    with tempfile.TemporaryDirectory() as folder:
        writing.write(folder, WORLD_PAGES, 11, claims_per_page=0, questions_per_page=3, questions_per_table=0)
        data = open_folder(Path(folder))
        pages = {page.id: page for page in data.documents()}
        units = {one.id for page in pages.values() for one in page.sentences}
        for split in ("train", "dev"):
            made = [
                Claim(
                    f"w{one.id}",
                    one.text,
                    Label.SUPPORTS,
                    tuple((unit,) for unit in one.evidence if unit in units),
                    kind="world",
                )
                for one in itertools.islice(data.questions(split), 1500)
                if any(unit in units for unit in one.evidence)
            ]
            yield split, [one for one in made if not one.text.count(" of the ") > 2], pages.values()


if __name__ == "__main__":
    main()
