"""Batches of a seqio task or mixture as numpy arrays: deterministic, the same for any number of hosts.

Every process builds the same stream of whole batches from the same seed and places its own rows on its
devices (see `partitioning`); resuming at step s skips s batches of that stream, so data order never depends
on interruptions. TensorFlow and seqio are imported only here, and only when a task is read.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import importlib.machinery
import importlib.util
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lisax.devices.batching import windows
from lisax.devices.quiet import stderr_closed
from lisax.errors import LisaxError
from lisax.files.places import fetched
from lisax.weights.interop.kinds import KINDS, digest, vocabulary_name
from lisax.weights.interop.pieces import first_line

HostBatch = dict[str, np.ndarray]
# Data for training: given a number of batches to skip, the batches after them, without end.
BatchSource = Callable[[int], Iterator[HostBatch]]
INPUTS = "encoder_input_tokens"  # as seqio's feature converter names them
# LisaX's own seqio tasks, the package `lisax.tasks`; in a checkout it is a link to the folder at the top.
TASKS = Path(__file__).parents[1] / "tasks"


@dataclasses.dataclass(frozen=True)
class DatasetConfig:
    """A split of a seqio task or mixture, named as in T5X's gin files.

    `task_feature_lengths`: {"inputs": tokens, "targets": tokens}, or None for the longest of the split (not in
    training). `buckets` are shorter lengths of inputs (ours): a training batch has rows of one bucket and is as long as
    it, which saves the steps over padding and costs a compilation each. `module` is imported first, so that it
    registers the task. A `seed` of None is 0, since a resumed run must repeat its order. Without `trim_output_features`
    longer features are an error rather than cut."""

    mixture_or_task_name: str
    task_feature_lengths: Mapping[str, int] | None
    split: str = "train"
    batch_size: int = 128
    shuffle: bool = True
    seed: int | None = 0
    use_cached: bool = False
    pack: bool = False
    buckets: Sequence[int] = ()
    module: str | None = None
    trim_output_features: bool = True


@functools.cache
def import_seqio() -> Any:
    """seqio, with TensorFlow kept quiet and off the accelerators."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with stderr_closed():
        import seqio
        import tensorflow as tf
        from absl import logging

        logging.set_verbosity(logging.ERROR)
        tf.config.set_visible_devices([], "GPU")
    return seqio


def task_modules(module: str) -> list[str]:
    """The modules that `MIXTURE_OR_TASK_MODULE = module` may mean, to be imported in this order until one registers the
    name.

    `tasks` and `tasks.NAME` are LisaX's own, `lisax.tasks`, under the names that T5X knows them by. A package `tasks`
    of the user's own keeps its name: names that LisaX's does not have come from there."""
    package, _, rest = module.partition(".")
    if package != "tasks":
        return [module]
    if rest and TASKS.joinpath(*rest.split(".")).with_suffix(".py").is_file():
        return [f"lisax.{module}"]
    if rest:
        return [module]
    users = importlib.util.find_spec(package) or importlib.machinery.PathFinder.find_spec(package, [os.getcwd()])
    # Found there may be this very folder, where a checkout is on the path, or one without __init__.py, which is not a
    # package that registers anything.
    others = users and users.origin and not TASKS.samefile(os.path.dirname(users.origin))
    return ["lisax.tasks", "tasks"] if others else ["lisax.tasks"]


def import_task_module(module: str) -> None:
    """Imports a module that registers tasks; one that is not installed is looked for in the current folder too. A JSON
    file describes a user's own dataset, whose tasks are registered once (`lisax.tasks.register`)."""
    import_seqio()  # first, so that TensorFlow is quiet from its start, and finds nothing of the current folder
    if module.endswith(".json"):
        importlib.import_module("lisax.tasks.register").register_file(module)
        return
    if not _is_installed(module) and "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise LisaxError(
                f"MIXTURE_OR_TASK_MODULE: there is no module '{module}' "
                f"(looked for in the current folder and the Python path)"
            ) from None
        raise


def _is_installed(module: str) -> bool:
    package = module.partition(".")[0]
    return package in sys.modules or (bool(package) and importlib.util.find_spec(package) is not None)


