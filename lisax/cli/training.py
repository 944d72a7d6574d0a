"""`lisax train`, `lisax eval`, `lisax infer`: T5X's flags. Light to import."""

from __future__ import annotations

import argparse
import os

from lisax.records import LisaxError
from lisax.runtime import hosts

EPILOG = (
    "Macros of gin files are given as --gin.NAME=value, for example --gin.MODEL_DIR=out "
    "--gin.TRAIN_STEPS=1000; strings need no quotes."
)


def add_gin_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gin_file",
        action="append",
        default=[],
        metavar="FILE",
        help="a gin file, found here, in --gin_search_paths or in gin_configs/; repeatable, later ones win",
    )
    parser.add_argument(
        "--gin_bindings",
        action="append",
        default=[],
        metavar="NAME=value",
        help="a gin binding after all files; repeatable",
    )
    parser.add_argument("--gin_search_paths", default="", metavar="DIR,DIR", help="folders to look for gin files in")
    parser.add_argument(
        "--tfds_data_dir", default=None, metavar="DIR", help="where TensorFlow Datasets are; for tasks that use them"
    )
    parser.add_argument(
        "--seqio_additional_cache_dirs",
        default="",
        metavar="DIR,DIR",
        help="folders of cached tasks, as `lisax cache tasks` makes them; for USE_CACHED_TASKS=True",
    )
    parser.epilog = EPILOG


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Trains, or continues to train, the model of the gin files in MODEL_DIR."
    add_gin_arguments(parser)
    hosts.add_arguments(parser)


def add_eval_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Evaluates a checkpoint on a seqio task and writes the metrics to EVAL_OUTPUT_DIR."
    add_gin_arguments(parser)


def add_infer_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Predicts or scores a seqio task and writes JSON Lines to INFER_OUTPUT_DIR."
    add_gin_arguments(parser)


def train_main(args: argparse.Namespace) -> int:
    hosts.connect(args)
    with configured_by("train", args) as config:
        from lisax.runtime.train import train

        try:
            result = train(config)
        except KeyboardInterrupt:  # after it has saved and said so
            return 130
        if hosts.is_first():
            print(result.checkpoint or result.model_dir)
    return 0


def eval_main(args: argparse.Namespace) -> int:
    with configured_by("eval", args) as config:
        from lisax.runtime.inference import evaluate

        evaluate(config)
    return 0


def infer_main(args: argparse.Namespace) -> int:
    with configured_by("infer", args) as config:
        from lisax.runtime.inference import infer

        print(infer(config))
    return 0


def configured_by(verb: str, args: argparse.Namespace):
    from lisax.runtime.gin_files import configured

    if not args.gin_file and not args.gin_bindings:
        raise LisaxError(
            f"lisax {verb} needs gin files: --gin_file=models/t5_1_1_small.gin --gin_file=runs/"
            f"{'finetune' if verb == 'train' else verb}.gin"
        )
    if args.tfds_data_dir:
        os.environ["TFDS_DATA_DIR"] = args.tfds_data_dir
    if args.seqio_additional_cache_dirs:
        from lisax.runtime.data import import_seqio

        import_seqio().add_global_cache_dirs(args.seqio_additional_cache_dirs.split(","))
    paths = [path for path in args.gin_search_paths.split(",") if path]
    return configured(verb, args.gin_file, args.gin_bindings, paths)
