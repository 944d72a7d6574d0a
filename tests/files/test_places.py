"""What a user wrote becomes a path, or a sentence; and no verb makes a local folder of a bucket."""

import importlib.util
import os
from pathlib import Path

import click
import pytest
from all_verbs import all_verbs
from hypothesis import given
from hypothesis import strategies as st

from lisax.cli import main
from lisax.cli.verbs import PathAt
from lisax.errors import LisaxError
from lisax.files.places import index_at, is_remote, local, place, target

GCS = importlib.util.find_spec("gcsfs") is not None
TAKES_BUCKETS = {"export", "checkpoint", "models", "run", "demo", "rerank", "verify"}


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1))
def test_a_path_of_this_machine_is_as_pathlib_has_it(text):
    if ":/" not in text:
        assert place(text) == local(text) == Path(text)


@pytest.mark.parametrize(
    "text",
    [
        *"gs:/bucket/x gs:// gs:///x gs://Bucket/x s3://bucket/x http://a/b GS://b/x hf://a/b file:///x".split(),
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


def test_a_file_to_write_replaces_no_folder_device_or_link(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to("real")
    assert target(tmp_path / "link") == (tmp_path / "real").resolve() and target(tmp_path / "new") == tmp_path / "new"
    for path, said in (
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "is a device or a pipe"),
        ("gs://b-1/x", "bucket"),
    ):
        with pytest.raises(LisaxError, match=said):
            target(path)


def test_a_verb_takes_a_bucket_or_refuses_it():
    taken = set()
    for words, verb in all_verbs():
        for parameter in verb.params:
            if isinstance(parameter.type, PathAt) and parameter.type.made not in (local, index_at, target):
                taken.add(words[0])
            assert not isinstance(parameter.type, click.Path), (words, parameter.name)
    assert taken == TAKES_BUCKETS


@pytest.mark.parametrize(
    "arguments",
    [
        ["index", "documents", "--corpus", "gs://bucket/x", "--out", "i"],
        ["index", "documents", "--corpus", "c", "--out", "gs://bucket/x"],
        ["retrieve", "documents", "--index", "gs://bucket/x", "--claims", "c", "--out", "o"],
        ["data", "world", "--out", "gs://bucket/x"],
        ["data", "check", "gs://bucket/x"],
        ["serve", "--index", "gs://bucket/x", "--model", "b"],
        ["score", "fever", "--gold", "gs://bucket/x", "--predictions", "p"],
        ["attack", "make", "--claims", "gs://bucket/x", "--out", "o"],
        ["run", "verbalizer", "--data", "d", "--tables", "t", "--out", "gs://bucket/x"],
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
