"""A small world of people, and models of it that are really trained, in seconds, and exported as bundles."""

import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import small_encoder

from lisax import cli
from lisax.files.writing import write_json
from lisax.formats import presets
from lisax.formats.examples import Example, Passage
from lisax.formats.format import Format
from lisax.formats.labelling import LABEL_POINTWISE
from lisax.formats.parts import TABLE_PARTS
from lisax.formats.vocabulary import EOS_ID, Vocabulary, train_vocabulary
from lisax.models.architectures import PairConfig, T5Config, describe
from lisax.models.lora import Lora
from lisax.models.t5 import initialize
from lisax.records import Document, Label, Sentence, Table, cell_id
from lisax.sampling.part_examples import parts_of
from lisax.training.schedules import Schedule
from lisax.training.train import TrainConfig, Trainer, train
from lisax.weights.checkpoints import CheckpointConfig, SaveCheckpointConfig, flatten
from lisax.weights.interop.adapters import weights_digest
from lisax.weights.interop.safetensors_files import write_arrays

HEADER = ("name", "city", "year", "work")
NAMES = [
    f"{first} {last}"
    for first in ("Mara", "Olin", "Tessa", "Bran", "Ilse", "Jory")
    for last in ("Velin", "Doker", "Minell", "Keld", "Sosen", "Rask", "Fegan", "Daker")
]
CITIES, WORKS = ("Tarn", "Ostra", "Lund", "Varn", "Pell", "Quay"), ("singer", "baker", "pilot", "judge", "painter")
MAX_TOKENS = 48


def tables(count: int = 12) -> list[Table]:
    """Tables of four people each; everyone stands in one of them."""
    draw = random.Random(0)
    rows = [(name, draw.choice(CITIES), str(1900 + draw.randrange(60)), draw.choice(WORKS)) for name in NAMES]
    return [
        Table(
            f"people-{i}",
            f"People {i}",
            HEADER,
            tuple(rows[4 * i : 4 * i + 4]),
            f"Register, sheet {i}",
            NAMES[4 * i].replace(" ", "_"),
        )
        for i in range(count)
    ]


def questions(made: Sequence[Table]) -> Iterator[tuple[str, Table, str]]:
    """(question, table, answer cell) for everyone in the tables and each of the columns but the name's."""
    for table in made:
        for i, row in enumerate(table.rows):
            for j, column in enumerate(table.header[1:], start=1):
                yield f"What is the {column} of {row[0]}?", table, cell_id(table.id, i, j)


def pages(made: Sequence[Table]) -> list[Document]:
    """A page for everyone, of three sentences."""

    def page(name, city, year, work):
        key, texts = name.replace(" ", "_"), (f"lived in {city} .", f"was born in {year} .", f"was a {work} .")
        return Document(key, name, tuple(Sentence(key, i, f"{name} {text}") for i, text in enumerate(texts)))

    return [page(*row) for table in made for row in table.rows]


def claims(made: Sequence[Table]) -> Iterator[Example]:
    """Claims with the sentence that decides them, or with one that does not."""
    draw = random.Random(1)
    for page in pages(made):
        city = page.sentences[0].text.split()[-2]
        other = draw.choice([c for c in CITIES if c != city])
        for said, sentence, label in (
            (city, 0, Label.SUPPORTS),
            (other, 0, Label.REFUTES),
            (city, 1, Label.NOT_ENOUGH_INFO),
        ):
            passage = Passage(page.sentences[sentence].id, page.title, page.sentences[sentence].text)
            yield Example(page.id, f"{page.title} lived in {said} .", (passage,), label=label)


def question_bundle(folder: Path, steps: int = 60) -> Path:
    """A model that scores rows and columns."""
    examples = [
        part for question, table, cell in questions(tables()) for part in parts_of("q", question, table, [cell])
    ]
    return _bundle(folder, TABLE_PARTS, examples, steps)


def label_bundle(folder: Path, steps: int = 60) -> Path:
    """A pointwise labeller."""
    return _bundle(folder, LABEL_POINTWISE, list(claims(tables())), steps)


