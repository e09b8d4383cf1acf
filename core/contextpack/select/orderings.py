"""In which order the chosen chunks stand."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from contextpack.errors import Code, PackError
from contextpack.select.chunks import PackedChunk, finite_number
from contextpack.select.options import CustomOrdering, Ordering

T = TypeVar("T")


def ordered(chunks: Sequence[PackedChunk], ordering: str | CustomOrdering) -> list[PackedChunk]:
    """The chunks, which come as the strategy chose them, in this order.

    Their `position` is not updated. Raises INVALID_ORDERING if a callable gives anything but
    the same chunks.
    """
    if not isinstance(ordering, str):
        return _by_callable(chunks, ordering)
    match Ordering(ordering):
        case Ordering.NATURAL:
            return list(chunks)
        case Ordering.U_SHAPED:
            return u_shaped(sorted(chunks, key=lambda chunk: -chunk.score))
        case Ordering.CHRONOLOGICAL:
            return _chronological(chunks)


def u_shaped(ranked: Sequence[T]) -> list[T]:
    """Ranked things, best first, with the best at both ends and the worst in the middle.

    Models overlook the middle of a long context (Liu et al., "Lost in the middle", 2023).
    """
    return [*ranked[::2], *reversed(ranked[1::2])]


def _chronological(chunks: Sequence[PackedChunk]) -> list[PackedChunk]:
    """Oldest first; chunks without a finite number as timestamp come last, as they stood."""
    timed = []
    untimed = []
    for chunk in chunks:
        time = finite_number((chunk.metadata or {}).get("timestamp"))
        if time is None:
            untimed.append(chunk)
        else:
            timed.append((time, chunk))
    timed.sort(key=lambda pair: pair[0])
    return [*(chunk for _, chunk in timed), *untimed]


def _by_callable(chunks: Sequence[PackedChunk], ordering: CustomOrdering) -> list[PackedChunk]:
    by_id = {chunk.id: chunk for chunk in chunks}
    given: object = ordering(list(chunks))
    result = list(given) if isinstance(given, Iterable) else [None]
    ids = [chunk.id for chunk in result if isinstance(chunk, PackedChunk)]
    if len(ids) != len(result) or sorted(ids) != sorted(by_id):
        raise PackError(
            Code.INVALID_ORDERING,
            "a callable `ordering` must give the same chunks, each exactly once",
        )
    return [by_id[one] for one in ids]
