"""Plain text, messages and front matter: items, signatures and quotes, and lines that look like one."""

import email.message
import time

import pytest
from made import blocks

from lisax.documents import read

CLOSED = (
    b"From a Thu Mar  4 10:00:00 2021\nSubject: One\n\nThe dock is shut.\n\n>From 2019 on.\n> He wrote.\n>>From me.\n"
)


@pytest.mark.parametrize(
    ("text", "items", "paragraphs"),
    [
        (
            "It employed a total of\n120. In the year before there were 95. It was about\n12) percent higher.",
            [],
            ["It employed a total of 120. In the year before there were 95. It was about 12) percent higher."],
        ),
        ("The temperature fell to\n- 15 degrees.", [], ["The temperature fell to - 15 degrees."]),
        ("12. März 2021 wurde sie eröffnet.", [], ["12. März 2021 wurde sie eröffnet."]),
        ("5. No dogs.\n6. No cats", ["No dogs.", "No cats"], []),
        ("Rules\n1. No dogs\n2. No cats\n   at all\n3. No\n9. Cows", ["No dogs", "No cats", "No"], ["Rules", "at all", "9. Cows"]),
        ("Present\n- Ann\n- 2 guests", ["Ann", "2 guests"], ["Present"]),
        ("They are (see below):\n7) one\n(b) two", ["one"], ["They are (see below):", "(b) two"]),
    ],
)  # fmt: skip
def test_a_number_within_a_sentence_begins_no_item(tmp_path, text, items, paragraphs):
    (tmp_path / "a.txt").write_text(text)
    found = blocks(tmp_path / "a.txt")
    assert [text for kind, text in found if kind == "item"] == items
    assert [text for kind, text in found if kind == "paragraph"] == paragraphs


def message(path, plain, page=None):
    made = email.message.EmailMessage()
    made["Subject"] = "Boats"
    made.set_content(plain)
    if page is not None:
        made.add_alternative(page, subtype="html")
    path.write_bytes(made.as_bytes())
    return blocks(path)


def test_the_page_of_a_message_is_read_if_it_says_more(tmp_path):
    table = "<table><tr><th>Boat<th>Price<tr><td>Heron<td>900</table>"
    found = message(tmp_path / "a.eml", "The boats Heron and Swift were ordered by Ann.", f"<p>Ordered.</p>{table}")
    assert found == [("paragraph", "Ordered."), ("table", [("Boat", "Price"), ("Heron", "900")])]
    found = message(tmp_path / "a.eml", "No HTML.", "<p>Ann ordered the boats Heron and Swift.</p>")
    assert found == [("paragraph", "Ann ordered the boats Heron and Swift.")]
    found = message(tmp_path / "a.eml", "Ordered.\n\n-- \nAnn Bee, Tarn", "<p>Ordered.</p><p>Ann Bee, Tarn</p>")
    assert found == [("paragraph", "Ordered.")]


def test_only_the_last_line_of_a_signature_s_form_begins_it(tmp_path):
    found = message(tmp_path / "a.eml", "Of the visit:\n--\nThe pier was sold.\n-- \nThe hut was not.\n-- \nAnn")
    assert [text for _, text in found] == ["Of the visit:", "The pier was sold.", "The hut was not."]


def test_a_line_of_a_mailbox_that_begins_with_from_is_no_quote(tmp_path):
    (tmp_path / "a.mbox").write_bytes(CLOSED)
    assert [text for _, text in blocks(tmp_path / "a.mbox")] == ["One", "The dock is shut.", "From 2019 on."]


def test_author_date_and_status_of_front_matter_are_read(tmp_path):
    front = "title: Orm\nauthor: 'Ann Bee'\nDate: 2023-05-04\nstatus: [draft]\ntags: river\nmore:\n  status: inner"
    (tmp_path / "a.md").write_text(f"---\n{front}\n---\nThe Orm floods.\n")
    assert read(tmp_path / "a.md").title == "Orm"
    assert [text for _, text in blocks(tmp_path / "a.md")] == ["author: Ann Bee", "Date: 2023-05-04", "The Orm floods."]


@pytest.mark.parametrize("line", ["- ", "1. a", "12. ", "a" + " " * 100, "-- "])
def test_long_text_is_read_in_no_time(tmp_path, line):
    started = time.process_time()
    message(tmp_path / "a.eml", "One.\n" + f"{line}\n" * 20_000)
    assert time.process_time() - started < 4
