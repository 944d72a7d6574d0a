"""Grammar of what attacks write: agreement, casing, stops; dates as words."""

import re

import pytest
from known_world import make

from lisax.adversary import prose
from lisax.adversary.attack import AttackKind, both, kind_name
from lisax.adversary.corpus import AttackCorpus, subject_of
from lisax.adversary.dates import Date
from lisax.adversary.kinds import BY_RULE, attacks
from lisax.adversary.statements import statements, verb_phrase
from lisax.adversary.unverifiable import Form, form_of
from lisax.records import Claim, Document, Label, Sentence
from lisax.text.articles import article


def page(title: str, *texts: str) -> Document:
    id = title.replace(" ", "_")
    return Document(id, title, tuple(Sentence(id, n, text) for n, text in enumerate(texts)))


def corpus(*pages: Document) -> AttackCorpus:
    return AttackCorpus({one.id: one for one in pages}.__getitem__, pages)


# Three of each: a nationality is one that several descriptions have.
NATIONS = tuple(
    page(f"{nation} {number}", f"{nation} {number} is a {nation} town .")
    for nation in ("Danish", "Greek", "German")
    for number in ("One", "Two", "Three")
)


FILM = page(
    "The Nice Guys",
    "The Nice Guys is a 2016 American action comedy film directed by Shane Black .",
    "It was released on May 20 , 2016 .",
)
BLACK = page(
    "Shane Black",
    "Shane Black ( born December 16 , 1961 ) is an American director .",
    "He co-wrote Lethal Weapon .",
    "His brother wrote plays .",
)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Murda ( born 1994 ) , known as `` MB '' .", 'Murda (born 1994), known as "MB".'),
        ("The band 's album did n't sell .", "The band's album didn't sell."),
        ("Jan 1 , 1900 -- May 2 , 1950", "Jan 1, 1900 – May 2, 1950"),
    ],
)
def test_tokenised_text_is_made_readable(text, expected):
    assert prose.readable(text) == expected


def test_sentences_have_a_capital_and_one_stop():
    assert prose.sentence("the River Osk is long") == "The River Osk is long."
    assert prose.sentence(prose.body("He is Chris Eubank Jr.")) == "He is Chris Eubank Jr."
    assert prose.sentence("iPhone sales rose ,") == "iPhone sales rose."
    assert prose.sentence("Was it old?") == "Was it old?" and prose.sentence('He said "Go!"') == 'He said "Go!"'
    assert prose.body("He is a senior.") == "He is a senior"


@pytest.mark.parametrize("end", ["Jr.", "the U.S.", "Osk Inc."])
def test_abbreviations_keep_their_stop_before_what_is_added(end):
    found = texts(
        corpus(OWLS),
        claims(
            (f"The Owls is led by {end}", Label.SUPPORTS, (("The_Owls_0",),)),
            ("The Owls has a house.", Label.SUPPORTS, (("The_Owls_1",),)),
        ),
    )
    assert f"The Owls is led by {end} and has a house." in found
    assert all(f"{end} and" in text for text in found if " led by " in text and " and " in text)


@pytest.mark.parametrize(
    "rest, expected",
    [
        ("was an actor", True),
        ("never sang", True),
        ("also stars Ann", True),
        ("fans are loud", False),
        ("of Norway", False),
        ("directed Jaws", True),
        ("didn't sing", True),
        ("who sang", False),
        ("and Ann sang", False),
    ],
)
def test_verbs_are_known_by_their_forms(rest, expected):
    assert (verb_phrase(rest) is not None) is expected


def test_what_a_page_says_of_its_subject():
    about = statements(BLACK)
    assert (about.description.text, about.person) == ("an American director", True)
    assert [phrase.text for phrase in about.predicates] == ["is an American director", "co-wrote Lethal Weapon"]
    assert [(event.text, event.date) for event in about.events] == [("was born", Date(1961, 12, 16))]
    assert [(e.text, e.date.year) for e in statements(FILM).events] == [("came out", 2016), ("was released", 2016)]


