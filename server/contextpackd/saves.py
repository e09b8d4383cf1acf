"""What is saved of whole roots, as files. A save is a directory that one rename publishes.

Below the directory given there is a directory a root, named by a digest of its path, and in it
one a save: `NUMBER-NONCE`, the highest is the current one. A save holds its parts as files
named by numbers, and a manifest that names them with lengths and checksums. Names are never
used twice, so a reader that is overtaken finds a file gone, never another save's.

A part that a save has in common with its predecessor is a hard link to it: what did not change
is not written again. Nothing is flushed to the disk by force; what a power failure tears is
found by its checksum and reads as absent.
"""

import hashlib
import json
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from contextpackd import private
from contextpackd.files import NO_FOLLOW, READING

_MANIFEST = "manifest"
_MAX_MANIFEST_BYTES = 1 << 20  # Parts are a handful; more is damage.
_ATTEMPTS = 3  # Each retry means that somebody published a newer save in between.

# A save takes seconds; what was begun longer ago than this was left by a process that died.
ABANDONED_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class SavedRoot:
    """What is kept of one root."""

    folder: Path
    root: str | None
    """The root's path, or None when no save of it can be read."""
    size_bytes: int
    used: float
    """Last use in seconds since 1970, up to a day late."""


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    n_bytes: int
    checksum: int
    """CRC-32, looked at on each read: 3.5 GB/s here, where SHA-256 gives 1.5."""
    digest: str
    """SHA-256, which decides that a part is the predecessor's."""


