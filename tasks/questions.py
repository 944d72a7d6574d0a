"""Tasks over questions with passages, of `examples/*.{split}.jsonl` in the data folder (`sampling.question_examples`).

`questions_retrieve`: a question, its gold passage and hard negatives, for the dual encoder. `questions_read_top1`,
`…top5`, `…top10`, `…top20`, `…top50`, `…top100`: a question's passages end to end, the target its first answer.
`questions_point_top1`, …: the same inputs, the targets the places of its answers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import seqio
import tensorflow as tf

from lisax.errors import LisaxError
from lisax.formats import reading
from lisax.formats.format import Format
from lisax.formats.reading import POINT, READ, RETRIEVE, QuestionExample
from lisax.formats.vocabulary import EOS_ID, Vocabulary
from lisax.models.dual_encoder import NEGATIVE, POSITIVE, question_room
from lisax.sampling.question_examples import DEPTHS

from .columns import TEXT, Encoded, Row, add_lines, parsed
from .example_tasks import Options, head_features
from .locations import FileOf, examples
from .vocabularies import default_vocabulary, encoder_vocabulary, plain_of

RETRIEVE_TASK = "questions_retrieve"
READ_TASKS = {
    f"questions_{verb}_top{k}": (kind, k) for verb, kind in (("read", READ), ("point", POINT)) for k in DEPTHS
}
RowOf = Callable[[QuestionExample, Vocabulary, Mapping[str, int]], tuple[np.ndarray, np.ndarray]]


def add_all() -> None:
    add(RETRIEVE_TASK, RETRIEVE, examples("retriever"), retriever_batch)
    for name, (kind, k) in READ_TASKS.items():
        row_of = functools.partial(reader_row, kind=kind, k=k)
        add(name, kind, examples("reader"), row_of, k)


def add(
    name: str,
    kind: Format,
    file_of: FileOf,
    row_of: RowOf,
    passages: int = 0,
    options: Options = Options(),
) -> seqio.Task:
    """Registers the task `name` over a file of question examples; `passages`: of a reader's question."""
    vocabulary = options.vocabulary or (default_vocabulary() if kind is READ else encoder_vocabulary())
    # Classes and places are not pieces; the size does not limit places, they are bounded by the inputs' length.
    features = head_features(vocabulary, POSITIVE + 1)
    if kind is READ:
        features["targets"] = features["inputs"]
    encode = functools.partial(encode_question, task=name, row_of=row_of)
    task = add_lines(name, file_of, encode, features, splits=options.splits)

    def model_card(lengths: Mapping[str, int]) -> dict:
        if kind is RETRIEVE:
            room = question_room(lengths["inputs"], lengths["targets"])
            return {"text": {"family": str(kind), "max_tokens": 2 * room, "question_tokens": room}}
        text = {"family": str(kind), "max_tokens": lengths["inputs"] // passages, "passages": passages}
        return {"text": text | ({"answer_tokens": lengths["targets"]} if kind is READ else {})}

    task.model_card = model_card
    return task


def retriever_batch(
    example: QuestionExample, vocabulary: Vocabulary, lengths: Mapping[str, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs as `dual_encoder.split` takes them apart, and a class for each passage, the gold one first."""
    count = lengths["targets"]
    room = question_room(lengths["inputs"], count)
    inputs, targets = np.zeros(lengths["inputs"], np.int32), np.zeros(count, np.int32)
    text = reading.encode_question(example.question, max_tokens=room, count_tokens=vocabulary.count)
    _put(inputs, 0, vocabulary.encode_input(text))
    for i, view in enumerate(example.passages[:count]):
        text = reading.encode_passage(view.title, view.text, max_tokens=2 * room, count_tokens=vocabulary.count)
        _put(inputs, room + 2 * room * i, vocabulary.encode_input(text))
        targets[i] = NEGATIVE if i else POSITIVE
    return inputs, targets


def reader_row(
    example: QuestionExample, vocabulary: Vocabulary, lengths: Mapping[str, int], *, kind: Format, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The texts of the first k passages, each filled to the same length; the first answer, or answers' places."""
    room = lengths["inputs"] // k
    inputs, spans = np.zeros(lengths["inputs"], np.int32), []
    for i, view in enumerate(example.passages[:k]):
        text = reading.encode_reading(
            example.question, view.title, view.text, max_tokens=room, count_tokens=vocabulary.count
        )
        if kind is POINT:
            ids, places = vocabulary.encode_with_places(text.inputs)
            found = (places.tokens_of(text.context + begin, text.context + end) for begin, end in view.spans)
            spans += [i * room + place for span in found if span is not None for place in span]
        else:
            ids = vocabulary.encode_input(text.inputs)
        _put(inputs, i * room, ids)
    targets = np.zeros(lengths["targets"], np.int32)
    if kind is POINT:
        kept = spans[: lengths["targets"]]
        targets[: len(kept)] = kept
    elif example.answers:
        _put(targets, 0, [*vocabulary.encode(example.answers[0])[: lengths["targets"] - 1], EOS_ID])
    return inputs, targets


def _put(row: np.ndarray, start: int, ids: Sequence[int]) -> None:
    row[start : start + len(ids)] = ids


def encode_question(vocabulary: seqio.Vocabulary, lengths: Mapping[str, int], *, task: str, row_of: RowOf) -> Encoded:
    """Inputs and targets of the given lengths, and the question's id and text."""
    if not lengths.get("inputs") or not lengths.get("targets"):
        raise LisaxError(f"task '{task}': TASK_FEATURE_LENGTHS must give a length for inputs and targets")
    plain = plain_of(vocabulary)
    if plain is None:
        raise LisaxError(f"task '{task}' reads with a SentencePiece vocabulary or a tokenizer.json, not with bytes")

    def one(line: bytes) -> Row:
        example = parsed(line, QuestionExample, task)
        inputs, targets = row_of(example, plain, lengths)
        return {
            "inputs": inputs,
            "targets": targets,
            "question_id": example.question_id,
            "inputs_pretokenized": example.question,
        }

    numbers = {name: tf.TensorSpec([lengths[name]], tf.int32) for name in ("inputs", "targets")}
    return one, numbers | dict.fromkeys(("question_id", "inputs_pretokenized"), TEXT)
