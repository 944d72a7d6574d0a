"""The models behind the page and the API: one for each role, named by the user or shipped, or trained from the page."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lisax import shipped
from lisax.errors import LisaxError
from lisax.formats import tables
from lisax.formats.labelling import LABEL_LISTWISE, LABEL_POINTWISE
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.ranking import RANK, RANK_ENTITIES
from lisax.formats.reading import POINT, READ, RETRIEVE
from lisax.shipped import LIGHT
from lisax.weights.pretrained import MODELS

if TYPE_CHECKING:
    from lisax.predict.model import Model as TrainedModel
    from lisax.predict.ranker import VectorRanker
    from lisax.predict.reader import Reader
    from lisax.predict.retriever import Retriever

    Model = TrainedModel | Reader | Retriever | VectorRanker

PARTS, COLUMNS, RANKER, LABELLER, TABLE_VERIFIER = (
    "question answerer",
    "scorer of columns",
    "ranker",
    "labeller",
    "table verifier",
)
READER, RETRIEVER = "reader", "retriever"
READS = {LABELLER: "sentences", TABLE_VERIFIER: "tables"}
ROLES = {
    TABLE_PARTS: PARTS,
    RANK: RANKER,
    RANK_ENTITIES: RANKER,
    LABEL_POINTWISE: LABELLER,
    LABEL_LISTWISE: LABELLER,
    tables.TABLES: TABLE_VERIFIER,
    tables.TABLE_FUSION: TABLE_VERIFIER,
    READ: READER,
    POINT: READER,
    RETRIEVE: RETRIEVER,
}
TOLD = ("What it is for", "What it is not for", "Figures", "Limits")  # of a model's card
SHORT = "In short"
DOES = {
    PARTS: "Answers questions from the cells of tables",
    COLUMNS: "Finds the columns of tables that answer questions",
    RANKER: "Orders the evidence found by its relevance to the claim",
    LABELLER: "Decides whether the evidence found supports or refutes a claim",
    TABLE_VERIFIER: "Decides whether a table supports or refutes a claim",
    READER: "Answers questions from passages of text",
    RETRIEVER: "Finds passages by their meaning",
}


class Models(collections.UserDict[str, "Model"]):
    """One model per role, which its format determines; `COLUMNS` if rows and columns have separate models. `shipped`:
    whether they come with LisaX; then `tier` is that of the labellers. `missing`: the reason if these cannot be
    fetched."""

    shipped, missing, tier = False, "", LIGHT

    def __init__(self, models: Mapping[str, Model], paths: Mapping[str, Path] | None = None):
        super().__init__(models)
        self.paths = dict(paths or {})
        self._of_tier: dict[Path, Model] = {}

    @classmethod
    def open(cls, paths: Iterable[Path], tier: str | None = None) -> Models:
        """Loads bundles or MODEL_DIRs. A second model that answers questions is used for columns.

        A labeller's evidence is ordered by `checker.default_ranker`. Without any, loads the shipped models: the ranker,
        the labellers over text and tables, of a tier (`checker.tier_of`), and the model of rows and columns; none if
        MiniLM cannot be fetched. Raises LisaxError if a tier is given and its encoder cannot be fetched."""
        from lisax.predict.checker import default_ranker, tier_of

        paths = tuple(paths)
        if paths:
            made = cls._of(paths)
            if LABELLER in made and RANKER not in made and (ranker := default_ranker()) != "bm25":
                made.replace(ranker)
            return made
        wanted = tier_of(tier)
        try:
            labellers = [shipped.labeller(reads, wanted) for reads in READS.values()]
            made = cls._of([shipped.ranker(), *labellers, shipped.parts()])
        except LisaxError as error:
            if tier is not None:  # it was asked for
                raise
            made = cls({})
            made.missing = str(error)
        made.shipped, made.tier = not made.missing, wanted
        return made

    @classmethod
    def _of(cls, paths: Iterable[Path]) -> Models:
        models, named = {}, {}
        for path in paths:
            role, model = _open(path)
            role = COLUMNS if role == PARTS and PARTS in models else role
            if role in models:
                raise LisaxError(f"{path} is one {role} too many; {named[role]} is given too: give one of them")
            models[role], named[role] = model, path
        return cls(models, named)

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers of labellers to choose from, `tier` first: those whose encoder is here. None if a labeller of text
        was named or trained."""
        if not self.shipped or self.paths[LABELLER] != shipped.labeller(tier=self.tier):
            return ()
        from lisax.predict.checker import is_here

        others = (one for one in shipped.TIERS if one != self.tier and shipped.labeller(tier=one).is_dir())
        return (self.tier, *filter(is_here, others))

    def labeller(self, tier: str | None = None, role: str = LABELLER) -> Model:
        """The labeller of text or the table verifier, or the shipped one of another of the `tiers`, which is loaded when
        it is first asked for."""
        if tier in (None, self.tier) or self.paths[role] != shipped.labeller(READS[role], self.tier):
            return self[role]
        path = shipped.labeller(READS[role], tier)
        if path not in self._of_tier:
            _, self._of_tier[path] = _open(path)
        return self._of_tier[path]

    def replace(self, path: Path) -> None:
        """Loads the model at `path` in place of those with its role."""
        role, model = _open(path)
        if role == PARTS:
            self.pop(COLUMNS, None)
        self[role], self.paths[role] = model, path


def _open(path: Path) -> tuple[str, Model]:
    from lisax.predict.opening import find_model, is_encoder, open_model

    found = find_model(path)
    if is_encoder(found):
        from lisax.predict.ranker import VectorRanker
        from lisax.predict.retriever import open_encoder

        return RANKER, VectorRanker(open_encoder(found))
    role = ROLES.get(found.format)
    if role == READER:
        from lisax.predict.reader import Reader

        return role, Reader(found)
    if role == RETRIEVER:
        from lisax.predict.retriever import Retriever

        return role, Retriever(found)
    model = open_model(found)
    if model.format not in ROLES:
        raise LisaxError(
            f"{path} is of the format '{model.format}', which the page has no use for; it takes {', '.join(map(str, ROLES))}"
        )
    return ROLES[model.format], model


def about(models: Models) -> list[dict[str, Any]]:
    """The loaded models: the role, the name and the use of each, and its card, in short and in full."""
    shown = []
    for role in models:
        path = models.paths.get(role, Path(role))
        name = f"LisaX's own ({path.name})" if path.is_relative_to(shipped.FOLDER) else path.name
        said = shipped.card(path)
        short = f"As published: {MODELS[name].title}." if name in MODELS else said.get(SHORT, "")
        card = [(one, said[one]) for one in TOLD if one in said]
        shown.append({"role": role, "name": name, "does": DOES[role], "short": short, "card": card})
    if LABELLER in models and RANKER not in models:
        short = "By the words that it shares with the claim, no model."
        shown.append({"role": RANKER, "name": "BM25", "does": DOES[RANKER], "short": short, "card": []})
    return shown