@pytest.mark.parametrize(
    "first, expected, noun, person",
    [
        ("Ann Lee is an English film and radio actor .", "an English film and radio actor", "actor", True),
        ("Ann Lee is an English diver associated with Osk , Elm and Ode .", "an English diver", "diver", False),
        ("Ann Lee ( born 1 May 1950 ) is an English diver .", "an English diver", "diver", True),
        ("Ann Lee is a quiet country occupying a long , narrow strip .", "a quiet country", "country", False),
        ("Ann Lee is an old song written by J. Doe .", "an old song", "song", False),
        ("Ann Lee is a 1999 drama film produced by Jo `` Bee '' Doe .", "a 1999 drama film", "film", False),
        ("Ann Lee is a 1999 drama film , written and directed by Jo Doe .", "a 1999 drama film", "film", False),
    ],
)
def test_descriptions_are_whole_noun_phrases(first, expected, noun, person):
    about = statements(page("Ann Lee", first))
    assert (about.description.text, about.noun, about.person) == (expected, noun, person)


@pytest.mark.parametrize(
    "first",
    [
        "Ann Lee was praised for her film An Education .",
        "Ann Lee 's sister is a painter .",
        "The group is a band .",
        "Ann Lee is a large and permanent settlement .",
        "Ann Lee is a Danish legal , medical and crime drama .",
        "Ann Lee was an English stage and screen actor , whom all knew .",
    ],
)
def test_sentences_that_are_not_understood_describe_nobody(first):
    assert statements(page("Ann Lee", first)).description is None


def test_subjects():
    pages = corpus(FILM, BLACK, page("Savages (film)"), page("Savages (band)"))
    assert subject_of("Shane Black is tall.", pages).predicate == "is tall"
    assert subject_of("Savages is tall.", pages) is None  # two pages of one name
    assert subject_of("The film Savages is tall.", pages).page == "Savages_(film)"
    assert subject_of("Shane Black's dog is tall.", pages) is None
    assert subject_of("In 1990, Shane Black was tall.", pages) is None


def claims(*rows):
    return [Claim(f"c{n}", text, label, sets) for n, (text, label, sets) in enumerate(rows)]


def attacked(pages, given_claims, kinds=tuple(BY_RULE), seeds=40):
    """The attacks of all seeds."""
    return [attack for seed in range(seeds) for _, attack in attacks(given_claims, pages, kinds, seed)]


def texts(pages, given_claims, kinds=tuple(BY_RULE), seeds=40):
    return {attack.text for attack in attacked(pages, given_claims, kinds, seeds)}


GIRL = page("Gone Girl", "Gone Girl is a 2014 American thriller film .")
OWLS = page("The Owls", "The Owls is a club .", "It has a house .")
POET = page("Ann Lee", "Ann Lee ( 5 February 1748 -- 28 January 1798 ) was a poet .")
DUSK = page("Dusk", "Dusk is a film directed by Jo Doe .")
DIRECTED = ("Dusk was directed by Jo Doe.", Label.SUPPORTS, (("Dusk_0",),))


def test_golden_multi_hop_and_temporal():
    linked = page("Shane Black", *(line.text for line in BLACK.sentences), "He made The Nice Guys .")
    found = texts(
        corpus(FILM, linked, *NATIONS),
        claims(
            ("The Nice Guys was directed by Shane Black.", Label.SUPPORTS, (("The_Nice_Guys_0",),)),
            ("The Nice Guys is a comedy film.", Label.SUPPORTS, (("The_Nice_Guys_0",),)),
            ("Shane Black is American.", Label.REFUTES, (("Shane_Black_0",),)),
        ),
    )
    assert found >= {
        "The Nice Guys was directed by Shane Black, who was born in 1961.",
        "The Nice Guys was directed by Shane Black and also is a comedy film.",
        "The Nice Guys is a comedy film directed by an American director who was born in 1961.",
        "The director of The Nice Guys is American.",
    }
    assert any(re.fullmatch(r"The Nice Guys was directed by an American director who was born in .*", t) for t in found)


