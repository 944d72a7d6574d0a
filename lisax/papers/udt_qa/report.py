"""The figures, `metrics.json` and the report of question answering over text, tables and graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from lisax.metrics import open_qa
from lisax.papers import reporting
from lisax.papers.base import REPORT
from lisax.papers.udt_qa.claims import AT_HAND, TABLES, WITHHELD
from lisax.papers.udt_qa.run import UdtQa
from lisax.records import Question
from lisax.report.report import Report, ResultTable, published
from lisax.retrieval.mixed import MixedIndex
from lisax.retrieval.passages import source_of
from lisax.sampling.question_examples import AnswerEvidence

NAMES = {"text": "text", "raw": "+ tables and graphs, raw", "verbalized": "+ tables and graphs, verbalized"}
METHODS = {"bm25": "BM25", "dense": "vectors", "fused": "fused"}
EXAMPLES = 20
PUBLISHED_NOTE = "The paper's own figures, Natural Questions: for orientation, not measured here."


def finish(run: UdtQa) -> str:
    """Computes all figures, writes `metrics.json` and `report.html`, and returns the tables for a terminal."""
    found = _figures(run)
    return reporting.write(run.out, found, _report(run, found))


def _figures(run: UdtQa) -> dict:
    questions = run.questions(REPORT)
    answers = {i: question.answers for i, question in questions.items()}
    groups = _groups(questions, run.is_structure, run.is_kept)
    settings, right = {}, {}
    for learned, index in run.recipe.settings:
        rows, opened = run.answers(learned, index), MixedIndex.open(run.index_folder(index, learned))
        said = {row["id"]: row["answers"][0] for row in rows if row["answers"]}
        texts = {
            method: {row["id"]: [opened.passage(hit).text for hit in row["retrieved"][method]] for row in rows}
            for method in rows[0]["retrieved"]
        }
        cutoffs = [k for k in open_qa.CUTOFFS if k <= run.recipe.retrieved]
        right[f"{learned}/{index}"] = open_qa.question_scores(answers, said)
        settings[f"{learned}/{index}"] = {
            "retrieval": {method: open_qa.recall(answers, of_method, cutoffs) for method, of_method in texts.items()},
            **open_qa.answered(answers, said),
            "by_evidence": {name: open_qa.answered({i: answers[i] for i in ids}, said) for name, ids in groups.items()},
            "sources": _sources(rows),
            "provenance": _provenance(rows, questions, opened),
        }
    return {
        "settings": settings,
        "differences": reporting.differences({"exact_match": (_main(settings), right)}),
        "indexes": {index: MixedIndex.open(run.index_folder(index, index)).sources for index in run.recipe.indexes},
        "claims": run.claim_checks.figures() if run.checks_claims else None,
        "withheld_pages": run.recipe.withheld_pages,
        "method": run.recipe.method,
        "questions": {role: len(found) for role, found in run.claims.items()},
        "reported_split": run.reported_split,
        **reporting.facts(run),
    }


def _main(settings: Mapping[str, Mapping]) -> str:
    """The setting whose figures are at the top."""
    return max(settings, key=lambda name: settings[name]["exact_match"])


def _groups(
    questions: Mapping[str, Question], is_structure: Callable[[str], bool], is_kept: Callable[[str], bool]
) -> dict[str, list[str]]:
    """Ids of questions by the place of their evidence: in a sentence of a kept page; only in withheld pages (and
    perhaps in tables and graphs); or only in tables and graphs."""
    groups: dict[str, list[str]] = {AT_HAND: [], WITHHELD: [], TABLES: []}
    for i, question in questions.items():
        pages = [unit.rpartition("_")[0] for unit in question.evidence if not is_structure(unit)]
        if question.evidence:
            groups[AT_HAND if any(map(is_kept, pages)) else WITHHELD if pages else TABLES].append(i)
    return {group: ids for group, ids in groups.items() if ids}


def _sources(rows: Sequence[Mapping]) -> dict[str, float]:
    """Shares of the sources among the passages of first answers."""
    places = [row["found"][0]["passage"] for row in rows if row["found"] and "passage" in row["found"][0]]
    counts = Counter(str(source_of(place)) for place in places)
    return {source: count / len(places) for source, count in sorted(counts.items())}


def _provenance(rows: Sequence[Mapping], questions: Mapping[str, Question], index: MixedIndex) -> float | None:
    """Share of right first answers whose sentence, row or edge is evidence, over questions with evidence."""
    right = []
    for row in rows:
        if (
            row["found"]
            and row["evidence"]
            and "unit" in row["found"][0]
            and open_qa.exact_match(row["answers"][0], row["gold"])
        ):
            units = index.passage(row["found"][0]["passage"]).units_at(row["found"][0]["begin"])
            right.append(any(map(AnswerEvidence(questions[row["id"]]).names, units)))
    return sum(right) / len(right) if right else None


def _report(run: UdtQa, found: Mapping) -> Report:
    settings = found["settings"]
    main = _main(settings)
    tiles = {"Exact match": settings[main]["exact_match"]}
    if "text/text" in settings:
        tiles["From text only"] = settings["text/text"]["exact_match"]
    learned, index = main.split("/")
    return reporting.report(
        run,
        found,
        "One index of text, tables and graphs",
        f"{settings[main]['questions']:,} questions",
        f"{sum(held['passages'] for held in found['indexes'][index].values()):,} passages",
        notes=[f"“{question}” {answer} ({where})" for question, answer, where in _shown(run, learned, index)],
        tiles=tiles,
        tiles_of=_name(main),
        result_tables=[
            _answers_table(run, found),
            _hot_swap_table(found),
            _retrieval_table(run, found),
            *_evidence_table(found),
            *_claims_table(found),
            *reporting.difference_tables(found["differences"], lambda _, setting: _name(setting)),
        ],
    )


def _shown(run: UdtQa, learned: str, index: str) -> list[tuple[str, str, str]]:
    """Right answers with their sources."""
    shown = []
    for row in run.answers(learned, index):
        if row["found"] and "unit" in (best := row["found"][0]) and open_qa.exact_match(best["answer"], row["gold"]):
            shown.append((row["question"], best["answer"], best["unit"]))
    return shown[:EXAMPLES]


def _answers_table(run: UdtQa, found: Mapping) -> ResultTable:
    recall = ("retrieval", found["method"])
    settings = [(name.split("/"), of) for name, of in found["settings"].items()]
    return ResultTable.of(
        "Answers of models that learned from the index they answer from",
        (("R@20", *recall, "R@20"), ("R@100", *recall, "R@100"), ("EM", "exact_match")),
        {NAMES[index]: of for (learned, index), of in settings if learned == index},
        "R@k: an answer is in one of the first k passages; EM: exact match."
        + ("" if run.recipe.retrieved >= 100 else f" {run.recipe.retrieved} passages were retrieved."),
        PUBLISHED_NOTE,
        published=published("UDT-QA answers"),
    )


def _hot_swap_table(found: Mapping) -> ResultTable:
    """Empty if models that learned from text answer from no other index."""
    settings = [(name.split("/"), of) for name, of in found["settings"].items()]
    rows = {NAMES[index]: of for (learned, index), of in settings if learned == "text"}
    swapped = len(rows) > 1
    return ResultTable.of(
        "Hot-swap: models that learned from text only",
        [("EM", "exact_match")],
        rows if swapped else {},
        "Tables and graphs join the index after training; nothing is trained again.",
        PUBLISHED_NOTE,
        published=published("UDT-QA hot-swap") if swapped else (),
    )


def _retrieval_table(run: UdtQa, found: Mapping) -> ResultTable:
    return ResultTable.of(
        "Retrieval",
        [(f"R@{k}", f"R@{k}") for k in open_qa.CUTOFFS if k <= run.recipe.retrieved],
        {
            f"{_name(name)}: {METHODS[method]}": figures
            for name, of in found["settings"].items()
            for method, figures in of["retrieval"].items()
        },
        "Fused: reciprocal ranks of BM25 and of the dual encoder's vectors.",
    )


def _evidence_table(found: Mapping) -> list[ResultTable]:
    settings = {_name(name): of for name, of in found["settings"].items()}
    groups = dict.fromkeys(group for of in settings.values() for group in of["by_evidence"])
    if not groups:
        return []
    columns = [*((group, "by_evidence", group, "exact_match") for group in groups), ("source named", "provenance")]
    return [
        ResultTable.of(
            "Exact match by the place of the evidence",
            columns,
            settings,
            f"The text of {found['withheld_pages']:.0%} of the pages is withheld; tables: it is on no page. "
            "Source named: of right answers, those whose sentence, row or edge is the question's evidence.",
        )
    ]


def _claims_table(found: Mapping) -> list[ResultTable]:
    if not found["claims"]:
        return []
    rows = {
        f"{_name(name)}{said}": {group: figures[key] for group, figures in of.items()}
        for name, of in found["claims"].items()
        for key, said in (("accuracy", ""), ("accuracy_with_dates", ", dates by rule"))
    }
    groups = dict.fromkeys(group for of in found["claims"].values() for group in of)
    return [
        ResultTable.of(
            "Claims checked against text, tables and graphs",
            [(group, group) for group in groups],
            rows,
            f"Right labels of claims that are true or false. The text of {found['withheld_pages']:.0%} of the pages is withheld: "
            "of split claims one piece of evidence is on a page, the other only in tables and graphs. "
            "The checker is LisT5's; dates by rule: DeSePtion's temporal step after it.",
        )
    ]


def _name(setting: str) -> str:
    learned, index = setting.split("/")
    return NAMES[index] if learned == index else f"{NAMES[index]}, learned from {NAMES[learned]}"
