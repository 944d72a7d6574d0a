import json
import re
from collections import Counter
from pathlib import Path

import pytest

from lisax.corpora import open_folder
from lisax.records import Claim, Table
from lisax.retrieval.linking import link, spans

TABFACT = Path(__file__).parents[3] / "shared/data/tabfact"
ROWS = (
    ("essendon", "11.11 (77)", "windy hill", "8000", "20 june 1931"),
    ("st kilda", "9.6 (60)", "junction oval", "12000", "27 june 1931"),
)
GAMES = Table(
    "t", "1931 vfl season", ("home team", "home team score", "venue", "crowd", "date"), ROWS, "1931 vfl season"
)


def linked(text: str) -> tuple[str, ...]:
    return link(Claim("c", text), GAMES)


def test_spans_grow_while_one_cell_has_their_words():
    assert linked("essendon play at windy hill on 20 june 1931") == ("essendon", "windy hill", "20 june 1931")
    assert linked("st kilda 's home team score be 9.6 (60)") == ("st kilda", "home team score", "9.6 (60)")


def test_parts_of_cells_count_where_they_say_enough():
    assert linked("in the 1931 vfl season , kilda win at junction") == ("1931 vfl season", "kilda", "junction")
    assert linked("the team from home") == ()


def test_other_forms_and_names_of_words():
    assert linked("the crowds at junction oval") == ("crowd", "junction oval")
    assert linked("the audience be 8000 in jun 1931") == ("crowd", "8000", "jun 1931")


def test_two_spans_of_a_cell_around_a_word_are_one():
    assert linked("play at junction 's oval") == ("junction oval",)


def test_tables_without_cells_link_nothing():
    assert link(Claim("c", "anything 3 goes"), Table("t", "", (), ())) == ()


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "in the 1980 summer olympics , east germany win 4 more medal than the soviet union",
            ("1980 summer olympics", "east germany", "medal", "soviet union"),
        ),
        (
            'The University of Oslo beat St. Kilda on 3 May 1999 in "A Night Out".',
            ("A Night Out", "3 May 1999", "University of Oslo", "St Kilda"),
        ),
        ("the crowd at lake oval be 14000", ("crowd", "lake oval", "14000")),
        ("it is the most", ()),
        ("The total score is 11.", ("total", "score", "11")),
        ("", ()),
        ("... ( ) \" '", ()),
    ],
)
def test_spans_of_a_claim_alone(text, expected):
    assert spans(Claim("c", text)) == expected


@pytest.mark.skipif(not TABFACT.is_dir(), reason="no ../shared/data/tabfact")
def test_links_agree_with_the_given_ones():
    given = json.loads((TABFACT / "val_linked.json").read_text())
    official = json.loads((TABFACT / "val_examples.json").read_text())
    tables = {table.id: table for table in open_folder(TABFACT).tables() if table.id in given}
    agreed = ours = theirs = 0
    for name, (texts, *_) in given.items():
        for text in texts:
            words = set(re.sub(r"#([^#]*?);-?\d+,-?\d+#", r"\1", text).split())
            claim = max(
                official[name][0], key=lambda one: 2 * len(words & set(one.split())) - len(words ^ set(one.split()))
            )
            expected = Counter(re.findall(r"#([^#]*?);-?\d+,-?\d+#", text))
            found = Counter(link(Claim("c", claim), tables[name]))
            agreed += sum((expected & found).values())
            ours, theirs = ours + sum(found.values()), theirs + sum(expected.values())
    assert agreed / ours > 0.92 and agreed / theirs > 0.97
