"""Vocabularies: label words are single pieces, training is repeatable, ids keep T5's conventions."""

from pathlib import Path

import pytest

from lisax.errors import DataError, LisaxError
from lisax.formats.presets import PAPER, RELEASED
from lisax.formats.vocabulary import EOS_ID, SentencePieceVocabulary, single_pieces, train_vocabulary, unwritten

SPIECE = Path(__file__).parents[2] / "../shared/data/t5vocab/spiece.model"
TEXTS = [f"The harbour of town {n} was opened in {1900 + n} by Anna number {n * 7} ." for n in range(300)]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return train_vocabulary(TEXTS, tmp_path_factory.mktemp("vocabulary") / "spiece.model", 200)


def test_required_words_are_single_pieces(vocabulary):
    assert len(vocabulary.encode("true false weak")) == 3
    for preset in (PAPER, RELEASED):
        assert len(set(single_pieces(preset.label_words, vocabulary.encode))) == 3
        assert len(set(single_pieces(preset.ranking_words, vocabulary.encode))) == 2


def test_words_survive_the_round_trip(vocabulary):
    text = "Anna opened the harbour in 1907 ."
    ids = vocabulary.encode(text)
    assert vocabulary.decode([*ids, 1, 5, 5]) == text and vocabulary.count(text) == len(ids) + 1
    assert vocabulary.encode_batch([text, text]) == [ids, ids]
    assert vocabulary.encode_inputs([text, ""]) == [[*ids, 1], [1]] == [vocabulary.encode_input(t) for t in (text, "")]
    assert vocabulary.size <= 200 + 100 and vocabulary.sentinel_id(0) == vocabulary.size - 1
    assert vocabulary.decode([vocabulary.sentinel_id(3), *ids]) == f"<extra_id_3> {text}"
    with pytest.raises(LisaxError, match="extra_id_100"):
        vocabulary.sentinel_id(100)


def test_training_gives_the_same_bytes_again(vocabulary, tmp_path):
    again = train_vocabulary(TEXTS, tmp_path / "again.model", 200)
    assert again.digest == vocabulary.digest


def test_a_required_word_already_common_keeps_the_size(tmp_path):
    texts = [f"it is true that {n}" for n in range(200)]
    vocabulary = train_vocabulary(texts, tmp_path / "v", 60, ["true", "odd", "it"])
    assert vocabulary.pieces <= 60
    assert len({vocabulary.piece_id(word) for word in ("true", "odd", "it")}) == 3


def test_errors_name_the_word_and_the_file(vocabulary, tmp_path):
    with pytest.raises(LisaxError, match="label word 'unverifiable' is .* pieces"):
        single_pieces(["true", "unverifiable"], vocabulary.encode)
    with pytest.raises(LisaxError, match="'true' and 'true' are the same piece"):
        single_pieces(["true", "true"], vocabulary.encode)
    (tmp_path / "bad").write_text("not a model")
    with pytest.raises(DataError, match="bad: not a SentencePiece model"):
        SentencePieceVocabulary(tmp_path / "bad")
    with pytest.raises(DataError, match="no such vocabulary"):
        SentencePieceVocabulary(tmp_path / "absent")


@pytest.mark.skipif(not SPIECE.exists(), reason="T5's vocabulary is not here")
def test_the_label_words_in_T5s_own_vocabulary():
    vocabulary = SentencePieceVocabulary(SPIECE)
    assert vocabulary.size == 32100
    assert single_pieces(PAPER.ranking_words, vocabulary.encode) == (1176, 6136)
    assert len(set(single_pieces(PAPER.label_words, vocabulary.encode))) == 3


def test_half_of_a_surrogate_pair_is_told_and_not_encoded(vocabulary):
    for read in (
        vocabulary.encode,
        vocabulary.count,
        vocabulary.encode_with_places,
        lambda text: vocabulary.encode_batch(["a", text]),
        lambda text: vocabulary.encode_inputs(["a", text]),
    ):
        with pytest.raises(LisaxError, match=r"half of a surrogate pair .*; replace it: 'a\\ud800'"):
            read("a\ud800")


