"""Mappings that nobody may change: copies of them, and the next one after a change.

An index has mappings of all files, and a save changes one item of each. Copying them would cost
what the workspace is large, not what changed, and so would letting go of those before.
"""

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

# A patch is copied at each revision and everything when it becomes too large, so that what both
# cost for one item is least where the patch has about the root of the number of items, twice.
PATCH_FACTOR = 4


class _Sign(Enum):
    GONE = "gone"
    """In a patch: what the mapping below has is not there any more."""
    UNPATCHED = "unpatched"


def copied(mapping: Mapping[K, V]) -> dict[K, V]:
    """A dict with the same items. Of a proxy `dict` asks for each: it takes 20 times as long."""
    if isinstance(mapping, Revised):
        return mapping.copied()
    return mapping.copy() if isinstance(mapping, MappingProxyType) else dict(mapping)


@dataclass(frozen=True, slots=True, eq=False)
class Revised(Mapping[K, V]):
    """A mapping as another one that it shares, but for a few items.

    `revised` makes them. A look-up takes about twice as long as in a dict; to go through all
    items, it is made one.
    """

    below: Mapping[K, V]
    patch: Mapping[K, V | _Sign]
    n_items: int

    def __getitem__(self, key: K) -> V:  # type: ignore[explicit-override]  # not in 3.11
        found = self.patch.get(key, _Sign.UNPATCHED)
        if found is _Sign.UNPATCHED:
            return self.below[key]
        if found is _Sign.GONE:
            raise KeyError(key)
        return found

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, /, default: V | D) -> V | D: ...
    def get(self, key: K, /, default: V | D | None = None) -> V | D | None:  # type: ignore[explicit-override]  # not in 3.11
        """As of a dict."""
        found = self.patch.get(key, _Sign.UNPATCHED)
        if found is _Sign.UNPATCHED:
            return self.below.get(key, default)
        return default if found is _Sign.GONE else found

    def __contains__(self, key: object) -> bool:  # type: ignore[explicit-override]  # not in 3.11
        found = self.patch.get(key, _Sign.UNPATCHED)  # type: ignore[arg-type]
        return key in self.below if found is _Sign.UNPATCHED else found is not _Sign.GONE

    def __len__(self) -> int:  # type: ignore[explicit-override]  # not in 3.11
        return self.n_items

    def __iter__(self) -> Iterator[K]:  # type: ignore[explicit-override]  # not in 3.11
        return iter(self.copied())

    def items(self) -> ItemsView[K, V]:  # type: ignore[explicit-override]  # not in 3.11
        """As of a dict."""
        return self.copied().items()

    def values(self) -> ValuesView[V]:  # type: ignore[explicit-override]  # not in 3.11
        """As of a dict."""
        return self.copied().values()

    def copied(self) -> dict[K, V]:
        """A dict with the same items."""
        both: dict[K, V | _Sign] = {**copied(self.below), **self.patch}
        gone = [key for key, value in self.patch.items() if value is _Sign.GONE]
        for key in gone:
            del both[key]
        # A dict that something was taken out of is slow to copy.
        return dict(both) if gone else both  # type: ignore[arg-type, return-value]


def revised(
    before: Mapping[K, V], changed: Mapping[K, V], gone: Iterable[K] = ()
) -> Mapping[K, V]:
    """The mapping without some keys and with other items; `before` must not change any more.

    Keys that are not there may be gone, too. It costs what is different, and now and then, after
    many revisions, a copy of everything.
    """
    below = before.below if isinstance(before, Revised) else before
    patch: dict[K, V | _Sign] = dict(before.patch) if isinstance(before, Revised) else {}
    n_items = len(before)
    for key in gone:
        if key in below:
            n_items -= patch.get(key) is not _Sign.GONE
            patch[key] = _Sign.GONE
        else:
            n_items -= patch.pop(key, _Sign.GONE) is not _Sign.GONE
    for key, value in changed.items():
        n_items += patch.get(key) is _Sign.GONE if key in patch else key not in below
        patch[key] = value
    if not patch:
        return below
    made = Revised(below, patch, n_items)
    return made if len(patch) ** 2 <= PATCH_FACTOR * n_items else made.copied()
