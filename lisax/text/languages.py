"""The languages of an index: a written word as its index term, and the language that texts are in.

English terms are folded, then stemmed, without stop words. In other languages a word is stemmed first, because Snowball's
stemmers read accents, and stop words stay: BM25 gives frequent words little weight.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable

from lisax.errors import LisaxError
from lisax.text.folding import fold_word
from lisax.text.stop_words import INDEX_STOP_WORDS
from lisax.text.words import stemmer, words

ENGLISH, AUTO = "english", "auto"
_OLDER = {"porter", "dutch_porter"}  # earlier stemmers of languages that have another one
# The article or pronoun before an apostrophe: `l'homme`, `dell'arte`.
_ELISION = re.compile(
    r"\A(?:[ldjmnstc]|qu|lorsqu|puisqu|quoiqu|un|all|dall|dell|nell|sull|quest|gl)['’](?=\w{2})", re.IGNORECASE
)
_ELIDING = {"french", "italian", "catalan"}
# Frequent words that few other languages have, and that English does not have.
_FREQUENT = {
    "english": "the of and to was is with his for that from as were by on are which",
    "german": "der die und das ist nicht von mit den im auf eine dem wurde sich auch",
    "french": "le les des est du dans une et pour qui sur par au plus avec sont",
    "spanish": "el los las una por con del es para como más fue su y pero",
    "italian": "il di che della è per una sono nel gli con del alla più anche",
    "portuguese": "os uma não com da do em dos é ao foi mais das pela são",
    "dutch": "het een van en dat niet zijn op voor met werd aan ook bij te",
    "swedish": "och att det som är på av för med den till inte ett var från",
    "danish": "og at det er på af til en den som med var ikke fra blev",
    "norwegian": "og det er på av til som med var ikke fra ble en han etter",
    "finnish": "ja on ei se että oli mutta hän myös kun joka vuonna ovat sen tai",
    "polish": "w i na się nie jest do to z że jak został oraz była od",
    "czech": "se na je v že s byl z do jako i po pro byla který",
    "hungarian": "a az és hogy nem egy is volt meg csak de mint ez városa volt",
    "romanian": "și în de la cu nu este din pe care o fost un pentru au",
    "turkish": "ve bir bu da de için ile olarak olan çok daha sonra olduğu ise en",
    "indonesian": "yang dan di dengan untuk dari pada ini adalah dalam itu oleh ke sebagai tidak",
}
_OF_SCRIPT = {
    "CYRILLIC": "russian", "GREEK": "greek", "ARABIC": "arabic", "DEVANAGARI": "hindi", "ARMENIAN": "armenian",
    "TAMIL": "tamil",
}  # fmt: skip
_LETTERS = 20_000  # of the texts that `detect` reads


@functools.cache
def languages() -> tuple[str, ...]:
    """The names of the languages that have a stemmer."""
    import Stemmer

    return tuple(name for name in Stemmer.algorithms() if name not in _OLDER)


def check_language(name: str) -> str:
    """The name, if it is a language with a stemmer. Raises LisaxError for others."""
    if name not in languages():
        raise LisaxError(f"expected a language of {', '.join(languages())}, or {AUTO}; found '{name}'")
    return name


def term_function(language: str = ENGLISH) -> Callable[[str], str]:
    """A function from a written word (`words.written_words`) to its index term; empty for words that are left out."""
    if language == ENGLISH:
        return _english_term
    import Stemmer

    stem, elides = Stemmer.Stemmer(check_language(language), 0).stemWord, language in _ELIDING

    def term(word: str) -> str:
        return fold_word(stem((_ELISION.sub("", word) if elides else word).casefold()))

    return term


def _english_term(word: str) -> str:
    folded = fold_word(word)
    return "" if folded in INDEX_STOP_WORDS else stemmer()(folded)


def detect(texts: Iterable[str]) -> str:
    """The language that most of the first texts are in, by their script and frequent words; English in doubt."""
    scripts, found, letters = Counter(), Counter(), 0
    for text in texts:
        seen = words(text[:_LETTERS])
        letters += len(text)
        scripts.update(_script(word) for word in seen)
        for language, frequent in _frequent().items():
            found[language] += sum(word in frequent for word in seen)
        if letters > _LETTERS:
            break
    script, _ = max(scripts.items(), key=lambda item: item[1], default=("LATIN", 0))
    if script in _OF_SCRIPT:
        return _OF_SCRIPT[script]
    best, most = max(found.items(), key=lambda item: item[1], default=(ENGLISH, 0))
    return best if most > 1.2 * found[ENGLISH] and most * 20 > scripts.total() else ENGLISH


@functools.cache
def _frequent() -> dict[str, frozenset[str]]:
    return {language: frozenset(words(text)) for language, text in _FREQUENT.items()}


@functools.lru_cache(maxsize=1 << 12)
def _script(word: str) -> str:
    return unicodedata.name(word[0], "").partition(" ")[0] if not word[0].isascii() else "LATIN"