class Saves:
    """The saves below a directory. Reads never raise; writes raise `OSError`.

    May be used by several threads and processes at once.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._in_use: set[Path] = set()

    def read(self, root: Path, names: Iterable[str]) -> tuple[dict[str, bytes], bool]:
        """The named parts of a root's current save, all of one save, and whether it is damaged.

        A damaged save gives its whole parts and is removed, so that none links to its files.
        """
        wanted = set(names)
        for _ in range(_ATTEMPTS):
            save = self._current(self._folder(root))
            if save is None:
                return {}, False
            try:
                found = {
                    part.name: _content(save / str(number), part)
                    for number, part in enumerate(_manifest(save, os.fspath(root)))
                    if part.name in wanted
                }
            except FileNotFoundError:
                if save == self._current(self._folder(root)):
                    remove(save)
                    return {}, True
                continue  # It was overtaken.
            except ValueError:
                remove(save)
                return {}, True
            except OSError:
                return {}, False
            self._in_use.add(save)
            whole = {name: data for name, data in found.items() if data is not None}
            if len(whole) < len(found):
                remove(save)
            return whole, len(whole) < len(found)
        return {}, False

    def write(self, root: Path, parts: Mapping[str, bytes], now: float) -> bool:
        """Save all parts of a root; False when the current save holds just these already."""
        folder = self._folder(root)
        wanted = [
            _Part(name, len(data), zlib.crc32(data), hashlib.sha256(data).hexdigest())
            for name, data in parts.items()
        ]
        current = self._current(folder)
        before = [] if current is None else _whole_parts(current, os.fspath(root))
        if current is not None and wanted == [part for part, _ in before]:
            self._in_use.add(current)
            return False
        linkable = {part.digest: file for part, file in before}
        private.make_directory(self.directory)
        private.make_directory(folder)
        nonce = secrets.token_hex(8)
        fresh = folder / f".{nonce}"
        fresh.mkdir(mode=private.PRIVATE_DIRECTORY)
        try:
            for number, (part, data) in enumerate(zip(wanted, parts.values(), strict=True)):
                source = linkable.get(part.digest)
                if source is None or not _linked(source, fresh / str(number)):
                    _write(fresh / str(number), data)
            _write(fresh / _MANIFEST, _manifest_bytes(os.fspath(root), wanted))
            os.utime(fresh / _MANIFEST, (now, now))
            saves = _saves(folder)
            number = _number(saves[-1]) + 1 if saves else 1
            fresh.rename(folder / f"{number:012d}-{nonce}")
        finally:
            remove(fresh)  # It has another name by now, or shall not stay.
        for older in saves:
            remove(older)
        return True

    def roots(self) -> list[SavedRoot]:
        """Every root of which something is kept, the longest unused first."""
        saved = [self._saved(folder) for folder in _children(self.directory)]
        return sorted(saved, key=lambda root: (root.used, root.folder))

    def find(self, root: Path) -> SavedRoot | None:
        """What is kept of a root."""
        folder = self._folder(root)
        return self._saved(folder) if folder.exists() else None

    def stamp(self, now: float, granularity_seconds: float) -> None:
        """Note the last use of the saves that were used since the last call, unless it is known."""
        while self._in_use:
            manifest = self._in_use.pop() / _MANIFEST
            try:
                if abs(now - manifest.stat().st_mtime) > granularity_seconds:
                    os.utime(manifest, (now, now))
            except OSError:
                pass  # Removed or overtaken.

    def remove_abandoned(self, now: float) -> None:
        """Remove what processes that died have begun, and saves that were overtaken."""
        for folder in _children(self.directory):
            current = self._current(folder)
            for child in _children(folder):
                try:
                    is_old = now - child.stat().st_mtime > ABANDONED_SECONDS
                except OSError:
                    continue
                if child != current and is_old:
                    remove(child)

    def _saved(self, folder: Path) -> SavedRoot:
        save = self._current(folder)
        root, used = None, 0.0
        if save is not None:
            # One that nobody can read is the first to go.
            with suppress(OSError, ValueError):
                root, used = str(_document(save)["root"]), (save / _MANIFEST).stat().st_mtime
        return SavedRoot(folder, root, size_of(folder), used)

    def _folder(self, root: Path) -> Path:
        name = hashlib.blake2b(os.fsencode(root), digest_size=16).hexdigest()
        return self.directory / name

    def _current(self, folder: Path) -> Path | None:
        saves = _saves(folder)
        return saves[-1] if saves else None


def size_of(path: Path) -> int:
    """The bytes of all files at and below a path; what vanishes meanwhile counts nothing."""
    total = 0
    for directory, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += Path(directory, name).lstat().st_size
    return total


def _saves(folder: Path) -> list[Path]:
    """The saves of a root, the current one last."""
    named = [child for child in _children(folder) if _number(child) > 0]
    return sorted(named, key=lambda save: (_number(save), save.name))


def _number(save: Path) -> int:
    number, _, nonce = save.name.partition("-")
    return int(number) if nonce and number.isascii() and number.isdecimal() else 0


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _manifest_bytes(root: str, parts: list[_Part]) -> bytes:
    body = json.dumps({"root": root, "parts": [asdict(part) for part in parts]}).encode()
    return b"%08x\n%s" % (zlib.crc32(body), body)


def _document(save: Path) -> dict[str, object]:
    """Raises `OSError` when it cannot be read and `ValueError` when it is damaged."""
    checksum, _, body = _read(save / _MANIFEST, _MAX_MANIFEST_BYTES).partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(body):
        raise ValueError("a damaged manifest")
    # With its checksum right it is what `_manifest_bytes` wrote.
    document: dict[str, object] = json.loads(body)
    return document


def _manifest(save: Path, root: str) -> list[_Part]:
    document = _document(save)
    parts = document["parts"]
    if document["root"] != root or not isinstance(parts, list):
        raise ValueError("the manifest of another root")
    return [_Part(**part) for part in parts]


def _content(file: Path, part: _Part) -> bytes | None:
    data = _read(file, part.n_bytes + 1)
    return data if len(data) == part.n_bytes and zlib.crc32(data) == part.checksum else None


def _whole_parts(save: Path, root: str) -> list[tuple[_Part, Path]]:
    """The parts of a save that have their length, with their files."""
    try:
        found = [(part, save / str(n)) for n, part in enumerate(_manifest(save, root))]
        return [pair for pair in found if pair[1].lstat().st_size == pair[0].n_bytes]
    except (OSError, ValueError):
        return []


def _linked(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)
    except OSError:
        return False  # No links here (FAT), or too many of them.
    return True


def _read(file: Path, limit: int) -> bytes:
    if not stat.S_ISREG(file.lstat().st_mode):
        raise ValueError("no file")
    # Unbuffered, and so in one piece: parts have up to hundreds of megabytes.
    with os.fdopen(os.open(file, READING | NO_FOLLOW), "rb", buffering=0) as stream:
        return stream.read(limit)


def _write(file: Path, data: bytes) -> None:
    private.create_file(file)
    file.write_bytes(data)


def remove(path: Path) -> None:
    """Remove a file, or a directory with all below it, as far as that can be done."""
    try:
        path.unlink()
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
