"""What a query is taken apart into."""

import pytest

from contextpack.query import MAX_MENTIONS, MAX_QUERY_CHARS, TASK_WEIGHT, question


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


FORM = """### Describe the bug
<!-- A clear and concise
description -->
The comma is lost.

**Steps to reproduce**
- [x] I have searched the issues
Environment variables matter.

### Versions
_No response_
<!-- never closed"""


def test_what_a_form_prints_is_not_said_by_anybody() -> None:
    assert list(question(FORM).words) == [
        "comma", "lost", "Environment", "variables", "matter", "never", "closed",
    ]  # fmt: skip


def test_a_query_that_is_nothing_but_a_form_stays_what_it_is() -> None:
    assert list(question("### Versions").words) == ["Versions"]


TRACES = {
    "python": """Traceback (most recent call last):
  File "/app/outer.py", line 3, in <module>
    main()
  File "/app/inner.py", line 7, in main
    raise ValueError
ValueError: comma""",
    "javascript": """TypeError: comma
    at inner (/app/inner.js:7:11)
    at Object.<anonymous> (/app/outer.js:3:1)""",
    "java": """java.lang.IllegalStateException: comma
\tat app.Inner.main(inner.java:7)
\tat app.Outer.main(outer.java:3)""",
    "go": """goroutine 1 [running]:
main.inner(...)
\t/app/inner.go:7 +0x1d
main.main()
\t/app/outer.go:3 +0x2b""",
    "rust": """thread 'main' panicked:
   0: app::inner
             at ./inner.rs:7:5
   1: app::main
             at ./outer.rs:3:5""",
}


@pytest.mark.parametrize("language", TRACES)
def test_the_innermost_frame_of_a_trace_comes_first(language: str) -> None:
    frames = [
        (mention.path.rpartition("/")[2].partition(".")[0], mention.line)
        for mention in question(TRACES[language]).mentions
        if mention.line is not None
    ]
    assert frames == [("inner", 7), ("outer", 3)]


def test_what_is_named_in_words_comes_before_frames() -> None:
    (named, *frames) = question("see a.py\n" + TRACES["python"]).mentions
    assert (named.path, named.is_frame) == ("a.py", False)
    assert all(frame.is_frame for frame in frames)


def test_of_a_very_long_query_the_beginning_and_the_end_are_read() -> None:
    asked = question("first " + "filler " * MAX_QUERY_CHARS + "last")
    assert list(asked.weights) == ["first", "filler", "last"]
    middle = question("filler " * MAX_QUERY_CHARS + "middle " + "filler " * MAX_QUERY_CHARS)
    assert "middl" not in middle.weights
    assert "middl" in question("filler middle filler").weights


def test_so_many_files_are_mentioned_at_most() -> None:
    named = question(" ".join(f"src/file{n}.py" for n in range(MAX_MENTIONS + 1))).mentions
    assert [mention.path for mention in named] == [
        f"src/file{n}.py" for n in range(MAX_MENTIONS)
    ]
