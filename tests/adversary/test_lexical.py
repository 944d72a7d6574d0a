"""Exchange of words: what a label survives, the greedy search against a model, the fluency bound, WordNet's way in."""

import re
import types

import numpy as np
import pytest

from lisax.adversary.corpus import AttackCorpus
from lisax.adversary.lexical import Fluency, LexicalSearch, evidence_model, label_after
from lisax.adversary.lexicon import CorpusLexicon, Substitute, WordNetLexicon, WordRelation
from lisax.adversary.making import best_lexicon
from lisax.adversary.opposites import opposites
from lisax.formats.labelling import LABEL_LISTWISE, LABEL_POINTWISE
from lisax.predict import verifier
from lisax.records import LABELS, Claim, Document, Sentence

S, R, N = LABELS
PAGE = Document("Ann", "Ann", (Sentence("Ann", 0, "Ann is a great singer of old songs ."),))
CORPUS = AttackCorpus({"Ann": PAGE}.__getitem__, [PAGE])


class Words:
    """A lexicon of pairs."""

    def __init__(self, *pairs, relation=WordRelation.SYNONYM):
        self._pairs, self._relation = pairs, relation

    def substitutes(self, text):
        return [
            Substitute(text.index(old), text.index(old) + len(old), new, self._relation, f"{old} is {new}")
            for old, new in self._pairs
            if old in text
        ]


def model(asked=None):
    """Supports by 0.9, less 0.3 for each of two words; counts what it is asked."""

    def probabilities(claims):
        if asked is not None:
            asked.append(len(claims))
        shares = [0.9 - 0.3 * ("huge" in claim.text) - 0.3 * ("ancient" in claim.text) for claim in claims]
        return [(share, 1 - share, 0.0) for share in shares]

    return probabilities


def search(lexicon, attacked=None, bound=9.0, **more):
    fluency = Fluency(["a great singer of old songs"])
    return LexicalSearch(CORPUS, lexicon, fluency, attacked, fluency_bound=bound, **more)


def run(made, label=S, text="Ann is a great singer of old songs."):
    return [attack for _, attack in made.attacks([Claim("c", text, label, (("Ann_0",),))])]


def test_search_takes_the_words_that_hurt_until_the_model_errs():
    asked = []
    lexicon = Words(("great", "huge"), ("old", "ancient"), ("songs", "tunes"))
    (attack,) = run(search(lexicon, model(asked)))
    assert attack.text == "Ann is a huge singer of ancient songs." and attack.label is S
    assert sorted(attack.edit.split("; ")) == ["great -> huge (synonym)", "old -> ancient (synonym)"]
    assert attack.evidence_sets == (("Ann_0",),) and asked == [1, 3, 2]


def test_search_gives_up_after_its_edits_and_on_claims_that_are_wrong_already():
    lexicon = Words(("great", "huge"), ("old", "ancient"))
    assert run(search(lexicon, model(), edits=1)) == []
    assert run(search(lexicon, model()), label=R) == []


def test_a_refuted_claim_is_refuted_of_what_is_less_general_too():
    page = Document("Monster", "Monster", (Sentence("Monster", 0, "A monster is a fictional creature ."),))
    lexicon = CorpusLexicon(AttackCorpus({"Monster": page}.__getitem__, [page]))
    (attack,) = run(search(lexicon), label=R, text="Ann is a creature.")
    assert (attack.text, attack.label) == ("Ann is a monster.", R)
    for label in (S, N):
        assert run(search(lexicon), label=label, text="Ann is a creature.") == []


def test_the_search_counts_what_a_model_stands():
    made = search(Words(("great", "huge"), ("old", "ancient")), model(), edits=1)
    claims = [
        Claim(str(n), text, label, (("Ann_0",),))
        for n, (text, label) in enumerate(
            [("Ann is a great singer.", S), ("Ann sings.", S), ("Ann is a great singer.", R)]
        )
    ]
    assert list(made.attacks(claims)) == [] and (made.right, made.changeable, made.broken) == (2, 1, 0)


def test_fluency_bounds_the_search():
    lexicon = Words(("great", "huge"), ("old", "ancient"))
    assert run(search(lexicon, model(), bound=0.01)) == []
    fluency = Fluency(["a great singer of old songs"])
    assert fluency.score("a great singer") > fluency.score("a huge singer") > fluency.score("singer huge qqq")


def test_names_are_left_alone():
    assert run(search(Words(("Ann", "Bob")))) == []


@pytest.mark.parametrize(
    "label, relation, negated, expected",
    [
        (S, WordRelation.SYNONYM, True, S),
        (S, WordRelation.HYPERNYM, False, S),
        (S, WordRelation.HYPERNYM, True, None),
        (S, WordRelation.HYPONYM, False, None),
        (R, WordRelation.HYPONYM, False, R),
        (R, WordRelation.HYPERNYM, False, None),
        (N, WordRelation.SYNONYM, False, N),
        (N, WordRelation.HYPERNYM, False, None),
        (S, WordRelation.ANTONYM, False, R),
        (S, WordRelation.ANTONYM, True, None),
        (R, WordRelation.ANTONYM, False, None),
        (N, WordRelation.ANTONYM, False, None),
    ],
)
def test_what_a_label_becomes(label, relation, negated, expected):
    assert label_after(label, relation, negated) is expected


@pytest.mark.parametrize(
    "text, evidence, expected",
    [
        ("Ann won three prizes.", "won three prizes", {"three > four", "three > five", "won > lost"}),
        ("Ann won three prizes.", "won prizes", {"won > lost"}),
        ("Ann won at least three prizes.", "three", set()),
        ("Ann won three prizes.", "three of four", set()),
        ("It is her first album.", "the first album", {"first > second", "first > last"}),
        ("It was first sung.", "first sung", set()),
        ("It lies to the north-east.", "north-east", set()),
    ],
)
def test_opposites_of_what_the_evidence_says(text, evidence, expected):
    found = {f"{text[edit.start : edit.end]} > {edit.new}" for edit in opposites(text, set(evidence.split()))}
    assert expected <= found and bool(expected) == bool(found)
    assert "three > two" not in found  # who won three won two


