"""Writes table rows and sub-graphs as sentences (UDT-QA, section 3), faithfully.

A unit is read in pieces that fit the model. Of a piece's hypotheses the one with the highest ROUGE-1 against the input
is taken, and its case, accents and punctuation are restored from the input. Ours: every number, date and name is
compared. A hypothesis that loses or invents one is rejected for the next; after the last, a rule renders the piece. A
unit whose joined pieces are not faithful is rendered by the rule as a whole. So every number and date of a unit occurs
in its text.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lisax.devices.batching import windows
from lisax.devices.workers import Workers, mapped
from lisax.errors import DataError, LisaxError
from lisax.faithful.facts import Facts, render, render_pairs
from lisax.faithful.overlap import Overlap
from lisax.faithful.restoring import Restorer
from lisax.files.resumable import resumable_groups
from lisax.files.writing import json_line
from lisax.formats.triples import Triples, graph_triples, table_triples
from lisax.formats.verbalizing import MARKERS, VERBALIZE, Encoder
from lisax.formats.vocabulary import EOS_ID, UNK_ID, Vocabulary
from lisax.models.decoding import Decoding
from lisax.progress import say
from lisax.records import Graph, Table, is_row
from lisax.scoring.generating import Generator
from lisax.weights.model_folder import ModelFolder

PLAIN_WORDS = "plain_words.txt"
UNITS_AT_A_TIME = 512  # units verbalized between two resume marks


@dataclasses.dataclass(frozen=True, slots=True)
class Verbalized:
    """The text written for one unit: a line of `lisax verbalize`'s file, in the order of the input units.

    `beam`: the index of the hypothesis that was kept, from 0, best first; for a split unit that of the last piece; -1
    where `fallback`, i.e. where a rule wrote at least part of the text. `rejected`: how many hypotheses agreed better
    with the input but lost or invented a number, a date or a name. `parts`, for a unit whose text joins those of its
    pieces: per piece the index of its first pair, from 0, and its text. The rule writes each edge of a sub-graph as a
    piece. `digest`, in a file: the unit's digest, which reveals a text of other data.
    """

    id: str
    title: str
    text: str
    beam: int
    rejected: int = 0
    fallback: bool = False
    parts: Sequence[tuple[int, str]] = ()
    digest: str = ""

    def to_row(self) -> dict:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Choices:
    """Settings of the verbalizer. `max_pairs`: pairs per piece (None: the most that fits). `check`: False keeps the
    first hypothesis, faithful or not."""

    beam_size: int = 10
    max_pairs: int | None = None
    check: bool = True


class Read(NamedTuple):
    """A piece of a unit, the index of its first pair in the unit, and the model's texts for it, best first."""

    first: int
    piece: Triples
    texts: list[str]


class Verbalizer:
    """Writes table rows and graph edges as sentences that keep every number, date and name.

    >>> from lisax import Graph, Verbalizer
    >>> verbalizer = Verbalizer.open("OUT/models/verbalize_t_f_id_t")  # trained by `lisax run verbalizer --out OUT`
    >>> verbalizer.write(Graph("torimoor", "Torimoor", (("mayor", "Minell"), ("river", "Orm"))))
    'Torimoor: the mayor is Minell. Torimoor: the river is Orm.'
    """

    def __init__(
        self,
        generator: Generator,
        vocabulary: Vocabulary,
        encoder: Encoder,
        max_tokens: int,
        choices: Choices,
        plain_words: Collection[str] | None = None,
    ):
        """`plain_words`: see `Facts.judge`."""
        self.vocabulary, self.encoder, self.choices, self.plain_words = vocabulary, encoder, choices, plain_words
        self._generator, self._max_tokens = generator, max_tokens

    @classmethod
    def open(
        cls, model: str | os.PathLike | ModelFolder, choices: Choices = Choices(), rows: int | None = None
    ) -> Verbalizer:
        """Loads a checkpoint or a bundle. The words that any text may use are read from its `plain_words.txt`, if it
        exists."""
        found = ModelFolder.find(model)
        card = found.card
        card.format_among(VERBALIZE)
        max_tokens, target_tokens, preset = card.needed("text.max_tokens", "text.target_tokens", "text.preset")
        markers = dict(zip(MARKERS, card.needed(*(f"text.markers.{marker}" for marker in MARKERS))))
        vocabulary = card.open_vocabulary()
        encoder = Encoder(vocabulary.encode, markers, preset)
        generator = Generator.open(
            found,
            max_tokens=max_tokens,
            target_tokens=target_tokens,
            rows=rows,
            decoding=Decoding(beam_size=choices.beam_size, without=(UNK_ID,)),
        )
        words = next(
            (place / PLAIN_WORDS for place in (Path(found.name), found.folder) if (place / PLAIN_WORDS).is_file()), None
        )
        plain = None if words is None else frozenset(words.read_text(encoding="utf-8", errors="replace").split())
        return cls(generator, vocabulary, encoder, max_tokens, choices, plain)

    def write(self, data: Table | Graph) -> str:
        """A table's rows, or a graph, as sentences that keep every number, date and name."""
        if isinstance(data, Table):
            units = list(table_triples(data))
        elif isinstance(data, Graph):
            units = [graph_triples(data)]
        else:
            raise LisaxError(f"expected a Table or a Graph, found {type(data).__name__}")
        return " ".join(found.text for found in self.verbalize([unit for unit in units if unit.pairs]))

    def verbalize(self, units: Sequence[Triples]) -> list[Verbalized]:
        """A text for each unit."""
        return [self.choose(unit, found) for unit, found in zip(units, self.hypotheses(units))]

    def hypotheses(self, units: Sequence[Triples]) -> list[list[Read]]:
        """The model's hypotheses for the pieces of each unit."""
        pieces = [self.encoder.split(unit, self._max_tokens, self.choices.max_pairs) for unit in units]
        tokens = [[*self.encoder.inputs(piece), EOS_ID] for of_unit in pieces for _, piece in of_unit]
        found = iter(self._generator.hypotheses(tokens))
        return [
            [
                Read(first, piece, [self.vocabulary.decode(hypothesis.ids) for hypothesis in next(found)])
                for first, piece in of_unit
            ]
            for of_unit in pieces
        ]

    def choose(self, unit: Triples, found: Sequence[Read], check: bool | None = None) -> Verbalized:
        """Chooses a unit's text among the hypotheses for its pieces. `check` overrides that of `choices`."""
        check = self.choices.check if check is None else check
        parts = [self._chosen(read.piece, read.texts, check) for read in found]
        # A piece that differs from its unit was cut, even if only in a name, so its text is checked against the unit.
        return (
            parts[0]
            if [read.piece for read in found] == [unit]
            else self._joined(unit, [read.first for read in found], parts, check)
        )

    def _chosen(self, piece: Triples, texts: Sequence[str], check: bool) -> Verbalized:
        overlap, restorer, facts = Overlap.with_cells(piece), Restorer(piece), Facts(piece)
        ranked = sorted(range(len(texts)), key=lambda i: -overlap.rouge1(texts[i]))
        for rejected, i in enumerate(ranked):
            text = ended(restorer.restore(texts[i]))
            if not check or facts.judge(text, self.plain_words).faithful:
                return Verbalized(piece.id, piece.title, text, i, rejected)
        return _by_rule(piece, len(texts))

    def _joined(self, unit: Triples, firsts: Sequence[int], parts: Sequence[Verbalized], check: bool) -> Verbalized:
        text = " ".join(part.text for part in parts)
        rejected = sum(part.rejected for part in parts)
        if check and not Facts(unit).judge(text, self.plain_words).faithful:
            return _by_rule(unit, rejected + 1)
        fallback = any(part.fallback for part in parts)
        beam = -1 if fallback else max(part.beam for part in parts)
        texts: dict[int, list[str]] = {}
        for first, part in zip(firsts, parts):
            for number, said in part.parts or [(0, part.text)]:  # a value that was cut starts several parts
                texts.setdefault(first + number, []).append(said)
        parts_said = tuple((first, " ".join(said)) for first, said in texts.items())
        return Verbalized(unit.id, unit.title, text, beam, rejected, fallback, parts_said)


