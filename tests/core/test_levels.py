"""The strategy that chooses for each file how much of it to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.admission import Target, Way, way
from contextpack.bundle import Pack, desk_of
from contextpack.ledger import Item
from contextpack.levels import FILE_TOKENS
from contextpack.model import Detail, Outcome
from contextpack.plan import plan
from contextpack.request import Request, Strategy
from contextpack.text import Lines
from harness.memory import COUNT, packed, snapshot_of

BODY = "".join(f"    total = total.replaced({number}, 'total')\n" for number in range(30))


def long_file(name: str, word: str) -> str:
    return f"def {name}({word}):\n{BODY}    return {word}\n"


def leveled(files: dict[str, str], query: str, budget_tokens: int) -> Pack:
    return packed(
        files, Request(query=query, budget_tokens=budget_tokens, strategy=Strategy.LEVELS)
    )


def item_of(pack: Pack, path: str) -> Item:
    (item,) = (item for item in pack.items if item.path == path)
    return item


def test_a_file_that_is_not_worth_its_parts_is_mentioned() -> None:
    files = {f"m{i:02}.py": long_file(f"comma_{i:02}", "comma") for i in range(20)}
    pack = leveled(files, "comma", 4000)
    mentioned = [item for item in pack.items if item.ranges == (Lines(1, 1),)]
    whole = [item for item in pack.items if item.detail is Detail.WHOLE]
    assert whole
    assert mentioned
    assert len(whole) + len(mentioned) >= len(pack.items) - 1
    # A mention is told as what it is: a range of lines.
    assert {item.detail for item in mentioned} == {Detail.CHUNKS}
    outcomes = {entry.path: entry.outcome for entry in pack.ledger}
    assert all(outcomes[item.path] is Outcome.CHUNKS for item in mentioned)


def test_a_file_of_many_relevant_definitions_is_outlined_where_they_do_not_fit() -> None:
    big = "".join(f"def comma_{i}(comma):\n{BODY}    return comma\n\n\n" for i in range(12))
    pack = leveled({"big.py": big}, "comma", 200)
    item = item_of(pack, "big.py")
    assert item.detail is Detail.OUTLINE
    assert len(item.ranges) == 12
    assert "` (outline)\n" in pack.text
    (entry,) = (entry for entry in pack.ledger if entry.path == "big.py")
    assert entry.outcome is Outcome.OUTLINE


def test_why_says_at_which_level_a_file_is_in() -> None:
    files = {f"m{i:02}.py": long_file(f"comma_{i:02}", "comma") for i in range(20)}
    files["big.py"] = "".join(f"def comma_{i}(x):\n{BODY}    return x\n\n" for i in range(9))
    made = snapshot_of(files)
    asked = Request(query="comma", budget_tokens=4000, strategy=Strategy.LEVELS)
    planned, pack = plan(made, asked), packed(files, asked, made)
    desk = desk_of(asked, made, files, COUNT, asked.budget_tokens)
    ways = {item.path: way(pack, planned, Target(item.path), desk) for item in pack.items}
    levels = {Detail.OUTLINE: Way.OUTLINE, Detail.WHOLE: Way.CHOSEN, Detail.CHUNKS: Way.POINTER}
    expected = {
        item.path: levels[item.detail]
        for item in pack.items
        if item.detail is not Detail.CHUNKS or item.ranges == (Lines(1, 1),)
    }
    assert {path: ways[path] for path in expected} == expected
    assert {Way.OUTLINE, Way.CHOSEN, Way.POINTER} == set(expected.values())


def test_the_best_parts_of_a_large_file_stand_without_the_others() -> None:
    big = "".join(
        f"def {'comma' if i == 7 else 'other'}_{i}(total):\n{BODY}    return {i}\n\n\n"
        for i in range(12)
    )
    pack = leveled({"big.py": big}, "comma", 2000)
    item = item_of(pack, "big.py")
    assert item.detail is Detail.CHUNKS
    assert "def comma_7(total):" in pack.text
    assert "return 7" in pack.text


def test_a_file_all_of_whose_parts_are_good_stands_whole() -> None:
    text = "".join(f"def comma_{i}(comma):\n{BODY}    return comma\n\n\n" for i in range(3))
    pack = leveled({"a.py": text, "b.py": long_file("other", "total")}, "comma", 8000)
    assert item_of(pack, "a.py").detail is Detail.WHOLE


def test_the_gap_is_reported_and_less_than_one_part_is_worth() -> None:
    files = {f"m{i:02}.py": long_file(f"comma_{i:02}", "comma") for i in range(20)}
    tight, ample = leveled(files, "comma", 3000), leveled(files, "comma", 100_000)
    assert ample.optimality_gap == 0
    assert tight.optimality_gap is not None
    best = max(item.score for item in ample.items)
    most = max(item.tokens for item in ample.items) + FILE_TOKENS
    assert 0 <= tight.optimality_gap <= best * most


def test_what_the_request_names_is_paid_for_first() -> None:
    files = {f"m{i:02}.py": long_file(f"comma_{i:02}", "comma") for i in range(20)}
    request = Request(
        query="comma", budget_tokens=2000, strategy=Strategy.LEVELS, pins=("m19.py",)
    )
    pack = packed(files, request)
    assert pack.items[0].path == "m19.py"
    assert item_of(pack, "m19.py").detail is Detail.WHOLE
    assert pack.tokens <= 2000


@pytest.mark.parametrize("budget_tokens", [360, 1200, 4000])
def test_a_pack_that_follows_keeps_the_levels_of_what_did_not_change(
    budget_tokens: int,
) -> None:
    files = {f"m{i:02}.py": long_file(f"comma_{i:02}", "comma") for i in range(9)}
    files["big.py"] = "".join(
        f"def comma_{i}(comma):\n{BODY}    return comma\n\n\n" for i in range(12)
    )
    request = Request(query="comma", budget_tokens=budget_tokens, strategy=Strategy.LEVELS)
    first = packed(files, request)
    files["unrelated.py"] = "x = 1\n"
    second = packed(files, request, previous=first)
    assert second.text == first.text
    assert {i.path: i.detail for i in second.items} == {i.path: i.detail for i in first.items}
    last = first.items[-1].path
    files[last] = files[last].replace("replaced(3,", "replaced(33,")
    third = packed(files, request, previous=second)
    assert third.tokens <= budget_tokens
    kept = {i.path: i.ranges for i in third.items if i.path != last}
    assert kept == {i.path: i.ranges for i in second.items if i.path in kept}


@given(st.integers(100, 6000))
def test_more_than_the_budget_is_never_taken(budget_tokens: int) -> None:
    files = {f"m{i:02}.py": long_file(f"comma_{i:02}", "comma") for i in range(6)}
    pack = leveled(files, "comma", budget_tokens)
    assert pack.tokens <= budget_tokens
    assert len({item.path for item in pack.items}) == len(pack.items)
