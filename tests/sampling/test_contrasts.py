"""The curriculum of contrasts: claims that reveal nothing, labels in balance, wordings and fillings without a slot."""

import itertools
import math
import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from lisax.predict.probing import read_suite
from lisax.records import LABELS
from lisax.sampling import contrasts
from lisax.text.words import words

FRAMES = contrasts.frames()
DRAWN = defaultdict(list)  # by capability
for drawn in contrasts.draw(400 * len(FRAMES), 3):
    DRAWN[drawn.claim_id.split("-")[1]].append(drawn)
FILLINGS = tomllib.loads(Path(contrasts.__file__).with_name("fillings.toml").read_text(encoding="utf-8"))
# Kinds of fillings by the part that has to begin with A to M: the last, a thing, after verbs; none.
DEEDS = ("civic", "firm", "human", "verdict", "alike")
PHRASES = ("fields", "aside", "deed_many", "trait", "state", "move", "over")


def texts(example) -> list[str]:
    return [example.claim, *(text for one in example.sentences for text in (one.title, one.text) if text)]


def evidence_of(example) -> list:
    """The sentences of a frame's evidence, without asides."""
    return [one for one in example.sentences if "-aside_" not in one.id]


def test_a_seed_gives_the_same_examples_and_a_smaller_number_the_first_of_them():
    some = list(contrasts.draw(600, 5))
    assert 600 <= len(some) < 606
    assert list(contrasts.draw(300, 5)) == some[: len(list(contrasts.draw(300, 5)))]
    assert [example.claim for example in contrasts.draw(60, 6)] != [example.claim for example in some[:60]]
    ids = [example.claim_id for example in some]
    assert len(set(ids)) == len(ids) and not any(" " in id for id in ids)


def test_the_capabilities_take_turns_and_each_has_equally_many_examples_of_each_label():
    assert len(FRAMES) >= 40
    turns = dict.fromkeys(example.claim_id.split("-")[1] for example in contrasts.draw(6 * len(FRAMES)))
    assert list(turns) == list(FRAMES)
    for name, examples in DRAWN.items():
        assert len(set(Counter(example.label for example in examples).values())) == 1, name
    assert list(contrasts.draw(0)) == []


def choices(text: str) -> int:
    """The number of texts that a wording makes: choices with the same number of options are chosen together."""
    return math.prod({len(options.split("|")) for options in re.findall(r"\[([^\[\]]+)\]", text)})


@pytest.mark.parametrize("name", FRAMES)
def test_a_claim_alone_reveals_nothing(name):
    """Each claim has each label equally often, so that no rule on claims can be right more often than one in three."""
    labels = defaultdict(Counter)
    for example in DRAWN[name]:
        labels[example.claim][example.label] += 1
    assert all(len({counts[label] for label in LABELS}) == 1 for counts in labels.values())


def test_a_bag_of_words_of_the_claim_is_at_chance_and_one_of_claim_and_evidence_hardly_better():
    examples = list(contrasts.draw(6000, 1))
    half = len(examples) // 2

    def right(words) -> float:
        counts = {label: Counter() for label in LABELS}
        for example in examples[:half]:
            counts[example.label].update(words(example))
        totals = {label: sum(counts[label].values()) for label in LABELS}

        def score(example, label) -> float:
            return sum(np.log((counts[label][word] + 1) / (totals[label] + 5000)) for word in words(example))

        return np.mean([max(LABELS, key=lambda label: score(e, label)) is e.label for e in examples[half:]])

    assert right(lambda example: set(example.claim.lower().split())) == pytest.approx(1 / 3, abs=0.01)
    assert right(lambda example: set(" ".join(texts(example)).lower().split())) < 0.55


@pytest.mark.parametrize("name", FRAMES)
def test_texts_are_whole_sentences_without_a_slot(name):
    for text in itertools.chain.from_iterable(map(texts, DRAWN[name])):
        assert not re.search(r"[{}\[\]¦]|(?<!\d)/|/(?!\d)|::|  | [,.;]|\b[Aa] [aeioAEIO]|[,.;]{2}", text), text
        assert re.match(r'"?[A-Z0-9]', text), text
    for example in DRAWN[name]:
        assert example.claim.endswith(".") and 1 <= len(example.sentences) <= 5
        assert name in ("rows", "computed", "records") or all(one.text[-1] in '.?"' for one in evidence_of(example))


def test_other_sentences_are_before_or_after_the_evidence_and_share_no_name_with_it():
    examples = list(itertools.chain.from_iterable(DRAWN.values()))
    assert Counter(len(one.sentences) - len(evidence_of(one)) for one in examples).keys() == {0, 1, 2, 3}
    first = [one.sentences[0].id == evidence_of(one)[0].id for one in examples if one.sentences != evidence_of(one)]
    assert 0.2 < np.mean(first) < 0.8
    people = re.compile(rf"\b(?:{'|'.join(FILLINGS['first'])}) (?:{'|'.join(FILLINGS['last'])})\b")
    for one in examples:
        ours = {name for text in (one.claim, *(e.text for e in evidence_of(one))) for name in people.findall(text)}
        others = [passage for passage in one.sentences if passage not in evidence_of(one)]
        assert ours.isdisjoint(name for passage in others for name in people.findall(passage.text)), one


