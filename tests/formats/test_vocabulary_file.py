"""Vocabularies in `tokenizer.json`: ids, types and offsets as the reference has them, padding 0, pairs that fit."""

import json

import pytest
import small_tokenizers
from hypothesis import given
from hypothesis import strategies as st

from lisax.errors import DataError, LisaxError
from lisax.formats.vocabulary import train_vocabulary
from lisax.formats.vocabulary_file import open_vocabulary

KINDS = {"wordpiece": small_tokenizers.wordpiece, "bpe": small_tokenizers.bpe, "unigram": small_tokenizers.unigram}
SENTENCES = [
    "The harbour was opened in 1907.",
    "  Zürich’s 🙂 harbour\tunknown…  ",
    "",
    " ",
    "[SEP] </s> <s> [PAD] town",
    "東京 and Anna",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizers")
    found = {}
    for name, make in KINDS.items():
        (folder / name).mkdir()
        found[name] = make(folder / name / "tokenizer.json")
    return found


@pytest.fixture(scope="module", params=KINDS)
def vocabulary(request, files):
    return open_vocabulary(files[request.param])


def test_special_tokens_by_hand(files):
    words, pieces, unigrams = (open_vocabulary(files[name]) for name in KINDS)
    a, b = ("Anna", "town")
    assert words.encode_pair(a, b) == ([2, *words.encode(a), 3, *words.encode(b), 3], [0] * 3 + [1] * 2)
    assert words.separator_id == 3 and words.encode_input(a) == [2, *words.encode(a), 3]
    first, second = pieces.encode(a), pieces.encode(b)
    # <s>, whose published id is 0, has padding's place.
    assert pieces.encode_pair(a, b).ids == [1, *first, 2, 2, *second, 2] and pieces.padding_id == 1
    assert pieces.published([1, 7, 0]) == [0, 7, 1] and pieces.separator_id is None
    assert set(pieces.encode_pair(a, b).types) == {0}
    assert unigrams.encode_pair(a, b).ids == [*unigrams.encode(a), 1, *unigrams.encode(b), 1]


def test_padding_is_the_special_token(files, tmp_path):
    """MPNet's file has BERT's padding as an ordinary piece besides its own."""
    described = json.loads(files["wordpiece"].read_text())
    described["added_tokens"][0] |= {"content": "<pad>", "id": (padding := len(described["model"]["vocab"]))}
    described["model"]["vocab"]["<pad>"] = padding
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    assert open_vocabulary(tmp_path / "tokenizer.json").padding_id == padding
    assert open_vocabulary(files["wordpiece"]).padding_id == 0


def test_padding_is_in_no_text(vocabulary):
    for text in SENTENCES:
        assert 0 not in vocabulary.encode(text) and 0 not in vocabulary.encode_pair(text, text).ids
        assert all(0 < i < vocabulary.size for i in vocabulary.encode_input(text))


def test_what_spells_a_special_token_is_text(vocabulary):
    for word in ("[SEP]", "</s>", "<s>", "[PAD]", "<pad>"):
        assert len(vocabulary.encode(word)) > 1


def test_counts_batches_and_places(vocabulary):
    for text in SENTENCES:
        pieces, ids = vocabulary.encode(text), vocabulary.encode_input(text)
        assert vocabulary.encode_batch([text, "x"])[0] == pieces and vocabulary.encode_inputs([text, "x"])[0] == ids
        assert vocabulary.count(text) == len(ids) == len(pieces) + vocabulary.count("")
        found, places = vocabulary.encode_with_places(text)
        assert found == ids and len(places.begins) == len(places.ends) == len(ids)
        special = [place for place in zip(places.begins, places.ends) if place == (0, 0)]
        assert len(special) == vocabulary.count("")
        assert all(0 <= begin <= end <= len(text) for begin, end in zip(places.begins, places.ends))
    text = "The harbour of Zürich"
    _, places = vocabulary.encode_with_places(text)
    covered = {place for begin, end in zip(places.begins, places.ends) for place in range(begin, end)}
    assert covered >= {place for place, character in enumerate(text) if character != " "}
    assert vocabulary.decode(vocabulary.encode_input("The harbour")).strip().lower() == "the harbour"


@given(st.data())
def test_pairs_fit_and_keep_the_first_text(vocabulary, data):
    first, second = (data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=30)) for _ in range(2))
    whole = vocabulary.encode_pair(first, second)
    specials = len(vocabulary.encode_pair("", "").ids)
    room = data.draw(st.integers(specials, specials + 40))
    ids, types = vocabulary.encode_pair(first, second, room)
    assert len(ids) == len(types) == min(room, len(whole.ids))
    own = vocabulary.encode(first)[: room - specials]
    assert ids[: whole.ids.index(own[0]) + len(own)][-len(own) :] == own if own else True
    alone = vocabulary.encode_input(first, room)
    assert len(alone) <= room and alone == vocabulary.encode_input(first)[: len(alone) - 1] + alone[-1:]


