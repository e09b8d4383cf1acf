"""Which lines of two texts are the same ones, and so which lines of the newer text are new.

Bram Cohen's "patience diff": lines that stand once in each text are held against each other in
their order, and what lies between two of them likewise. Where there is no such line the rest
counts as changed: too much is marked rather than too little.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contextpack.text import Lines, merged, split_lines

# Texts in which each line that stands once leaves all others on one side of it would be looked at
# once for each line; in real ones a handful of rounds is enough.
MAX_ROUNDS = 40

# Two texts with at least this share of lines in common are one that was moved: what git takes, too.
ALIKE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Gap:
    """A run of old lines in the place of which a run of new ones stands. 0-based, end outside."""

    old: tuple[int, int]
    new: tuple[int, int]


def changed_lines(old: str, new: str) -> tuple[Lines, ...]:
    """The lines of the new text that are not the old one's, in order; line endings do not count.

    Where lines were only taken out, those around the place.
    """
    after = _lines(new)
    return tuple(
        lines for gap in gaps(_lines(old), after) if (lines := _shown(gap.new, len(after)))
    )


def moved_lines(ranges: Sequence[Lines], old: str, new: str) -> tuple[Lines, ...]:
    """Where ranges of the old text stand in the new one; each is widened to whole changes.

    A range of which nothing is left is where it was.
    """
    before, after = _lines(old), _lines(new)
    found = gaps(before, after)
    return merged(lines for one in ranges if (lines := _shown(_moved(one, found), len(after))))


def is_alike(old: str, new: str) -> bool:
    """Whether the texts have half of their lines in common, wherever they stand."""
    before, after = Counter(_lines(old)), Counter(_lines(new))
    n_common = sum((before & after).values())
    return n_common > 0 and n_common >= ALIKE_SHARE * max(before.total(), after.total())


def gaps(old: Sequence[str], new: Sequence[str]) -> list[Gap]:
    """What is different between two sequences of lines, in order."""
    found: list[Gap] = []
    waiting = [(0, len(old), 0, len(new), 0)]
    while waiting:
        start, end, new_start, new_end, n_rounds = waiting.pop()
        while start < end and new_start < new_end and old[start] == new[new_start]:
            start, new_start = start + 1, new_start + 1
        while start < end and new_start < new_end and old[end - 1] == new[new_end - 1]:
            end, new_end = end - 1, new_end - 1
        if start == end and new_start == new_end:
            continue
        anchors = (
            list(_anchors(old, new, (start, end), (new_start, new_end)))
            if n_rounds < MAX_ROUNDS
            else []
        )
        if not anchors:
            found.append(Gap((start, end), (new_start, new_end)))
            continue
        # An anchor is the first line of what comes behind it.
        starts = [(start, new_start), *anchors]
        ends = [*anchors, (end, new_end)]
        waiting += [
            (a, b, c, d, n_rounds + 1) for (a, c), (b, d) in zip(starts, ends, strict=True)
        ]
    return sorted(found, key=lambda gap: (gap.new, gap.old))


def _anchors(
    old: Sequence[str], new: Sequence[str], span: tuple[int, int], new_span: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """The longest run of pairs of lines that stand once on each side, in the order of both."""
    counts, new_counts = Counter(old[slice(*span)]), Counter(new[slice(*new_span)])
    places = {new[n]: n for n in range(*new_span) if new_counts[new[n]] == 1}
    pairs = [
        (n, places[old[n]]) for n in range(*span) if counts[old[n]] == 1 and old[n] in places
    ]
    # Patience sorting: each pile's top is the least end of a run as long as there are piles.
    tops: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        before.append(last[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [place]
        last[pile : pile + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(pairs[number])
        number = before[number]
    return reversed(chain)


def _moved(lines: Lines, found: Sequence[Gap]) -> tuple[int, int]:
    """A range of old lines as new ones, 0-based, end outside."""
    start, end = _place(lines.start - 1, found)[0], _place(lines.end - 1, found)[1]
    return start, max(start, end)


def _place(line: int, found: Sequence[Gap]) -> tuple[int, int]:
    """Where one old line stands: itself, or what stands in place of the change that it is in."""
    shift = 0
    for gap in found:
        if line < gap.old[0]:
            break
        if line < gap.old[1]:
            return gap.new
        shift = gap.new[1] - gap.old[1]
    return line + shift, line + shift + 1


def _shown(span: tuple[int, int], n_lines: int) -> Lines | None:
    """A run as lines of a text; an empty one is the lines on both sides of it."""
    start, end = span
    if start >= end:
        start, end = start - 1, start + 1
    start, end = max(0, start), min(end, n_lines)
    return Lines(start + 1, end) if start < end else None


def _lines(text: str) -> list[str]:
    """The lines without their endings, which differ between a repository and a working tree."""
    return [line.rstrip("\r\n") for line in split_lines(text)]
