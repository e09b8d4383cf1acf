"""The terms of a segment and their numbers, in three arrays that are read from disk as they are.

A dictionary of a large workspace's terms takes a tenth of a second to make at every start, and
fifty megabytes. This is a hash table with linear probing (Knuth, The Art of Computer Programming,
volume 3, section 6.4, algorithm L) over the terms' bytes: a look-up takes a microsecond.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import count, repeat
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_SEPARATOR = b"\n"  # Stands in no term.
_FREE = -1
# The table has at least so many places for each term: one in three is taken at most, so nearly
# every look-up ends at its first or second place.
_PLACES_PER_TERM = 3


@dataclass(frozen=True, slots=True)
class Written:
    """Some terms as they stand in the text of a vocabulary, each with its hash."""

    terms: tuple[bytes, ...]
    hashes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Terms by their numbers, and numbers by terms."""

    text: bytes
    """All terms in UTF-8, each with a line feed behind it."""
    starts: NDArray[np.int32]
    """Where each term begins in the text, and where the last one ends."""
    table: NDArray[np.int32]
    """The number of the term in each place, or -1. A power of two of them, and some are free."""

    def get(self, term: str) -> int:
        """The number of a term; -1 where it has none."""
        written = encoded(term) + _SEPARATOR
        table, starts, text = self.table.data, self.starts, self.text
        mask = len(table) - 1
        place = crc32(written) & mask
        while (number := table[place]) != _FREE:
            if text.startswith(written, starts.item(number)):
                return number
            place = (place + 1) & mask
        return _FREE

    def __contains__(self, term: str) -> bool:
        return self.get(term) >= 0

    def find(self, written: Written) -> NDArray[np.int64]:
        """The number of each of some terms of another vocabulary, or -1."""
        found = np.full(len(written.terms), _FREE, np.int64)
        mask = len(self.table) - 1
        # All at once: those that are not where they are looked for go on to the next place.
        waiting, places = np.arange(len(found)), written.hashes & mask
        while len(waiting):
            numbers = self.table[places]
            taken = numbers != _FREE
            waiting, places, numbers = waiting[taken], places[taken], numbers[taken]
            at = zip(waiting.tolist(), self.starts[numbers].tolist(), strict=True)
            is_it = np.array(
                [self.text.startswith(written.terms[i], start) for i, start in at], np.bool_
            )
            found[waiting[is_it]] = numbers[is_it]
            waiting, places = waiting[~is_it], (places[~is_it] + 1) & mask
        return found

    def written(self, numbers: NDArray[np.int64]) -> Written:
        """The terms of these numbers, as other vocabularies `find` them."""
        starts, ends = self.starts[numbers].tolist(), self.starts[numbers + 1].tolist()
        terms = [self.text[start:end] for start, end in zip(starts, ends, strict=True)]
        return Written(terms=tuple(terms), hashes=_hashes(map(crc32, terms), len(terms)))

    def term(self, number: int) -> str:
        """The term of a number."""
        start, end = self.starts.item(number), self.starts.item(number + 1)
        return self.text[start : end - len(_SEPARATOR)].decode("utf-8", "surrogatepass")

    def n_bytes(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """How long the terms of these numbers are in UTF-8."""
        return self.starts[numbers + 1] - self.starts[numbers] - len(_SEPARATOR)

    def encoded(self) -> list[bytes]:
        """The terms in UTF-8, in the order of their numbers."""
        return self.text.split(_SEPARATOR)[:-1]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[str]:
        """The terms in the order of their numbers."""
        return iter(self.text.decode("utf-8", "surrogatepass").split("\n")[:-1])


Numbers = defaultdict[bytes, int]
"""Terms in UTF-8, each with its number: the next one for a term that is new."""


def numbers() -> Numbers:
    """No terms yet."""
    return defaultdict(count().__next__)


def encoded(text: str) -> bytes:
    """A text in the UTF-8 of vocabularies, which has room for lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def numbered(terms: Collection[bytes], known: Numbers) -> NDArray[np.int32]:
    """The numbers of these terms in UTF-8, of which those that are new become known."""
    return np.fromiter(map(known.__getitem__, terms), np.int32, len(terms))


def vocabulary(terms: Iterable[str]) -> Vocabulary:
    """The vocabulary of different terms, numbered in this order."""
    return of_encoded(list(map(encoded, terms)))


def of_encoded(terms: Collection[bytes]) -> Vocabulary:
    """The same of terms in UTF-8. They are many: no step of this is one of Python's for each."""
    hashes = map(crc32, repeat(_SEPARATOR), map(crc32, terms))
    lengths = np.fromiter(map(len, terms), np.int32, len(terms)) + len(_SEPARATOR)
    starts = np.zeros(len(terms) + 1, np.int32)
    np.cumsum(lengths, out=starts[1:])
    return Vocabulary(
        text=_SEPARATOR.join([*terms, b""]),
        starts=starts,
        table=_table(_hashes(hashes, len(terms))),
    )


def _hashes(found: Iterable[int], n: int) -> NDArray[np.int64]:
    return np.fromiter(found, np.int64, n)


def _table(hashes: NDArray[np.int64]) -> NDArray[np.int32]:
    n_places = 1 << (_PLACES_PER_TERM * len(hashes)).bit_length()
    table = np.full(n_places, _FREE, np.int32)
    waiting = np.arange(len(hashes), dtype=np.int32)
    places = hashes & (n_places - 1)
    # All at once: of those that want a free place one gets it, and the others go on to the next.
    while len(waiting):
        is_free = table[places] == _FREE
        table[places[is_free]] = waiting[is_free]
        goes_on = table[places] != waiting
        waiting, places = waiting[goes_on], (places[goes_on] + 1) & (n_places - 1)
    return table
