"""Packs that follow one another while files change: what must hold at every step."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from contextpack.bundle import Pack
from contextpack.model import Detail, Format, Outcome, Style
from contextpack.plan import plan
from contextpack.render import header, render_piece
from contextpack.request import Forced, LedgerScope, Order, Request, Strategy
from contextpack.stable import MARGIN, ChangeKind
from contextpack.text import Lines, split_lines
from harness.memory import COUNT, packed, snapshot_of

WORDS = ["cart", "total", "login", "session", "parse", "render", "cache"]

names = st.sampled_from(WORDS)
functions = st.builds(
    "def {}_{}({}):\n{}    return {}\n\n\n".format,
    names,
    names,
    names,
    st.lists(st.builds("    {} = {}({})\n".format, names, names, names), max_size=12).map(
        "".join
    ),
    names,
)
classes = st.builds("class {}:\n    {} = 1\n\n".format, names, names)
definitions = st.one_of(functions, functions, classes)
contents = st.lists(definitions, max_size=6).map("".join)
paths = st.builds("{}{}.py".format, st.sampled_from(["", "src/", "src/deep/", "tests/"]), names)


def style_of(request: Request) -> Style:
    return Style(request.text_format, line_numbers=request.line_numbers)


class LivePack(RuleBasedStateMachine):
    """A workspace in memory whose pack is asked for again after every few edits."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}
        self.request = self.asked = Request(query="")
        self.pack: Pack | None = None

    @initialize(
        files=st.dictionaries(paths, contents, min_size=2, max_size=8),
        query=st.lists(names, max_size=3).map(" ".join),
        budget=st.integers(40, 1200),
        strategy=st.sampled_from(Strategy),
        ordering=st.sampled_from([Order.NATURAL, Order.STABLE]),
        text_format=st.sampled_from(Format),
        line_numbers=st.booleans(),
    )
    def begin(
        self,
        files: dict[str, str],
        query: str,
        budget: int,
        strategy: Strategy,
        ordering: Order,
        text_format: Format,
        line_numbers: bool,
    ) -> None:
        self.files = files
        self.request = Request(
            query=query,
            budget_tokens=budget,
            strategy=strategy,
            ordering=ordering,
            text_format=text_format,
            line_numbers=line_numbers,
        )
        self.ask()

    @rule(path=paths, content=contents)
    def write(self, path: str, content: str) -> None:
        self.files[path] = content

    @precondition(lambda self: self.files)
    @rule(data=st.data(), definition=definitions)
    def insert(self, data: st.DataObject, definition: str) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        lines = split_lines(self.files[path])
        place = data.draw(st.integers(0, len(lines)))
        self.files[path] = "".join([*lines[:place], definition, *lines[place:]])

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        lines = split_lines(self.files[path])
        start = data.draw(st.integers(0, len(lines)))
        self.files[path] = "".join([*lines[:start], *lines[start + 3 :]])

    @precondition(lambda self: self.files)
    @rule(data=st.data(), path=paths)
    def copy(self, data: st.DataObject, path: str) -> None:
        self.files[path] = self.files[data.draw(st.sampled_from(sorted(self.files)))]

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        del self.files[data.draw(st.sampled_from(sorted(self.files)))]

    @rule(budget=st.integers(40, 1200))
    def spend(self, budget: int) -> None:
        self.request = replace(self.request, budget_tokens=budget)

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def pin(self, data: st.DataObject) -> None:
        self.request = replace(
            self.request, pins=(data.draw(st.sampled_from(sorted(self.files))),)
        )

    @rule()
    def ask(self) -> None:
        pins = tuple(path for path in self.request.pins if path in self.files)
        self.request = replace(self.request, pins=pins)
        before = self.pack
        pack = packed(self.files, self.request, previous=before)
        assert pack.tokens == COUNT(pack.text) <= self.request.budget_tokens
        assert_nothing_is_stale(pack, self.files)
        assert_every_candidate_is_in_the_ledger_once(pack, self.files)
        alone = packed(self.files, self.request)
        if before is None or self.request != self.asked:
            assert set(alone.standing.pieces) == set(pack.standing.pieces)
        self.asked = self.request
        assert pack.score + 1e-6 >= (1 - MARGIN) * alone.score
        assert pack.given_up == max(0.0, round(alone.score - pack.score, 6))
        again = packed(self.files, self.request, previous=pack)
        assert (again.text, again.revision, again.changes) == (pack.text, pack.revision, ())
        if before is not None:
            assert pack.revision == before.revision + (pack.text != before.text)
            assert_the_text_begins_as_before(before, pack, style_of(self.request))
            assert_changes_are_the_differences(before, pack, style_of(self.request))
        self.pack = pack


