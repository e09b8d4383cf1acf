"""The packs that one connection holds: what was asked, and what the client has of it."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from contextpack.ledger import Item
from contextpack.text import display_path
from contextpackd.errors import FieldProblem
from contextpackd.queries import Answer

# Packs that one connection holds; each keeps its text and ledger, some 100 kB.
MAX_PACKS = 32


@dataclass(frozen=True, slots=True)
class Held:
    """One pack."""

    pack_id: str
    roots: tuple[Path, ...]
    fields: Mapping[str, object]
    """The command's fields and options as the client gave them."""
    answer: Answer
    is_live: bool = False
    sends_text: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    """Held by whoever makes the pack again: each starts from what the one before made."""

    @property
    def revision(self) -> int:
        """How many texts it has had; the first is 1."""
        return self.answer.pack.revision


@dataclass(frozen=True, slots=True)
class Difference:
    """What a new text has that the old one had not, by path."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


class Packs:
    """The packs of one connection by id, the one that was used longest ago first."""

    def __init__(self, gone: Callable[[Held], None]) -> None:
        self._held: dict[str, Held] = {}
        self._n_made = 0
        self._gone = gone

    def add(self, roots: Iterable[Path], fields: Mapping[str, object], answer: Answer) -> Held:
        """A new pack. The one that was used longest ago goes if there are too many."""
        self._n_made += 1
        held = Held(f"pack-{self._n_made}", tuple(roots), fields, answer)
        self._held[held.pack_id] = held
        while len(self._held) > MAX_PACKS:
            self._gone(self._held.pop(next(iter(self._held))))
        return held

    def named(self, pack_id: str) -> Held:
        """The pack of this id. Raises `FieldProblem`."""
        held = self._held.get(pack_id)
        if held is None:
            kept = f"a connection holds its last {MAX_PACKS}"
            raise FieldProblem("packId", f"names no pack that is held: {pack_id!r} ({kept})")
        return held

    def repacked(self, held: Held, fields: Mapping[str, object], answer: Answer) -> Held:
        """The pack with a new answer, which followed the one that it had.

        Raises `FieldProblem` when it was closed meanwhile.
        """
        after = replace(self.named(held.pack_id), fields=fields, answer=answer)
        del self._held[held.pack_id]
        self._held[after.pack_id] = after
        return after

    def live(self, held: Held, *, is_live: bool, sends_text: bool) -> None:
        """Follow a pack's changes, or stop following."""
        self._held[held.pack_id] = replace(held, is_live=is_live, sends_text=sends_text)

    def close(self, pack_id: str) -> bool:
        """Let a pack go; whether it was held."""
        return self._held.pop(pack_id, None) is not None

    def followed(self, root: Path) -> list[Held]:
        """The live packs that show something of a root, oldest first."""
        return [held for held in self._held.values() if held.is_live and root in held.roots]

    def live_one(self, pack_id: str) -> Held | None:
        """The pack of this id as it is now, if it is held and live."""
        held = self._held.get(pack_id)
        return held if held is not None and held.is_live else None

    def __len__(self) -> int:
        return len(self._held)


def difference(before: Answer, after: Answer) -> Difference:
    """The files by which two packs of the same roots differ, sorted."""
    old = {item.path: _shown(item, before) for item in before.pack.items}
    new = {item.path: _shown(item, after) for item in after.pack.items}
    return Difference(
        added=_paths(new.keys() - old.keys()),
        removed=_paths(old.keys() - new.keys()),
        changed=_paths({path for path in old.keys() & new.keys() if old[path] != new[path]}),
    )


def _shown(item: Item, answer: Answer) -> tuple[object, ...]:
    source = answer.scan.snapshot.sources.get(item.path)
    return (item.detail, item.ranges, item.tokens, source.digest if source else None)


def _paths(paths: set[str]) -> tuple[str, ...]:
    return tuple(display_path(path) for path in sorted(paths))
