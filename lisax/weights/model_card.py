"""`ModelCard`: the content of `model.json`, read and checked in one place, because a bundle may come from anyone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lisax.errors import DataError, LisaxError, shown
from lisax.files.json_file import read_object
from lisax.files.places import place
from lisax.formats import presets
from lisax.formats.catalogue import FORMATS
from lisax.formats.each import Encoded, encode_pairs, encode_texts
from lisax.formats.format import Format
from lisax.formats.presets import PRESETS, Preset
from lisax.formats.verbalizing import MARKERS
from lisax.formats.vocabulary import Vocabulary
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.metrics.temperature import HIGHEST, LOWEST, Calibration
from lisax.models.architectures import check_architecture
from lisax.models.fields import (
    FINITE,
    LORA,
    REAL,
    FieldError,
    Items,
    Kinds,
    Maybe,
    Number,
    OneOf,
    Text,
    Truth,
    Whole,
    check,
)
from lisax.weights.interop.kinds import MODEL_JSON, VOCABULARY_NAME, vocabulary_in
from lisax.weights.pretrained import folder_of

# In a MODEL_DIR: the values fitted on held-out data for one of its checkpoints, {"checkpoint": name} with "decision",
# "fusion", "reranks", "calibration", "columns", "sentences", "leading" or "answers".
FITTED = "fitted.json"
TOKENS, STEP = Whole(1, 1 << 16), Whole(0, 1 << 40)
# The fields that are read, if present. Other fields are kept and not used.
FIELDS: Kinds = {
    "text": {
        "family": Text(100),
        "preset": OneOf(tuple(PRESETS)),
        "max_tokens": TOKENS,
        "question_tokens": TOKENS,
        "target_tokens": TOKENS,
        "answer_tokens": Whole(0, 1 << 12),
        "tables": Whole(0, 1000),
        "candidates": Whole(1, 1000),
        "passages": Whole(1, 10_000),
        "words": Items(Text(100), 1, 100),
        "labels": Items(Text(100), 2, 1000),
        "pairs": Truth(),
        "markers": {marker: Whole(0, 1 << 24) for marker in MARKERS},
    },
    "vocabulary": {
        "kind": Text(100),
        "pieces": Whole(1, 1 << 24),
        "extra_ids": Whole(0, 1 << 16),
        "file": Text(255),
        "sha256": Text(64),
    },
    # The fields of an adapter; `base` is its backbone, by name or path.
    "adapter": {**LORA, "base": Text(4096), "base_sha256": Maybe(Text(64))},
    # Slots of a checkpoint whose step was not taken over are older than the run.
    "training": {"first_step": STEP, "slots_first_step": Whole(-(1 << 40), 1 << 40)},
    "decision": {"threshold": REAL, "in_data": Truth(), "precision": Maybe(Number(0, math.nextafter(1, 2)))},
    "fusion": Maybe(Items(FINITE, 3, 3)),
    "reranks": {"first": Text(4096), "depth": Whole(1, 10_000), "weights": Items(FINITE, 3, 3)},
    "calibration": {
        "temperature": Number(LOWEST, math.nextafter(HIGHEST, math.inf)),
        "claims": Whole(0, 1 << 40),
        "aggregate": Maybe(Text(100)),
        "biases": Items(FINITE, 0, 3),
    },
    "columns": Whole(1, 1000),  # that are kept of a table
    "sentences": Whole(1, 1000),  # of the evidence, up to which a labeller reads lists
    "leading": Whole(0, 1000),  # sentences read on their own; the most decisive leads these lists
    "answers": {
        "weights": Items(FINITE, 5, 5),
        "threshold": Number(0, math.nextafter(1, 2)),
        "questions": Whole(0, 1 << 40),
    },
    "files": Items(Text(255), 0, 100),
    "step": STEP,
}


@dataclasses.dataclass(frozen=True)
class ModelCard(Mapping[str, Any]):
    """The content of `model.json` in `folder`, of a checkpoint or a bundle: a mapping of its fields.

    Known fields are checked (`FIELDS`, and the architecture's own); any may be missing, see `needed`; unknown ones are
    kept."""

    folder: Path
    content: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> ModelCard:
        """Reads the card of a checkpoint folder or a bundle, with the values fitted for the checkpoint (`FITTED`).
        Raises DataError with the field at fault."""
        path = folder / MODEL_JSON
        if not path.exists():
            raise LisaxError(f"{folder} has no {MODEL_JSON}, so its architecture is not known")
        content, fitted = _checked(path), folder.parent / FITTED
        if fitted.is_file() and (found := _checked(fitted)).pop("checkpoint", None) == folder.name:
            content |= found
        return cls(folder, content)

    def __getitem__(self, name: str) -> Any:
        return self.content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def __len__(self) -> int:
        return len(self.content)

    def needed(self, *fields: str) -> list[Any]:
        """The values of fields, `text.max_tokens`; a DataError that names the first that is missing."""
        values = []
        for field in fields:
            value: Any = self.content
            for name in field.split("."):
                value = value.get(name) if isinstance(value, Mapping) else None
                if value is None:
                    raise self.error(
                        field, "it is missing, so that the model cannot be used; export or import it again"
                    )
            values.append(value)
        return values

    def error(self, field: str, complaint: str) -> DataError:
        return DataError(complaint, path=self.folder / MODEL_JSON, field=field)

    # --- Text ------------------------------------------------------------------------------------

    @property
    def text(self) -> Mapping[str, Any]:
        """The description of the texts that the model reads; empty if missing."""
        return self.content.get("text") or {}

    @property
    def format(self) -> Format:
        """The format that the model was trained on."""
        (name,) = self.needed("text.family")
        if name not in FORMATS:
            raise self.error("text.family", f"there is no format {shown(name)}; there are {', '.join(FORMATS)}")
        return FORMATS[name]

    @property
    def preset(self) -> Preset:
        return presets.get(self.needed("text.preset")[0])

    def format_among(self, *allowed: Format) -> Format:
        """The card's format, which must be one of these."""
        found = self.format
        if found not in allowed:
            raise self.error(
                "text.family", f"expected a model of the format {' or '.join(map(str, allowed))}, found '{found}'"
            )
        return found

    def each_encoder(self, text_format: Format, vocabulary: Vocabulary) -> Callable[[Any], list[Encoded]]:
        """example -> its inputs, of a format that has several for an example: as the model was trained."""
        preset, (max_tokens,) = self.preset, self.needed("text.max_tokens")
        if self.text.get("pairs"):
            return lambda example: encode_pairs(text_format, example, preset, max_tokens, vocabulary)
        return lambda example: encode_texts(text_format, example, preset, max_tokens, vocabulary.encode_input)

    # --- Fitted values -------------------------------------------------------------------------

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the model's label probabilities; None if none was fitted."""
        if self.content.get("calibration") is None:
            return None
        temperature, fitted = *self.needed("calibration.temperature"), self.content["calibration"]
        biases, labels = tuple(fitted.get("biases", ())), self.text.get("labels") or self.text.get("words") or ()
        if biases and len(biases) != len(labels):
            raise self.error("calibration.biases", f"has {len(biases)} for {len(labels)} labels")
        return Calibration(temperature, fitted.get("claims", 0), fitted.get("aggregate"), biases)

    # --- Vocabulary ------------------------------------------------------------------------------

    def open_vocabulary(self) -> Vocabulary:
        """The vocabulary next to the card. Raises DataError if it has more entries than the model has rows for."""
        own = vocabulary_in(self.folder)
        if own is None:
            check_has_file(self, self.folder)
        vocabulary = open_vocabulary(own or self._of_base() or self.folder / VOCABULARY_NAME)
        wanted = (self.content.get("vocabulary") or {}).get("sha256")
        if own is None and wanted is not None and vocabulary.digest != wanted:
            raise self.error("vocabulary.sha256", f"is {wanted}, and that of {vocabulary.path} is {vocabulary.digest}")
        (described,) = self.needed("architecture")
        # A description has it only if it is not the default.
        rows = described.get("backbone", described).get("vocab_size", vocabulary.size)
        if vocabulary.size > rows:
            raise self.error(
                "architecture.vocab_size",
                f"its vocabulary has {vocabulary.size:,} entries, the model {rows:,}: they do not belong together",
            )
        return vocabulary

    def _of_base(self) -> Path | None:
        """The vocabulary of an adapter's backbone, which may be an adapter too."""
        base = (self.content.get("adapter") or {}).get("base")
        if base is None:
            return None
        folder = folder_of(base) or place(base)
        return vocabulary_in(folder) or (ModelCard.read(folder)._of_base() if (folder / MODEL_JSON).is_file() else None)


def check_has_file(card: Mapping[str, Any], folder: Path) -> None:
    """LisaxError for the card of a model whose vocabulary is bytes, and has no file."""
    if (card.get("vocabulary") or {}).get("kind") == "bytes":
        raise LisaxError(
            f"{folder} was trained on bytes, which only `lisax train`, `eval` and `infer` read: to export or use a model, "
            "train it with a vocabulary that has a file, such as vocabulary='train'"
        )


def _checked(path: Path) -> dict[str, Any]:
    content = read_object(path)
    try:
        if content.get("architecture") is not None:
            check_architecture(content["architecture"])
    except FieldError as error:
        raise DataError(error.complaint, path=path, field=f"architecture.{error.field}") from None
    try:
        check({name: value for name, value in content.items() if value is not None}, FIELDS, others=True)
    except FieldError as error:
        raise DataError(error.complaint, path=path, field=error.field) from None
    return content