def test_places_of_pieces_are_those_of_the_text(vocabulary):
    text = "Tarn has  5,000 ínns"
    ids, places = vocabulary.encode_with_places(text)
    assert ids == [*vocabulary.encode(text), EOS_ID] and places.ends[-2:] == [len(text), 0]
    first, last = places.tokens_of(10, 15)
    assert text[places.begins[first] : places.ends[last]].strip() == "5,000"
    assert places.tokens_of(16, 99) is None and vocabulary.encode_with_places("")[0] == [EOS_ID]


def trained(folder, **options):
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_prefix=str(folder / "spiece"),
        vocab_size=120,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return folder / "spiece.model"


@pytest.fixture
def mt5s(tmp_path):
    """A model whose last pieces are its sentinels."""
    from sentencepiece import sentencepiece_model_pb2

    path, model = trained(tmp_path, pad_id=0, eos_id=1, unk_id=2, bos_id=-1), sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(path.read_bytes())
    for n in reversed(range(3)):
        model.pieces.add(piece=f"▁<extra_id_{n}>", score=0.0)
    path.write_bytes(model.SerializeToString())
    return path


def test_sentinels_among_the_pieces_are_mt5s(mt5s):
    vocabulary = SentencePieceVocabulary(mt5s)
    assert vocabulary.extra_ids == 3 and vocabulary.added == 0 and vocabulary.size == vocabulary.pieces + 3
    assert [vocabulary.sentinel_id(n) for n in range(3)] == [vocabulary.id_of(f"▁<extra_id_{n}>") for n in range(3)]
    assert vocabulary.id_of("<extra_id_0>") == vocabulary.size - 1
    assert vocabulary.decode([vocabulary.sentinel_id(1), *vocabulary.encode("town")]) == "<extra_id_1> town"
    with pytest.raises(LisaxError, match="has 3 sentinels, there is no <extra_id_3>"):
        vocabulary.sentinel_id(3)


def test_a_task_adds_no_sentinels_to_mt5s(mt5s):
    vocabularies = pytest.importorskip("lisax.tasks.vocabularies")
    pieces, plain = vocabularies.SentencePieces(mt5s), SentencePieceVocabulary(mt5s)
    assert (pieces.vocab_size, pieces.extra_ids) == (plain.size, 3)
    assert pieces.encode("town 7 .") == plain.encode("town 7 .")


def test_unk_may_have_umt5s_id(tmp_path):
    vocabulary = SentencePieceVocabulary(trained(tmp_path, pad_id=0, eos_id=1, bos_id=2, unk_id=3))
    assert vocabulary.encode("ξ")[-1] == 3


def test_pieces_are_found_as_they_are_spelled(vocabulary):
    assert vocabulary.id_of("▁true") == vocabulary.piece_id("true")
    assert vocabulary.id_of("<extra_id_10>") == vocabulary.sentinel_id(10)
    with pytest.raises(LisaxError, match="'▁nothing' is not a piece"):
        vocabulary.id_of("▁nothing")


def test_texts_of_another_script_give_a_vocabulary_that_writes_everything(tmp_path):
    texts = ["Тарн — старый город на реке Орм.", "В нём живут люди, и мост стоит."] * 50
    russian = train_vocabulary(texts, tmp_path / "russian.model", 1000)
    english = train_vocabulary(["Tarn is an old town on the river Orm."] * 50, tmp_path / "english.model", 100)
    shown = "Query: 1851 Тарн 塔恩"
    assert russian.decode(russian.encode(shown)) == shown and not unwritten(russian, [shown])
    assert unwritten(english, [shown, "ж", "жж"]) == dict.fromkeys("Q158Тарн塔恩y", 1) | {"ж": 2}
