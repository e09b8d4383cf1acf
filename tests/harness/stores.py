"""Facts whose values follow from their keys, so that a wrong one shows."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from contextpackd.entries import FactsKey, StoredFacts
from contextpackd.store import Store

NOW = 1_800_000_000.0
DAY = 86_400.0


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def key(n: int, language: str = "python") -> FactsKey:
    return FactsKey(
        "recipe-1", language, hashlib.blake2b(b"%d" % n, digest_size=20).hexdigest()
    )


def stored(of: FactsKey, size: int = 200) -> StoredFacts:
    """About `size` bytes of outline and twice that of terms."""
    seed = "".join(of).encode()
    outline = hashlib.shake_128(seed).digest(size)
    return StoredFacts(outline, hashlib.shake_128(outline).digest(2 * size))


def facts(numbers: Iterable[int], size: int = 200) -> dict[FactsKey, StoredFacts]:
    return {key(n): stored(key(n), size) for n in numbers}


def filled(directory: Path, n: int = 40, clock: Clock | None = None) -> Store:
    store = Store.opened(directory, clock=clock or Clock())
    store.keep_facts(facts(range(n)).items())
    return store


def index_of(store: Store, root: Path) -> bytes | None:
    """The part `index` of what was saved of a root."""
    return store.saved_parts(root, ["index"]).get("index")