def test_a_false_phrase_differs_in_its_nationality_or_year():
    dane = page("Jo Doe", "Jo Doe ( born 1 May 1950 ) is a Danish director .", "He sold red boats .")
    found = attacked(corpus(DUSK, dane, *NATIONS), claims(DIRECTED), [AttackKind.MULTI_HOP], 60)
    made = {one.text: one for one in found}
    told = made["Dusk was directed by Jo Doe, a Danish director who sold red boats."]
    assert told.label is Label.SUPPORTS and set(told.evidence_sets[0]) == {"Dusk_0", "Jo_Doe_0", "Jo_Doe_1"}
    false = made["Dusk was directed by Jo Doe, a Greek director who sold red boats."]
    assert false.label is Label.REFUTES and false.evidence_sets == (("Jo_Doe_0",),)
    replaced = made["Dusk was directed by a German director."]
    assert replaced.label is Label.REFUTES and replaced.evidence_sets == (("Dusk_0", "Jo_Doe_0"),)
    born = {text for text in made if "born" in text and made[text].label is Label.SUPPORTS}
    assert born and all("in 1950" in text for text in born)
    assert any(made[text].label is Label.REFUTES and "born in" in text and "in 1950" not in text for text in made)


def test_nationalities_that_a_page_tells_are_not_false_of_it():
    both = page("Jo Doe", "Jo Doe is a Danish director .", "He is of Greek and of German birth .")
    assert texts(corpus(DUSK, both, *NATIONS), claims(DIRECTED)) == set()


def test_refuted_claims_take_nothing_that_leaves_them_refuted():
    given = claims(("The Nice Guys was directed by Shane Black.", Label.REFUTES, (("The_Nice_Guys_1",),)))
    assert texts(corpus(FILM, BLACK, *NATIONS), given) == set()


def test_events_are_compared_in_both_orders():
    linked = page("The Nice Guys", *(line.text for line in FILM.sentences), "It followed Gone Girl .")
    given = claims(("The Nice Guys is a comedy film.", Label.SUPPORTS, (("The_Nice_Guys_0",),)))
    for seed in range(8):
        found = [attack for _, attack in attacks(given, corpus(linked, GIRL), [AttackKind.MULTI_HOP_TEMPORAL], seed)]
        assert [attack.label for attack in found] in ([Label.SUPPORTS, Label.REFUTES], [Label.REFUTES, Label.SUPPORTS])
        one, two = (attack.text for attack in found)
        assert one.replace("The Nice Guys", "_").replace("Gone Girl", "The Nice Guys").replace("_", "Gone Girl") == two


def test_nobody_is_compared_with_a_work_by_birth():
    given = claims(("The Nice Guys is a comedy film.", Label.SUPPORTS, (("The_Nice_Guys_0",),)))
    assert not any("born" in text for text in texts(corpus(FILM, BLACK), given) if " by " not in text)


def test_pages_keep_their_own_articles():
    assert article("SATB teacher") == "a"  # as a word; the page says its letters
    ann = page("Ann Lee", "Ann Lee ( born 1 May 1950 ) is an SATB teacher .")
    assert "Dusk stars Ann Lee, an SATB teacher who was born in 1950." in texts(
        corpus(page("Dusk", "Dusk is a film ."), ann), claims(("Dusk stars Ann Lee.", Label.SUPPORTS, (("Dusk_0",),)))
    )


def test_conjunctions_need_both_halves():
    def made(first, second):
        sets = {Label.NOT_ENOUGH_INFO: ()}
        given = claims(
            ("The Owls is a club.", first, sets.get(first, (("The_Owls_0",),))),
            ("The Owls has a house.", second, sets.get(second, (("The_Owls_1",),))),
        )
        return {attack.label for attack in attacked(corpus(OWLS), given, [AttackKind.CONJUNCTION], 30)}

    s, r, n = Label.SUPPORTS, Label.REFUTES, Label.NOT_ENOUGH_INFO
    assert made(s, s) == {s} and made(s, r) == made(r, s) == made(r, n) == {r} and made(n, s) == {n}
    assert made(r, r) == made(n, n) == set()


@pytest.mark.parametrize(
    "predicate, expected",
    [
        ("is a singer", Form("present", "copula", "s")),
        ("was directed by Jo", Form("past", "passive", "s")),
        ("are loved", Form("present", "passive", "p")),
        ("has been sung", Form("present", "passive", "s")),
        ("had won a prize", Form("past", "active", "")),
        ("also sings songs", Form("present", "active", "s")),
        ("sold tea", Form("past", "active", "")),
        ("can sing", None),
    ],
)
def test_tense_voice_and_number(predicate, expected):
    assert form_of(predicate) == expected


