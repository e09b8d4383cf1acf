"""The tables of the store: facts and verdicts as rows, each value with a checksum over its key too.

Functions of a connection, called inside the transactions of `Database`. What they read may be
damaged: a value of another type, row or text is left out, never given.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from sqlite3 import Connection, DatabaseError
from typing import NamedTuple, TypeGuard

from contextpackd.database import Schema

VERSION = 1

SCHEMA = Schema(
    name="facts",
    version=VERSION,
    # Rows of 1 to 4 KB fill pages of this size well, and a small change still writes few bytes.
    page_bytes=8192,
    statements=(
        "CREATE TABLE context (id INTEGER PRIMARY KEY, recipe TEXT, language TEXT, UNIQUE (recipe, language))",
        "CREATE TABLE entry (id INTEGER PRIMARY KEY, context INTEGER, digest TEXT, used INTEGER, size INTEGER, UNIQUE (context, digest))",
        "CREATE INDEX entry_used ON entry (used)",
        "CREATE TABLE outline (id INTEGER PRIMARY KEY, checksum INTEGER, value BLOB)",
        "CREATE TABLE terms (id INTEGER PRIMARY KEY, checksum INTEGER, value BLOB)",
        "CREATE TABLE verdict (context INTEGER, digest TEXT, made INTEGER, checksum INTEGER, value BLOB, PRIMARY KEY (context, digest)) WITHOUT ROWID",
    ),
)

# SQLite before 3.32 binds at most 999 values.
_BATCH = 900

# Rows deleted in one transaction: others get their turn in between.
_DELETED_ROWS = 2_000

# What a text's rows take besides the values: keys, indexes, and what is left empty of pages.
_ROW_BYTES = 300

# How long something counts as used just now: last uses are noted this coarsely.
STAMP_SECONDS = 86_400

# A verdict such as "too slow" may be a busy machine's fault: after so long it is forgotten.
VERDICT_SECONDS = 7 * 86_400

_Row = tuple[object, ...]
"""Columns, of whatever types damage may have given them."""


class FactsKey(NamedTuple):
    """Everything that facts depend on."""

    recipe: str
    language: str
    digest: str


class StoredFacts(NamedTuple):
    """The facts of one text, encoded."""

    outline: bytes
    terms: bytes

    @property
    def size_bytes(self) -> int:
        """The length of both."""
        return len(self.outline) + len(self.terms)


@dataclass(frozen=True, slots=True)
class Found:
    """What a read found."""

    values: dict[FactsKey, StoredFacts]
    stale: tuple[int, ...]
    """The entries whose noted last use is not of now."""
    n_damaged: int


def facts(reader: Connection, keys: Iterable[FactsKey], now: float) -> Found:
    """The facts of these keys."""
    columns = (
        "digest, used, entry.id, outline.checksum, outline.value, terms.checksum, terms.value"
    )
    tables = "entry JOIN outline USING (id) JOIN terms USING (id)"
    rows = list(_rows(reader, f"SELECT {columns} FROM {tables}", keys))
    values = {}
    for key, (_, _, outline_sum, outline, terms_sum, terms) in rows:
        if not _is_right(outline, key, "outline", outline_sum):
            continue
        if _is_right(terms, key, "terms", terms_sum):
            values[key] = StoredFacts(outline, terms)
    return Found(values, _stale(rows, now), len(rows) - len(values))


def verdicts(reader: Connection, keys: Iterable[FactsKey], now: float) -> dict[FactsKey, str]:
    """The verdicts on these keys that are young enough."""
    rows = _rows(reader, "SELECT digest, made, checksum, value FROM verdict", keys)
    return {
        key: value.decode("utf-8", "replace")
        for key, (made, checksum, value) in rows
        if _is_right(value, key, "verdict", checksum) and _is_within(VERDICT_SECONDS, made, now)
    }


def n_facts(reader: Connection) -> int:
    """How many texts have facts."""
    return int(reader.execute("SELECT count(*) FROM entry").fetchone()[0])


def keep_facts(writer: Connection, kept: Mapping[FactsKey, StoredFacts], now: int) -> None:
    """Put facts in, in place of those that are there: these may be damaged."""
    known = (row[0] for _, row in _rows(writer, "SELECT digest, id FROM entry", kept))
    _delete(writer, list(known))
    contexts = _contexts(writer, kept)
    for key, stored in kept.items():
        entry = (contexts[key.recipe, key.language], key.digest, now, stored.size_bytes)
        insert = "INSERT INTO entry (context, digest, used, size) VALUES (?, ?, ?, ?)"
        number = writer.execute(insert, entry).lastrowid
        for table, value in (("outline", stored.outline), ("terms", stored.terms)):
            row = (number, _checksum(key, table, value), value)
            writer.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)", row)


def keep_verdicts(writer: Connection, kept: Mapping[FactsKey, str], now: int) -> None:
    """Put verdicts in, and forget those that are too old."""
    writer.execute("DELETE FROM verdict WHERE made < ?", (now - VERDICT_SECONDS,))
    contexts = _contexts(writer, kept)
    for key, verdict in kept.items():
        value = verdict.encode("utf-8", "replace")
        context = contexts[key.recipe, key.language]
        row = (context, key.digest, now, _checksum(key, "verdict", value), value)
        writer.execute("INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?, ?)", row)


def stamp(writer: Connection, numbers: Iterable[int], now: int) -> None:
    """Note that entries are used now."""
    rows = ((now, number) for number in numbers)
    writer.executemany("UPDATE entry SET used = ? WHERE id = ?", rows)


def delete_oldest(writer: Connection, than: float, most_bytes: float) -> tuple[int, int]:
    """Delete the longest unused of the entries not used after a moment: their count and bytes.

    Stops when so many bytes are gone, or after a limit of rows: call it again.
    """
    sql = "SELECT id, size FROM entry WHERE used <= ? ORDER BY used, id LIMIT ?"
    numbers: list[object] = []
    freed = 0
    for number, size in writer.execute(sql, (than, _DELETED_ROWS)).fetchall():
        if freed >= most_bytes:
            break
        numbers.append(number)
        freed += _ROW_BYTES + (size if isinstance(size, int) else 0)
    _delete(writer, numbers)
    return len(numbers), freed


def delete_all(writer: Connection) -> int:
    """Delete every row; how many texts had facts."""
    n_deleted = n_facts(writer)
    for table in ("outline", "terms", "entry", "context", "verdict"):
        writer.execute(f"DELETE FROM {table}")
    return n_deleted


def _rows(
    connection: Connection, sql: str, keys: Iterable[FactsKey]
) -> Iterator[tuple[FactsKey, _Row]]:
    """The rows of a query whose first column is the digest: by key, without that column."""
    contexts: dict[tuple[str, str], dict[str, FactsKey]] = {}
    for key in keys:
        contexts.setdefault((key.recipe, key.language), {})[key.digest] = key
    for (recipe, language), by_digest in contexts.items():
        context = _context(connection, recipe, language)
        digests = iter(by_digest)
        while context is not None and (batch := list(islice(digests, _BATCH))):
            where = f"WHERE context = ? AND digest IN ({_marks(batch)})"
            for digest, *row in connection.execute(f"{sql} {where}", (context, *batch)):
                if digest in by_digest:
                    yield by_digest[digest], tuple(row)


def _context(connection: Connection, recipe: str, language: str) -> int | None:
    sql = "SELECT id FROM context WHERE recipe = ? AND language = ?"
    found: tuple[int] | None = connection.execute(sql, (recipe, language)).fetchone()
    return found[0] if found else None


def _contexts(
    writer: Connection, keys: Iterable[FactsKey]
) -> dict[tuple[str, str], int | None]:
    """The numbers of recipe and language, made where they lack."""
    pairs = {(key.recipe, key.language) for key in keys}
    insert = "INSERT OR IGNORE INTO context (recipe, language) VALUES (?, ?)"
    writer.executemany(insert, sorted(pairs))
    result = {pair: _context(writer, *pair) for pair in pairs}
    if None in result.values():
        raise DatabaseError("a row that is there and is not found")
    return result


def _delete(writer: Connection, numbers: Sequence[object]) -> None:
    for start in range(0, len(numbers), _BATCH):
        batch = numbers[start : start + _BATCH]
        for table in ("entry", "outline", "terms"):
            writer.execute(f"DELETE FROM {table} WHERE id IN ({_marks(batch)})", tuple(batch))


def _marks(batch: Sequence[object]) -> str:
    return ",".join("?" * len(batch))


def _stale(rows: Iterable[tuple[FactsKey, _Row]], now: float) -> tuple[int, ...]:
    return tuple(
        number
        for _, (used, number, *_) in rows
        if not _is_within(STAMP_SECONDS, used, now) and isinstance(number, int)
    )


def _is_within(seconds: float, moment: object, now: float) -> bool:
    # In the future by more than that is a clock that was set back.
    return isinstance(moment, int) and abs(now - moment) <= seconds


def _checksum(key: FactsKey, table: str, value: bytes) -> int:
    """A CRC-32 of what a value is of and of the value: half a microsecond a KB."""
    name = f"{table}\0{key.recipe}\0{key.language}\0{key.digest}"
    return zlib.crc32(value, zlib.crc32(name.encode("utf-8", "surrogatepass")))


def _is_right(value: object, key: FactsKey, table: str, checksum: object) -> TypeGuard[bytes]:
    return isinstance(value, bytes) and checksum == _checksum(key, table, value)