def test_an_opposite_refutes_what_was_supported():
    page = Document("Ann", "Ann", (Sentence("Ann", 0, "Ann has three prizes ."), Sentence("Ann", 1, "Ann won .")))
    corpus = AttackCorpus({"Ann": page}.__getitem__, [page])

    def sure(claims):
        return [(0.9, 0.1, 0.0) for _ in claims]

    made = LexicalSearch(corpus, Words(), Fluency(["Ann has four prizes"]), sure, fluency_bound=9)
    ((_, attack),) = made.attacks([Claim("c", "Ann has three prizes.", S, (("Ann_0",), ("Ann_1",)))])
    assert re.fullmatch(r"Ann has (?!three)\w+ prizes\.", attack.text) and "(antonym)" in attack.edit
    assert attack.label is R and attack.evidence_sets == (("Ann_0",),)


def test_modifiers_are_left_out_and_articles_follow():
    found = {edit.new for edit in CorpusLexicon(CORPUS).substitutes("Ann is an American actor.")}
    assert found == {"an actor"}
    found = {edit.new for edit in CorpusLexicon(CORPUS).substitutes("It is a Danish opera by Ann.")}
    assert found == {"an opera"}


@pytest.mark.parametrize(
    "text",
    [
        "Ann is a fictional person.",
        "Ann is a musician who sings.",
        "Ann won a total of ten games.",
        "It is a comic book.",
        "It was a commercial success.",
        "It is an English language film.",
        "He is a Korean War pilot.",
    ],
)
def test_modifiers_without_which_a_thing_is_another_stay(text):
    assert CorpusLexicon(CORPUS).substitutes(text) == []
    assert [edit.new for edit in CorpusLexicon(CORPUS).substitutes("Ann is a fictional character.")] == ["a character"]


def test_common_nouns_of_pages_give_hypernyms():
    page = Document("Monster", "Monster", (Sentence("Monster", 0, "A monster is a fictional creature ."),))
    lexicon = CorpusLexicon(AttackCorpus({"Monster": page}.__getitem__, [page]))
    (edit,) = lexicon.substitutes("Godzilla is a monster.")
    assert (edit.new, edit.relation) == ("a creature", WordRelation.HYPERNYM) and "Monster" in edit.reason
    (edit,) = lexicon.substitutes("Ann is a creature.")
    assert (edit.new, edit.relation) == ("a monster", WordRelation.HYPONYM) and "Monster" in edit.reason


@pytest.mark.parametrize(
    "text_format, expected", [(LABEL_POINTWISE, [4 / 9, 2 / 9, 3 / 9]), (LABEL_LISTWISE, [0.2, 0.3, 0.5])]
)
def test_a_labeller_reads_a_claim_with_its_own_evidence(monkeypatch, text_format, expected):
    read = []

    def probabilities(examples):
        read.extend(tuple(passage.text for passage in example.sentences) for example in examples)
        return np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.9]])[: len(examples)]

    labeller = types.SimpleNamespace(format=text_format, probabilities=probabilities, pairs=False)
    labeller.calibration = labeller.sentences = None
    monkeypatch.setattr(verifier, "open_model", lambda path, use=None: labeller)
    page = Document("P", "P", (Sentence("P", 0, "One ."), Sentence("P", 1, ""), Sentence("P", 2, "Two .")))
    model = evidence_model("somewhere", AttackCorpus({"P": page}.__getitem__, [page]))
    rows = model([Claim("a", "c", S, (("P_0", "P_1", "P_2"), ("P_2",))), Claim("b", "d", N)])
    np.testing.assert_allclose(rows, [expected, [0, 0, 1]])
    assert read == ([("One .",), ("Two .",)] if text_format is LABEL_POINTWISE else [("One .", "Two .")])


def test_wordnet_precedes_the_corpus_if_it_is_installed(monkeypatch):
    for wordnet, expected in ((Words(("actor", "player")), ["player", "an actor"]), (None, ["an actor"])):
        monkeypatch.setattr(WordNetLexicon, "load", lambda wordnet=wordnet: wordnet)
        found = best_lexicon(CORPUS, []).substitutes("Ann is an American actor.")
        assert [edit.new for edit in found] == expected


class Sense:
    def __init__(self, name, *lemmas, hypernyms=(), hyponyms=()):
        self._name, self._lemmas, self._up, self._down = name, lemmas, list(hypernyms), list(hyponyms)

    def name(self):
        return self._name

    def lemma_names(self):
        return self._lemmas

    def hypernyms(self):
        return self._up

    def hyponyms(self):
        return self._down


def test_wordnet_words_keep_endings_and_articles():
    work = Sense("work.n.01", "opus")
    film = Sense("movie.n.01", "movie", "film", "moving_picture", hypernyms=[work])
    create = Sense("establish.v.01", "establish", "found")
    senses = {("film", "n"): [film], ("found", "v"): [create]}
    wordnet = types.SimpleNamespace(synsets=lambda lemma, pos: senses.get((lemma, pos), []))
    lexicon = WordNetLexicon(wordnet)
    found = {(edit.new, edit.relation) for edit in lexicon.substitutes("It founded a film, three films.")}
    assert found == {
        ("established", "synonym"),
        ("a movie", "synonym"),
        ("an opus", "hypernym"),
        ("movies", "synonym"),
        ("opuses", "hypernym"),
    }
