"""Headers of tables as examples: whose operation is known, and files that read back equal."""

from lisax.formats.parts import OperationExample
from lisax.records import Operation, Question, Table
from lisax.sampling import operation_examples

TABLES = {name: Table(name, "", ("year", "club"), (("1921", "Tirol"),)) for name in ("t", "u")}


def test_one_of_each_question_whose_operation_and_table_are_known():
    questions = [
        Question("a", "A?", evidence=("u#r0c0", "t#r0c0"), operation=Operation.MAX),
        Question("b", "B?", evidence=("page_3", "t"), operation=Operation.COUNT),
        Question("c", "C?", evidence=("t#r0c0",)),
        Question("d", "D?", evidence=("v",), operation=Operation.SUM),
    ]
    assert list(operation_examples.examples(questions, TABLES.get)) == [
        OperationExample("a", "A?", "u", ("year", "club"), Operation.MAX),
        OperationExample("b", "B?", "t", ("year", "club"), Operation.COUNT),
    ]
