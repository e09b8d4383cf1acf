"""Several roots as one: what one folder around them would give, and nothing twice."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.bundle import Pack
from contextpack.joined import Member, joined, split
from contextpack.model import Reason, Skip
from contextpack.rank import rank
from contextpack.request import Request
from contextpack.snapshot import Change, Snapshot, applied
from harness.memory import history_of, packed, reading_of, snapshot_of
from harness.strategies import requests, workspaces

# Who imports whom is resolved inside of each root only, so these folders import nothing.
folders = workspaces.map(
    lambda files: {path: text.replace("import ", "imports = ") for path, text in files.items()}
)

SHOP = {
    "cart.py": "def cart_total(items):\n    return sum(items)\n",
    "README.md": "# The shop\n",
}
BANK = {
    "src/account.py": "def balance(account):\n    return account.total\n",
    "src/cart.py": "from src.account import balance\n\n\ndef pay(cart):\n    return balance(cart)\n",
}


def below(name: str, files: Mapping[str, str]) -> dict[str, str]:
    return {f"{name}/{path}": text for path, text in files.items()}


def told(pack: Pack) -> tuple[object, ...]:
    items = [(item.path, item.ranges, item.tokens, item.score) for item in pack.items]
    return pack.text, items, pack.ledger, pack.ledger_counts, pack.unknown_words


@given(st.data())
def test_two_roots_give_what_one_folder_around_them_gives(data: st.DataObject) -> None:
    one, two = data.draw(folders), data.draw(folders)
    files = below("one", one) | below("two", two)
    request = data.draw(requests(files))
    both = joined([Member("one", snapshot_of(one)), Member("two", snapshot_of(two))])
    pack = packed(files, request, both)
    assert told(packed(files, request)) == told(pack)


def test_edges_and_commits_stay_those_of_their_root() -> None:
    shop = replace(
        snapshot_of(SHOP), history=history_of([("total of carts", ["cart.py:1-2"]), ("x", [])])
    )
    bank = replace(
        snapshot_of(BANK), history=history_of([("refuse overdrafts", ["src/account.py:1-1"])])
    )
    both = joined([Member("shop", shop), Member("bank", bank)])
    ends = zip(both.importing.tolist(), both.imported.tolist(), strict=True)
    edges = [(both.paths[source], both.paths[target]) for source, target in ends]
    assert [("bank/src/cart.py", "bank/src/account.py")] == edges
    lifted = rank(both, "overdrafts").file("bank/src/account.py")
    assert lifted is not None
    assert lifted.parts["history"] > 0
    touched = rank(both, "carts").file("shop/cart.py")
    assert touched is not None
    assert touched.parts["history"] > 0
    hunks = [
        (both.history.paths[file], first, last)
        for _, file, first, last in both.history.hunks.tolist()
    ]
    assert hunks == [("shop/cart.py", 1, 2), ("bank/src/account.py", 1, 1)]
    assert both.history.hunks[:, 0].tolist() == [0, 2]


def changed(before: Snapshot, files: Mapping[str, str]) -> Snapshot:
    """The snapshot after these files were written, and one that is there went."""
    read = tuple(reading_of(path, text) for path, text in files.items())
    return applied(before, Change(read=read, gone=frozenset({"README.md"})))[0]


def test_an_index_that_was_changed_joins_like_a_new_one() -> None:
    files = {**SHOP, "cart.py": SHOP["cart.py"] + "# a cart's total\n", "new.py": "cart = 1\n"}
    now = {path: text for path, text in files.items() if path != "README.md"}
    members = [
        Member("shop", changed(snapshot_of(SHOP), now)),
        Member("b", snapshot_of(BANK)),
    ]
    request = Request(query="cart total")
    everything = below("shop", now) | below("b", BANK)
    fresh = joined([Member("shop", snapshot_of(now)), members[1]])
    assert told(packed(everything, request, fresh)) == told(
        packed(everything, request, joined(members))
    )


def test_a_root_inside_of_another_has_its_files_alone() -> None:
    # Nor has the outer one its edges: what is imported from there is another's.
    uses = {"use.py": "import libs.bank.src.cart\n"}
    outer = {**SHOP, **uses, **below("libs/bank", BANK)}
    assert 0 < len(snapshot_of(outer).importing)
    skipped = (Skip("libs/bank/.env", Reason.SECRET), Skip("dist/", Reason.IGNORED, "x"))
    both = joined(
        [
            Member("shop", snapshot_of(outer, skipped), ("libs/bank/",)),
            Member("bank", snapshot_of(BANK, (Skip(".env", Reason.SECRET),))),
        ]
    )
    files = below("shop", SHOP | uses) | below("bank", BANK)
    sources, targets = both.importing.tolist(), both.imported.tolist()
    assert all(both.paths[slot].startswith("bank/") for slot in (*sources, *targets))
    assert sorted(files) == sorted(both.sources) == sorted(both.slots)
    assert ["bank/.env", "shop/dist/"] == [skip.path for skip in both.skipped]
    pack = packed(files, Request(query="pay the balance of a cart"), both)
    assert sorted([*files, "bank/.env", "shop/dist/"]) == sorted(e.path for e in pack.ledger)
    with pytest.raises(KeyError):
        both.sources["shop/libs/bank/src/cart.py"]


def test_a_path_belongs_to_the_longest_name_that_it_begins_with() -> None:
    names = ["a", "a/b", "ab"]
    assert (1, "c") == split(names, "a/b/c")
    assert (0, "c/b") == split(names, "a/c/b")
    assert (2, "c") == split(names, "ab/c")
    assert split(names, "b/a") is None
    assert split(names, "a") is None
