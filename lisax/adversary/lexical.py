"""Lexical substitution attacks: words are replaced until the attacked model errs, within a bound on fluency.

The effect on the label: a synonym keeps it; a hypernym weakens the claim, which keeps a supported label; a hyponym
strengthens it, which keeps a refuted label; an antonym of a word that the evidence has turns a supported claim into a
refuted one. Under a negation only synonyms are safe. The synonyms of any resource are sometimes wrong, so this kind
needs review, as the authors did.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from lisax.adversary.attack import Attack, AttackKind
from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.lexicon import CorpusLexicon, Lexicons, Substitute, WordRelation, words_of
from lisax.adversary.opposites import opposites
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
        lexicon: CorpusLexicon | Lexicons,
        fluency: Fluency,
        model: Model | None = None,
        *,
        fluency_bound: float = 0.5,
        edits: int = 3,
    ):
        self._corpus, self._lexicon, self._fluency, self._model = corpus, lexicon, fluency, model
        self._bound, self._edits = fluency_bound, edits
        self._floor: dict[str, float] = {}  # least fluency, by claim id
        # With a model: counts of claims it gets right, of those with replaceable words, and of broken ones.
        self.right = self.changeable = self.broken = 0

    def attacks(
        self, claims: Sequence[Claim], progress: Callable[[int], None] | None = None
    ) -> Iterator[tuple[str, Attack]]:
        """(id, attack) of the claims that could be changed so that the model errs (without a model: that could be
        changed)."""
        for start in range(0, len(claims), CLAIMS_AT_A_TIME):
            self._floor.clear()
            group = [claim for claim in claims[start : start + CLAIMS_AT_A_TIME] if claim.label is not None]
            for claim, text, edits in self._unguided(group) if self._model is None else self._guided(group):
                yield (
                    f"{claim.id}-{self.kind}-0",
                    Attack(
                        self.kind,
                        (claim.id,),
                        sentence(text),
                        claim.label,
                        claim.evidence_sets,
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
                changed, edit = max(choices, key=lambda choice: (self._fluency.score(choice[0].text), choice[0].text))
                yield changed, changed.text, [(claim.text[edit.start : edit.end], edit)]

    def _guided(self, claims: Sequence[Claim]) -> Iterator[tuple[Claim, str, list]]:
        first = self._gold_shares(claims) if claims else []
        # Only claims that the model gets right can be broken.
        state = [(claim, claim.text, [], share) for claim, (share, right) in zip(claims, first) if right]
        self.right += len(state)
        for step in range(self._edits):
            choices = [
                self._choices(claim, text, {word for old, edit in edits for word in (old, edit.new)})
                for claim, text, edits, _ in state
            ]
            self.changeable += sum(map(bool, choices)) if step == 0 else 0
            flat = [changed for options in choices for changed, _ in options]
            if not flat:
                return
            judged = iter(self._gold_shares(flat))
            left = []
            for (_, text, edits, share), options in zip(state, choices):
                rows = [
                    (new, changed, edit, right)
                    for (changed, edit), (new, right) in zip(options, [next(judged) for _ in options])
                ]
                if not rows:
                    continue
                new, changed, edit, right = min(rows, key=lambda row: (row[3], row[0], row[1].text))
                done = [*edits, (text[edit.start : edit.end], edit)]
                if not right:
                    self.broken += 1
                    yield changed, changed.text, done
                elif new < share:
                    left.append((changed, changed.text, done, new))
            state = left

    def _gold_shares(self, claims: Sequence[Claim]) -> list[tuple[float, bool]]:
        """(probability of the gold label, whether it is the most probable) for each claim."""
        shares = []
        for claim, row in zip(claims, self._model(claims), strict=True):
            gold = LABELS.index(claim.label)
            shares.append((float(row[gold]), max(range(len(LABELS)), key=row.__getitem__) == gold))
        return shares

    def _choices(self, claim: Claim, text: str, done: set[str]) -> list[tuple[Claim, Substitute]]:
        """The claim with one more substitution, its label and the evidence of it: outside names, and within the fluency
        bound, which is that of the text before any."""
        names = [(named.start, named.end) for named in self._corpus.names_in(text)]
        negated, found = is_negated(text), []
        told = words_of(self._corpus.text(unit) for unit in claim.gold_ids)
        edits = self._lexicon.substitutes(text)
        if not done:  # an opposite of another exchanged word would be one of nothing that the evidence has
            edits = [*edits, *opposites(text, told)]
        floor = self._floor.setdefault(claim.id, self._fluency.score(text) - self._bound)
        for edit in edits:
            label = label_after(claim.label, edit.relation, negated)
            if (
                label is None
                or done & {text[edit.start : edit.end], edit.new}
                or any(edit.start < end and start < edit.end for start, end in names)
            ):
                continue
            changed = text[: edit.start] + edit.new + text[edit.end :]
            if self._fluency.score(changed) >= floor:
                sets = claim.evidence_sets
                if edit.relation is WordRelation.ANTONYM:
                    old = text[edit.start : edit.end]
                    sets = tuple(one for one in sets if old in words_of(self._corpus.text(unit) for unit in one))
                found.append((Claim(claim.id, changed, label, sets), edit))
        return found


def label_after(label: Label, relation: WordRelation, negated: bool) -> Label | None:
    """The label of a claim after a substitution; None if it does not follow."""
    if relation is WordRelation.SYNONYM:
        return label
    if negated:
        return None
    if relation is WordRelation.ANTONYM:
        return Label.REFUTES if label is Label.SUPPORTS else None
    keeps = (label, relation) in ((Label.SUPPORTS, WordRelation.HYPERNYM), (Label.REFUTES, WordRelation.HYPONYM))
    return label if keeps else None


def evidence_model(checkpoint, corpus: AttackCorpus) -> Model:
    """A labeller as the attacked model, any that `lisax check --model` takes: each claim is read with its own first
    evidence set, as the authors did."""
    from lisax.errors import LisaxError
    from lisax.predict.verdicts import Evidence
    from lisax.predict.verifier import Verifier

    verifier = Verifier.open(checkpoint)
    if verifier.reads != "sentences":
        raise LisaxError(f"{checkpoint} reads {verifier.reads}; an attack on words needs a model that labels sentences")

    def read(claim: Claim) -> list[Evidence]:
        units = claim.evidence_sets[0] if claim.evidence_sets else ()
        return [
            Evidence(unit, text, corpus.page(unit.rpartition("_")[0]).title)
            for unit in units
            if (text := corpus.text(unit))
        ]

    def probabilities(claims: Sequence[Claim]) -> Sequence[Sequence[float]]:
        evidence = [read(claim) for claim in claims]
        pairs = [pair for pair in zip(claims, evidence) if pair[1]]
        verdicts = iter(verifier.verify_many(*map(list, zip(*pairs))) if pairs else ())
        # Without evidence a checker returns NOT ENOUGH INFO.
        return [
            [next_of.get(label, 0.0) for label in LABELS]
            for found in evidence
            for next_of in [next(verdicts).probabilities if found else {Label.NOT_ENOUGH_INFO: 1.0}]
        ]

    return probabilities
