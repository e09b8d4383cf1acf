"""One file's bytes to its encoded facts: in the caller's process, or in a child of the pool.

`python -m contextpackd.worker SECONDS` is the child. It reads frames of jobs from standard
input and writes one frame for each file to standard output, in the same order; the first, an
empty one, says that it is ready. A frame is its length (four bytes, little endian) and
MessagePack. Standard output belongs to the frames: whatever prints goes to standard error.

The child ends when its input does, and by an alarm when one file takes longer than SECONDS:
nothing else can end a parse, which runs in C, and it works without an owner, too. It keeps
nothing but what words split into, so it may be killed at any time.
"""

import gc
import hashlib
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import regex
import toktok
import tree_sitter

import contextpack
from contextpack import codec
from contextpack.content import content_reason, decoded
from contextpack.facts import Lexicon, facts
from contextpack.languages import Grammar
from contextpack.model import BatchCounter, Reason
from contextpack.secrets import key_rule
from contextpack.terms import terms
from contextpack.text import writable
from contextpack.tokens import profile_of
from contextpackd.counters import counter
from contextpackd.grammars import grammars

INDEX_MODEL = "o200k"
"""Whose tokens the index counts: estimates for the other models, which count again."""

# Words whose terms are remembered: a memory of about 200 bytes each that saves the splitting.
MAX_KNOWN_WORDS = 500_000

LENGTH_BYTES = 4
# The owner's own work comes first: it answers questions meanwhile.
NICENESS = 5
# A file makes tens of thousands of short-lived objects and few cycles.
GC_THRESHOLD = 100_000

# What decides about facts beside the grammars and the tokenizer: Python's and `regex`' tables
# of characters, and these sources.
_INSTALLED = ("tree_sitter", "toktok", "regex")
_SOURCES = ("codec", "content", "facts", "model", "terms", "text", "tokens")


@dataclass(frozen=True, slots=True)
class Job:
    """A file to be read: its bytes, and what is known of it by its path."""

    id: int
    """The caller's own name for it, which the result bears."""
    path: str
    """Some names alone say that a file is generated or minified."""
    language: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Made:
    """What became of one job: facts and terms, or the reason why there are none."""

    id: int
    reason: Reason | None = None
    """Binary, secret, minified, generated, too slow or crashed; None when there are facts."""
    rule: str | None = None
    """What went wrong, or what is secret, in words."""
    encoding: str = ""
    is_lossy: bool = False
    """Whether bytes were guessed or replaced."""
    facts: bytes = b""
    """As `codec.encoded` makes them."""
    terms: bytes = b""
    """As `codec.encoded_terms` makes them."""


@dataclass(frozen=True, slots=True)
class Kit:
    """What facts are made with."""

    grammars: Mapping[str, Grammar]
    count: BatchCounter
    lexicon: Lexicon
    forget: Callable[[], None]
    """Keep what the lexicon remembers within bounds; between two files only."""


def kit(compiled: Mapping[str, Grammar] | None = None) -> Kit:
    """A kit with a memory for words of its own. The tokenizer is loaded by the first count."""
    found = grammars() if compiled is None else compiled
    words = Words()
    return Kit(found, counter(profile_of(INDEX_MODEL)), words.lexicon, words.forget)


class Words(dict[str, tuple[int, ...]]):
    """What words split into, remembered. Looking one up calls no Python, which counts."""

    def __init__(self) -> None:
        super().__init__()
        self._terms: list[str] = []
        self._numbers: dict[str, int] = {}

    @property
    def lexicon(self) -> Lexicon:
        """The same for the core."""
        return Lexicon(self.__getitem__, self._terms)

    def __missing__(self, word: str) -> tuple[int, ...]:
        found = self[word] = tuple(map(self._number, terms(word)))
        return found

    def _number(self, term: str) -> int:
        number = self._numbers.setdefault(term, len(self._terms))
        if number == len(self._terms):
            self._terms.append(term)
        return number

    def forget(self) -> None:
        """Begin anew where too much is remembered. The numbers of terms are others then."""
        if len(self) >= MAX_KNOWN_WORDS:
            self.clear()
            self._terms.clear()
            self._numbers.clear()


def made(job: Job, tools: Kit) -> Made:
    """The result of one job. Total: a file that cannot be read for a fault of ours has crashed."""
    try:
        return _made(job, tools)
    except Exception as error:  # noqa: BLE001  # One bad file costs one file.
        traceback.print_exc()
        said = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Made(job.id, Reason.CRASHED, writable(said))


