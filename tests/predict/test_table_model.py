"""A model of the format TABLES reads in inference what its task gave it in training."""

from pathlib import Path

import numpy as np
import seqio

from lisax.formats import presets
from lisax.formats.examples import write_examples
from lisax.formats.tables import TABLES, TableExample, TableView
from lisax.formats.vocabulary import SentencePieceVocabulary, train_vocabulary
from lisax.predict.model import Model
from lisax.predict.table_verifier import tell_dropped_rows
from lisax.records import Label
from lisax.tasks import tables
from lisax.tasks.example_tasks import Options
from lisax.tasks.vocabularies import SentencePieces
from lisax.weights.model_card import ModelCard

VIEW = TableView("t", "Seasons", ("year", "goals"), tuple((str(1900 + i), str(i)) for i in range(9)))
EXAMPLES = [
    TableExample("1", "goals in 1905", (VIEW, VIEW), Label.SUPPORTS, (True, False)),
    TableExample("2", "goals in 1977", (VIEW,), Label.REFUTES, (True,)),
]


class Recorder:
    """Stands in for `LabelScorer`."""

    def __init__(self, pieces, max_tokens):
        self.pieces, self.max_tokens = pieces, max_tokens

    def logits(self, tokens):
        self.tokens = tokens
        return np.tile(np.arange(len(self.pieces), dtype=np.float32), (len(tokens), 1))


def test_tokens_and_label_words_are_those_of_the_task(tmp_path, capsys):
    train_vocabulary(["query table row is year goals relevant Seasons"] * 20, tmp_path / "spiece.model", 90)
    write_examples(tmp_path / "e.train.jsonl", EXAMPLES)
    vocabulary, made = SentencePieceVocabulary(tmp_path / "spiece.model"), []

    def scorer_of(*arguments):
        made.append(Recorder(*arguments))
        return made[0]

    card = TABLES.card(presets.PAPER, 90, 2) | {"architecture": {"vocab_size": vocabulary.size}}
    model = Model.of_words(scorer_of, vocabulary, ModelCard(tmp_path, card))
    assert model.probabilities(EXAMPLES).shape == (2, 3)
    tell_dropped_rows(model, "the tables")
    assert model.dropped_rows
    assert f"{model.dropped_rows} rows of the tables had no room in 90" in capsys.readouterr().err
    task = tables.add_text(
        "test_tables_closed",
        lambda split: Path(tmp_path / "e.train.jsonl"),
        Options(("train",), SentencePieces(tmp_path / "spiece.model")),
    )
    try:
        rows = list(task.get_dataset({"inputs": 90, "targets": 2}, "train", shuffle=False).as_numpy_iterator())
    finally:
        seqio.TaskRegistry.remove("test_tables_closed")
    assert [row["inputs"].tolist() for row in rows] == made[0].tokens and rows[0]["dropped_rows"]
    assert [row["targets"][0] for row in rows] == made[0].pieces[:2]
