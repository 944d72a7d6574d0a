"""Every function of a text, and every expression, takes time that grows with the text alone, whatever is in it."""

import contextlib
import importlib
import inspect
import itertools
import pkgutil
import random
import re
import signal

import pytest

from lisax.errors import LisaxError
from lisax.temporal import grammar
from lisax.text import lucene, quantities, sentences, words

ROOMS = "text documents corpora formats retrieval adversary sampling metrics serve predict".split()
# Modules that connect, read what their text names, or need an extra.
NO_TEXTS = (
    "lisax.retrieval.cluster",
    "lisax.retrieval.cluster_client",
    "lisax.retrieval.elastic",
    "lisax.retrieval.mediawiki",
    "lisax.serve.held_out",
    "lisax.serve.assistants",
)
CHARACTERS, LONG = 16_000, 100_000  # a quadratic function takes many seconds
SECONDS = 2.0  # a linear function takes at most 0.3, on the slowest machine so far 1.1
GUARDED = {"_MARKS", "_QUOTED"}  # expressions for a part of a text that their functions cut out first
SIGNS = " \n\t.,:;!?-_'\"’“()[]{}<>*`#/\\|&%$€+=~^@aA1éßя中½²†…"
WORDS = ("A. ", "J. B. Name, ", "__a ", "[a](", "![](", "](", "**a ", "a 1999 ", "1,111", "`` ", "'s a", ' "', "<p ")
# Units of sentences, words and quantities.
UNITS = '. ~."~! ~1. ~5. 1. ~.[~.[1]~。」~. »~z. B. ~U.S. ~α; ~a.The ~म. म~?是~!" A said ~.1~. -~(a. 1~a.~1,~1 ~5 ft ~'
UNITS += "ท~é'~a\u0301~Ա՞~l·l~²a~1½~👍🏽~\u200d~ﾞ~က်~é.~‿~👍\u200d~א\"~a_~_é~ア_~a hundred "
LINES = ("# a{}#x", "1{}abcd", "a {}(b", "({}) ", "a (1{}", "x,{}y")


def texts(seed: str) -> list[str]:
    """Texts of one sign or word again and again, or of two signs; some end in a sign that fits nothing."""
    pairs = ["".join(pair) for pair in itertools.permutations(SIGNS, 2)]
    units = [*SIGNS, *WORDS, *UNITS.split("~"), *random.Random(seed).sample(pairs, 20)]
    lines = [line.format(sign * CHARACTERS) for line in LINES for sign in " 1,a("]
    return [unit * (CHARACTERS // len(unit)) + end for unit, end in zip(units, itertools.cycle(("", "\0")))] + lines


@contextlib.contextmanager
def limited(what: str, text: str, seconds: float = SECONDS):
    def stop(*_):
        raise TimeoutError(f"{what} takes more than {seconds} s for {text[:20]!r} and so on")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        with contextlib.suppress(LisaxError, ValueError, KeyError, IndexError):
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def modules(room: str) -> list:
    package = importlib.import_module(f"lisax.{room}")
    names = [found.name for found in pkgutil.iter_modules(package.__path__, f"lisax.{room}.")]
    return [importlib.import_module(name) for name in names if name not in NO_TEXTS]


def functions(module) -> dict:
    """The module's public functions of strings, with how many they take."""
    found = {}
    for name, function in vars(module).items():
        is_own = inspect.isfunction(inspect.unwrap(function)) and function.__module__ == module.__name__
        if is_own and not name.startswith("_"):
            needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
            if needed and all(one.annotation == "str" and one.kind is one.POSITIONAL_OR_KEYWORD for one in needed):
                found[name] = function, len(needed)
    return found


def searched(module) -> dict[str, re.Pattern]:
    """The expressions that the module searches for in texts; one that is matched from the start may read it twice."""
    source = inspect.getsource(module)
    return {
        name: found
        for name, found in vars(module).items()
        if isinstance(found, re.Pattern)
        and isinstance(found.pattern, str)
        and name not in GUARDED
        and re.search(rf"\b{name}\.(?:search|finditer|findall|sub|split)\(", source)
    }


@pytest.mark.parametrize("room", ROOMS)
def test_time_grows_with_the_text_alone(room):
    for module in modules(room):
        for name, (function, count) in functions(module).items():
            for text in texts(name):
                with limited(f"{module.__name__}.{name}", text):
                    function(*[text] * count)
        for name, pattern in searched(module).items():
            for text in texts(name):
                with limited(f"{module.__name__}.{name}", text):
                    pattern.sub("", text)


@pytest.mark.parametrize(
    "function, seconds",
    [
        (sentences.split_sentences, SECONDS),
        (words.words, SECONDS),
        (words.written_words, SECONDS),
        (lucene.words, SECONDS),
        (quantities.find, 5 * SECONDS),
        (quantities.whole, SECONDS),
        (lambda text: quantities.column([text, "1", "2"]), SECONDS),
        (lambda text: quantities.column(text.split()), 5 * SECONDS),
    ],
)
def test_time_grows_with_a_long_text_alone(function, seconds):
    """Where a text of ordinary length hides a function that is quadratic with a small factor."""
    for unit in (*WORDS, *UNITS.split("~")):
        with limited(function.__qualname__, unit, seconds):
            function(unit * (LONG // len(unit)))


@pytest.mark.parametrize("words", ["the", "in 1999 he won", "a", "19", ",", "(", "May"])
def test_time_of_dates_grows_with_the_text_alone(words):
    """Apart, since a grammar takes fifty times an expression's time."""
    text = f"{words} " * (CHARACTERS // (len(words) + 1))
    with limited("lisax.temporal.grammar.parse", text):
        grammar.parse(text)