@pytest.mark.parametrize("name", FRAMES)
def test_the_evidence_of_one_claim_differs(name):
    for _, group in itertools.groupby(DRAWN[name], key=lambda example: example.claim):
        evidence = [tuple((one.title, one.text) for one in example.sentences) for example in group]
        assert len(set(evidence)) == len(evidence)


def test_there_are_many_wordings_and_fillings():
    for name, frames in FRAMES.items():
        wordings = sum(
            choices(claim + evidence)
            for frame in frames
            for claim in frame.claim + frame.counter
            for evidence in frame.supports + frame.refutes + frame.silent
        )
        assert wordings >= 130, name  # each with or without a title, a lead and another sentence
    assert len({example.claim for example in contrasts.draw(30_000)}) > 9_000


def test_fillings_begin_with_letters_up_to_m():
    """A suite of cases whose fillings begin with N to Z shares none of them."""
    for name, listed in FILLINGS.items():
        for text in () if name in PHRASES else listed:
            for part in text.split("/")[-1:] if name in DEEDS else text.split("/"):
                assert re.match(r"(?:(?:[Aa]n?|[Tt]he) )?(?:\{|[A-Ma-m0-9])", part), (name, part)


def test_frames_and_fillings_fit():
    for frame in itertools.chain.from_iterable(FRAMES.values()):
        assert frame.claim and frame.supports and frame.refutes and frame.silent
        assert len(frame.counter) in (0, len(frame.claim)), frame
        assert len(frame.supports) == len(frame.refutes), frame
    for name, fields in contrasts.fillings().fields.items():
        assert all(text.count("/") == len(fields) - 1 for text in FILLINGS[name]), name


def test_titles_have_dates_only_where_no_date_is_asked_for():
    dated = re.compile(r"\d")
    decides = {name: [(one, evidence_of(one)) for one in DRAWN[name]] for name in DRAWN}
    titles = [passage.title for _, passages in decides["years"] for passage in passages]
    assert any(titles) and not any(map(dated.search, titles))
    minutes = [one for one, passages in decides["titles_that_do_not_matter"] if dated.search(passages[0].title)]
    assert len(Counter(example.label for example in minutes)) == 3
    pronouns = [(one, read) for one, read in decides["titles_that_matter"] if read[0].text.startswith("She ")]
    assert pronouns
    assert all((read[0].title in one.claim) is (not one.claim_id.endswith("silent")) for one, read in pronouns)


@pytest.mark.parametrize(
    "slot, written",
    [("d0 ordinal", "third"), ("d1 th", "11th"), ("d2 th", "22nd"), ("d3-d0 th", "20th"), ("d0 in two digits", "03")]
    + [("m0", "January"), ("m1+1", "June"), ("m1 in digits", "5"), ("m1 in two digits", "05"), ("k0 in words", "two")],
)
def test_numbers_are_written_as_a_slot_says(slot, written):
    draft = contrasts._Draft(None)
    draft.numbers = {"d": [3, 11, 22, 23], "m": [0, 4, 5, 6], "k": [2, 3, 4, 5]}
    assert draft.number(slot) == written


def test_numbers_agree_with_their_labels():
    for example in DRAWN["numbers_subtracted"]:
        if match := re.search(r"went from (\d+) to (\d+) points", evidence_of(example)[-1].text):
            stated = int(re.search(r"(\d+) points", example.claim)[1])
            assert (int(match[2]) - int(match[1]) == stated) is (example.label == "SUPPORTS")
    for example in DRAWN["durations"]:
        if match := re.search(r"from (\d+) to (\d+) and", evidence_of(example)[-1].text):
            stated = re.search(r"for (\d) years", example.claim)
            assert not stated or (int(match[2]) - int(match[1]) == int(stated[1])) is (example.label == "SUPPORTS")


def test_it_shares_neither_wordings_nor_names_with_the_suite_of_the_probe():
    """Otherwise `lisax probe` would measure what a model has seen."""

    def runs(texts, length):
        split = map(words, texts)
        return {tuple(one[i : i + length]) for one in split for i in range(len(one) - length + 1)}

    drawn = {
        text for example in contrasts.draw(12_000) for text in (example.claim, *(one.text for one in example.sentences))
    }
    tested = {text for case in read_suite() for text in (case.claim.text, *(one.text for one in case.evidence))}
    assert not runs(drawn, 6) & runs(tested, 6)
    assert len(runs(drawn, 4) & runs(tested, 4)) < 0.02 * len(runs(tested, 4))
    kinds = ("woman_first", "man_first", "last", "town", "country", "brand", "lake")
    names = {word.lower() for kind in kinds for text in FILLINGS[kind] for word in re.findall(r"\w{3,}", text)}
    assert len(names) > 200 and not names - {"lake", "last"} & {word for text in tested for word in words(text)}
