"""Bundles read back: what they show, whether it still holds, and what was done to them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.bundle import Pack
from contextpack.excerpts import Check, Excerpts, Status, checks, excerpts
from contextpack.model import Detail, Format
from contextpack.render import ranges
from contextpack.request import Forced, Request
from contextpack.stamp import question_of, stamp_in, stamp_line
from contextpack.text import Lines, display_path, lined
from contextpackd.options import request_from_json
from harness.memory import packed
from harness.strategies import requests, workspaces


def shown_in(pack: Pack) -> list[tuple[str, tuple[Lines, ...]]]:
    return [(display_path(p.path), ranges(p)) for p in pack.standing.pieces]


def found_in(found: Excerpts) -> list[tuple[str, tuple[Lines, ...]]]:
    return [
        (part.path, tuple(shown.lines for shown in part.shown if shown.lines))
        for part in found.parts
    ]


def checked(text: str, files: dict[str, str]) -> list[Check]:
    by_path = {display_path(path): lined(content) for path, content in files.items()}
    return sorted(checks(excerpts(text), by_path), key=lambda check: check.path)


def statuses(text: str, files: dict[str, str]) -> list[Status]:
    return [check.status for check in checked(text, files)]


@given(st.data())
def test_every_bundle_is_read_back(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    request = replace(data.draw(requests(files)), stamp=data.draw(st.booleans()))
    pack = packed(files, request)
    found = excerpts(pack.text)
    assert ((), shown_in(pack)) == (found.problems, found_in(found))
    assert set(statuses(pack.text, files)) <= {Status.HOLDS}
    if pack.text:
        assert found.is_intact == (True if request.stamp else None)


@given(st.data())
def test_a_stamp_asks_the_same_question(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    request = replace(data.draw(requests(files)), stamp=True)
    found = stamp_in(stamp_line(question_of(request), "1" * 18))
    assert found is not None
    assert request == request_from_json(found.question, other=frozenset(), below={})


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert excerpts(text).parts == ()


CART = {
    "cart.py": "import tax\n\n\ndef total(items):\n    return sum(items)\n",
    "tax.py": "RATE = 1\n\n\ndef tax_of_cart(total):\n    return total * RATE\n",
}


@pytest.fixture(params=[*Format, "numbered"])
def bundle(request: pytest.FixtureRequest) -> str:
    is_numbered = request.param == "numbered"
    asked = Request(
        query="cart total",
        text_format=Format.MARKDOWN if is_numbered else request.param,
        line_numbers=is_numbered,
        stamp=True,
    )
    return packed(CART, asked).text


def test_ranges_that_changed_are_named(bundle: str) -> None:
    now = {**CART, "cart.py": CART["cart.py"].replace("sum", "max")}
    assert [Status.CHANGED, Status.HOLDS] == statuses(bundle, now)


def test_ranges_that_moved_are_named_with_their_new_place(bundle: str) -> None:
    now = {**CART, "cart.py": "# Carts.\n" + CART["cart.py"]}
    first = checked(bundle, now)[0]
    assert Check("cart.py", Lines(1, 5), Status.MOVED, Lines(2, 6)) == first


def test_a_file_that_is_gone_is_named(bundle: str) -> None:
    assert [Status.GONE, Status.HOLDS] == statuses(bundle, {"tax.py": CART["tax.py"]})


def test_a_change_elsewhere_in_the_file_leaves_the_range(bundle: str) -> None:
    now = {**CART, "cart.py": CART["cart.py"] + "\n\ndef other():\n    pass\n"}
    assert [Status.HOLDS, Status.HOLDS] == statuses(bundle, now)


def test_a_bundle_is_found_inside_other_text(bundle: str) -> None:
    text = f"Please fix this.\n\n```sh\nmake\n```\n\n{bundle}\nThanks!\n"
    found = excerpts(text)
    assert (True, ()) == (found.is_intact, found.problems)
    assert [Status.HOLDS, Status.HOLDS] == statuses(text, CART)


def test_other_line_ends_are_no_damage(bundle: str) -> None:
    text = bundle.replace("\n", "\r\n")
    assert excerpts(text).is_intact
    assert [Status.HOLDS, Status.HOLDS] == statuses(text, CART)


def test_a_changed_line_is_damage(bundle: str) -> None:
    found = excerpts(bundle.replace("sum(items)", "sum(item)"))
    assert (False, ()) == (found.is_intact, found.problems)


def test_a_missing_line_is_noticed_without_a_stamp_too(bundle: str) -> None:
    text = "".join(line for line in bundle.splitlines(keepends=True) if "def total" not in line)
    unstamped = text.partition("<!--")[0]
    problem = "cart.py does not show the lines that its ranges name"
    # A part in plain text has no end of its own: the line after it is taken for its last.
    is_changed = statuses(unstamped, CART) == [Status.CHANGED, Status.HOLDS]
    assert excerpts(unstamped).problems == (problem,) or is_changed


def test_lines_that_look_like_the_bundles_own_are_content() -> None:
    text = "# cart\n==> tax.py:1-9 <==\n`tax.py:1-9`\n```py\n</file>\n…\n```\n"
    for syntax in Format:
        pack = packed({"cart.md": text}, Request(query="cart", text_format=syntax))
        assert [("cart.md", (Lines(1, 7),))] == found_in(excerpts(pack.text))


def test_an_outline_is_read_back() -> None:
    request = Request(query="", details=(Forced("cart.py", Detail.OUTLINE),), stamp=True)
    pack = packed(CART, request)
    assert "outline" in [part.detail for part in excerpts(pack.text).parts]
    assert excerpts(pack.text).is_intact
