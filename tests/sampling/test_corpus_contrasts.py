"""Contrasts of training sentences: one value exchanged, the same in claim and evidence."""

from collections import Counter, defaultdict

from lisax.formats.examples import Example, Passage
from lisax.records import LABELS, Claim, Label
from lisax.sampling import corpus_contrasts, files
from lisax.sampling.examples import Draws

SUPPORTS, REFUTES, SILENT = LABELS


def example(id, claim, title, text, label=SUPPORTS):
    return Example(id, claim, (Passage(f"{title}_0", title, text),), label=label)


BORN = example("1", "Mara Velin was born in 1912.", "Mara Velin", "Mara Velin ( born 3 May 1912 ) is a painter .")
BUILT = example("2", "Tarn Hall was built in 1931.", "Tarn Hall", "The hall was built in 1931 of brick .")
MADE = example("3", "Lost Lake is a film directed by Ivo Orm.", "Lost Lake", "Lost Lake was directed by Ivo Orm .")
DREW = example("4", "Old Bay was directed by Ada Kell.", "Old Bay", "Old Bay was written and directed by Ada Kell .")
LED = example("5", "Ivo Orm was succeeded by Ada Kell.", "Ivo Orm", "Orm was succeeded by Kell in 1950 .")


def labelled(examples):
    return {(one.claim, one.sentences[0].text): one.label for one in examples}


def test_a_claim_and_its_copy_are_read_with_both_sentences_and_with_another_page():
    made = list(corpus_contrasts.of_sentences([BORN, BUILT]))
    labels, text = labelled(made), BORN.sentences[0].text
    changed = text.replace("1912", "1931")
    assert labels[BORN.claim, text] is labels["Mara Velin was born in 1931.", changed] is SUPPORTS
    assert labels[BORN.claim, changed] is labels["Mara Velin was born in 1931.", text] is REFUTES
    assert labels[BORN.claim, BUILT.sentences[0].text] is SILENT
    assert labels["Mara Velin was not born in 1912.", text] is REFUTES
    assert labels["Mara Velin was not born in 1912.", changed] is SUPPORTS
    assert labels["Mara Velin was not born in 1931.", BUILT.sentences[0].text] is SILENT
    assert len(made) == 24 and made == list(corpus_contrasts.of_sentences([BORN, BUILT]))


def test_claims_alone_reveal_nothing():
    seen = defaultdict(Counter)
    for one in corpus_contrasts.of_sentences([BORN, BUILT, MADE, DREW, LED]):
        seen[one.claim][one.label] += 1
    assert len(seen) == 20 and all(set(counts.values()) == {1} and len(counts) == 3 for counts in seen.values())


def test_names_and_roles_are_exchanged():
    labels = labelled(corpus_contrasts.of_sentences([MADE, DREW, LED]))
    assert labels["Lost Lake is a film directed by Ivo Orm.", "Lost Lake was directed by Ada Kell ."] is REFUTES
    assert labels["Ivo Orm was preceded by Ada Kell.", LED.sentences[0].text] is REFUTES
    assert labels["Ivo Orm was preceded by Ada Kell.", "Orm was preceded by Kell in 1950 ."] is SUPPORTS


def test_what_no_rule_is_safe_for_gives_nothing():
    text = "Mara Velin ( born 3 May 1912 ) left Tarn in 1931 ."
    for other in (
        example("a", BORN.claim, "Mara Velin", BORN.sentences[0].text, REFUTES),
        example("b", BORN.claim, "Mara Velin", text),  # two years
        example("c", "Mara Velin was born before 1912.", "Mara Velin", BORN.sentences[0].text),
        example("d", "Mara Velin painted in 1912.", "Mara Velin", "Velin painted in 1912 ."),  # and in other years
        example("e", BORN.claim, "Mara Velin (born 1912)", BORN.sentences[0].text),
        example("f", "It was directed by Ivo Orm.", "It", "It was directed by Ivo Orm Kell ."),  # part of a name
        example("g", "It was founded by Ivo Orm.", "It", "It was founded by a group that included Ivo Orm ."),
    ):
        assert not list(corpus_contrasts.of_sentences([other, BUILT, MADE]))[24:], other
        assert not any(one.claim_id.startswith(other.claim_id) for one in corpus_contrasts.of_sentences([other, BUILT]))


def test_percentages_and_sums_of_money_are_exchanged_for_their_like():
    share = example("s", "It got 12% of the vote.", "Poll", "It got 12% there .")
    other = example("t", "Ardo got 40% of the vote.", "Ardo", "Ardo had 40% of all votes .")
    money = example("m", "The hall cost $5 million.", "Hall", "It cost $5 million to build .")
    labels = labelled(corpus_contrasts.of_sentences([share, other, money]))
    assert labels["It got 40% of the vote.", share.sentences[0].text] is REFUTES
    assert not any("$5" in claim for claim, _ in labels)  # no other sum of money


def test_only_supported_claims_with_a_sentence_are_taken():
    passages = {"T_0": Passage("T_0", "T", "T is old.")}
    claims = [
        Claim("1", "T is old.", Label.SUPPORTS, (("T_0",),)),
        Claim("2", "T is new.", Label.REFUTES, (("T_0",),)),
        Claim("3", "T is far.", Label.SUPPORTS, (("T_0", "T_1"),)),
        Claim("4", "T is near.", Label.SUPPORTS, (("T_9",),)),
    ]
    assert [one.claim_id for one in corpus_contrasts.supported(claims, passages.get)] == ["1"]


def test_a_labellers_training_file_gets_contrasts_and_no_other():
    claims = [Claim("1", BORN.claim, Label.SUPPORTS, (("Mara Velin_0",),))]
    lookup = {"Mara Velin_0": BORN.sentences[0]}.get
    draws = Draws(contrasts=100)
    ranked = {"1": ["Mara Velin_0"]}

    def built(variant, training=True):
        return list(files.build(variant, claims, ranked, ranked, lookup, draws=draws, training=training))

    for variant in files.LABELLERS:
        made = built(variant)
        assert len(made) == 101 and made == built(variant)
        assert sum(one.claim_id == "1" for one in made) == 1
        assert len(set(Counter(one.label for one in made if one.claim_id != "1").values())) <= 2
    assert len(built("label_listwise_infused", training=False)) == len(built("claim_only")) == 1