def provider_of(config: DatasetConfig) -> Any:
    """The seqio Task or Mixture; an unknown name is an error that lists near ones."""
    seqio = import_seqio()
    name, known = config.mixture_or_task_name, set()
    for module in task_modules(config.module) if config.module else [None]:
        if module:
            import_task_module(module)
        known = {*seqio.TaskRegistry.names(), *seqio.MixtureRegistry.names()}
        if name in known:
            break
    else:
        near = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.4)
        raise LisaxError(
            f"no seqio task or mixture is named '{name}'. "
            + (f"Did you mean {' or '.join(near)}?" if near else f"{len(known)} are registered.")
            + ("" if config.module else " MIXTURE_OR_TASK_MODULE names the module that registers it.")
        )
    return seqio.get_mixture_or_task(name)


def check_dataset(config: DatasetConfig, vocab_size: int, name: str) -> None:
    """Finds errors at once that would appear after minutes: lengths, split, cache, vocabulary against model."""
    provider = provider_of(config)
    if config.split not in provider.splits:
        raise LisaxError(
            f"{name}: '{config.mixture_or_task_name}' has no split '{config.split}'; "
            f"it has {', '.join(sorted(provider.splits))}"
        )
    for feature in ("inputs", "targets"):
        if feature not in provider.output_features:
            raise LisaxError(
                f"{name}: '{config.mixture_or_task_name}' has no feature '{feature}'; "
                f"it has {', '.join(provider.output_features)}"
            )
        if config.task_feature_lengths is not None and not config.task_feature_lengths.get(feature):
            raise LisaxError(
                f"TASK_FEATURE_LENGTHS must give a length for '{feature}', found {dict(config.task_feature_lengths)}"
            )
        size = provider.output_features[feature].vocabulary.vocab_size
        if size > vocab_size:
            raise LisaxError(
                f"the vocabulary of '{config.mixture_or_task_name}' ({feature}) has {size} pieces but "
                f"the model's embedding has {vocab_size} rows: set VOCAB_SIZE to at least {size}"
            )
    for task in import_seqio().get_subtasks(provider):
        if config.use_cached and not task.cache_dir:
            raise LisaxError(
                f"USE_CACHED_TASKS is True, but '{task.name}' is not in the cache folders: cache it "
                f"with `lisax cache tasks {task.name} --out=DIR` and give "
                f"--seqio_additional_cache_dirs=DIR, or set USE_CACHED_TASKS=False"
            )


def vocabulary_file(config: DatasetConfig) -> str | None:
    """Path of the task's SentencePiece model or `tokenizer.json`, or None for a vocabulary without one (bytes)."""
    vocabulary = _vocabulary(config)
    return getattr(vocabulary, "sentencepiece_model_file", None) or getattr(vocabulary, "file", None)


def describe_vocabulary(config: DatasetConfig) -> dict[str, Any]:
    """The vocabulary's entry in `model.json`: {"kind", "pieces", "extra_ids"} and, if it has a file, the "file" next to
    a checkpoint and its "sha256"."""
    vocabulary, path = _vocabulary(config), vocabulary_file(config)
    described = {
        "kind": KINDS[vocabulary_name(path)] if path else "bytes",
        "pieces": int(vocabulary.vocab_size),
        "extra_ids": int(vocabulary.extra_ids),
    }
    return described | ({"file": vocabulary_name(path), "sha256": digest(path)} if path else {})


def model_card(config: DatasetConfig) -> dict[str, Any]:
    """The task's description of its texts for `model.json` (`task.model_card(lengths)`); empty for tasks whose texts
    differ, and for tasks without one."""
    subtasks = import_seqio().get_subtasks(provider_of(config))
    cards = [task.model_card(config.task_feature_lengths) for task in subtasks if hasattr(task, "model_card")]
    return cards[0] if len(cards) == len(subtasks) and all(card == cards[0] for card in cards) else {}


