"""What a user wrote becomes a path, or a sentence; and no verb makes a local folder of a bucket."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisax.cli import VERBS, main
from lisax.places import is_remote, local, place
from lisax.records import LisaxError

GCS = importlib.util.find_spec("gcsfs") is not None
TAKES_BUCKETS = {"train", "eval", "infer", "export", "checkpoint", "run", "demo", "rerank", "verify"}


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1))
def test_a_path_of_this_machine_is_as_pathlib_has_it(text):
    if ":/" not in text:
        assert place(text) == local(text) == Path(text)


@pytest.mark.parametrize(
    "text",
    [
        "gs:/bucket/x",
        "gs://",
        "gs:///x",
        "gs://Bucket/x",
        "s3://bucket/x",
        "http://a/b",
        "GS://b/x",
        "hf://a/b",
        "file:///x",
        Path("gs://bucket/x"),
    ],
)
def test_other_addresses_and_lost_slashes_are_refused(text):
    for function in (place, local):
        with pytest.raises(LisaxError, match="expected a path of this machine, or gs://BUCKET/FOLDER"):
            function(text)


@pytest.mark.skipif(not GCS, reason="needs gcsfs")
@pytest.mark.parametrize("text", ["gs://bucket", "gs://bucket/", "gs://bucket-1.x_y/a/b"])
def test_a_bucket(text):
    assert is_remote(place(text)) and os.fspath(place(text) / "c").startswith(text.rstrip("/") + "/c")
    assert os.fspath(place(place(text))) == os.fspath(place(text))
    with pytest.raises(LisaxError, match="is in a bucket, which this does not work on"):
        local(text)


def _paths(parser: argparse.ArgumentParser, prefix: tuple = ()):
    """(words before it, action) of every argument of a parser that is a path, those of its actions too."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                yield from _paths(subparser, (*prefix, name))
        elif action.type is not None and getattr(action.type, "__module__", "").startswith(("lisax.places", "pathlib")):
            yield prefix, action


def _parser(name: str) -> argparse.ArgumentParser:
    parser, verb = argparse.ArgumentParser(), VERBS[name]
    getattr(importlib.import_module(verb.module), verb.add_arguments)(parser)
    return parser


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_takes_a_bucket_or_refuses_it(verb):
    for words, action in _paths(_parser(verb)):
        assert action.type is not Path, (verb, words, action.dest)
        if verb not in TAKES_BUCKETS:
            assert action.type is local, (verb, words, action.dest)


@pytest.mark.parametrize(
    "arguments",
    [
        ["index", "documents", "--corpus", "gs://bucket/x", "--out", "i"],
        ["index", "documents", "--corpus", "c", "--out", "gs://bucket/x"],
        ["retrieve", "--index", "gs://bucket/x", "--claims", "c", "--out", "o"],
        ["data", "world", "--out", "gs://bucket/x"],
        ["data", "check", "gs://bucket/x"],
        ["serve", "--index", "gs://bucket/x", "--bundle", "b"],
        ["evaluate", "fever", "--gold", "gs://bucket/x", "--predictions", "p"],
        ["attack", "--claims", "gs://bucket/x", "--out", "o"],
        ["verbalizer", "iterate", "--data", "d", "--tables", "t", "--out", "gs://bucket/x"],
        ["train", "--gin_file=models/t5_1_1_tiny.gin", "--gin_search_paths=gs://bucket/x"],
        ["run", "list5", "--data", "d", "--out", "s3://bucket/x"],
    ],
)
def test_refusing_is_a_sentence_and_makes_nothing(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 1
    told = capsys.readouterr().err
    assert told.startswith("lisax: '") and told.count("\n") == 1 and "://bucket/x'" in told
    assert not list(tmp_path.iterdir())