def assert_nothing_is_stale(pack: Pack, files: Mapping[str, str]) -> None:
    for piece in pack.standing.pieces:
        lines = split_lines(files[piece.path])
        assert piece.n_lines == len(lines)
        for section in piece.sections:
            if section.lines is None:
                assert section.text in files[piece.path]
            else:
                shown = lines[section.lines.start - 1 : section.lines.end]
                assert section.text == "".join(shown)


def assert_every_candidate_is_in_the_ledger_once(pack: Pack, files: Mapping[str, str]) -> None:
    assert sorted(files) == sorted(entry.path for entry in pack.ledger)
    included = [e.path for e in pack.ledger if e.outcome is not Outcome.EXCLUDED]
    assert included == [item.path for item in pack.items]


def assert_the_text_begins_as_before(before: Pack, pack: Pack, style: Style) -> None:
    if not before.items or not pack.items:
        return
    new = {piece.path: render_piece(piece, style) for piece in pack.standing.pieces}
    parts = [header((), style)]
    for piece in before.standing.pieces:
        part = render_piece(piece, style)
        if new.get(piece.path) != part:
            break
        parts.append(part)
    assert before.text.startswith("".join(parts))
    assert pack.text.startswith("".join(parts))


def assert_changes_are_the_differences(before: Pack, pack: Pack, style: Style) -> None:
    old = {piece.path: render_piece(piece, style) for piece in before.standing.pieces}
    new = {piece.path: render_piece(piece, style) for piece in pack.standing.pieces}
    expected = dict.fromkeys(new.keys() - old.keys(), ChangeKind.ADDED)
    expected |= dict.fromkeys(old.keys() - new.keys(), ChangeKind.REMOVED)
    expected |= {
        path: ChangeKind.CHANGED for path in old.keys() & new.keys() if old[path] != new[path]
    }
    assert expected == {change.path: change.kind for change in pack.changes}
    assert len(pack.changes) == len(expected)


TestLivePack = LivePack.TestCase
# Each step asks three times.
TestLivePack.settings = settings(
    max_examples=settings().max_examples // 2, stateful_step_count=12
)


def module(name: str, n_functions: int, word: str = "cart") -> str:
    """A file whose functions are about a word, each of some sixty tokens."""
    return "".join(
        f"def {word}_{name}_{k}(items):\n"
        + "".join(f"    {name}_{k}_{n} = items[{n}] * {k}\n" for n in range(5))
        + f"    return {word}\n\n\n"
        for k in range(n_functions)
    )


# More files than the budget has room for, if each shows a single function.
TREES = (
    "apple", "beech", "cedar", "dogwood", "elder", "fig", "gum", "hazel", "ivy", "juniper", "kauri",
    "larch", "maple", "nutmeg", "oak", "pine", "quince", "rowan", "spruce", "teak", "upas", "willow",
)  # fmt: skip
SHOP = {f"{name}.py": module(name, 4) for name in TREES}
ASKED = Request(query="cart", budget_tokens=1500)


def kinds(pack: Pack) -> dict[str, tuple[str, str]]:
    return {change.path: (change.kind.value, change.cause.value) for change in pack.changes}


def test_an_edit_elsewhere_changes_no_byte() -> None:
    first = packed(SHOP, ASKED)
    left_out = next(path for path in SHOP if path not in {i.path for i in first.items})
    now = {
        **SHOP,
        left_out: SHOP[left_out].replace("items[1]", "items[2]"),
        "new.md": "# Other\n",
    }
    second = packed(now, ASKED, previous=first)
    assert (first.text, first.revision, ()) == (second.text, second.revision, second.changes)


def test_an_edited_file_is_shown_anew_in_its_place() -> None:
    first = packed(SHOP, ASKED)
    path = first.items[1].path
    now = {**SHOP, path: SHOP[path].replace("items[1]", "items[7]")}
    second = packed(now, ASKED, previous=first)
    assert [item.path for item in first.items] == [item.path for item in second.items]
    assert {path: ("changed", "edited")} == kinds(second)
    assert (2, True) == (second.revision, "items[7]" in second.text)


def test_a_newcomer_within_the_margin_stays_out() -> None:
    first = packed(SHOP, ASKED)
    # As good as the others, and before them by its path: a pack made anew begins with it.
    now = {**SHOP, "a.py": module("aspen", 4)}
    assert packed(now, ASKED).items[0].path == "a.py"
    second = packed(now, ASKED, previous=first)
    assert first.text == second.text
    assert 0 <= second.given_up <= MARGIN * packed(now, ASKED).score


def test_a_newcomer_above_the_margin_takes_the_place_of_the_worst() -> None:
    first = packed(SHOP, ASKED)
    now = {**SHOP, "cart.py": module("cart", 4, "cart_cart")}
    second = packed(now, ASKED, previous=first)
    assert ("added", "ranked") == kinds(second)["cart.py"]
    assert "removed" in {kind for kind, _ in kinds(second).values()}
    kept = [item.path for item in first.items if item.path in {i.path for i in second.items}]
    # What stays stands before what is new.
    assert [*kept, "cart.py"] == [item.path for item in second.items][: len(kept) + 1]


