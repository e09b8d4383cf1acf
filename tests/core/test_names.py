"""What a reply names, in the workspace and out of it."""

import pytest

from contextpack.model import Reason, Skip
from contextpack.names import MAX_HOMES, MAX_NAMES, Span, lacking, naming, spans_named
from contextpack.request import Request
from contextpack.text import Lines
from harness.memory import packed, snapshot_of

FILES = {
    "src/shop/cart.py": (
        "class Cart:\n"
        "    def add(self, item):\n"
        "        return check_stock(item)\n"
        "\n"
        "    def total_price(self):\n"
        "        return sum(self.items)\n"
    ),
    "src/shop/stock.py": "def check_stock(item):\n    return item.model_dump()\n",
    "src/shop/tax.ts": "export function taxOf(cart) {\n  return 0\n}\n",
    "src/shop/order.py": "class Order:\n    def add(self, line):\n        pass\n",
    "src/shop/__init__.py": "",
    "src/__init__.py": "",
    "tests/test_tax.py": "def taxOf(cart):\n    return 1\n\n\ndef test_tax_of_all(): ...\n",
    "tests/__init__.py": "",
    "tools/__init__.py": "",
    "Makefile": "all:\n\techo\n",
    "cmd/queue.go": "package cmd\n\nfunc (q *Queue) Drain() {}\n",
}
SKIPPED = (
    Skip(".env", Reason.SECRET),
    Skip("build/", Reason.IGNORED, ".gitignore:1: build/"),
)
SNAPSHOT = snapshot_of(FILES, SKIPPED)


def named(text: str) -> dict[str, list[tuple[str, tuple[int, int] | None]]]:
    return {
        item.name: [
            (part.path, (part.lines.start, part.lines.end) if part.lines else None)
            for part in item.spans
        ]
        for item in naming(SNAPSHOT, text).named
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see src/shop/tax.ts", {"src/shop/tax.ts": [("src/shop/tax.ts", None)]}),
        ("line `cart.py:5`, please", {"cart.py:5": [("src/shop/cart.py", (5, 5))]}),
        ("`src/shop/cart.py:2-3`", {"src/shop/cart.py:2-3": [("src/shop/cart.py", (2, 3))]}),
        ("the `Makefile`", {"Makefile": [("Makefile", None)]}),
        ("what does `check_stock` do?", {"check_stock": [("src/shop/stock.py", (1, 2))]}),
        ("show me check_stock()", {"check_stock": [("src/shop/stock.py", (1, 2))]}),
        ("run `test_tax_of_all`", {"test_tax_of_all": [("tests/test_tax.py", (5, 5))]}),
        ("and `taxOf(cart)`", {"taxOf": [("src/shop/tax.ts", (1, 3))]}),
        ("`Cart.add`", {"Cart.add": [("src/shop/cart.py", (2, 3))]}),
        ("`cart.total_price()`", {"cart.total_price": [("src/shop/cart.py", (5, 6))]}),
        ("`Queue.Drain`", {"Queue.Drain": [("cmd/queue.go", (3, 3))]}),
        (
            "`add`",
            {"add": [("src/shop/cart.py", (2, 3)), ("src/shop/order.py", (2, 3))]},
        ),
        ("```python\nprice = cart.total_price()\n```", {"cart.total_price": [("src/shop/cart.py", (5, 6))]}),
        ("```python\norder = Order()\n```", {"Order": [("src/shop/order.py", (1, 3))]}),
    ],
)  # fmt: skip
def test_files_lines_and_definitions_are_found(
    text: str, expected: dict[str, list[tuple[str, tuple[int, int] | None]]]
) -> None:
    assert expected == named(text)


@pytest.mark.parametrize(
    "text",
    [
        "Add the order to the cart and check the stock.",
        "```python\nreasons.add('late')\n```",
        "see https://example.org/src/shop/tax.ts for `--total`",
        "An Order, in prose.",
        "",
        "` `",
    ],
)
def test_words_that_are_no_names_name_nothing(text: str) -> None:
    found = naming(SNAPSHOT, text)
    assert ((), (), (), ()) == (found.named, found.left_out, found.vague, found.unknown)


def test_what_exists_nowhere_is_told_apart_from_what_others_define() -> None:
    found = naming(
        SNAPSHOT,
        "Call `apply_discount()` of `src/shop/coupons.py`, then `item.model_dump()`.\n"
        "```python\ndef brand_new(): ...\n```\n",
    )
    assert ("src/shop/coupons.py", "apply_discount") == found.unknown
    assert () == found.named


def test_files_that_are_left_out_are_named_with_their_rule() -> None:
    found = naming(SNAPSHOT, "I need `.env` and build/app.py")
    assert {name: skip.reason for name, skip in found.left_out} == {
        ".env": Reason.SECRET,
        "build/app.py": Reason.IGNORED,
    }
    assert () == found.unknown


def test_a_name_of_many_files_is_vague() -> None:
    assert 1 + MAX_HOMES == sum(path.endswith("__init__.py") for path in FILES)
    found = naming(SNAPSHOT, "`__init__.py` and `shop/__init__.py`")
    assert ("__init__.py",) == found.vague
    assert ["shop/__init__.py"] == [item.name for item in found.named]


def test_a_reply_names_a_bounded_number() -> None:
    text = " ".join(f"`no_{n}`" for n in range(2 * MAX_NAMES))
    assert MAX_NAMES == len(naming(SNAPSHOT, text).unknown)


def test_what_a_bundle_shows_is_not_lacking() -> None:
    found = spans_named(
        SNAPSHOT, ["src/shop/cart.py", "Cart.add", "total_price", "stock.py", "check_stock"]
    )
    shown = {"src/shop/cart.py": (Lines(1, 1), Lines(2, 4))}
    assert ["total_price", "stock.py", "check_stock"] == [
        item.name for item in lacking(found, shown)
    ]


def test_a_name_that_is_nothing_has_no_parts() -> None:
    found = spans_named(SNAPSHOT, ["nothing_here", "src/shop/tax.ts:2"])
    assert [(), (Span("src/shop/tax.ts", Lines(2, 2)),)] == [item.spans for item in found]


def test_a_large_definition_leaves_room_for_what_is_named_behind_it() -> None:
    methods = "".join(
        f"    def step_{n}(self, item):\n        return self.items[{n}] + item.price * {n}\n\n"
        for n in range(60)
    )
    lines = "".join(f"    total = total + offer_{n}(total)\n" for n in range(12))
    files = {"big.py": f"class Big:\n{methods}", "small.py": f"def small(total):\n{lines}"}
    pack = packed(files, Request(query="", budget_tokens=500, only=("Big", "small")))
    assert {"big.py", "small.py"} == {item.path for item in pack.items}
    assert "def step_0(" in pack.text
    assert "offer_11" in pack.text


def test_a_name_follows_its_definition_when_lines_move() -> None:
    request = Request(query="", only=("total_price",))
    moved = {**FILES, "src/shop/cart.py": "# one\n# two\n" * 9 + FILES["src/shop/cart.py"]}
    for files, first in ((FILES, 5), (moved, 23)):
        (item,) = packed(files, request).items
        assert Lines(first, first + 1) == item.ranges[-1]