def test_additions_are_what_others_of_the_kind_did():
    """In the claim's tense and voice, and nothing that can be true of one alone."""
    others = (
        page("Jo Doe", "Jo Doe is a singer .", "He has toured with a circus , and Ann .", "He was born in Osk ."),
        page("Al Fox", "Al Fox is a poet .", "He sang old songs .", "He wrote Dusk .", "He was praised by nobody ."),
        page("Osk", "Osk is a town .", "It has seen better times ."),
    )
    ann = page("Ann Lee", "Ann Lee is a singer .", "She lost a hat .")
    pages = corpus(ann, *others)

    def made(text):
        return texts(pages, claims((text, Label.SUPPORTS, (("Ann_Lee_0",),))), [AttackKind.UNVERIFIABLE], 20)

    assert made("Ann Lee is a singer.") == {
        "Ann Lee is a singer and has toured with a circus.",
        "Ann Lee is a singer who has toured with a circus.",
    }
    assert made("Ann Lee lost a hat.") == {"Ann Lee lost a hat and sang old songs."}
    assert made("Ann Lee was seen by Jo.") == {"Ann Lee was seen by Jo and was praised by nobody."}
    assert made("Ann Lee did not sing.") == made("Osk is a town.") == set()


def test_what_several_have_of_their_own_is_not_added():
    people = [
        page(f"Al {name}", f"Al {name} is a poet .", f"He is noted for {art} .")
        for name, art in (("Fox", "odes"), ("Owl", "songs"), ("Elk", "odes"))
    ]
    given = claims(("Ann Lee is a poet.", Label.SUPPORTS, (("Ann_Lee_0",),)))
    assert texts(corpus(page("Ann Lee", "Ann Lee is a poet ."), *people), given) == set()


def test_nothing_is_joined_to_a_relative_clause():
    owls = corpus(page("The Owls", "The Owls is a film .", "It has a house .", "It stars a man who sings ."))
    given = [
        ("The Owls stars a man who sings.", Label.SUPPORTS, (("The_Owls_2",),)),
        ("The Owls has a house.", Label.SUPPORTS, (("The_Owls_1",),)),
    ]
    assert not any("sings and" in text for text in texts(owls, claims(*given)))
    assert any(" and " in text and "who sings." in text for text in texts(owls, claims(*reversed(given))))


def test_names_of_pages_with_namesakes_need_the_evidence():
    dusk = page("Dusk (novel)", "Dusk is a long novel by Jo Doe .", "It was published in 1950 .")
    ann = page("Ann Lee", "Ann Lee is an actress .", "She acted in Dusk .")

    def made(text, label=Label.SUPPORTS, sets=(("Ann_Lee_1",),)):
        return texts(corpus(dusk, ann), claims((text, label, sets)))

    assert "Ann Lee acted in Dusk, a long novel by Jo Doe which was published in 1950." in made(
        "Ann Lee acted in Dusk."
    )
    assert made("Ann Lee acted in Dusk.", Label.NOT_ENOUGH_INFO, ()) == set()
    assert not any("published" in text for text in made("Ann Lee acted in the film Dusk."))


def test_what_stands_before_a_name_is_not_said_again():
    dusk = page("Dusk", "Dusk is a film .")
    pages = corpus(dusk, page("Ann Lee", "Ann Lee is a Danish actress ."), *NATIONS)

    def made(text):
        return texts(pages, claims((text, Label.NOT_ENOUGH_INFO, ())))

    assert made("Dusk stars Ann Lee.") == {
        f"Dusk stars Ann Lee, a {nation} actress." for nation in ("Danish", "Greek", "German")
    }
    assert made("Dusk stars the actress Ann Lee.") == set()


def test_what_is_appended_says_nothing_of_the_claims_subject():
    jo = page("Jo Doe", "Jo Doe is a Danish diver .", "He taught Ann Lee .", "He sold red boats .")
    found = texts(
        corpus(jo, page("Ann Lee", "Ann Lee is a diver ."), *NATIONS),
        claims(("Ann Lee was taught by Jo Doe.", Label.NOT_ENOUGH_INFO, ())),
    )
    assert "Ann Lee was taught by Jo Doe, a Danish diver." in found and not any("taught Ann" in text for text in found)