def pair_bundle(folder: Path, text_format: Format, adapter: bool, **card: object) -> Path:
    """A pair scorer on a small encoder, untrained: an adapter alone, or the whole model; `card` is added to its own."""
    encoder = small_encoder.write(folder)
    model = PairConfig(small_encoder.ENCODER, labels=len(text_format.answer.classes))
    parameters, lora = initialize(model, 3), Lora(rank=2, alpha=4.0)
    described = {"architecture": describe(model), **text_format.pair_card(presets.PAPER, MAX_TOKENS, 1), **card}
    (folder / "pairs").mkdir()
    if adapter:
        parameters = lora.split(parameters)[1]
        beside = {"base": str(encoder), "base_sha256": weights_digest(encoder)}
        described["adapter"] = {"rank": lora.rank, "alpha": lora.alpha, "targets": lora.targets, **beside}
    else:
        shutil.copy(encoder / "tokenizer.json", folder / "pairs")
    arrays = {name: np.asarray(array) for name, array in flatten(parameters).items()}
    write_arrays(folder / "pairs", {name: one.shape for name, one in arrays.items()}, arrays.items(), shard_bytes=None)
    write_json(folder / "pairs/model.json", described)
    return folder / "pairs"


def _bundle(folder: Path, text_format: Format, examples: Sequence, steps: int) -> Path:
    texts = [f"query: {q} row: column: relevant:" for q, _, _ in questions(tables())]
    texts += [" : ".join(map(" | ".join, table.rows)) for table in tables()]
    texts += [sentence.text for page in pages(tables()) for sentence in page.sentences]
    vocabulary = train_vocabulary(texts, folder / "spiece.model", 400)
    model = T5Config(
        vocab_size=-(-vocabulary.size // 128) * 128,
        emb_dim=32,
        num_heads=4,
        num_encoder_layers=2,
        num_decoder_layers=1,
        head_dim=16,
        mlp_dim=64,
        mlp_activations=("relu", "linear"),
        attention_init="matching",
    )
    train(
        TrainConfig(
            model=model,
            model_dir=str(folder / "model"),
            train_data=_Batches(text_format, examples, vocabulary),
            total_steps=steps,
            log_period=steps,
            trainer=Trainer(
                learning_rate_fn=Schedule(factors="constant * linear_warmup", base_learning_rate=0.02, warmup_steps=20)
            ),
            checkpoint=CheckpointConfig(SaveCheckpointConfig(period=steps, keep=1)),
            card=text_format.card(presets.PAPER, MAX_TOKENS),
            files={"spiece.model": vocabulary.path.read_bytes()},
        )
    )
    assert cli.main(["export", "--model", str(folder / "model"), "--out", str(folder / "bundle")]) == 0
    return folder / "bundle"


class _Batches:
    """As many of each label in a batch, drawn at random."""

    def __init__(self, text_format: Format, examples: Sequence, vocabulary: Vocabulary):
        rows: dict[str, list[list[int]]] = {}
        for example in examples:
            text = text_format.encode(example, max_tokens=MAX_TOKENS, count_tokens=vocabulary.count)
            rows.setdefault(text.targets, []).append(vocabulary.encode_input(text.inputs))
        self._rows = {vocabulary.piece_id(word): inputs for word, inputs in rows.items()}

    def __call__(self, skip: int) -> Iterator[dict[str, np.ndarray]]:
        while True:
            draw = np.random.default_rng(skip)
            inputs = np.zeros((32, MAX_TOKENS), np.int32)
            targets = np.array([[piece, EOS_ID] for piece in draw.choice(list(self._rows), 32)], np.int32)
            for i, (piece, _) in enumerate(targets):
                row = self._rows[int(piece)][draw.integers(len(self._rows[int(piece)]))]
                inputs[i, : len(row)] = row
            yield {
                "encoder_input_tokens": inputs,
                "decoder_target_tokens": targets,
                "decoder_input_tokens": np.pad(targets[:, :-1], ((0, 0), (1, 0))),
                "decoder_loss_weights": np.ones_like(targets),
            }
            skip += 1
