"""Models that others have published: which job each does, and how it is run right.

`MODELS` is the table that `lisax models list` prints. `Use` has the settings that a T5 needs for its job: the prompt
that it was trained on, the answers whose probability is its score, and the length of its inputs. Figures are the
authors' own.
"""

from __future__ import annotations

import dataclasses
import enum
import fnmatch
import os
from collections.abc import Mapping, Sequence

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


SUPPORTS, REFUTES, NOT_ENOUGH_INFO = LABELS
# Checkers that answer supported or not: an unsupported claim may be refuted, too.
TWO_WAY = (SUPPORTS, NOT_ENOUGH_INFO)

MONOT5 = Use(Job.RANK, PROMPTS["monot5"], ("▁true", "▁false"))
DUOT5 = Use(Job.COMPARE, PROMPTS["duot5"], ("▁true", "▁false"))
MMARCO = Use(Job.RANK, PROMPTS["monot5"], ("▁yes", "▁no"))
MMARCO_13B = Use(Job.RANK, PROMPTS["monot5"], ("▁true", "▁"))
RANKT5 = Use(Job.RANK, PROMPTS["rankt5"], ("<extra_id_10>",), Rule.LOGIT)
# `0` is the two pieces `▁` and `0`, so that the first step's answers are `▁1` and `▁`.
MINICHECK = Use(
    Job.VERIFY,
    PROMPTS["minicheck"],
    ("▁1", "▁"),
    labels=TWO_WAY,
    max_tokens=2048,
    chunk_words=500,
    one_sentence=True,
)
TRUE = Use(Job.VERIFY, PROMPTS["nli"], ("▁1", "▁"), labels=TWO_WAY, max_tokens=2048)
XNLI = Use(Job.VERIFY, PROMPTS["xnli"], ("▁0", "▁2", "▁1"), labels=LABELS)
FLAN = Use(
    Job.VERIFY,
    PROMPTS["flan"],
    ("Yes", "No", "It's impossible to say"),
    Rule.ANSWERS,
    labels=LABELS,
    max_tokens=2048,
)
UNIFIEDSKG = Use(
    Job.TABLES,
    PROMPTS["unifiedskg"],
    ("entailed", "refuted"),
    Rule.ANSWERS,
    labels=(SUPPORTS, REFUTES),
    max_tokens=1024,
)


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


FAMILIES = (
    Family(
        "monoT5",
        Job.RANK,
        {
            "castorini/monot5-small-msmarco-10k": "60M",
            "castorini/monot5-small-msmarco-100k": "60M",
            "castorini/monot5-base-msmarco-10k": "220M",
            "castorini/monot5-base-msmarco": "220M",
            "castorini/monot5-base-med-msmarco": "220M",
            "castorini/monot5-base-med": "220M",
            "castorini/monot5-large-msmarco-10k": "770M",
            "castorini/monot5-large-msmarco": "770M",
            "castorini/monot5-3b-msmarco-10k": "3B",
            "castorini/monot5-3b-msmarco": "3B",
            "castorini/monot5-3b-med": "3B",
        },
        "not stated (its code: Apache-2.0)",
        MONOT5,
        "base: MRR@10 .3799 on MS MARCO dev; 3b-10k on BM25's top 100: nDCG@10 .7173 (DL19), .6887 (DL20)",
    ),
    Family(
        "duoT5",
        Job.COMPARE,
        {
            "castorini/duot5-base-msmarco-10k": "220M",
            "castorini/duot5-base-msmarco": "220M",
            "castorini/duot5-3b-msmarco-10k": "3B",
            "castorini/duot5-3b-msmarco": "3B",
        },
        "not stated (its code: Apache-2.0)",
        DUOT5,
        "3b-10k: nDCG@10 .7302 (DL19), .6913 (DL20)",
    ),
    Family(
        "InRanker",
        Job.RANK,
        {"unicamp-dl/InRanker-small": "60M", "unicamp-dl/InRanker-base": "220M", "unicamp-dl/InRanker-3B": "3B"},
        "Apache-2.0",
        MONOT5,
    ),
    Family(
        "mMARCO's mT5, 14 languages",
        Job.RANK,
        {"unicamp-dl/mt5-base-mmarco-v2": "580M", "unicamp-dl/mt5-base-en-pt-msmarco-v2": "580M"},
        "not stated",
        MMARCO,
    ),
    Family("mMARCO's mT5 XXL", Job.RANK, {"unicamp-dl/mt5-13b-mmarco-100k": "13B"}, "not stated", MMARCO_13B),
    Family(
        "RankT5",
        Job.RANK,
        {"Soyoung97/RankT5-base": "220M", "Soyoung97/RankT5-large": "770M", "Soyoung97/RankT5-3b": "3B"},
        "not stated",
        RANKT5,
    ),
    Family(
        "MiniCheck-Flan-T5",
        Job.VERIFY,
        {"lytang/MiniCheck-Flan-T5-Large": "770M"},
        "MIT (its code: Apache-2.0)",
        MINICHECK,
    ),
    Family("TRUE", Job.VERIFY, {"google/t5_xxl_true_nli_mixture": "11B"}, "Apache-2.0, to be confirmed", TRUE),
    Family(
        "TrueTeacher",
        Job.VERIFY,
        {"google/t5_11b_trueteacher_and_anli": "11B"},
        "CC BY-NC 4.0",
        TRUE,
        "ROC AUC .878 on TRUE's summarization sets",
    ),
    Family(
        "mT5-XNLI, 15 languages",
        Job.VERIFY,
        {"alan-turing-institute/mt5-large-finetuned-mnli-xtreme-xnli": "1.2B"},
        "not stated",
        XNLI,
    ),
    Family(
        "Flan-T5, zero-shot",
        Job.VERIFY,
        {
            "google/flan-t5-small": "77M",
            "google/flan-t5-base": "250M",
            "google/flan-t5-large": "780M",
            "google/flan-t5-xl": "3B",
            "google/flan-t5-xxl": "11B",
        },
        "Apache-2.0, to be confirmed",
        FLAN,
    ),
    Family(
        "UnifiedSKG's fine-tuned T5",
        Job.TABLES,
        {
            "hkunlp/from_all_T5_base_finetune*": "220M",
            "hkunlp/from_all_T5_large_finetune*": "770M",
            "hkunlp/from_all_T5_3b_finetune*": "3B",
        },
        "not stated (its code: Apache-2.0)",
        UNIFIEDSKG,
    ),
    Family(
        "RCI of CLTR",
        Job.PARTS,
        {f"michaelrglass/albert-base-rci-{data}-*": "12M" for data in ("wikisql", "wtq", "tabmcq")},
        "not stated",
        figures="dev Hit@1 .958 (WikiSQL), .702 (WTQ), .661 (TabMCQ)",
    ),
    Family(
        "GTR-T5",
        Job.ENCODE,
        {
            "sentence-transformers/gtr-t5-base": "110M",
            "sentence-transformers/gtr-t5-large": "340M",
            "sentence-transformers/gtr-t5-xl": "1.2B",
            "sentence-transformers/gtr-t5-xxl": "4.9B",
        },
        "Apache-2.0",
    ),
    Family(
        "MiniLM",
        Job.ENCODE,
        {"sentence-transformers/all-MiniLM-L6-v2": "23M"},
        "Apache-2.0",
        max_tokens=256,
    ),
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
    labels = () if ranks else TWO_WAY if len(words) == 2 else LABELS
    return Use(job, found, tuple(words), Rule.ANSWERS, labels, max_tokens)