def test_agreement_of_joined_predicates():
    pages = corpus(page("The Owls", "The Owls are a band ."))
    sets = (("The_Owls_0",),)
    mixed = texts(
        pages, claims(("The Owls are loud.", Label.SUPPORTS, sets), ("The Owls was formed.", Label.SUPPORTS, sets))
    )
    assert not any(" and was" in text for text in mixed)


def test_attacked_claims_of_a_world_are_well_formed():
    world = make(pages=200)
    for _, attack in attacks(list(world.claims.values()), world.corpus):
        text = attack.text
        assert re.fullmatch(r"[A-Z\d][^\n]*[^.,; ]\.", text), text
        assert not re.search(r"  | ,|,,|\.\.|\(\)|\b(?:a|the) (?:a|an|the)\b", text), text
        for match in re.finditer(r"\b(an?) ([a-zA-Z]+)", text):
            assert match[1] == article(match[2]), text
        assert not re.search(r"\b(?:[Ii]n|[Oo]n) (?:before|after|between|in|during|\d+ years)\b", text), text
        assert attack.reason and attack.edit and attack.source


def test_label_algebra():
    sets = {label: ((str(label),),) for label in (Label.SUPPORTS, Label.REFUTES)}
    one = {label: Claim(str(label), "x", label, sets.get(label, ())) for label in Label}
    truth = {(a, b): both(one[a], one[b]) for a in Label for b in Label}
    s, r, n = Label.SUPPORTS, Label.REFUTES, Label.NOT_ENOUGH_INFO
    assert truth[s, s] == (s, (("SUPPORTS",),)) and truth[s, n] == truth[n, n] == truth[n, s] == (n, ())
    assert all(truth[pair] == (r, (("REFUTES",),)) for pair in truth if r in pair)


def test_names_of_kinds():
    assert kind_name("Phrasal Additions") == "unverifiable" and kind_name(None) == "other"
    assert kind_name("conjunction") == "conjunction" and kind_name("one_hop") == "one_hop"


def test_lives_in_brackets():
    dates_of = {
        text: [(e.text, e.date) for e in statements(page("Ann Lee", f"Ann Lee ( {text} ) was a poet .")).events]
        for text in ("5 February 1748 -- 28 January 1798", "born 1 May 1950", "1748 -- 1798", "c. 1900", "d. 1900")
    }
    assert list(dates_of.values()) == [
        [("was born", Date(1748, 2, 5)), ("died", Date(1798, 1, 28))],
        [("was born", Date(1950, 5, 1))],
        [("was born", Date(1748)), ("died", Date(1798))],
        [],
        [],
    ]


def test_golden_dates():
    sets = (("Ann_Lee_0",),)

    def made(text, label):
        found = attacked(corpus(POET), claims((text, label, sets)), [AttackKind.DATE], 80)
        return {attack.text: attack.label for attack in found}

    leads = made("In 1760, Ann Lee was born.", Label.REFUTES)
    assert set(leads.values()) == {Label.REFUTES}
    assert "In the sixties of the eighteenth century, Ann Lee was born." in leads
    assert not any("forties" in text or "1740s" in text for text in leads)
    died = made("Ann Lee died in 1798.", Label.SUPPORTS)
    assert died["Ann Lee died in the tenth decade of the eighteenth century."] is Label.SUPPORTS
    assert died["Ann Lee died in the sixties of the eighteenth century."] is Label.REFUTES
    born = made("Ann Lee was born in 1760.", Label.REFUTES)
    assert born["Ann Lee was born in the forties of the eighteenth century."] is Label.SUPPORTS
    assert set(made("Ann Lee sang in 1770.", Label.SUPPORTS).values()) == {Label.SUPPORTS}  # one may sing twice
    assert made("Ann Lee was not born in 1760.", Label.SUPPORTS) == {}
    assert made("Ann Lee lived in London in 1760 -- 61.", Label.SUPPORTS) == {}
    assert made("Ann Lee sang in the 1770 opera.", Label.SUPPORTS) == {}
    film = page("Osk", "Osk is a 2009 film based on the book of Jo Doe .")
    of_film, of_book = (
        list(attacks(claims((text, Label.REFUTES, (("Osk_0",),))), corpus(film), kinds=[AttackKind.DATE]))
        for text in ("Osk was released in 1990.", "Osk is based on a book published in 1990.")
    )
    assert of_film and not of_book  # the evidence has no date of the book
    cast = made("Ann Lee had a sister who was born in 1750.", Label.SUPPORTS)
    assert set(cast.values()) == {Label.SUPPORTS}  # she may have had two


