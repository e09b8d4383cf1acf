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
# The first words of a signature alone sort most pairs out.
_FIRST_WORDS = 2
# Knuth's multiplicative hashing: 2**32 divided by the golden ratio.
_MULTIPLIER = 0x9E3779B1

# So many pairs, or words of bits, are compared at once: a few megabytes.
_PAIRS_AT_ONCE = 1 << 17
_WORDS_AT_ONCE = 1 << 17

# `plain` for the bytes of ASCII: what `str.split` splits at is a space, letters are lower.
_SPACE = 32
_N_ASCII = 128
_N_BYTES = 256
_FOLDED = bytes(
    _SPACE if chr(byte).isspace() else ord(chr(byte).lower()) for byte in range(_N_ASCII)
) + bytes(range(_N_ASCII, _N_BYTES))

T = TypeVar("T", bound=np.generic)

Ids = NDArray[np.uint64]
"""In half as many bits where that is enough."""

Signatures = NDArray[np.uint64]
"""A row of words for each text."""


@dataclass(frozen=True, slots=True)
class Grams:
    """Text `i` has the trigrams `ids[starts[i]:ends[i]]`, in its order, with repetitions.

    The numbers mean something among the texts of one value only; what stands between two texts
    means nothing.
    """

    ids: Ids
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @property
    def n(self) -> int:
        """How many texts there are."""
        return len(self.starts)

    def of(self, i: int) -> Ids:
        """The trigrams of one text."""
        return self.ids[self.starts[i] : self.ends[i]]


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
    shown = _in_bytes(texts)
    joined = "\0".join(["", *shown, ""])
    found = _delimited(joined, len(texts)) if len(shown) == len(texts) else None
    return _any_grams([plain(text) for text in texts]) if found is None else found


def _in_bytes(texts: Sequence[str]) -> Sequence[str]:
    """The texts in Latin-1: its upper half stands for the other characters, if it suffices.

    Without white space at their ends. Those with other characters are plain already; ASCII is
    folded later, all of it at once.
    """
    others = {i: plain(text) for i, text in enumerate(texts) if not text.isascii()}
    characters = sorted(char for char in set("".join(others.values())) if not char.isascii())
    if len(characters) > _N_BYTES - _N_ASCII:
        return ()
    numbers = {ord(char): number for number, char in enumerate(characters, _N_ASCII)}
    return [
        others[i].translate(numbers) if i in others else text.strip()
        for i, text in enumerate(texts)
    ]


def _delimited(joined: str, n: int) -> Grams | None:
    """The trigrams of texts with NULs around them; None where one has others or no trigram."""
    folded = joined.encode("latin-1").translate(_FOLDED)
    points = np.frombuffer(folded, np.uint8)
    is_space = points == _SPACE
    # Of a run of spaces the first one stays.
    is_kept = np.ones(len(points), np.bool_)
    np.logical_not(is_space[1:] & is_space[:-1], out=is_kept[1:])
    points = points[is_kept]
    borders = np.flatnonzero(points == 0)
    starts, ends = borders[:-1] + 1, borders[1:] - 2
    if len(starts) != n or (n and (ends - starts).min() < 1):
        return None
    return Grams(_ids(points), starts, ends)


def _any_grams(shown: Sequence[str]) -> Grams:
    # What is shorter than a trigram is filled up with a character that no text has.
    n_filled = [max(0, 3 - len(text)) for text in shown]
    filled = [f"{'-' * n}{text}" for text, n in zip(shown, n_filled, strict=True)]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in filled])]).astype(np.int64)
    points = _points("".join(filled))
    for i, n in enumerate(n_filled):
        points[offsets[i] : offsets[i] + n] = 0
    return Grams(_ids(points), offsets[:-1], offsets[1:] - 2)


def _ids(points: NDArray[np.uint8] | NDArray[np.uint32]) -> Ids:
    """Each three neighbouring points as one number, in half as many bits where they suffice."""
    bits = int(points.max(initial=1)).bit_length()
    width = np.uint32 if 3 * bits <= np.iinfo(np.uint32).bits else np.uint64
    wide: Ids = points.astype(width)
    shift = width(bits)
    # In place: memory that is fresh costs as much as the arithmetic.
    ids: Ids = np.left_shift(wide[:-2], shift)
    ids |= wide[1:-1]
    ids <<= shift
    ids |= wide[2:]
    return ids


