"""What a query is taken apart into."""

from contextpack.query import TASK_WEIGHT, question


def test_words_joined_by_a_sign_are_looked_for_as_one_word_too() -> None:
    assert question("limit in T-SQL of sub-queries").joined == ("tsql", "subquer")
    assert question("no-multi-assign").joined == ("nomulti", "multiassign")
    assert question("trailing comma").joined == ()


def test_everything_that_is_said_counts_for_a_name() -> None:
    assert {"no", "multi", "assign", "trailingcomma"} <= question(
        "no-multi-assign of a trailing comma"
    ).said


def test_what_is_to_be_done_counts_less() -> None:
    assert question("fix comma").weights == {"fix": TASK_WEIGHT, "comma": 1.0}
