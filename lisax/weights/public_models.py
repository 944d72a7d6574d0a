"""Models that others have published: which job each does, and how it is run right.

`public_models.toml` is the table that `lisax models list` prints. `Use` has the settings that a T5 needs for its job:
the prompt that it was trained on, the answers whose probability is its score, and the length of its inputs.
"""

from __future__ import annotations

import dataclasses
import enum
import fnmatch
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lisax.errors import LisaxError
from lisax.formats.prompts import PROMPTS, Prompt, prompt_of
from lisax.records import LABELS, Label
from lisax.weights import hub


class Job(enum.StrEnum):
    RANK = "rank"  # texts by their relevance to a claim, one by one
    COMPARE = "compare"  # which of two texts is the more relevant one
    VERIFY = "verify"  # a claim against a text
    TABLES = "tables"  # a claim against a table
    PARTS = "parts"  # rows or columns of a table for a question
    ENCODE = "encode"  # texts as vectors


class Rule(enum.StrEnum):
    """How a score is read from a T5."""

    PIECES = "pieces"  # softmax over the answers' logits at the first decoder step
    LOGIT = "logit"  # that logit of the one answer, as it is
    # Softmax over the log-probabilities of whole answers with their EOS; where each answer is one piece, as PIECES.
    ANSWERS = "answers"


@dataclasses.dataclass(frozen=True)
class Use:
    """How a T5 does its job.

    `answers` are pieces as the vocabulary spells them (`▁true`), or texts under `Rule.ANSWERS`. Those of a ranker begin
    with relevant; a checker's are one per label of `labels`. `max_tokens` with EOS. A document is read in chunks of
    whole sentences of at most `chunk_words`, of which the chunk that supports the claim most counts; if the model wants
    `one_sentence`, a claim of several has the support of its least supported sentence."""

    job: Job
    prompt: Prompt
    answers: tuple[str, ...]
    rule: Rule = Rule.PIECES
    labels: tuple[Label, ...] = ()
    max_tokens: int = 512
    chunk_words: int | None = None
    one_sentence: bool = False


@dataclasses.dataclass(frozen=True)
class Family:
    """Models of the Hub that do one job alike. `sizes`: OWNER/NAME, where `*` stands for anything, with the number of
    parameters. `use` is that of a T5 that scores; `max_tokens` the longest text of an encoder."""

    name: str
    job: Job
    sizes: Mapping[str, str]
    licence: str
    use: Use | None = None
    figures: str = ""
    max_tokens: int = 512


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _use(row: dict[str, Any]) -> Use:
    row |= {"job": Job(row["job"]), "prompt": PROMPTS[row["prompt"]], "rule": Rule(row.get("rule", Rule.PIECES))}
    return Use(**row | {"answers": tuple(row["answers"]), "labels": tuple(map(Label, row.get("labels", ())))})


USES = {name: _use(row) for name, row in _TABLE["uses"].items()}
FAMILIES = tuple(
    Family(**row | {"job": Job(row["job"]), "use": USES.get(row.get("use"))}) for row in _TABLE["families"]
)


def find(model: str | os.PathLike) -> Family | None:
    """The family of a model of the Hub, `hf:OWNER/NAME@REVISION`; None of any other."""
    name = os.fspath(model)
    if not name.startswith(hub.PREFIX):
        return None
    name = name.removeprefix(hub.PREFIX).partition("@")[0]
    return next((family for family in FAMILIES for known in family.sizes if fnmatch.fnmatchcase(name, known)), None)


def facts(family: Family, whole: bool = False) -> str:
    """A family's description in a line of text; `whole`: with a line for its prompt and its score."""
    known = f"{family.name}: {family.job}; licence: {family.licence}" + (
        f"; {family.figures}" if family.figures else ""
    )
    if not whole or family.use is None:
        return known
    use = family.use
    labels = f" ({', '.join(use.labels)})" if use.labels else ""
    return "\n".join(
        (
            known,
            f"prompt   {use.prompt.template!r}",
            f"answers  {', '.join(map(repr, use.answers))}{labels}, scored by {use.rule}",
            f"length   {use.max_tokens} tokens",
        )
    )


def use_of(model: str | os.PathLike) -> Use:
    """How a T5 of the Hub is used. LisaxError of one that is not listed, or that does not score."""
    family = find(model)
    if family is not None and family.use is not None:
        return family.use
    raise LisaxError(
        f"{model} is a T5 as published, and its prompt is not known here (`lisax models list` names the known ones). Say "
        "it with --prompt and --label-words, in Python with given_use: for example --prompt 'Query: {claim} Document: "
        "{text} Relevant:' --label-words true,false"
    )


def given_use(prompt: str | None, words: Sequence[str], *, ranks: bool, max_tokens: int = 512) -> Use | None:
    """The use of a T5 by the user's options; None without any.

    `prompt` is the name of one of `prompts.PROMPTS`, or a template. `words` of a ranker: relevant, not relevant. Of a
    checker: supported and not supported, or three in the order of `LABELS`."""
    if prompt is None and not words:
        return None
    known = (2,) if ranks else (2, 3)
    if prompt is None or len(words) not in known:
        raise LisaxError(
            "a prompt and its label words belong together: expected "
            + (
                "two words, relevant and not relevant"
                if ranks
                else "two words, or three in the order of " + ", ".join(LABELS)
            )
            + f"; found the prompt {prompt!r} and the words {', '.join(words) or 'none'}"
        )
    found = prompt_of(prompt)
    job = Job.VERIFY if not ranks else Job.COMPARE if found.compares else Job.RANK
    labels = () if ranks else (LABELS[0], LABELS[2]) if len(words) == 2 else LABELS
    return Use(job, found, tuple(words), Rule.ANSWERS, labels, max_tokens)
