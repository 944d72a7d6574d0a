"""Lexical substitution attacks: words are replaced until the attacked model errs, within a bound on fluency.

The effect on the label: a synonym keeps it; a hypernym weakens the claim, which keeps a supported label; a hyponym
strengthens it, which keeps a refuted label. Under a negation only synonyms are safe. The synonyms of any resource are
sometimes wrong, so this kind needs review, as the authors did.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from lisax.adversary.attack import Attack, AttackKind
from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.lexicon import Lexicon, Substitute, WordRelation
from lisax.adversary.prose import is_negated, sentence
from lisax.records import LABELS, Claim, Label
from lisax.text.words import words

# Maps claims (with changed texts) to label probabilities [claims, labels] in the order of LABELS.
Model = Callable[[Sequence[Claim]], Sequence[Sequence[float]]]
CLAIMS_AT_A_TIME = 64


class Fluency:
    """Fluency of a text: the mean log10 score of its words in sequence, from the word pairs of a corpus (Brants et
    al.'s backoff)."""

    BACKOFF = 0.4

    def __init__(self, texts: Iterable[str]):
        self._words, self._pairs = Counter(), Counter()
        for text in texts:
            spoken = ["<s>", *words(text)]
            self._words.update(spoken)
            self._pairs.update(itertools.pairwise(spoken))
        self._total = sum(self._words.values()) or 1

    def score(self, text: str) -> float:
        spoken = ["<s>", *words(text)]
        scores = [
            math.log10(
                self._pairs[pair] / self._words[pair[0]]
                if self._pairs[pair]
                else self.BACKOFF * (self._words[pair[1]] + 0.1) / self._total
            )
            for pair in itertools.pairwise(spoken)
        ]
        return sum(scores) / max(1, len(scores))


class LexicalSearch:
    """Greedy search: each step takes the substitution that lowers the gold label most, in at most `edits` steps.

    Without a model it takes the most fluent substitution. `fluency_bound`: how much the mean log10 score may fall.
    """

    kind = AttackKind.LEXICAL

    def __init__(
        self,
        corpus: AttackCorpus,
        lexicon: Lexicon,
        fluency: Fluency,
        model: Model | None = None,
        *,
        fluency_bound: float = 0.5,
        edits: int = 3,
    ):
        self._corpus, self._lexicon, self._fluency, self._model = corpus, lexicon, fluency, model
        self._bound, self._edits = fluency_bound, edits
        # With a model: counts of claims it gets right, of those with replaceable words, and of broken ones.
        self.right = self.changeable = self.broken = 0

    def attacks(
        self, claims: Sequence[Claim], progress: Callable[[int], None] | None = None
    ) -> Iterator[tuple[str, Attack]]:
        """(id, attack) of the claims that could be changed so that the model errs (without a model: that could be
        changed)."""
        for start in range(0, len(claims), CLAIMS_AT_A_TIME):
            group = [claim for claim in claims[start : start + CLAIMS_AT_A_TIME] if claim.label is not None]
            for claim, text, edits in self._unguided(group) if self._model is None else self._guided(group):
                sets = () if claim.label is Label.NOT_ENOUGH_INFO else claim.evidence_sets
                yield (
                    f"{claim.id}-{self.kind}-0",
                    Attack(
                        self.kind,
                        (claim.id,),
                        sentence(text),
                        claim.label,
                        sets,
                        "; ".join(f"{old} -> {edit.new} ({edit.relation})" for old, edit in edits),
                        "; ".join(edit.reason for _, edit in edits),
                    ),
                )
            if progress is not None:
                progress(len(claims[start : start + CLAIMS_AT_A_TIME]))

    def _unguided(self, claims: Sequence[Claim]) -> Iterator[tuple[Claim, str, list]]:
        for claim in claims:
            choices = self._choices(claim, claim.text, set())
            if choices:
                text, edit = max(choices, key=lambda choice: (self._fluency.score(choice[0]), choice[0]))
                yield claim, text, [(claim.text[edit.start : edit.end], edit)]

    def _guided(self, claims: Sequence[Claim]) -> Iterator[tuple[Claim, str, list]]:
        first = self._gold_shares(claims) if claims else []
        # Only claims that the model gets right can be broken.
        state = [(claim, claim.text, [], share) for claim, (share, right) in zip(claims, first) if right]
        self.right += len(state)
        for step in range(self._edits):
            choices = [self._choices(claim, text, {old for old, _ in edits}) for claim, text, edits, _ in state]
            self.changeable += sum(map(bool, choices)) if step == 0 else 0
            flat = [_with_text(claim, text) for (claim, *_), options in zip(state, choices) for text, _ in options]
            if not flat:
                return
            judged = iter(self._gold_shares(flat))
            left = []
            for (claim, text, edits, share), options in zip(state, choices):
                rows = [
                    (new, changed, edit, right)
                    for (changed, edit), (new, right) in zip(options, [next(judged) for _ in options])
                ]
                if not rows:
                    continue
                new, changed, edit, right = min(rows, key=lambda row: (row[3], row[0], row[1]))
                done = [*edits, (text[edit.start : edit.end], edit)]
                if not right:
                    self.broken += 1
                    yield claim, changed, done
                elif new < share:
                    left.append((claim, changed, done, new))
            state = left

    def _gold_shares(self, claims: Sequence[Claim]) -> list[tuple[float, bool]]:
        """(probability of the gold label, whether it is the most probable) for each claim."""
        shares = []
        for claim, row in zip(claims, self._model(claims), strict=True):
            gold = LABELS.index(claim.label)
            shares.append((float(row[gold]), max(range(len(LABELS)), key=row.__getitem__) == gold))
        return shares

    def _choices(self, claim: Claim, text: str, done: set[str]) -> list[tuple[str, Substitute]]:
        """Texts with one more substitution: outside names, keeping the label, and within the fluency bound."""
        names = [(named.start, named.end) for named in self._corpus.names_in(text)]
        floor = self._fluency.score(claim.text) - self._bound
        found = []
        for edit in self._lexicon.substitutes(text):
            if (
                not survives(claim.label, edit.relation, is_negated(text))
                or text[edit.start : edit.end] in done
                or any(edit.start < end and start < edit.end for start, end in names)
            ):
                continue
            changed = text[: edit.start] + edit.new + text[edit.end :]
            if self._fluency.score(changed) >= floor:
                found.append((changed, edit))
        return found


def survives(label: Label, relation: WordRelation, negated: bool) -> bool:
    """Whether a claim keeps its label under a substitution."""
    if relation is WordRelation.SYNONYM:
        return True
    return not negated and (label, relation) in (
        (Label.SUPPORTS, WordRelation.HYPERNYM),
        (Label.REFUTES, WordRelation.HYPONYM),
    )


def _with_text(claim: Claim, text: str) -> Claim:
    return Claim(claim.id, text, claim.label, claim.evidence_sets)


def evidence_model(checkpoint, corpus: AttackCorpus) -> Model:
    """A trained labeller as the attacked model: each claim is read with its own first evidence set, as the
    authors did."""
    import numpy as np

    from lisax.formats.examples import Example, Passage
    from lisax.formats.format import VERDICT
    from lisax.formats.labelling import LABEL_POINTWISE
    from lisax.formats.tables import TABLES
    from lisax.predict.text_model import TextModel
    from lisax.records import LisaxError

    model = TextModel.open(checkpoint)
    if model.format.answer is not VERDICT or model.format is TABLES:
        raise LisaxError(f"{checkpoint} is of '{model.format}'; an attack on words needs a model that labels sentences")

    def passages(claim: Claim) -> tuple[Passage, ...]:
        return tuple(
            Passage(unit, corpus.page(unit.rpartition("_")[0]).title, text)
            for unit in (claim.evidence_sets[0] if claim.evidence_sets else ())
            if (text := corpus.text(unit))
        )

    def probabilities(claims: Sequence[Claim]) -> Sequence[Sequence[float]]:
        rows = np.tile(np.array([0.0, 0.0, 1.0]), (len(claims), 1))
        with_evidence = [(i, read) for i, claim in enumerate(claims) if (read := passages(claim))]
        pointwise = model.format is LABEL_POINTWISE
        examples, owner = [], []
        for i, read in with_evidence:
            for part in [(one,) for one in read] if pointwise else [read]:
                examples.append(Example(claims[i].id, claims[i].text, part))
                owner.append(i)
        if examples:
            for i, _ in with_evidence:
                rows[i] = 0
            # For a pointwise model the most certain sentence decides each label, like `max` in inference.
            np.maximum.at(rows, owner, model.probabilities(examples))
        return rows

    return probabilities