def distinct(values: NDArray[T]) -> NDArray[T]:
    """Each value once, ascending. Many times as fast as `np.unique`, which hashes them."""
    ascending = np.sort(values)
    return ascending[_begins(ascending)]


def repeats(cut: Grams, threshold: float) -> list[Repeat]:
    """The texts that are at least so similar to a better one that stays; the best comes first.

    Each with the one that it is most like, the best of them. The threshold lies in (0, 1]; far
    below 1 many pairs have to be compared one by one.
    """
    signatures = _signatures(cut)
    # The first of equal texts stands for its copies: only it is compared.
    first_of = _firsts(cut, signatures)
    firsts = [i for i, first in enumerate(first_of) if i == first]
    sets = dict[int, Ids]()
    near: dict[int, list[int]] = {}
    for one, other in _possible_pairs(cut, signatures, firsts, threshold):
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
        for i in (one, other):
            if i not in sets:
                sets[i] = distinct(cut.of(i))
    found: list[Repeat] = []
    dropped: set[int] = set()
    for position, first in enumerate(first_of):
        if first == position and first not in near:
            continue
        if first < position and first not in dropped:
            close = [(first, 1.0)]
        else:
            rivals = [
                one for one in near.get(first, ()) if one < position and one not in dropped
            ]
            compared = [(one, _jaccard(sets[one], sets[first])) for one in rivals]
            close = [pair for pair in compared if pair[1] >= threshold]
        if close:
            better, similarity = min(close, key=lambda pair: (-pair[1], pair[0]))
            dropped.add(position)
            found.append(Repeat(position, better, similarity))
    return found


def _firsts(cut: Grams, signatures: Signatures) -> list[int]:
    """For each text the first one that is equal."""
    alike: dict[bytes, list[int]] = {}
    data, size = signatures.tobytes(), _SIGNATURE_BITS // 8
    for i in range(cut.n):
        alike.setdefault(data[size * i : size * (i + 1)], []).append(i)
    first_of = list(range(cut.n))
    for same in alike.values():
        if len(same) > 1:
            known: dict[bytes, int] = {}
            for i in same:
                first_of[i] = known.setdefault(cut.of(i).tobytes(), i)
    return first_of


