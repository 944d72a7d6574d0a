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

from . import example_tasks
from .locations import FileOf, in_data_folder
from .vocabularies import default_vocabulary, encoder_vocabulary, plain_of

RETRIEVE_TASK = "questions_retrieve"
READ_TASKS = {
    f"questions_{verb}_top{k}": (kind, k) for verb, kind in (("read", READ), ("point", POINT)) for k in DEPTHS
}
Encode = Callable[[QuestionExample, Vocabulary, Mapping[str, int]], tuple[np.ndarray, np.ndarray]]


def add_all() -> None:
    add(RETRIEVE_TASK, RETRIEVE, in_data_folder("examples/retriever.{split}.jsonl"), retriever_batch)
    for name, (kind, k) in READ_TASKS.items():
        encode = functools.partial(reader_row, kind=kind, k=k)
        add(name, kind, in_data_folder("examples/reader.{split}.jsonl"), encode, k)


def add(
    name: str,
    kind: Format,
    file_of: FileOf,
    encode: Encode,
    passages: int = 0,
    *,
    splits: Sequence[str] = ("train", "dev"),
    vocabulary: seqio.Vocabulary | None = None,
) -> seqio.Task:
    """Registers the task `name` over a file of question examples; `passages`: of a reader's question."""
    vocabulary = vocabulary or (default_vocabulary() if kind is READ else encoder_vocabulary())
    # Classes and places are no pieces; of places the size says nothing, they are bounded by the inputs' length.
    targets = vocabulary if kind is READ else seqio.PassThroughVocabulary(POSITIVE + 1)
    task = seqio.TaskRegistry.add(
        name,
        source=example_tasks.LineSource(name, file_of, splits),
        preprocessors=[seqio.CacheDatasetPlaceholder(), functools.partial(_encode_lines, task=name, encode=encode)],
        output_features={
            "inputs": seqio.Feature(vocabulary, add_eos=False),
            "targets": seqio.Feature(targets, add_eos=False),
        },
        metric_fns=[],
    )

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


def _encode_lines(
    dataset: tf.data.Dataset,
    output_features: Mapping[str, seqio.Feature],
    sequence_length: Mapping[str, int] | None,
    *,
    task: str,
    encode: Encode,
) -> tf.data.Dataset:
    """{"line": JSON record} -> inputs and targets, int32 of the given lengths, and the question's id and text."""
    lengths = dict(sequence_length or {})
    if not lengths.get("inputs") or not lengths.get("targets"):
        raise LisaxError(f"task '{task}': TASK_FEATURE_LENGTHS must give a length for inputs and targets")
    vocabulary = plain_of(output_features["inputs"].vocabulary)
    if vocabulary is None:
        raise LisaxError(f"task '{task}' reads with a SentencePiece vocabulary or a tokenizer.json, not with bytes")

    def many(lines: np.ndarray) -> tuple:
        examples = [example_tasks.parsed(line, QuestionExample, task) for line in lines]
        inputs, targets = zip(*(encode(example, vocabulary, lengths) for example in examples))
        return (
            np.stack(inputs),
            np.stack(targets),
            example_tasks.encoded([example.question_id for example in examples]),
            example_tasks.encoded([example.question for example in examples]),
        )

    shapes = {
        "inputs": [None, lengths["inputs"]],
        "targets": [None, lengths["targets"]],
        "question_id": [None],
        "inputs_pretokenized": [None],
    }

    def encode_call(batch: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        columns = tf.numpy_function(many, [batch["line"]], [tf.int32, tf.int32, tf.string, tf.string])
        for column, shape in zip(columns, shapes.values(), strict=True):
            column.set_shape(shape)
        return dict(zip(shapes, columns, strict=True))

    return dataset.batch(example_tasks.CALL_SIZE).map(encode_call, num_parallel_calls=2).unbatch()
