"""The vocabulary of tasks over pairs of texts: of either kind of file, the same ids as in inference."""

from __future__ import annotations

import pytest
import small_tokenizers
import tensorflow as tf

from lisax.errors import LisaxError
from lisax.formats.vocabulary import train_vocabulary
from lisax.formats.vocabulary_file import open_vocabulary
from lisax.tasks.vocabularies import Pieces, encoder_of, encoder_vocabulary

TEXT = "Anna opened the harbour"


def test_ids_are_those_of_inference(tmp_path):
    files = [small_tokenizers.wordpiece(tmp_path / "a.json"), small_tokenizers.bpe(tmp_path / "b.json")]
    files.append(train_vocabulary(small_tokenizers.TEXTS, tmp_path / "spiece.model", 200).path)
    for path, end in zip(files, (3, 2, 1), strict=True):
        pieces, plain = Pieces(path), open_vocabulary(path)
        ids = plain.encode(TEXT)
        assert list(pieces.encode(TEXT)) == ids == encoder_of(pieces)(TEXT) == pieces.encode_tf(TEXT).numpy().tolist()
        assert pieces.vocab_size == plain.size and pieces.eos_id == end and pieces.pad_id == 0
        assert pieces.decode(ids) == pieces.decode_tf(tf.constant(ids)).numpy().decode() == plain.decode(ids)
        assert pieces == Pieces(path) and (path is files[0] or pieces != Pieces(files[0]))


def test_the_located_one_is_the_data_folders_tokenizer(tmp_path, monkeypatch):
    monkeypatch.delenv("LISAX_VOCABULARY", raising=False)
    monkeypatch.setenv("LISAX_DATA", str(tmp_path))
    with pytest.raises(LisaxError, match="there is no vocabulary at .*spiece.model"):
        encoder_vocabulary().encode(TEXT)
    train_vocabulary(small_tokenizers.TEXTS, tmp_path / "spiece.model", 200)
    assert encoder_vocabulary().file.endswith("spiece.model")
    small_tokenizers.wordpiece(tmp_path / "tokenizer.json")
    assert encoder_vocabulary().file.endswith("tokenizer.json")
    monkeypatch.setenv("LISAX_VOCABULARY", str(tmp_path / "spiece.model"))
    assert encoder_vocabulary().file.endswith("spiece.model")
