"""Files that did not get in are pointed to by the signature of their best part."""

from contextpack.model import Detail
from contextpack.pointers import MAX_POINTER_ROOM, MIN_POINTER_ROOM, POINTER_SHARE, pointer_room
from contextpack.request import Request
from harness.memory import packed, snapshot_of

BODY = "".join(f"    comma = comma.replaced({number}, 'comma')\n" for number in range(40))


def files(n: int) -> dict[str, str]:
    return {
        f"m{i:02}.py": f"def comma_{i:02}(comma):\n{BODY}    return comma\n" for i in range(n)
    }


def test_files_that_do_not_fit_are_pointed_to_by_a_signature() -> None:
    budget_tokens = 4000
    pack = packed(files(20), Request(query="comma", budget_tokens=budget_tokens))
    pointed = {item.path: item.ranges for item in pack.items if item.ranges[-1].end == 1}
    whole = [item for item in pack.items if item.detail is Detail.WHOLE]
    assert whole
    assert len(pointed) >= 2
    assert pack.tokens <= budget_tokens
    for path in pointed:
        assert f"def comma_{path[1:3]}(comma):" in pack.text


def test_where_everything_fits_nothing_is_a_pointer() -> None:
    made = files(3)
    pack = packed(made, Request(query="comma", budget_tokens=8000))
    assert [item.detail for item in pack.items] == [Detail.WHOLE] * 3


def test_the_room_for_pointers_is_a_share_within_bounds() -> None:
    assert pointer_room(int(MIN_POINTER_ROOM / POINTER_SHARE) - 40) == 0
    assert pointer_room(4000) == int(4000 * POINTER_SHARE)
    assert pointer_room(100_000) == MAX_POINTER_ROOM


def test_room_that_no_pointer_needs_is_not_lost() -> None:
    # One file alone: whatever of it does not fit in the first place takes the room.
    text = "".join(f"def comma_{i}(comma):\n{BODY}    return comma\n\n\n" for i in range(20))
    made = snapshot_of({"one.py": text})
    pack = packed({"one.py": text}, Request(query="comma", budget_tokens=4000), made)
    assert pack.tokens > 4000 - pointer_room(4000)
