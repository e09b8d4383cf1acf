"""One SQLite database that others may lock, damage or fill the disk under. Nothing raises out.

Rules

- Every statement runs inside `read` or `write`; a fault makes them give their default.
- What is damaged is not repaired. A file's name carries the version of its schema, so that
  programs of several versions do not fight, and a generation: whoever finds damage goes on with
  the next generation and removes the files of the older ones. Two processes that find it at once
  meet in the same new file, and since no name is used twice, no log is ever replayed into
  another database, nor removed by whoever closes the old one.
- Locks: `_writing` before `_reading`. Each guards the connection of its name, so that a reader
  waits for no transaction.

Knows nothing of tables: the schema is passed in. Truncating the `-shm` file of a database that
is open ends the process (it is mapped memory); everything else that can be done to the files is
answered here.
"""

import re
import secrets
import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeVar

from contextpackd import private

# How long another process's transaction is waited for. Ours take some 50 ms.
LOCK_WAIT_SECONDS = 0.2

# How long no write is tried after one that waited in vain, or that found the disk full or
# unusable. A stuck process then costs a sixth of the time, and room on a disk is noticed.
LOCKED_PAUSE_SECONDS = 1.0
FULL_PAUSE_SECONDS = 60.0

# After so many damaged databases in one run the disk is not worth another try.
MAX_RENEWALS = 3

_MAX_VALUE_BYTES = 64 << 20  # What claims to be longer is damage.
_MAX_LOG_BYTES = 16 << 20  # Then it goes into the database, which waits for the disk.
_PROBE_BYTES = 1 << 16

_LOCKED = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_SCHEMA,
}  # fmt: skip
_FULL = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM}
# These may be the fault of the disk or of the files on it.
_UNCLEAR = {
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_AUTH, sqlite3.SQLITE_IOERR,
}  # fmt: skip
# The files are sound, and cannot grow.
_WRITE_ERRORS = {
    sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_NOMEM,
}  # fmt: skip

Clock = Callable[[], float]
"""Seconds since 1970."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Schema:
    """What makes a database: `NAME-vVERSION-GENERATION.sqlite3` is its file."""

    name: str
    version: int
    statements: tuple[str, ...]
    page_bytes: int

    def file(self, generation: int) -> str:
        """The name of a generation's file."""
        return f"{self.name}-v{self.version}-{generation:06d}.sqlite3"

    def parsed(self, name: str) -> tuple[int, int] | None:
        """Version and generation of a file of this database, logs included."""
        pattern = rf"{self.name}-v(\d+)-(\d+)\.sqlite3(?:-wal|-shm|-journal)?"
        found = re.fullmatch(pattern, name, re.ASCII)
        return (int(found[1]), int(found[2])) if found else None


class _Fault(Enum):
    LOCKED = "is locked by another program"
    FULL = "cannot take more"
    UNUSABLE = "cannot be used"
    DAMAGED = "was damaged and has been begun anew"


class _Mismatch(Exception):
    """A file that is a database, and not the one that its name says."""


