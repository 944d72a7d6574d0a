"""Metrics of generated text: overlap with references, and which answers and facts survive.

All are fractions: sacrebleu's BLEU, chrF and TER are divided by 100 (TER may exceed 1; lower is better). Case is
ignored, as in DART's own evaluation. ROUGE is rouge-score's F-measure; ROUGE and METEOR take the best reference of a
text. METEOR (NLTK) needs WordNet's data, and BERTScore the extra `bertscore` and a model of its own: if they are not
installed, they are left out unless requested by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from lisax.errors import DataError, LisaxError
from lisax.faithful.facts import Facts
from lisax.text.folding import RUN, fold

if TYPE_CHECKING:
    from lisax.formats.triples import Triples

ROUGE = ("rouge1", "rouge2", "rougeL")
References = Sequence[Sequence[str]]


# --- Overlap --------------------------------------------------------------------------------


def overlap(references: References, texts: Sequence[str], extra: Sequence[str] = ()) -> dict[str, float | int]:
    """`bleu`, `chrf`, `ter`, `rouge1`, `rouge2`, `rougeL`, and `meteor` if its data is installed, of `texts` with one
    or more references each. `extra` names optional measures (`meteor`, `bertscore`) that are required."""
    if not texts or len(references) != len(texts) or not all(references):
        raise DataError(
            f"expected at least one text and, for each, a reference; found {len(texts)} texts and "
            f"{sum(map(bool, references))} with references"
        )
    if unknown := set(extra) - {"meteor", "bertscore"}:
        raise LisaxError(f"there is no measure '{min(unknown)}' of texts; the optional ones are meteor and bertscore")
    from sacrebleu.metrics import BLEU, CHRF, TER

    columns = _columns(references)
    measures = {"bleu": BLEU(lowercase=True), "chrf": CHRF(lowercase=True), "ter": TER()}
    figures: dict[str, float | int] = {
        name: measure.corpus_score(list(texts), columns).score / 100 for name, measure in measures.items()
    }
    figures |= _rouge(references, texts)
    if (meteor := _meteor("meteor" in extra)) is not None:
        figures["meteor"] = _mean(meteor(of_text, text) for of_text, text in zip(references, texts))
    if "bertscore" in extra:
        figures["bertscore"] = _bertscore(references, texts)
    return figures | {"texts": len(texts)}


def bleu(references: References, texts: Sequence[str]) -> float:
    """Only BLEU, for use in training."""
    from sacrebleu.metrics import BLEU

    return BLEU(lowercase=True).corpus_score(list(texts), _columns(references)).score / 100


def _columns(references: References) -> list[list[str | None]]:
    """First references, second references, …, as sacrebleu expects them."""
    return [
        [of_text[i] if i < len(of_text) else None for of_text in references] for i in range(max(map(len, references)))
    ]


def _rouge(references: References, texts: Sequence[str]) -> dict[str, float]:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(ROUGE)
    best = [
        {name: max(score[name].fmeasure for score in scores) for name in ROUGE}
        for of_text, text in zip(references, texts)
        for scores in [[scorer.score(reference, text) for reference in of_text]]
    ]
    return {name: _mean(row[name] for row in best) for name in ROUGE}


def _meteor(wanted: bool) -> Callable[[Sequence[str], str], float] | None:
    """METEOR of one text, or None if WordNet's data is not installed; an error if it is `wanted`."""
    import nltk
    from nltk.translate.meteor_score import meteor_score

    try:
        nltk.data.find("corpora/wordnet.zip")
    except LookupError:
        if wanted:
            raise LisaxError(
                "METEOR needs WordNet's data: `python -m nltk.downloader wordnet` fetches it, or set "
                "NLTK_DATA to a folder that holds corpora/wordnet.zip"
            ) from None
        return None

    def tokens(text: str) -> list[str]:
        return text.lower().split()

    return lambda references, text: meteor_score(list(map(tokens, references)), tokens(text))


def _bertscore(references: References, texts: Sequence[str]) -> float:
    try:
        import bert_score
    except ModuleNotFoundError:
        raise LisaxError(
            "BERTScore is not installed: `pip install lisax[bertscore]`; it fetches a model of 1.4 GB at its first use"
        ) from None
    return float(bert_score.score(list(texts), [list(of_text) for of_text in references], lang="en")[2].mean())


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / max(len(values), 1)


# --- Survival -------------------------------------------------------------------------------


def has_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether the text contains one of the answers, word for word; case, accents and punctuation are ignored."""
    line = _line(text)
    return any((answer := _line(wanted)).strip() and answer in line for wanted in answers)


def _line(text: str) -> str:
    return f" {' '.join(map(fold, RUN.findall(text)))} "


def answer_coverage(examples: Iterable[tuple[Sequence[str], str, str]]) -> dict[str, float | int | None]:
    """UDT-QA's answer coverage of (answers, data as raw text, text): the share of examples with an answer in the text,
    among the `examples` with one in the data; `absent` counts the others. None if there is nothing to count."""
    kept = present = absent = 0
    for answers, raw, text in examples:
        if has_answer(raw, answers):
            present += 1
            kept += has_answer(text, answers)
        else:
            absent += 1
    return {"answer_coverage": kept / present if present else None, "examples": present, "absent": absent}


def faithfulness(units: Iterable[tuple[Triples, str]]) -> dict[str, float | int | None]:
    """Figures of (unit, text) pairs: the share of texts that neither lose nor invent anything that can be checked
    without a word list; and the shares of all numbers, dates and joined numbers (`3-2`), and of all names, in the units
    that their texts contain."""
    texts = faithful = numbers = numbers_kept = names = names_kept = 0
    for triples, text in units:
        facts = Facts(triples)
        judgement = facts.judge(text)
        texts += 1
        faithful += judgement.faithful
        lost_names = sum(lost in facts.names for lost in judgement.lost)
        names, names_kept = names + len(facts.names), names_kept + len(facts.names) - lost_names
        wanted = len(facts.numbers) + len(facts.dates) + len(facts.joined)
        numbers, numbers_kept = numbers + wanted, numbers_kept + wanted - (len(judgement.lost) - lost_names)
    return {
        "faithful": faithful / texts if texts else None,
        "numbers_and_dates_kept": numbers_kept / numbers if numbers else None,
        "names_kept": names_kept / names if names else None,
        "texts": texts,
    }