def _made(job: Job, tools: Kit) -> Made:
    found = decoded(job.data)
    if found is None:
        return Made(job.id, Reason.BINARY)
    if reason := content_reason(job.path, found.text):
        return Made(job.id, reason, key_rule(job.path, found.text))
    tools.forget()
    said, counted = facts(
        found.text,
        job.language,
        grammars=tools.grammars,
        count=tools.count,
        lexicon=tools.lexicon,
    )
    return Made(
        id=job.id,
        encoding=found.encoding,
        is_lossy=found.is_lossy,
        facts=codec.encoded(said),
        terms=codec.encoded_terms(counted),
    )


def recipe() -> str:
    """The name of what facts are made with here: facts of another recipe are other facts."""
    ingredients = [("tokenizer", INDEX_MODEL), ("unicode", sys.version.partition(" ")[0])]
    # An installed package's version is in the name of the directory beside it: to read what is
    # in there, as `importlib.metadata` does, takes a tenth of a second.
    homes = {
        Path(str(module.__file__)).parent.parent for module in (regex, toktok, tree_sitter)
    }
    for home in homes:
        ingredients += [("installed", path.name) for path in home.glob("*.dist-info")
                        if path.name.startswith(_INSTALLED)]  # fmt: skip
    core = Path(contextpack.__file__).parent
    sources = [core / f"{name}.py" for name in _SOURCES]
    sources += [*core.glob("languages/*.py"), *map(Path, (__file__, _source_of(grammars)))]
    for source in sources:
        digest = hashlib.blake2b(source.read_bytes(), digest_size=8).hexdigest()
        ingredients.append((source.name, digest))
    return codec.recipe(ingredients)


def _source_of(function: object) -> str:
    return str(sys.modules[str(function.__module__)].__file__)


# The frames, which `pool` speaks too.

Task = tuple[int, bytes, str, bytes]
"""A number, a path (which may not be UTF-8), a language, the file's bytes."""
Result = tuple[int, Reason | None, str | None, str, bool, bytes, bytes]
"""The fields of `Made`, with the number of the task."""

_TASKS = msgspec.msgpack.Decoder(list[Task])
RESULT = msgspec.msgpack.Decoder(Result)
_ENCODER = msgspec.msgpack.Encoder()


def made_of(result: Result, id: int) -> Made:  # noqa: A002  # As the field is called.
    """What a worker's answer says, under the caller's own name for the job."""
    _, reason, rule, encoding, is_lossy, said, counted = result
    return Made(id, reason, rule, encoding, is_lossy, said, counted)


def _result(found: Made) -> Result:
    return (
        found.id,
        found.reason,
        found.rule,
        found.encoding,
        found.is_lossy,
        found.facts,
        found.terms,
    )


def frame(content: object) -> bytes:
    """MessagePack with its length before it."""
    buffer = bytearray(LENGTH_BYTES)
    _ENCODER.encode_into(content, buffer, LENGTH_BYTES)
    buffer[:LENGTH_BYTES] = (len(buffer) - LENGTH_BYTES).to_bytes(LENGTH_BYTES, "little")
    return bytes(buffer)


def main() -> None:
    """Serve one owner until it goes."""
    deadline_seconds = float(sys.argv[1])
    results = os.dup(1)
    os.dup2(2, 1)
    # Ctrl-C is for the owner, which closes our input when it stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    os.nice(NICENESS)
    tools = kit()
    tools.count("")
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    try:
        _write(results, bytes(LENGTH_BYTES))
        for number, path, language, data in _tasks():
            job = Job(number, path.decode("utf-8", "surrogatepass"), language, data)
            signal.setitimer(signal.ITIMER_REAL, deadline_seconds)
            found = made(job, tools)
            # Waiting for the owner to read is no fault of the file.
            signal.setitimer(signal.ITIMER_REAL, 0)
            _write(results, frame(_result(found)))
    except BrokenPipeError:
        return  # The owner went.


def _tasks() -> Iterator[Task]:
    while len(head := _read(LENGTH_BYTES)) == LENGTH_BYTES:
        n_bytes = int.from_bytes(head, "little")
        content = _read(n_bytes)
        if len(content) < n_bytes:
            return  # The owner died while it wrote.
        yield from _TASKS.decode(content)


def _read(n_bytes: int) -> bytes:
    """So many bytes of standard input, or what there is before its end."""
    parts: list[bytes] = []
    while n_bytes > 0 and (part := os.read(0, n_bytes)):
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    main()