class Database:
    """The newest generation in a directory. Threads may share it, forked children may not.

    The file is made by the first write.
    """

    def __init__(self, directory: Path, schema: Schema, clock: Clock) -> None:
        self.n_reads = 0
        self.n_writes = 0
        self._directory = directory
        self._schema = schema
        self._clock = clock
        self._writing = threading.RLock()
        self._reading = threading.RLock()
        self._writer: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._generation = 0
        self._inode: tuple[int, int] | None = None
        self._n_renewals = 0
        self._is_closed = False
        self._paused_until = 0.0
        self._trouble: str | None = None
        self._damage: str | None = None
        with self._writing:
            try:
                self._connect(creates=False)
            except (sqlite3.Error, MemoryError, OSError, _Mismatch) as error:
                self._meet(error, self._generation)

    @property
    def problem(self) -> str | None:
        """What is wrong, for people; None when all is well."""
        return self._trouble or self._damage

    def read(self, work: Callable[[sqlite3.Connection], T], default: T) -> T:
        """What `work` makes of a connection that only reads, or the default."""
        with self._reading:
            if self._reader is None:
                return default
            generation = self._generation
            try:
                self.n_reads += 1
                return work(self._reader)
            except (sqlite3.Error, MemoryError) as error:
                fault = error
        self._meet(fault, generation)
        return default

    def write(
        self,
        work: Callable[[sqlite3.Connection], T],
        default: T,
        *,
        wait_seconds: float = LOCK_WAIT_SECONDS,
    ) -> T:
        """What `work` gives inside one transaction, or the default when it did not happen.

        A longer wait than usual is for somebody who insists: it overrides the pause after a
        fault.
        """
        insists = wait_seconds > LOCK_WAIT_SECONDS
        with self._writing:
            if self._is_closed or (self._clock() < self._paused_until and not insists):
                return default
            for _ in range(2):  # Once more in the next generation.
                try:
                    return self._transaction(work, wait_seconds)
                except (sqlite3.Error, MemoryError, OSError, _Mismatch) as error:
                    if not self._meet(error, self._generation):
                        break
            return default

    def shrink(self) -> None:
        """Give the pages that are free back to the disk, and empty the log."""
        with self._writing:
            if self._writer is None:
                return
            try:
                _set_wait(self._writer, LOCK_WAIT_SECONDS)
                # Not `execute`: it takes one step, which is one page.
                self._writer.executescript("PRAGMA incremental_vacuum")
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except (sqlite3.Error, MemoryError) as error:
                self._meet(error, self._generation)

    def close(self) -> None:
        """Close the connections; afterwards everything gives its default."""
        with self._writing:
            self._is_closed = True
            self._disconnect()

    def remove_older(self) -> None:
        """Remove the files of generations that nobody will read again."""
        for file in self.files():
            parsed = self._schema.parsed(file.name)
            version, generation = parsed or (None, 0)
            if version == self._schema.version and generation < self._generation:
                with suppress(OSError):
                    file.unlink()

    def files(self) -> list[Path]:
        """Every file of this database in the directory: all versions, generations and logs."""
        try:
            children = list(self._directory.iterdir())
        except OSError:
            return []
        return [child for child in children if self._schema.parsed(child.name)]

    def _transaction(self, work: Callable[[sqlite3.Connection], T], wait_seconds: float) -> T:
        writer = self._connected()
        _set_wait(writer, wait_seconds)
        writer.execute("BEGIN IMMEDIATE")
        try:
            result = work(writer)
            writer.execute("COMMIT")
        finally:
            # After some faults SQLite has rolled back by itself.
            if writer.in_transaction:
                with suppress(sqlite3.Error):
                    writer.execute("ROLLBACK")
        self.n_writes += 1
        self._trouble = None
        return result

    def _connected(self) -> sqlite3.Connection:
        if self._writer is not None and not self._is_moved():
            return self._writer
        self._connect(creates=True)
        assert self._writer is not None
        return self._writer

    def _is_moved(self) -> bool:
        """Whether the file is another one now: somebody removed it, or found it damaged."""
        try:
            return self._inode != _inode(self._directory / self._schema.file(self._generation))
        except OSError:
            return True

    def _connect(self, *, creates: bool) -> None:
        """Connect to the newest generation, or to none when there is none and none is made."""
        with self._reading:
            self._disconnect()
            versions = (self._schema.parsed(file.name) for file in self.files())
            newest = max(
                (g for version, g in filter(None, versions) if version == self._schema.version),
                default=0,
            )
            self._generation = max(self._generation, newest, 1 if creates else 0)
            if self._generation == 0:
                return
            file = self._directory / self._schema.file(self._generation)
            if creates:
                private.make_directory(self._directory)
                private.create_file(file)
            elif not file.exists():
                return
            self._inode = _inode(file)
            for suffix in ("", "-wal", "-shm"):
                _check_is_file(file.with_name(file.name + suffix))
            with ExitStack() as failing:
                writer = failing.enter_context(closing(self._opened(file)))
                if not self._prepared(writer, creates=creates):
                    return
                reader = failing.enter_context(closing(self._opened(file)))
                reader.execute("PRAGMA query_only = ON")
                self._writer, self._reader = writer, reader
                failing.pop_all()

    def _opened(self, file: Path) -> sqlite3.Connection:
        # Not created here: SQLite would let others read it.
        uri = f"{file.as_uri()}?mode=rw"
        with ExitStack() as failing:
            connection = failing.enter_context(
                closing(
                    sqlite3.connect(
                        uri,
                        uri=True,
                        timeout=LOCK_WAIT_SECONDS,
                        isolation_level=None,
                        check_same_thread=False,
                    )
                )
            )
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
            for pragma in (
                "synchronous = NORMAL",
                f"journal_size_limit = {_MAX_LOG_BYTES}",
                f"wal_autocheckpoint = {_MAX_LOG_BYTES // self._schema.page_bytes}",
                "cell_size_check = ON",
                "trusted_schema = OFF",
                # A mapped file that is cut off ends the process.
                "mmap_size = 0",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            failing.pop_all()
        return connection

    def _prepared(self, writer: sqlite3.Connection, *, creates: bool) -> bool:
        """Make the tables of a new database. False when it is new and none shall be made."""
        if _version(writer) == self._schema.version:
            return True
        if not creates and _is_empty(writer):
            return False
        # These hold only from before the first table on, and change nothing later.
        writer.execute(f"PRAGMA page_size = {self._schema.page_bytes}")
        writer.execute("PRAGMA auto_vacuum = INCREMENTAL")
        writer.execute("PRAGMA journal_mode = WAL").fetchall()
        writer.execute("BEGIN IMMEDIATE")
        # Somebody may have been quicker.
        if _version(writer) != self._schema.version:
            if not _is_empty(writer):
                raise _Mismatch("it has another version")
            for statement in self._schema.statements:
                writer.execute(statement)
            writer.execute(f"PRAGMA user_version = {self._schema.version}")
        writer.execute("COMMIT")
        return True

    def _disconnect(self) -> None:
        with self._reading:
            for connection in (self._writer, self._reader):
                if connection is not None:
                    with suppress(sqlite3.Error):
                        connection.close()
            self._writer = self._reader = None

    def _meet(self, error: BaseException, generation: int) -> bool:
        """Note a fault and go on as well as can be. Whether trying again makes sense."""
        with self._writing, self._reading:
            if self._is_closed:
                return False
            if generation != self._generation:
                return True  # Another thread has met it.
            fault = self._fault(error)
            message = f"{self._directory} {fault.value}"
            match fault:
                case _Fault.LOCKED:
                    self._pause(f"{message}; new entries are not kept", LOCKED_PAUSE_SECONDS)
                case _Fault.FULL:
                    self._pause(f"{message}: {_reason(error)}", FULL_PAUSE_SECONDS)
                case _Fault.UNUSABLE:
                    self._pause(f"{message}: {_reason(error)}", FULL_PAUSE_SECONDS)
                    self._disconnect()
                case _Fault.DAMAGED:
                    self._damage = message
                    self._n_renewals += 1
                    self._disconnect()
                    if self._n_renewals > MAX_RENEWALS:
                        self._pause(
                            f"{self._directory} is damaged again and again", float("inf")
                        )
                        return False
                    self._generation += 1
                    self._renew()
                    return True
            return False

    def _renew(self) -> None:
        try:
            self._connect(creates=True)
            self.remove_older()
        except (sqlite3.Error, MemoryError, OSError, _Mismatch) as error:
            self._disconnect()
            self._pause(
                f"{self._directory} cannot be used: {_reason(error)}", FULL_PAUSE_SECONDS
            )

    def _pause(self, trouble: str, seconds: float) -> None:
        self._trouble = trouble
        self._paused_until = self._clock() + seconds

    def _fault(self, error: BaseException) -> _Fault:
        if isinstance(error, MemoryError):
            return _Fault.FULL
        if isinstance(error, OSError):
            return _Fault.UNUSABLE
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        primary = code & 0xFF
        if primary in _LOCKED:
            return _Fault.LOCKED
        if primary in _FULL:
            return _Fault.FULL
        if primary in _UNCLEAR:
            if not self._can_write():
                return _Fault.UNUSABLE
            return _Fault.FULL if code in _WRITE_ERRORS else _Fault.DAMAGED
        return _Fault.DAMAGED

    def _can_write(self) -> bool:
        """Whether a small file can be written beside the database."""
        probe = self._directory / f".probe-{secrets.token_hex(8)}"
        try:
            private.create_file(probe)
            probe.write_bytes(bytes(_PROBE_BYTES))
        except OSError:
            return False
        finally:
            with suppress(OSError):
                probe.unlink()
        return True


def _set_wait(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_empty(connection: sqlite3.Connection) -> bool:
    n_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return _version(connection) == 0 and n_tables == 0


def _check_is_file(file: Path) -> None:
    try:
        found = file.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise _Mismatch("it is no file")


def _inode(file: Path) -> tuple[int, int]:
    found = file.lstat()
    return found.st_dev, found.st_ino


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
