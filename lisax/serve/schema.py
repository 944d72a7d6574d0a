"""Inputs and results of the service, for HTTP and for assistants: these models check the input and make the OpenAPI
document.

A call takes one object (`claim`) or a batch (`claims`). Of a verdict, an answer and a unit of evidence the fields are
those of `Verdict.to_dict`, `Answer.to_dict` and `Evidence.to_dict`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    FiniteFloat,
    StringConstraints,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from lisax.serve.limits import LIMITS


def clean(text: str) -> str:
    """A text on one line, without control characters."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())


def _is_whole(given: Any) -> bool:
    return isinstance(given, float) and given.is_integer()


# At least one character that is neither a blank nor a control character. U+0085 and U+FEFF are blanks only in some
# dialects of regular expressions; named, they are none in any.
SAYS_SOMETHING = r"[^\s\x00-\x1f\x7f-\x9f\ufeff]"
Line = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LIMITS.text_characters, pattern=SAYS_SOMETHING),
    AfterValidator(clean),
]
Text = Annotated[str, StringConstraints(min_length=1, max_length=LIMITS.evidence_characters, pattern=SAYS_SOMETHING)]
Title = Annotated[str, StringConstraints(max_length=LIMITS.text_characters)]
Cell = Annotated[str, StringConstraints(max_length=LIMITS.table.characters)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=LIMITS.text_characters, pattern=SAYS_SOMETHING)]
Plain = Annotated[str, StringConstraints(min_length=0)]  # a constraint makes pydantic refuse lone surrogates
WHOLE = BeforeValidator(lambda given: int(given) if _is_whole(given) else given)  # to JSON 5.0 is an integer
IndexId = Annotated[
    str | None,
    Field(default=None, description="An id of `GET /v1/indexes`; by default the first index that can be asked this."),
]
Reads = Annotated[
    Literal["sentences", "tables"] | None,
    Field(
        default=None,
        description="The evidence to check the claim against, if an index has both; default: both, joined into one verdict.",
    ),
]
Tier = Annotated[
    Literal["light", "accurate"] | None,
    Field(
        default=None,
        description="The shipped labeller of text: light, or accurate, which is right more often and takes three to five times as "
        "long; default: that of the server.",
    ),
]
Label = Literal["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]


# Which form of an input is meant is seen from the input, so that errors are only of that form; their places have these
# tags, which `field_of` leaves out.
ONE, MANY, _STRING, _NUMBER, _OBJECT, _TABLE = TAGS = ("(one)", "(many)", "(string)", "(number)", "(object)", "(table)")


def field_of(place: Sequence[int | str]) -> str:
    """The place of a validation error as a user writes it: `claims[2].evidence`."""
    parts = (part for part in place if part not in TAGS)
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")


def _form(given: Any) -> str:
    return _STRING if isinstance(given, str) else _OBJECT


def _evidence_form(given: Any) -> str:
    return _TABLE if isinstance(given, dict) and "table" in given else _form(given)


Id = Annotated[
    Annotated[
        Annotated[int, WHOLE, Tag(_NUMBER)] | Annotated[Plain, Tag(_STRING)],
        Discriminator(lambda given: _STRING if isinstance(given, str) else _NUMBER),
    ]
    | None,
    Field(default=None, description="Returned with the result."),
]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


# --- Results --------------------------------------------------------------------------


class Evidence(Model):
    """A unit of evidence. `unit` is its id, `source` the title of its page, table or graph; `computed` are facts that were
    computed for the claim from a table or from the numbers of sentences."""

    unit: str
    text: str
    source: str = ""
    place: Plain = ""
    score: FiniteFloat | None = None
    url: Plain = ""
    revision_url: Plain = ""
    computed: list[Plain] = []


class SourceVerdict(Model):
    """The label from one source, of a verdict that was joined from several."""

    reads: Literal["sentences", "tables"]
    label: Label
    label_probabilities: dict[Label, float] = {}
    reason: str = ""


class Voice(Model):
    """The surest unit of one document for a label, with its probability when it is read on its own."""

    unit: str
    probability: float
    date: str | None = Field(description="Of the document: 2024-09-10, or as far as it is known.")


class Disagreement(Model):
    """Documents that support a claim and documents that refute it, newest first."""

    supports: list[Voice]
    refutes: list[Voice]
    retraction: str | None = Field(
        description="The unit of a later document that takes back the statement of an earlier one, which decides the verdict."
    )


class Verdict(Model):
    """A claim's label with its evidence, best first, as `lisax check --json` prints it, with FEVER's fields.

    The three lists `predicted_evidence`, `evidence_units` and `evidence_scores` have an entry per unit of `evidence`,
    in its order."""

    claim: str
    id: int | str | None = None
    predicted_label: Label
    predicted_evidence: list[tuple[str, int | None]] = Field(
        description="[page, sentence], [table, row] or [graph, edge], counted from 0; [table, null] of a whole table."
    )
    evidence_units: list[str] = Field(description="The ids of the units.")
    evidence_scores: list[FiniteFloat | None] = Field(description="null if the unit was not scored.")
    read_units: list[str] = Field(description="The ids of those units that the probabilities are from.")
    label_probabilities: dict[Label, float] = {}
    abstained: bool = False
    temporal: dict[str, Any] | None = None
    sufficiency: float | None = None
    reason: str
    evidence: list[Evidence]
    deciding: str | None = Field(default=None, description="Of a joined verdict: the unit of evidence that decides.")
    sources: list[SourceVerdict] = Field(default=[], description="The verdicts that were joined, if there are several.")
    disagreement: Disagreement | None = Field(default=None, description="Both sides, if documents disagree.")


class Answer(Model):
    """An answer with its evidence. `begin` and `end` are characters of the `passage` that a reader found it in."""

    answer: str
    probability: float
    abstained: bool = False
    passage: str | None = None
    unit: str | None = None
    begin: int | None = None
    end: int | None = None
    evidence: Evidence | None
    reason: str


class Answers(Model):
    """The answers to a question, likeliest first, and the number of pages and tables that were searched for them."""

    question: str
    id: int | str | None = None
    answers: list[Answer]
    searched: dict[str, int]


class Ranking(Model):
    """The evidence for a claim, best first."""

    claim: str
    id: int | str | None = None
    evidence: list[Evidence]


Result = TypeVar("Result", Verdict, Answers, Ranking)


class Results(Model, Generic[Result]):
    """The results of a batch, in its order."""

    results: list[Result]


class SkippedFile(Model):
    """A file that was not read, and why."""

    file: str
    why: str
    detail: str


class FileNote(Model):
    """A kind of warning about read files, such as rows that are left out, how often it is so, and the first file."""

    kind: str
    count: int
    file: str


class Files(Model):
    """The numbers of files and of read files, the unread files, and the warnings about the others."""

    files: int
    read: int
    skipped: list[SkippedFile]
    notes: list[FileNote] = []


class Index(Model):
    """An index, and the calls that the loaded models answer from it."""

    id: str
    name: str
    version: str = Field(description="Of the open index: another one for each build.")
    made: str = Field(description="When the open index was built, in UTC.")
    calls: list[Literal["check", "ask", "rank"]]
    uploaded: bool
    seen_by: Literal["everyone", "session", "token"] = Field(
        description="Of an upload: everyone who may call, or only you by your session or your token."
    )
    expires: str | None = Field(default=None, description="When it is removed, in UTC; null: it is kept.")
    files: Files | None = Field(default=None, description="Of an index of documents: the files.")


class Indexes(Model):
    indexes: list[Index]


class Problem(Model):
    """The problem, and its field."""

    status: int
    message: str
    field: str | None = None
    request_id: str


class Error(Model):
    error: Problem


# --- Inputs ----------------------------------------------------------------------------


class GivenEvidence(Evidence):
    """A unit of evidence; the results of `/v1/rank` can be given to `/v1/verify`. `unit`, its id, may be left out."""

    unit: Name | None = None
    text: Text
    source: Title = ""


def _check_cells(cells: int, most: int) -> None:
    if cells > most:
        raise PydanticCustomError(
            "too_many_cells", f"{cells:,} cells, with those of padded rows; at most {most:,} are taken"
        )


class GivenTable(Model):
    """A table as it would be read from a CSV file: short rows are padded with empty cells, and columns past the end of
    the header have no name."""

    title: Title = ""
    header: Annotated[list[Cell], Field(min_length=1, max_length=LIMITS.table.columns)]
    rows: Annotated[
        list[Annotated[list[Cell], Field(max_length=LIMITS.table.columns)]],
        Field(min_length=1, max_length=LIMITS.table.rows, description=f"At most {LIMITS.table.cells:,} cells, padded."),
    ]

    @property
    def width(self) -> int:
        return max(map(len, (self.header, *self.rows)))

    @property
    def cells(self) -> int:
        """How many it has when its short rows are padded."""
        return self.width * len(self.rows)

    @model_validator(mode="after")
    def _is_within_limits(self) -> GivenTable:
        _check_cells(self.cells, LIMITS.table.cells)
        return self


class TableEvidence(Model):
    """A table as evidence. `unit`, its id, and `source`, by default its title, may be left out."""

    unit: Name | None = None
    table: GivenTable
    source: Title = ""


class Claim(Model):
    claim: Line
    id: Id


class Question(Model):
    question: Line
    id: Id


def _or_text(text: Any, given: type[Model], field: str) -> Any:
    """The type of an input that is an object or only the text of its `field`, of which an object is made."""
    either = Annotated[Annotated[text, Tag(_STRING)] | Annotated[given, Tag(_OBJECT)], Discriminator(_form)]
    return Annotated[either, _object_of(given, field)]


def _object_of(given: type[Model], field: str) -> AfterValidator:
    return AfterValidator(lambda one: given(**{field: one}) if isinstance(one, str) else one)


ClaimOrText, QuestionOrText = _or_text(Line, Claim, "claim"), _or_text(Line, Question, "question")
EvidenceOrText = _or_text(Text, GivenEvidence, "text")
Given = Annotated[list[EvidenceOrText], Field(min_length=1, max_length=LIMITS.candidates)]
TextOrTable = Annotated[
    Annotated[Text, Tag(_STRING)] | Annotated[GivenEvidence, Tag(_OBJECT)] | Annotated[TableEvidence, Tag(_TABLE)],
    Discriminator(_evidence_form),
    _object_of(GivenEvidence, "text"),
]
Items = Field(min_length=1, max_length=LIMITS.call_items)


def _within_cells(evidence: list[Any]) -> list[Any]:
    _check_cells(sum(one.table.cells for one in evidence if isinstance(one, TableEvidence)), LIMITS.upload_cells)
    return evidence


class ClaimToRank(Claim):
    candidates: Annotated[Given | None, Field(default=None, description="Searched for in an index where left out.")]


class ClaimToVerify(Claim):
    evidence: Annotated[
        list[TextOrTable],
        AfterValidator(_within_cells),
        Field(
            min_length=1,
            max_length=LIMITS.candidates,
            description="Texts, tables or both, best first; of each the labeller reads its usual number. From both the "
            "verdicts are joined into one.",
        ),
    ]


ToRankOrText = _or_text(Line, ClaimToRank, "claim")


class _Searches(Model):
    index: IndexId


class _Verifies(Model):
    tier: Tier


class _Checks(_Searches, _Verifies):
    reads: Reads


class _Asks(_Searches):
    answers: Annotated[int, Field(default=5, ge=1, le=100, description="How many to return at most."), WHOLE]


class _Ranks(_Searches):
    k: Annotated[
        int, Field(default=10, ge=1, le=LIMITS.candidates, description="How many units to return at most."), WHOLE
    ]


class CheckOne(Claim, _Checks):
    """A claim to check against an index."""


class CheckMany(_Checks):
    """Claims to check against an index."""

    claims: Annotated[list[ClaimOrText], Items]


class AskOne(Question, _Asks):
    """A question to answer from an index."""


class AskMany(_Asks):
    """Questions to answer from an index."""

    questions: Annotated[list[QuestionOrText], Items]


class RankOne(ClaimToRank, _Ranks):
    """A claim, and the candidates to order by relevance to it; without candidates, the evidence that an index has for
    it."""


class RankMany(_Ranks):
    """Claims, each with candidates to order by relevance to it, or without: then an index is searched for them."""

    claims: Annotated[list[ToRankOrText], Items]


class VerifyOne(ClaimToVerify, _Verifies):
    """A claim to label from the evidence that is given with it."""


class VerifyMany(_Verifies):
    """Claims to label, each from the evidence that is given with it."""

    claims: Annotated[list[ClaimToVerify], Items]


def _one_or_many(field: str) -> Discriminator:
    return Discriminator(lambda given: MANY if isinstance(given, dict) and field in given else ONE)


Check = Annotated[Annotated[CheckOne, Tag(ONE)] | Annotated[CheckMany, Tag(MANY)], _one_or_many("claims")]
Ask = Annotated[Annotated[AskOne, Tag(ONE)] | Annotated[AskMany, Tag(MANY)], _one_or_many("questions")]
Rank = Annotated[Annotated[RankOne, Tag(ONE)] | Annotated[RankMany, Tag(MANY)], _one_or_many("claims")]
Verify = Annotated[Annotated[VerifyOne, Tag(ONE)] | Annotated[VerifyMany, Tag(MANY)], _one_or_many("claims")]