@dataclasses.dataclass(frozen=True)
class VocabularyFile:
    """A vocabulary that a task is to have: a SentencePiece model, or bytes without one, and `extra_ids` sentinels after
    its own."""

    sentencepiece_model_file: str | None
    extra_ids: int = 0


def check_vocabulary(config: DatasetConfig, wanted: Any) -> None:
    """Raises an error if the task has another vocabulary than `wanted`, a `VocabularyFile` or seqio's; None is any."""
    if wanted is None:
        return
    path, used = getattr(wanted, "sentencepiece_model_file", None), _vocabulary(config)
    found = vocabulary_file(config)
    name, same = f"'{path}'" if path else "bytes", path == found
    if path and found and not same:
        try:
            given = import_seqio().SentencePieceVocabulary(str(fetched(path)), wanted.extra_ids).tokenizer
        except Exception as error:  # whatever a bucket, a missing file or another file's content raises
            raise LisaxError(
                f"the model's vocabulary {name} cannot be read: {first_line(error)}. VOCABULARY=None takes the task's"
            ) from error
        same = _pieces(given) == _pieces(used.tokenizer)
    if not same:
        raise LisaxError(
            f"the model's vocabulary is {name}, and '{config.mixture_or_task_name}' has "
            f"{repr(found) if found else 'bytes'}: they must be the same"
        )


def _pieces(tokenizer: Any) -> list[tuple[str, float]]:
    return [(tokenizer.id_to_piece(i), tokenizer.get_score(i)) for i in range(tokenizer.get_piece_size())]


def _vocabulary(config: DatasetConfig) -> Any:
    return provider_of(config).output_features["inputs"].vocabulary


def _dataset(provider: Any, config: DatasetConfig, lengths: Mapping[str, int], num_epochs: int | None) -> Any:
    import tensorflow as tf

    seqio = import_seqio()
    # Random ops of preprocessors that take no seed of their own follow the global one.
    tf.random.set_seed(config.seed or 0)
    dataset = seqio.get_dataset(
        provider,
        dict(lengths),
        seqio.EncDecFeatureConverter(pack=config.pack),
        dataset_split=config.split,
        use_cached=config.use_cached,
        shuffle=config.shuffle,
        num_epochs=num_epochs,
        seed=config.seed or 0,
        verbose=False,
        trim_output_features=config.trim_output_features,
    )
    options = tf.data.Options()
    options.deterministic = True
    return dataset.with_options(options)


def _read(provider: Any, dataset_of: Callable[[], Any]) -> Iterator[dict[str, np.ndarray]]:
    """The rows of a dataset. An error of a line of LisaX's tasks, which they keep (`failures`), is raised as it is."""
    failures = [task.failures for task in import_seqio().get_subtasks(provider) if hasattr(task, "failures")]
    opened = [one for one in failures if one.kept is None]  # not by a reader of the same task, such as training's
    for one in opened:
        one.kept = []
    try:
        for row in dataset_of().as_numpy_iterator():
            if any(one.kept for one in failures):
                break
            yield row
        for error in (error for one in failures for error in one.kept or ()):
            raise error
    finally:
        for one in opened:
            one.kept = None


def train_source(config: DatasetConfig) -> BatchSource:
    """The endless stream of batches [batch_size, length] int32 of a task."""
    if config.task_feature_lengths is None:
        raise LisaxError("TASK_FEATURE_LENGTHS must be given for training")
    longest = config.task_feature_lengths["inputs"]
    bounds = [*config.buckets, longest]
    if bounds != sorted({*bounds}) or bounds[0] < 1 or (config.buckets and config.pack):
        raise LisaxError(
            f"DatasetConfig.buckets must be ascending lengths below the {longest} of the inputs, without packing, found "
            f"{config.buckets!r:.80}"
        )

    def batches(skip: int) -> Iterator[HostBatch]:
        provider = provider_of(config)

        def dataset() -> Any:
            rows = _dataset(provider, config, config.task_feature_lengths, None)
            if not config.buckets:
                return rows.batch(config.batch_size, drop_remainder=True).skip(skip)
            return rows.bucket_by_sequence_length(
                lambda row: _length(row[INPUTS]),
                [bound + 1 for bound in config.buckets],
                [config.batch_size] * len(bounds),
                drop_remainder=True,
            ).skip(skip)

        for batch in _read(provider, dataset):
            whole = {name: np.asarray(array, np.int32) for name, array in batch.items()}
            if config.buckets:
                used = int(np.flatnonzero(whole[INPUTS].any(axis=0)).max(initial=0)) + 1
                whole[INPUTS] = whole[INPUTS][:, : next(bound for bound in bounds if bound >= used)]
            yield whole

    return batches


