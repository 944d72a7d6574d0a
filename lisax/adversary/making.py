"""Attacks the claims of a dataset and writes the result as a folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax.adversary.attack import Attack, AttackKind
from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.kinds import BY_RULE, attackable, attacks
from lisax.adversary.prose import readable
from lisax.adversary.writing import SUMMARY, NoAttacks, write_folder
from lisax.corpora import open_folder, read_claims
from lisax.errors import LisaxError
from lisax.files.writing import check_own
from lisax.progress import counting, say
from lisax.records import Claim

if TYPE_CHECKING:
    from lisax.adversary.lexical import LexicalSearch
    from lisax.adversary.lexicon import CorpusLexicon, Lexicons


@dataclasses.dataclass(frozen=True)
class AttackSettings:
    """`model`: the target of lexical substitution, None for the shipped labeller; not `guided`, words are replaced
    without asking any. `fluency`: how much the mean log10 score of word pairs may fall in lexical substitution. The
    same `seed` gives the same attacks."""

    kinds: Sequence[AttackKind] = tuple(BY_RULE)
    seed: int = 0
    layout: str = "plain"
    with_pages: bool = True
    model: Path | None = None
    guided: bool = True
    fluency: float = 0.5


def make_attacks(
    source: Path,
    out: Path,
    corpus_folder: Path | None = None,
    splits: Sequence[str] = (),
    settings: AttackSettings = AttackSettings(),
) -> dict[str, Any]:
    """Attacks the claims of a folder (all its splits, or `splits`) or of a file, and writes them with their pages.

    `corpus_folder` has pages, or is an index with pages; by default they are next to the claims. Returns the summary in
    attacks.json: `counts` by split, kind and label."""
    claims = read_splits(source, splits)
    corpus = AttackCorpus.open(corpus_folder or (source if source.is_dir() else source.parent))
    if out.resolve() in (source.resolve(), corpus_place := (corpus_folder or source).resolve()):
        raise LisaxError(f"--out would overwrite {corpus_place}: choose another folder")
    check_own(out, SUMMARY)
    left_out = {}
    for split, of_split in claims.items():
        claims[split], left_out[split] = attackable(of_split, corpus)
        if left_out[split]:
            say(
                f"  {split}: {left_out[split]:,} of {len(of_split):,} claims are left out, SUPPORTS or REFUTES without "
                "evidence that the corpus has"
            )
    by_rule = [kind for kind in settings.kinds if kind is not AttackKind.LEXICAL]
    search = _lexical(source, corpus, settings) if AttackKind.LEXICAL in settings.kinds else None
    made = {split: _stream(of_split, corpus, by_rule, search, settings.seed) for split, of_split in claims.items()}
    noted = {
        "seed": settings.seed,
        "kinds": list(map(str, settings.kinds)),
        "claims": str(source),
        "corpus": str(corpus_folder or source),
        "left_out": left_out,
    }
    try:
        summary = write_folder(out, made, corpus, layout=settings.layout, pages=settings.with_pages, settings=noted)
    except NoAttacks:
        if search is None or not search.right:
            raise
        raise LisaxError(f"{_stood(search)}; no other attack was made either: nothing was written") from None
    if search and search.right:
        say(_stood(search))
    return summary


def read_splits(source: Path, splits: Sequence[str] = ()) -> dict[str, list[Claim]]:
    """Claims by split: for a folder those in `splits` (default: all); for a file the one named (default: dev)."""
    if not source.is_dir():
        if len(splits) > 1:
            raise LisaxError("--split: a file holds one split")
        return {(*splits, "dev")[0]: list(read_claims(source))}
    dataset = open_folder(source)
    found = {split: list(dataset.claims(split)) for split in splits or dataset.splits}
    if not any(claim.label for claims in found.values() for claim in claims):
        raise LisaxError(f"{source}: no claim has a label, so none can be attacked")
    return found


def _lexical(source: Path, corpus: AttackCorpus, settings: AttackSettings) -> LexicalSearch:
    """The search, with a lexicon and a fluency measure from the corpus and every split of the claims."""
    from lisax import shipped
    from lisax.adversary.lexical import Fluency, LexicalSearch, evidence_model

    claims = [claim for of_split in read_splits(source).values() for claim in of_split]
    texts = [readable(line.text) for page in corpus.documents() for line in page.sentences]
    texts += [claim.text for claim in claims]
    model = evidence_model(settings.model or shipped.labeller(), corpus) if settings.guided else None
    lexicon = best_lexicon(corpus, claims)
    return LexicalSearch(corpus, lexicon, Fluency(texts), model, fluency_bound=settings.fluency)


def best_lexicon(corpus: AttackCorpus, claims: Sequence[Claim]) -> CorpusLexicon | Lexicons:
    """Returns the lexicon of the corpus, preceded by WordNet if it is installed."""
    from lisax.adversary.lexicon import CorpusLexicon, Lexicons, WordNetLexicon

    of_corpus, wordnet = CorpusLexicon(corpus, claims), WordNetLexicon.load()
    return Lexicons(wordnet, of_corpus) if wordnet else of_corpus


def _stood(search: LexicalSearch) -> str:
    return (
        f"of {search.right:,} claims that the model gets right {search.changeable:,} have words to exchange, "
        f"and it errs on {search.broken:,} of these"
    )


def _stream(
    claims: list[Claim], corpus: AttackCorpus, by_rule: list[AttackKind], search: LexicalSearch | None, seed: int
) -> Iterator[tuple[str, Attack]]:
    if by_rule:
        with counting(len(claims), "claims") as advance:
            yield from attacks(claims, corpus, by_rule, seed, advance)
    if search is not None:
        with counting(len(claims), "claims, words exchanged") as advance:
            yield from search.attacks(claims, advance)
