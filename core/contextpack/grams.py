"""The distinct character trigrams of many texts at once, and how alike the texts are by them.

A trigram is a run of three characters (code points) of the text in lower case, with each run of
white space as one space and none at the ends. A text of fewer than three characters is one gram,
so two empty texts are equal. `similarity` compares by the same trigrams one text at a time; here
all texts of a choice are cut together, which costs a tenth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# Bits of the signatures by which pairs are sorted out. Texts of a chunk's size set about half of
# them, and a bit that differs proves a trigram that differs.
_SIGNATURE_BITS = 1024
# Knuth's multiplicative hashing: 2**64 divided by the golden ratio.
_MULTIPLIER = 0x9E3779B97F4A7C15

# So many pairs are compared at once: their signatures take 16 MB.
_PAIRS_AT_ONCE = 1 << 16

Ids = NDArray[np.uint64]
Unsigned = TypeVar("Unsigned", np.uint32, np.uint64)


@dataclass(frozen=True, slots=True)
class Grams:
    """Text `i` has the trigrams `ids[starts[i]:starts[i + 1]]`, ascending, each once.

    The numbers mean something among the texts of one value only.
    """

    ids: Ids
    starts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """How many texts there are."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many trigrams each text has."""
        return np.diff(self.starts)

    def of(self, i: int) -> Ids:
        """The trigrams of one text."""
        return self.ids[self.starts[i] : self.starts[i + 1]]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A text that is too much like a better one."""

    position: int
    better: int
    similarity: float
    """The share of common trigrams among all trigrams of both, at most 1."""


def plain(text: str) -> str:
    """The text as its trigrams are read from it."""
    # A byte order mark is white space where these figures come from, and not to `str.split`.
    return " ".join(text.lower().replace("\ufeff", " ").split())


def grams(texts: Sequence[str]) -> Grams:
    """The trigrams of each text."""
    shown = [plain(text) for text in texts]
    # What is shorter than a trigram is filled up with a character that no text has.
    n_filled = [max(0, 3 - len(text)) for text in shown]
    joined = "".join(
        text if not n else "\0" * n + text for text, n in zip(shown, n_filled, strict=True)
    )
    lengths = np.array([max(3, len(text)) for text in shown], np.int64)
    points = _points(joined)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    for i, n in enumerate(n_filled):
        if n:
            points[offsets[i] : offsets[i] + n] = 0
    n_owner_bits = len(texts).bit_length()  # The end of the last one has a number too.
    bits = int(points.max(initial=1)).bit_length()
    if 3 * bits + n_owner_bits > np.iinfo(np.uint64).bits:
        points = np.searchsorted(distinct(points), points).astype(np.uint64)
        bits = int(points.max(initial=1)).bit_length()
    shift = np.uint64(bits)
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64), lengths)
    keys = (owners[:-2] << shift | points[:-2]) << shift | points[1:-1]
    keys = (keys << shift | points[2:])[owners[:-2] == owners[2:]]
    if 3 * bits + n_owner_bits <= np.iinfo(np.uint32).bits:
        # Half as long numbers are sorted in half the time.
        keys = distinct(keys.astype(np.uint32)).astype(np.uint64)
    else:
        keys = distinct(keys)
    borders = np.arange(len(texts) + 1, dtype=np.uint64) << np.uint64(3 * bits)
    starts = np.searchsorted(keys, borders).astype(np.int64)
    return Grams(keys & np.uint64((1 << 3 * bits) - 1), starts)


def distinct(values: NDArray[Unsigned]) -> NDArray[Unsigned]:
    """Each value once, ascending. Many times as fast as `np.unique`, which hashes them."""
    ascending = np.sort(values)
    is_first = np.ones(len(ascending), np.bool_)
    is_first[1:] = ascending[1:] != ascending[:-1]
    return ascending[is_first]


def repeats(cut: Grams, threshold: float) -> list[Repeat]:
    """The texts that are at least so similar to a better one that stays; the best comes first.

    Each with the one that it is most like, the best of them. The threshold lies in (0, 1]; far
    below 1 many pairs have to be compared one by one.
    """
    near: dict[int, list[tuple[int, float]]] = {}
    for one, other in _possible_pairs(cut, threshold):
        similarity = _jaccard(cut, one, other)
        if similarity >= threshold:
            near.setdefault(max(one, other), []).append((min(one, other), similarity))
    found: list[Repeat] = []
    dropped: set[int] = set()
    for position in sorted(near):
        close = [pair for pair in near[position] if pair[0] not in dropped]
        if close:
            better, similarity = min(close, key=lambda pair: (-pair[1], pair[0]))
            dropped.add(position)
            found.append(Repeat(position, better, similarity))
    return found


def similarities(cut: Grams, positions: Sequence[int]) -> NDArray[np.float64]:
    """How alike each of these texts is to each: a square matrix."""
    sets = [cut.of(i) for i in positions]
    sizes = np.array([len(one) for one in sets], np.int64)
    owners = np.repeat(np.arange(len(sets)), sizes)
    flat = np.concatenate([np.zeros(0, np.uint64), *sets])
    order = np.argsort(flat)
    ascending = flat[order]
    is_first = np.ones(len(flat), np.bool_)
    is_first[1:] = ascending[1:] != ascending[:-1]
    numbers = np.cumsum(is_first) - 1
    # A trigram of one text alone is common to no two.
    is_shared = np.bincount(numbers)[numbers] > 1 if len(numbers) else is_first
    columns = np.cumsum(is_first & is_shared) - 1
    holds = np.zeros((len(sets), int(columns[-1]) + 1 if len(columns) else 0), np.float32)
    holds[owners[order][is_shared], columns[is_shared]] = 1
    # Exact: the counts are far below 2**24.
    n_common = (holds @ holds.T).astype(np.int64)
    np.fill_diagonal(n_common, sizes)
    return np.asarray(n_common / (sizes[:, None] + sizes[None, :] - n_common), np.float64)


def _points(text: str) -> NDArray[np.uint64]:
    """The code points, each one higher, so that 0 is free."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8).astype(np.uint64) + np.uint64(1)
    wide = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return wide.astype(np.uint64) + np.uint64(1)