def test_sentencepiece_makes_pairs_too(tmp_path):
    vocabulary = train_vocabulary(small_tokenizers.TEXTS, tmp_path / "spiece.model", 200)
    a, b = vocabulary.encode("Anna"), vocabulary.encode("the harbour")
    assert open_vocabulary(tmp_path / "spiece.model").encode_pair("Anna", "the harbour").ids == [*a, 1, *b, 1]
    assert vocabulary.encode_pair("Anna", "the harbour", len(a) + 3) == ([*a, 1, b[0], 1], [0] * (len(a) + 3))
    assert vocabulary.encode_pair("Anna", "the harbour", 2).ids == [1, 1]
    assert vocabulary.encode_input("the harbour", 2) == [b[0], 1] and vocabulary.padding_id == 0


def test_errors_name_the_file(tmp_path, files):
    path = tmp_path / "tokenizer.json"
    with pytest.raises(DataError, match=r"tokenizer.json: no such vocabulary \(a tokenizer.json\) here"):
        open_vocabulary(path)
    path.write_text("{}")
    with pytest.raises(DataError, match="tokenizer.json: not a tokenizer that the library tokenizers reads"):
        open_vocabulary(path)
    path.write_bytes(files["bpe"].read_bytes()[:-30])
    with pytest.raises(DataError, match="not a tokenizer"):
        open_vocabulary(path)
    described = json.loads(files["bpe"].read_text().replace("<pad>", "<none>"))
    path.write_text(json.dumps(described))
    with pytest.raises(DataError, match=r"no token for padding, \[PAD\] or <pad>"):
        open_vocabulary(path)
    vocabulary = open_vocabulary(files["wordpiece"])
    with pytest.raises(LisaxError, match="'unverifiable' is not one piece of the vocabulary"):
        vocabulary.piece_id("unverifiable")
    assert vocabulary.piece_id("harbour") == vocabulary.encode("harbour")[0]
    for call in (vocabulary.encode, vocabulary.encode_input, vocabulary.encode_with_places, vocabulary.count):
        with pytest.raises(LisaxError, match="surrogate"):
            call("half \ud800")


@pytest.mark.parametrize("name", ["wordpiece", "bpe"])
def test_the_reference_gives_the_same(name, files):
    transformers = pytest.importorskip("transformers")
    reference = transformers.PreTrainedTokenizerFast(tokenizer_file=str(files[name]), split_special_tokens=True)
    vocabulary = open_vocabulary(files[name])
    for text in SENTENCES:
        expected = reference(text, return_offsets_mapping=True, truncation=False, padding=False)
        ids, places = vocabulary.encode_with_places(text)
        assert vocabulary.published(ids) == expected["input_ids"]
        assert list(zip(places.begins, places.ends)) == list(map(tuple, expected["offset_mapping"]))
        assert ids == vocabulary.encode_input(text)
        for other in filter(None, SENTENCES):  # of an empty second text the reference makes a single one
            pair = reference(text, other, return_token_type_ids=True)
            found = vocabulary.encode_pair(text, other)
            assert (vocabulary.published(found.ids), found.types) == (pair["input_ids"], pair["token_type_ids"])
            room = len(found.ids) - 1
            if len(vocabulary.encode(other)) > 1:
                short = reference(text, other, max_length=room, truncation="only_second")["input_ids"]
                assert vocabulary.published(vocabulary.encode_pair(text, other, room).ids) == short


WORDS = {"[PAD]": 0, "a": 1}
SPLIT = {"type": "Split", "pattern": {"Regex": "(a+)+$|((a|aa)+)+b"}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    ("tokenizer", "text"),
    [
        ({"model": {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"}}, "b"),
        ({"model": {"type": "WordLevel", "vocab": WORDS, "unk_token": "a"}, "pre_tokenizer": SPLIT}, "a" * 40 + "c"),
    ],
    ids=["no unknown token", "an expression without end"],
)
def test_what_the_library_raises_for_a_text_is_told(tmp_path, tokenizer, text):
    empty = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(empty | {"version": "1.0", "added_tokens": []} | tokenizer))
    vocabulary = open_vocabulary(path)
    for call in (vocabulary.encode, vocabulary.count, vocabulary.encode_with_places):
        with pytest.raises(DataError, match="tokenizer.json: this tokenizer cannot split a text"):
            call(text)
    with pytest.raises(DataError, match="tokenizer.json: this tokenizer cannot split a text"):
        vocabulary.encode_batch([text])


def test_a_huge_vocabulary_is_not_read(tmp_path):
    with (tmp_path / "tokenizer.json").open("wb") as file:
        file.truncate(200 << 20)
    with pytest.raises(DataError, match="a vocabulary of 209,715,200 bytes; at most"):
        open_vocabulary(tmp_path / "tokenizer.json")


def test_normalizers_that_multiply_a_text_are_refused(tmp_path):
    grow = {"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaa"}
    described = {"version": "1.0", "added_tokens": [], "pre_tokenizer": None, "post_processor": None, "decoder": None}
    described |= {"truncation": None, "padding": None, "model": {"type": "WordLevel", "vocab": WORDS, "unk_token": "a"}}
    described["normalizer"] = {"type": "Sequence", "normalizers": [grow, {"type": "Sequence", "normalizers": [grow]}]}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(described))
    with pytest.raises(DataError, match=r"tokenizer.json: `normalizer` makes 100 characters of one; at most 64"):
        open_vocabulary(path)