def test_undecided_dates_keep_near_bounds_where_pages_have_dates():
    hill = page("Osk", "Osk is a hill .")

    def made(text):
        found = attacked(corpus(POET, hill), claims((text, Label.NOT_ENOUGH_INFO, ())), [AttackKind.DATE])
        return {attack.edit.split(" -> ")[1] for attack in found}

    sang, seen = made("Ann Lee sang in 1770."), made("Osk was seen in 1770.")
    assert {"in the 1770s", "between 1769 and 1772", "in the seventies of the eighteenth century"} <= sang & seen
    wide = {form for form in seen if re.match("before|after|in the eight|in the 18", form) and " of " not in form}
    assert {"before 1772", "in the eighteenth century"} <= wide and not wide & sang


def test_undecided_dates_are_not_widened_to_what_a_page_tells():
    ann = page("Ann Lee", "Ann Lee is a singer .", "She won a Grammy in 1980 .")
    ways = page("The Ways", "The Ways is a series .", "It ran on NBC from 1984 to 1989 .")

    def made(text, sets=()):
        return texts(corpus(ann, ways), claims((text, Label.NOT_ENOUGH_INFO, sets)), [AttackKind.DATE], 60)

    won = made("Ann Lee won a Grammy on June 5, 1980.")
    for text in won:
        phrase = text.removeprefix("Ann Lee won a Grammy ")
        assert re.match(r"\d days? |\d months |between (?:May|June|March|April) ", phrase), text
    assert any(" days after " in text for text in won)
    assert made("The Ways ended its run in 1986.")
    assert not any(
        "80s" in text or "eighties" in text or "ninth" in text or "century" in text
        for text in made("The Ways ended its run in 1986.")
    )
    of_evidence = made("They won a Grammy on June 5, 1980.", (("Ann_Lee_1",),))
    assert of_evidence and not any("eighties" in text or "1980s" in text for text in of_evidence)


@pytest.mark.parametrize(
    "text, one",
    [
        ("Ann Lee was in a film released in 1990.", False),
        ("Ann Lee worked for a company that was established in 1990.", False),
        ("Ann Lee played for a team formed in 1990.", False),
        ("A member of The Ways died in 1990.", False),
        ("Songs by Ann Lee were published in 1990.", False),
        ("Ann Lee acted in films released in 1990.", False),
        ("In 1990, a film by Ann Lee was released.", False),
        ("There was a film released in 1990.", False),
        ("Somebody of The Ways died in 1990.", False),
        ("The members of The Ways died in 1990.", False),
        ("Ann Lee was born in 1990.", True),
        ("The Ways is an old film released in 1990.", True),
        ("The Ways were formed in 1990.", True),
        ("In 1990, The Ways was founded.", True),
        ("A Song was released in 1990.", True),
        ("Heroes was released in 1990.", True),
        ("The Ways stars Ann Lee who was born in 1990.", True),
        ("The director of The Ways was born in 1990.", True),
    ],
)
def test_false_dates_are_refuted_of_one_thing_alone(text, one):
    pages = corpus(*(page(title, f"{title} is old .") for title in ("Ann Lee", "The Ways", "A Song")))
    found = attacked(pages, claims((text, Label.SUPPORTS, (("Ann_Lee_0",),))), [AttackKind.DATE], 9)
    assert {attack.label for attack in found} == ({Label.SUPPORTS, Label.REFUTES} if one else {Label.SUPPORTS})


def test_questions_keep_their_mark_and_names_their_small_letter():
    def made(text):
        given = claims((text, Label.SUPPORTS, (("Osk_0",),)))
        return texts(corpus(page("Osk", "Osk is old .")), given, [AttackKind.DATE], 9)

    asked, small = made("Was Wham! formed in 1981?"), made("iPhone was released in 2007.")
    assert asked and all(re.fullmatch(r"Was Wham! formed .*\w\?", text) for text in asked)
    assert small and all(text.startswith("iPhone was") for text in small)