def _possible_pairs(cut: Grams, threshold: float) -> list[tuple[int, int]]:
    """A superset of the pairs that are alike enough.

    Of two sets whose Jaccard similarity is `t`, the smaller has `t` of the larger's size at
    least, and `(1 - t) / (1 + t)` of the sum of their sizes is what stands in only one of them.
    """
    sizes = cut.sizes
    by_size = np.argsort(sizes, kind="stable")
    ascending = sizes[by_size]
    # The slack covers the rounding of products: one pair too many costs nothing.
    ends = np.searchsorted(ascending, ascending / threshold + 1e-6, side="right")
    n_each = ends - np.arange(cut.n) - 1
    first = np.repeat(np.arange(cut.n), n_each)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(n_each) - n_each, n_each)
    signatures = _signatures(cut)
    found: list[tuple[int, int]] = []
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        block = slice(start, start + _PAIRS_AT_ONCE)
        one, other = by_size[first[block]], by_size[second[block]]
        differing = np.bitwise_count(signatures[one] ^ signatures[other]).sum(axis=1)
        most = (sizes[one] + sizes[other]) * ((1 - threshold) / (1 + threshold)) + 1e-6
        is_possible = differing <= most
        found += zip(one[is_possible].tolist(), other[is_possible].tolist(), strict=True)
    return found


def _signatures(cut: Grams) -> NDArray[np.uint64]:
    n_bits = _SIGNATURE_BITS.bit_length() - 1
    places = (cut.ids * np.uint64(_MULTIPLIER)) >> np.uint64(64 - n_bits)
    is_set = np.zeros((cut.n, _SIGNATURE_BITS), np.bool_)
    is_set[np.repeat(np.arange(cut.n), cut.sizes), places] = True
    return np.packbits(is_set, axis=1).view(np.uint64)


def _jaccard(cut: Grams, i: int, j: int) -> float:
    one, other = cut.of(i), cut.of(j)
    n_common = len(np.intersect1d(one, other, assume_unique=True))
    return n_common / (len(one) + len(other) - n_common)
