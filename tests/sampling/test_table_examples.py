"""Example builders over a handful of tables."""

from collections import Counter

from lisax.formats.examples import read_examples
from lisax.formats.tables import TableExample, TableView
from lisax.records import Claim, Label, Table
from lisax.sampling import table_examples as built

TABLES = {
    f"t{i}": Table(
        f"t{i}",
        f"Title {i}",
        ("a", "b", "c"),
        ((f"{i}0", f"{i}1", f"{i}2"),) * 2,
        caption="" if i % 2 else f"Caption {i}",
    )
    for i in range(8)
}
ALL = list(TABLES)

FIRST = Claim("first", "gold is first", Label.SUPPORTS, (("t0",),))
LAST = Claim("last", "gold is last", Label.REFUTES, (("t7",),))
NEUTRAL = Claim("neutral", "its table says nothing", Label.NOT_ENOUGH_INFO, (("t6",),))
NOTHING = Claim("nothing", "no table at all", Label.NOT_ENOUGH_INFO)
ORPHAN = Claim("orphan", "no gold table", Label.SUPPORTS)
ABSENT = Claim("absent", "gold is not in the collection", Label.REFUTES, (("t99",),))
CLAIMS = [FIRST, LAST, NEUTRAL, NOTHING, ORPHAN, ABSENT]
RUN = {claim.id: ALL for claim in CLAIMS}


def columns(table, claim):
    return (0, 2)


def ids(examples):
    return {example.claim_id: example.unit_ids for example in examples}


def test_closed_is_the_gold_table_cut_to_its_columns():
    skipped = Counter()
    examples = list(built.closed(CLAIMS, TABLES.get, columns, skipped=skipped))
    assert ids(examples) == {"first": ["t0"], "last": ["t7"], "neutral": ["t6"]}
    assert examples[0].tables[0] == TableView("t0", "Caption 0", ("a", "c"), (("00", "02"), ("00", "02")))
    assert examples[1].tables[0].caption == "Title 7" and examples[1].gold == (True,)
    assert skipped == {built.NO_GOLD: 3, built.NOT_IN_COLLECTION: 1}


def test_retrieved_is_what_a_model_meets_in_use():
    skipped = Counter()
    run = RUN | {"last": ["t1", "gone", "t7"], "orphan": [], "neutral": ["t6", "t1", "t2", "t3"]}
    examples = {e.claim_id: e for e in built.retrieved(CLAIMS, run, TABLES.get, columns, 3, skipped=skipped)}
    assert {i: e.unit_ids for i, e in examples.items()} == {
        "first": ALL[:3],
        "last": ["t1", "t7"],
        "neutral": ["t6", "t1", "t2"],
        "nothing": ALL[:3],
        "orphan": [],
        "absent": ALL[:3],
    }
    assert examples["last"].gold == (False, True) and examples["neutral"].gold == (True, False, False)
    assert dict(skipped) == {built.NOT_RETRIEVED: 1, built.NOT_IN_COLLECTION: 1}
    none = Counter()
    list(built.retrieved([FIRST], RUN, TABLES.get, columns, 3, skipped=none))
    assert not none.keys()


def test_in_training_gold_takes_the_last_place_where_it_is_missing():
    skipped = Counter()
    examples = list(built.training(CLAIMS, RUN, TABLES.get, columns, 3, skipped=skipped))
    found = ids(examples)
    assert found == {"first": ALL[:3], "last": ["t0", "t1", "t7"], "neutral": ["t0", "t1", "t6"], "nothing": ALL[:3]}
    assert all(sum(e.gold) == 1 for e in examples if e.claim_id != "nothing")
    assert skipped == {built.NO_GOLD: 2, built.NOT_IN_COLLECTION: 1}
    assert ids(built.training([LAST], RUN, TABLES.get, columns, 1)) == {"last": ["t7"]}


def test_where_fewer_were_retrieved_gold_is_added_and_nothing_lost():
    run = {"last": ["t1"], "nothing": []}
    skipped = Counter()
    examples = built.training([LAST, NOTHING, Claim("u", "unlabelled")], run, TABLES.get, columns, 3, skipped=skipped)
    assert ids(examples) == {"last": ["t1", "t7"]} and skipped[built.NOT_RETRIEVED] == 1


def test_any_of_several_gold_tables_will_do():
    claim = Claim("two", "decided by either", Label.SUPPORTS, (("t99",), ("t5",), ("t2",)))
    (example,) = built.training([claim], {"two": ALL}, TABLES.get, columns, 3)
    assert example.unit_ids == ALL[:3] and example.gold == (False, False, True)
    assert ids(built.closed([claim], TABLES.get, columns)) == {"two": ["t5"]}


def test_files_of_all_depths_read_back_equal(tmp_path):
    counts = built.write_all(
        tmp_path, "train", [*CLAIMS, Claim("u", "?")], RUN, TABLES.get, columns, in_training=True, depths=(1, 3)
    )
    assert counts == {"tables_closed": 3, "tables_one": 4, "tables_top3": 4}
    seen = list(read_examples(tmp_path / "tables_top3.train.jsonl", TableExample))
    assert seen == list(built.training(CLAIMS, RUN, TABLES.get, columns, 3))
    found = built.write_all(tmp_path, "dev", CLAIMS, RUN, TABLES.get, columns, in_training=False, depths=(3,))
    assert found == {"tables_closed": 3, "tables_top3": 6}


def test_unrelated_tables_do_not_say_enough():
    whole = list(built.unrelated(CLAIMS, RUN, TABLES.get, columns, 1.0))
    assert [example.claim_id for example in whole] == ["first", "last", "orphan", "absent"]
    assert {example.label for example in whole} == {Label.NOT_ENOUGH_INFO} and whole[0].unit_ids != ["t0"]
    assert all(example.gold == (False,) for example in whole)
    assert whole == list(built.unrelated(CLAIMS, RUN, TABLES.get, columns, 1.0))
    assert not list(built.unrelated(CLAIMS, RUN, TABLES.get, columns, 0.0))
    assert not list(built.unrelated([FIRST], {"first": ["t0"]}, TABLES.get, columns, 1.0))