def similarities(cut: Grams, positions: Sequence[int]) -> NDArray[np.float64]:
    """How alike each of these texts is to each: a square matrix."""
    n = len(positions)
    runs = [cut.of(i) for i in positions]
    flat = np.concatenate([np.zeros(0, cut.ids.dtype), *runs])
    n_bits = n.bit_length()
    is_narrow = int(flat.max(initial=0)).bit_length() + n_bits <= np.iinfo(np.uint32).bits
    width = np.uint32 if is_narrow else np.uint64
    shift = width(n_bits)
    owners = np.repeat(np.arange(n, dtype=width), [len(run) for run in runs])
    # Sorted with their owners in the lowest bits: texts that share a trigram stand together.
    keys = distinct(np.left_shift(flat.astype(width), shift) | owners)
    rows_of_keys = (keys & width((1 << n_bits) - 1)).astype(np.int64)
    sizes = np.bincount(rows_of_keys, minlength=n)
    is_first = _begins(keys >> shift)
    # A trigram of one text alone is common to no two.
    is_last = np.ones(len(keys), np.bool_)
    is_last[:-1] = is_first[1:]
    is_shared = ~(is_first & is_last)
    columns = np.cumsum(is_first & is_shared) - 1
    n_columns = 64 * (-(-(int(columns[-1]) + 1) // 64) if len(columns) else 0)
    # As bits and not as a product of matrices: that wakes up a pool of threads for so little.
    holds = np.zeros(n * n_columns, np.bool_)
    holds[(rows_of_keys * n_columns + columns)[is_shared]] = True
    rows = np.packbits(holds.reshape(n, n_columns), axis=1).view(np.uint64)
    n_common = np.zeros((n, n), np.int64)
    n_rows = max(1, _WORDS_AT_ONCE // max(1, rows.size))
    for start in range(0, n, n_rows):
        some = rows[start : start + n_rows, None]
        n_common[start : start + n_rows] = np.bitwise_count(some & rows).sum(axis=2)
    np.fill_diagonal(n_common, sizes)
    return np.asarray(n_common / (sizes[:, None] + sizes[None, :] - n_common), np.float64)


def _begins(ascending: NDArray[T]) -> NDArray[np.bool_]:
    """Where another value begins."""
    is_first = np.ones(len(ascending), np.bool_)
    is_first[1:] = ascending[1:] != ascending[:-1]
    return is_first


def _points(text: str) -> NDArray[np.uint32]:
    """The code points, renumbered in as few bits as they need, from 1 on: 0 is free."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    is_present = np.zeros(int(points.max(initial=0)) + 1, np.bool_)
    is_present[points] = True
    return np.cumsum(is_present, dtype=np.uint32)[points]


def _possible_pairs(
    cut: Grams, signatures: Signatures, positions: Sequence[int], threshold: float
) -> list[tuple[int, int]]:
    """A superset of the pairs among these texts that are alike enough.

    Of two sets whose Jaccard similarity is `t`, at most `(1 - t) / (1 + t)` of the sum of their
    sizes stands in only one of them; and a set is no larger than the text is long.
    """
    chosen, n = np.array(positions, np.int64), len(positions)
    signatures = signatures[chosen]
    # The slack covers the rounding of products: one pair too many costs nothing.
    lengths = (cut.ends - cut.starts)[chosen]
    most = (lengths * ((1 - threshold) / (1 + threshold)) + 1e-6).astype(np.float32)
    found: list[tuple[int, int]] = []
    first_words = np.ascontiguousarray(signatures[:, :_FIRST_WORDS].T)
    n_rows = max(1, _PAIRS_AT_ONCE // max(1, n))
    for start in range(0, n, n_rows):
        rows = slice(start, start + n_rows)
        n_differing = np.zeros((len(most[rows]), n), np.uint8)
        for word in first_words:
            n_differing += np.bitwise_count(word[rows, None] ^ word)
        one, other = np.nonzero(n_differing <= most[rows, None] + most)
        one += start
        one, other = one[one < other], other[one < other]
        n_differing = np.bitwise_count(signatures[one] ^ signatures[other]).sum(axis=1)
        is_possible = n_differing <= most[one] + most[other]
        one, other = chosen[one[is_possible]], chosen[other[is_possible]]
        found += zip(one.tolist(), other.tolist(), strict=True)
    return found


def _signatures(cut: Grams) -> Signatures:
    n_bits = _SIGNATURE_BITS.bit_length() - 1
    # Of wide numbers the lower half alone: any function of a trigram will do.
    hashed = cut.ids.astype(np.uint32, copy=False) * np.uint32(_MULTIPLIER)
    # A row for each text, and one for what stands between them: before the first, after each.
    lengths = np.zeros(2 * cut.n + 1, np.int64)
    lengths[1::2] = cut.ends - cut.starts
    lengths[::2] = np.diff(cut.starts, prepend=0, append=len(cut.ids))
    lengths[2::2] -= lengths[1::2]
    rows = np.full(2 * cut.n + 1, cut.n)
    rows[1::2] = np.arange(cut.n)
    places = np.repeat(rows << n_bits, lengths)
    places |= hashed >> np.uint32(32 - n_bits)
    is_set = np.zeros((cut.n + 1) << n_bits, np.bool_)
    is_set[places] = True
    return np.packbits(is_set.reshape(-1, _SIGNATURE_BITS)[:-1], axis=1).view(np.uint64)


def _jaccard(one: Ids, other: Ids) -> float:
    """How alike two sets are, each ascending."""
    # Of two runs in order a stable sort makes one in linear time.
    both = np.sort(np.concatenate([one, other]), kind="stable")
    n_all = int(np.count_nonzero(_begins(both)))
    return (len(one) + len(other) - n_all) / n_all
