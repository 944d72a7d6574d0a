"""Texts that do not say their encoding."""

import pytest

from lisax.documents.encodings import decoded


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "name,city\nJosé,Zürich\n"),
        ("cp1252", "“Quoted” – dash, façade\nL’été à la plage\n"),
        ("cp1251", "имя,город\nИван,Москва\nОльга,Тверь\n"),
        ("cp1253", "Όνομα,πόλη\nΓιώργος,Αθήνα\n"),
        ("shift_jis", "名前,都市\n太郎,東京\n花子,大阪府の町\n"),
        ("gb18030", "姓名,城市\n王伟,北京\n李娜,上海市\n"),
    ],
)
def test_common_encodings_are_found(encoding, text):
    assert decoded(text.encode(encoding)) == (text, encoding)


def test_utf8_is_no_guess():
    assert decoded("\ufeffé".encode()) == ("é", None) and decoded(b"plain") == ("plain", None)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_is_no_guess(encoding):
    assert decoded("Größe, 東京".encode(encoding)) == ("Größe, 東京", None)
    with pytest.raises(UnicodeDecodeError):  # half a character at the end
        decoded("Größe".encode(encoding)[:-1])


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    "text", ["name,city\nJosé,Zürich\n", "имя, город\nИван, Москва\n", "東京, 大阪 一\n", "a 😀 b"]
)
def test_utf_16_without_a_mark_shows_by_its_zero_bytes(encoding, text):
    assert decoded(text.encode(encoding)) == (text, None)


@pytest.mark.parametrize("content", [b"a\0b", b"\0\0\0\0", b"\1\0\2\0\3\0", b"plain text", b"", b"\x1b[1mbold\x1b[0m"])
def test_zero_bytes_are_not_utf_16_by_themselves(content):
    assert decoded(content)[0] == content.decode()


def test_what_looks_like_no_text_is_refused():
    with pytest.raises(UnicodeDecodeError):
        decoded(b"\x00\x81\xff")