def test_a_file_that_is_gone_leaves_and_what_fits_takes_the_room() -> None:
    first = packed(SHOP, ASKED)
    gone = first.items[0].path
    now = {path: text for path, text in SHOP.items() if path != gone}
    second = packed(now, ASKED, previous=first)
    assert ("removed", "gone") == kinds(second)[gone]
    assert second.tokens > 0.9 * first.tokens


def test_a_copy_of_what_stands_stays_out() -> None:
    first = packed(SHOP, ASKED)
    shown = first.items[0].path
    now = {**SHOP, "aaa.py": SHOP[shown]}
    second = packed(now, ASKED, previous=first)
    assert first.text == second.text


def test_what_the_request_names_comes_in_whatever_stands() -> None:
    first = packed(SHOP, ASKED)
    pinned = Request(query="cart", budget_tokens=1500, pins=("elder.py",))
    second = packed(SHOP, pinned, previous=first)
    expected = {"elder.py": ("added", "pinned")} if "elder.py" not in first.text else {}
    assert expected.items() <= kinds(second).items()
    assert "elder.py" in {item.path for item in second.items}


def test_what_is_not_named_any_more_leaves_to_what_had_the_place() -> None:
    first = packed(SHOP, ASKED)
    left_out = next(path for path in SHOP if path not in {i.path for i in first.items})
    pinned = packed(SHOP, replace(ASKED, pins=(left_out,)), previous=first)
    assert {left_out, "removed"} <= {i.path for i in pinned.items} | {
        k for k, _ in kinds(pinned).values()
    }
    after = packed(SHOP, ASKED, previous=pinned)
    assert set(first.standing.pieces) == set(after.standing.pieces)
    assert ("removed", "over-budget") == kinds(after)[left_out]


def test_a_file_in_another_form_gives_its_room_back() -> None:
    path = "apple.py"
    whole = packed(SHOP, replace(ASKED, details=(Forced(path, Detail.WHOLE),)))
    outline = replace(ASKED, details=(Forced(path, Detail.OUTLINE),))
    after = packed(SHOP, outline, previous=whole)
    assert set(packed(SHOP, outline).standing.pieces) == set(after.standing.pieces)
    stood = [item.path for item in whole.items]
    kept = [item.path for item in after.items if item.path in stood]
    assert (
        [path for path in stood if path in kept]
        == kept
        == [i.path for i in after.items][: len(kept)]
    )


def test_asking_to_see_more_of_the_ledger_is_no_other_question() -> None:
    first = packed(SHOP, ASKED)
    now = {**SHOP, "a.py": module("aspen", 4)}
    second = packed(now, replace(ASKED, ledger=LedgerScope.ALL), previous=first)
    assert first.text == second.text


def test_a_smaller_budget_drops_the_worst_and_keeps_the_beginning() -> None:
    first = packed(SHOP, ASKED)
    second = packed(SHOP, Request(query="cart", budget_tokens=700), previous=first)
    assert second.tokens <= 700
    first_part = render_piece(first.standing.pieces[0], style_of(ASKED))
    assert first_part in second.text


def test_an_order_by_path_is_kept_with_a_predecessor_too() -> None:
    by_path = Request(query="cart", budget_tokens=1500, ordering=Order.PATH)
    first = packed(SHOP, by_path)
    second = packed(
        {**SHOP, "cart.py": module("cart", 4, "cart_cart")}, by_path, previous=first
    )
    paths = [item.path for item in second.items]
    assert sorted(paths) == paths


def test_lines_that_end_in_blank_ones_count_for_the_score() -> None:
    """A bundle shows two blank lines at the end of a range, and lacks nothing then."""
    function = "def {0}(cart):\n    value = cart.{0}\n    return value\n\n\n\n\n"
    filler = "".join(f"# number {n} of what nobody asks for {7 * n}\n" for n in range(60))
    files = {
        "a.py": "".join(map(function.format, ("total", "login", "render"))),
        "b.py": f"import os\n\n{function.format('other')}{filler}\n{function.format('total')}",
    }
    request = Request(query="total login cart", budget_tokens=2000)
    parts = plan(snapshot_of(files), request).candidates
    pack = packed(files, request)
    shown = {item.path: item.ranges for item in pack.items}
    (start,) = (part.lines for part in parts if part.path == "b.py" and part.lines.start == 1)
    assert shown["b.py"][0] == Lines(1, 7)
    assert start.end > 7
    assert pack.score == pytest.approx(sum(part.score for part in parts))