class RuleVerbalizer:
    """Writes units by the rule that replaces a model's unfaithful texts: plain sentences that hold everything as it is
    written, without a checkpoint."""

    def verbalize(self, units: Sequence[Triples]) -> list[Verbalized]:
        """A text for each unit."""
        return [_by_rule(unit, 0) for unit in units]


def _by_rule(unit: Triples, rejected: int) -> Verbalized:
    """Renders a row as one sentence, which is a unit of evidence; a sub-graph as one sentence per edge, each a unit."""
    texts = render_pairs(unit)
    # Two joined sentences may read as one date: `March. 1932`.
    if is_row(unit.id) or len(texts) < 2 or not Facts(unit).judge(" ".join(texts)).faithful:
        return Verbalized(unit.id, unit.title, render(unit), -1, rejected, fallback=True)
    return Verbalized(unit.id, unit.title, " ".join(texts), -1, rejected, True, tuple(enumerate(texts)))


def ended(text: str) -> str:
    """`text` with a final punctuation mark, so that the next text starts a sentence."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def verbalize_to_file(
    opens: Callable[[], Verbalizer | RuleVerbalizer],
    units: Iterable[Triples],
    out: Path,
    made_from: str = "",
    progress: Callable[[int], None] | None = None,
    workers: Workers | None = None,
) -> dict[str, float | int]:
    """Writes a line for each unit, streaming, and returns their `shares`. An interrupted call with the same `made_from`
    resumes. `progress` is called after each group with its number of units; `workers`: see `devices.workers`."""

    def groups_after(done: int) -> Iterator[list[str]]:
        rest = iter(units)
        if done:
            skipped = sum(1 for _ in itertools.islice(rest, done * UNITS_AT_A_TIME))
            say(f"  resumes after {skipped:,} units of {out}")
        for lines in mapped(functools.partial(_open_writing, opens), windows(rest, UNITS_AT_A_TIME), workers):
            yield lines
            if progress is not None:
                progress(len(lines))

    out.parent.mkdir(parents=True, exist_ok=True)
    resumable_groups(out, groups_after, made_from)
    return shares(read_verbalized(out))


def _open_writing(opens: Callable[[], Verbalizer | RuleVerbalizer]) -> Callable[[Sequence[Triples]], list[str]]:
    verbalizer = opens()
    return lambda group: [
        json_line(found.to_row() | {"digest": unit.digest})
        for unit, found in zip(group, verbalizer.verbalize(group), strict=True)
    ]


def read_verbalized(path: Path) -> Iterator[Verbalized]:
    """Reads the lines of a file that `verbalize_to_file` wrote."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield Verbalized(**json.loads(line))
            except (ValueError, TypeError) as error:
                raise DataError(f"not a line of `lisax verbalize`: {error}", path=path, line=number) from None


def shares(found: Iterable[Verbalized]) -> dict[str, float | int]:
    """The number of units, and the shares of them whose first hypothesis was faithful, for which a later one was taken,
    and which needed the rule."""
    units = at_once = fallback = 0
    for text in found:
        units += 1
        fallback += text.fallback
        at_once += not text.fallback and not text.rejected
    return {
        "units": units,
        "first_choice": at_once / max(units, 1),
        "later_hypothesis": (units - at_once - fallback) / max(units, 1),
        "fallback": fallback / max(units, 1),
    }