def _length(tokens: Any) -> Any:
    """The length of a row of tokens, a tensor, without the padding at its end."""
    import tensorflow as tf

    return tf.cast(tf.reduce_max(tf.where(tokens != 0)) + 1, tf.int32)


def eval_sets(config: DatasetConfig) -> Iterator[tuple[str, Iterator[HostBatch]]]:
    """Each task of a mixture that has the split, with one pass over it, not packed; its last batch is filled with zeros."""
    config = with_lengths(dataclasses.replace(config, pack=False, shuffle=False))
    for task in import_seqio().get_subtasks(provider_of(config)):
        if config.split in task.splits:
            rows = _read(task, functools.partial(_dataset, task, config, config.task_feature_lengths, 1))
            yield task.name, _stacked(rows, config.batch_size)


def _stacked(rows: Iterator[HostBatch], batch_size: int) -> Iterator[HostBatch]:
    """Batches of rows of [length], arrays [batch_size, length] int32, missing rows zero."""
    for group in windows(rows, batch_size):
        batch = {}
        for name, first in group[0].items():
            batch[name] = np.zeros((batch_size, *np.shape(first)), np.int32)
            batch[name][: len(group)] = [row[name] for row in group]
        yield batch


def examples(config: DatasetConfig) -> Iterator[dict[str, np.ndarray]]:
    """The task's own examples in order (`inputs`, `targets` token ids, `*_pretokenized`), for inference."""
    seqio = import_seqio()
    lengths = config.task_feature_lengths and dict(config.task_feature_lengths)
    for task in seqio.get_subtasks(provider_of(config)):
        if config.split in task.splits:
            dataset = functools.partial(
                task.get_dataset,
                lengths,
                split=config.split,
                use_cached=config.use_cached,
                shuffle=False,
                seed=config.seed or 0,
                num_epochs=1,
            )
            yield from _read(task, dataset)


def with_lengths(config: DatasetConfig) -> DatasetConfig:
    """The dataset with its lengths, which are by default those of `longest`."""
    return config if config.task_feature_lengths else dataclasses.replace(config, task_feature_lengths=longest(config))


def longest(config: DatasetConfig) -> dict[str, int]:
    """Longest inputs and targets of a split in tokens, found by reading it once."""
    lengths = {"inputs": 1, "targets": 1}
    for example in examples(config):
        for feature in lengths:
            lengths[feature] = max(lengths[feature], len(example[feature]))
    return lengths


class Prefetched:
    """An iterator read ahead by a thread, `ahead` items; errors of the source are raised to the reader.

    A context manager: leaving it ends the thread."""

    _END = object()

    def __init__(self, source: Iterator[Any], ahead: int = 2):
        self._source = source
        self._queue: queue.Queue = queue.Queue(maxsize=ahead)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._fill, name="lisax-prefetch", daemon=True)

    def __enter__(self) -> Prefetched:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._stopped.set()
        while self._thread.is_alive():
            try:
                self._queue.get_nowait()
            except queue.Empty:
                self._thread.join(timeout=0.05)

    def __iter__(self) -> Prefetched:
        return self

    def __next__(self) -> Any:
        item, error = self._queue.get()
        if error is None and item is not self._END:
            return item
        self._queue.put((item, error))  # for later calls: the thread has ended
        if error is not None:
            raise error
        raise StopIteration

    def _fill(self) -> None:
        try:
            for item in self._source:
                self._queue.put((item, None))
                if self._stopped.is_set():
                    return
            self._queue.put((self._END, None))
        except BaseException as error:  # handed to the reader's thread, which raises it
            self._queue.put((None, error))
