"""The tokenizer of an exported Hugging Face folder: the ids of the SentencePiece model that merges."""

import dataclasses

import pytest
from checkpoint_files import T5_1_1, in_memory, random_parameters, small_vocabulary
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tokenizers import TEXTS
from tokenizers import Tokenizer

from lisax import cli
from lisax.formats.vocabulary import SentencePieceVocabulary, train_vocabulary
from lisax.weights.interop.huggingface_tokenizer import write_tokenizer
from lisax.weights.interop.t5x_native import write_native
from lisax.weights.model_folder import ModelFolder

MORE = ["(Ana) said: x; y.", "  two   blanks ", "日本 and ÉTÉ ½", "x", "", "...", "a\tb\nc", "ana's <b>"]


@pytest.fixture(scope="module", params=[False, True], ids=["unknown", "bytes"])
def made(request, tmp_path_factory):
    """(the vocabulary, its tokenizer.json)"""
    folder = tmp_path_factory.mktemp("vocabulary")
    train_vocabulary(TEXTS, folder / "spiece.model", 450, writes_all=request.param)
    write_tokenizer(folder, folder / "spiece.model", 100)
    return SentencePieceVocabulary(folder / "spiece.model"), Tokenizer.from_file(str(folder / "tokenizer.json"))


def test_ids_are_those_of_the_model(made):
    vocabulary, tokenizer = made
    for text in [*TEXTS, *MORE]:
        assert tokenizer.encode(text).ids == [*vocabulary.encode(text), 1], text
    assert tokenizer.token_to_id("<extra_id_0>") == vocabulary.size - 1
    assert tokenizer.get_vocab_size() == vocabulary.size


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.sampled_from("abnsr AÉ日.,:;()'1\t½"), max_size=30))
def test_ids_of_any_text(made, text):
    vocabulary, tokenizer = made
    assert tokenizer.encode(text).ids == [*vocabulary.encode(text), 1]


def test_a_unigram_model_is_left_to_transformers(tmp_path):
    model = small_vocabulary(tmp_path)
    write_tokenizer(tmp_path, model, 100)
    assert {path.name for path in tmp_path.iterdir()} == {"small.model", "small.vocab"}


def test_transformers_reads_the_ids(made):
    transformers = pytest.importorskip("transformers")
    vocabulary, _ = made
    (vocabulary.path.parent / "config.json").write_text('{"model_type": "t5"}')
    tokenizer = transformers.AutoTokenizer.from_pretrained(vocabulary.path.parent)
    for text in [*TEXTS, *MORE]:
        assert tokenizer(text).input_ids == [*vocabulary.encode(text), 1], text
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id) == (0, 1, vocabulary.unknown_id)


def test_an_exported_folder_is_read_with_the_model_that_merges(tmp_path, made):
    vocabulary, _ = made
    config = dataclasses.replace(T5_1_1, vocab_size=vocabulary.size)
    native = tmp_path / "native/checkpoint_7"
    native.mkdir(parents=True)
    write_native(native, in_memory(random_parameters(config)))
    for verb, source, out, *more in (
        ("import", "native", "ours", f"--vocabulary={vocabulary.path}"),
        ("export", "ours", "theirs", "--format=huggingface"),
        ("import", "theirs", "back"),
    ):
        assert cli.main(["checkpoint", verb, str(tmp_path / source), f"--out={tmp_path / out}", *more]) == 0
    assert (tmp_path / "theirs/tokenizer.json").is_file()
    card = ModelFolder.find(tmp_path / "back").card
    assert card["vocabulary"] == ModelFolder.find(tmp_path / "ours").card["vocabulary"]
