"""Markdown that is hard: input that would take a bad reader minutes."""

import time

import pytest

from lisax.documents import read


def texts(path):
    return [sentence.text for sentence in read(path).page("a").sentences]


@pytest.mark.parametrize(
    "bad",
    [
        f"# a{' ' * 5_000}#x",
        *(mark * 20_000 for mark in ("__a ", "`a ", "[a](", "![](", "](")),
        "J. B. Name, " * 10_000,
    ],
)
def test_bad_markdown_is_read_in_no_time(tmp_path, bad):
    (tmp_path / "a.md").write_text(f"Before. And on.\n\n{bad}\n")
    started = time.process_time()
    assert texts(tmp_path / "a.md")[:2] == ["Before.", "And on."]
    assert time.process_time() - started < 4  # it takes one, and grows with the length


def test_indented_code_is_no_evidence_and_what_lists_and_notes_continue_with_is(tmp_path):
    (tmp_path / "a.md").write_text(
        "One.\n\n    x = 'Two.'\n\n    | a | b |\n    |---|---|\n    | 1 | 2 |\n\nThree.\n\n"
        "- Four.\n\n      Five.\n\n        Six.\n\n1. Seven.\n\n    Eight.\n\nNine:\n\n    - Ten.\n\n"
        "    Eleven began\nthe paragraph.\n\n[^1]: Twelve came.\n\n    Thirteen.\n"
    )
    assert [block.kind.value for block in read(tmp_path / "a.md").blocks].count("table") == 0
    found = " ".join(texts(tmp_path / "a.md"))
    names = "One Two Three Four Five Six Seven Eight Nine Ten Eleven Twelve Thirteen".split()
    assert [name for name in names if name not in found] == ["Two"]
