"""Terms of other languages, and the language that texts are in."""

import pytest

from lisax.errors import LisaxError
from lisax.text.languages import check_language, detect, languages, term_function


@pytest.mark.parametrize(
    ("language", "alike"),
    [
        ("german", "Stadt Städte stadt"),
        ("french", "l’école L'écoles ecole"),
        ("italian", "dell'arte arte"),
        ("russian", "города город городом"),
        ("spanish", "casas casa"),
        ("swedish", "städerna städer"),
        ("english", "running runs Run’s"),
    ],
)
def test_forms_of_a_word_are_one_term(language, alike):
    term = term_function(language)
    assert len({term(word) for word in alike.split()}) == 1


def test_an_apostrophe_within_a_word_is_no_article():
    assert term_function("french")("aujourd'hui") != term_function("french")("hui")


def test_english_leaves_stop_words_out_and_others_do_not():
    assert term_function()("was") == "" and term_function("german")("was") == "was"


def test_an_unknown_language_is_an_error():
    assert {"english", "german", "arabic"} <= set(languages()) and "porter" not in languages()
    with pytest.raises(LisaxError, match="expected a language of arabic, .*; found 'klingon'"):
        check_language("klingon")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("english", "The town of Tarn lies on the Orm and was built in 1850."),
        ("german", "Die Stadt Tarn ist nicht groß und liegt an der Orm."),
        ("french", "La ville de Tarn est dans le nord et les habitants sont des meuniers."),
        ("spanish", "La ciudad de Tarn fue fundada por los romanos y es más grande."),
        ("polish", "Miasto Tarn nie jest duże i leży w dolinie, a most został zbudowany."),
        ("russian", "Тарн — старый город на реке."),
        ("greek", "Το Ταρν είναι πόλη."),
        ("english", "塔恩是一座古老的城市"),  # without a stemmer
        ("english", "Tarn Orm Velin"),
        ("english", ""),
    ],
)
def test_detection(language, text):
    assert detect([text]) == language
    assert detect([text, "Tarn"] * 3) == language
