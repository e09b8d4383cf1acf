"""Token counters for the core: the adapter over the tokenizer library, which nothing else imports.

Text is counted as it is: special tokens are ordinary characters, nothing is normalised, and the
vocabularies are part of the library, so no network is asked. The first count with a vocabulary
loads it (about half a second, once per process, and no other thread runs meanwhile); count an
empty text to have that behind you, or have `tokenizer` do it elsewhere.
A count of a kilobyte costs about 10 to 40 µs; `Counts` remembers those of what is counted again.
"""

import math
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import toktok

from contextpack.tokens import Encoding, Profile, estimate_tokens

# Below this, starting threads costs more than they save.
_PARALLEL_CHARS = 1 << 18

# What becomes of a lone surrogate on its way to a model: `?` from Python's `replace`, U+FFFD
# from browsers and Node, the escape from JSON. UTF-8 has no form of its own for it.
_SURROGATE_FORMS = ("replace", "backslashreplace")
_LONE_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")

Elsewhere = Callable[[list[str], int], list[int] | None]
"""Another process' counts of texts, with so many threads; None where it has none."""

_loaded: set[Encoding] = set()
"""The vocabularies that this process has: the library keeps them to its end."""
_elsewhere: set[Encoding] = set()
"""Those that another process was asked for."""


def begin_elsewhere(encoding: Encoding) -> bool:
    """Whether another process shall count: once, before this one has the vocabulary."""
    if encoding is Encoding.CHARS or encoding in _loaded or encoding in _elsewhere:
        return False
    _elsewhere.add(encoding)
    return True


# A text is counted in parts: both vocabularies split where a line begins with a backtick, so the
# counts of the parts add up exactly. A line that begins with white space or a slash may belong to
# the token before it. In Markdown a bundle falls into its path lines, contents and fences: of one
# that is asked for again, or counted as a whole after its pieces were, little is new.
_BORDER = "\n`"

# Of all texts together: the pieces of some fifty bundles.
MAX_CHARACTERS = 2 << 20


class Counts:
    """A memory of counts. They depend on the text alone, so none is ever out of date.

    Safe in any thread. It holds so many characters, and twice as many more as the longest part of
    a text has.
    """

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self._lock = threading.Lock()
        # What was asked for since the older half was made; when it is full it becomes that.
        self._recent: dict[tuple[Encoding, str], int] = {}
        self._older: dict[tuple[Encoding, str], int] = {}
        self._room = self._max_recent = max_characters // 2
        self.n_counted = 0
        """How many characters were given to the tokenizer so far: what nobody remembered."""

    def of(
        self,
        texts: Iterable[str],
        encoding: Encoding,
        count_anew: Callable[[list[str]], list[int]],
    ) -> list[int]:
        """The tokens of each text in an encoding, those by `count_anew` that nobody remembers.

        Raises UnicodeEncodeError for one with lone surrogates.
        """
        divided = [_parts(text) for text in texts]
        recent, older = self._recent, self._older
        known: dict[str, int] = {}
        asked_again: dict[str, int] = {}
        missing: list[str] = []
        for part in dict.fromkeys(part for parts in divided for part in parts):
            count = recent.get((encoding, part))
            if count is None:
                count = older.get((encoding, part))
                if count is None:
                    missing.append(part)
                    continue
                asked_again[part] = count
            known[part] = count
        if missing:
            asked_again.update(zip(missing, count_anew(missing), strict=True))
        if asked_again:
            known.update(asked_again)
            self._keep(asked_again, encoding, sum(map(len, missing)))
        return [sum(map(known.__getitem__, parts)) for parts in divided]

    def _keep(self, counts: dict[str, int], encoding: Encoding, n_counted: int) -> None:
        with self._lock:
            self.n_counted += n_counted
            for part, count in counts.items():
                self._recent[encoding, part] = count
                self._room -= len(part)
                if self._room < 0:
                    self._older, self._recent = self._recent, {}
                    self._room = self._max_recent

    def __len__(self) -> int:
        """How many characters it holds."""
        return sum(len(part) for half in (self._recent, self._older) for _, part in half)


def load(encoding: Encoding) -> None:
    """Load a vocabulary now, if this process has none yet."""
    _counts([""], encoding)


@dataclass(frozen=True, slots=True)
class Counter:
    """The token counter of one profile. Total: any `str` has a count. Safe in any thread.

    A text with lone surrogates counts as the dearest of the forms in which it can be written
    down, so whichever is sent, the count is not below it.
    """

    profile: Profile
    counts: Counts | None = field(default=None, compare=False, repr=False)
    """What it remembers counts in, if it does."""
    elsewhere: Elsewhere | None = field(default=None, compare=False, repr=False)
    """Who counts as long as this process has not loaded the vocabulary."""

    def __call__(self, text: str) -> int:
        """The tokens of one text."""
        return self.count_many((text,))[0]

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """The tokens of each text, in order; large batches use every core."""
        batch = list(texts)
        if self.profile.encoding is Encoding.CHARS:
            return [self._scaled(estimate_tokens(text)) for text in batch]
        try:
            counts = self._counted(batch)
        except UnicodeEncodeError:
            counts = [_dearest(text, self.profile.encoding) for text in batch]
        return [self._scaled(count) for count in counts]

    def _counted(self, texts: list[str]) -> list[int]:
        if self.counts is None:
            return self._counted_anew(texts)
        return self.counts.of(texts, self.profile.encoding, self._counted_anew)

    def _counted_anew(self, texts: list[str]) -> list[int]:
        encoding = self.profile.encoding
        if self.elsewhere is not None and encoding not in _loaded:
            found = self.elsewhere(texts, _n_threads(texts))
            if found is not None:
                return found
        return _counts(texts, encoding)

    def _scaled(self, count: int) -> int:
        return math.ceil(count * self.profile.factor)


def counter(
    profile: Profile, counts: Counts | None = None, elsewhere: Elsewhere | None = None
) -> Counter:
    """The counter of a profile, which remembers counts if it is told where.

    `elsewhere` counts with its vocabulary as long as this process has none.
    """
    return Counter(profile, counts, elsewhere)


def _parts(text: str) -> list[str]:
    """The text, cut where counts add up."""
    first, *others = text.split(_BORDER)
    if not others:
        return [first]
    *middle, last = others
    return [f"{first}\n", *(f"`{part}\n" for part in middle), f"`{last}"]


def _counts(texts: list[str], encoding: Encoding) -> list[int]:
    counts: list[int] = toktok.batch_count(texts, encoding.value, _n_threads(texts))
    _loaded.add(encoding)
    return counts


def _n_threads(texts: list[str]) -> int:
    """How many threads count them; 0 is one for each processor."""
    return 0 if len(texts) > 1 and sum(map(len, texts)) > _PARALLEL_CHARS else 1


def _dearest(text: str, encoding: Encoding) -> int:
    forms = [text.encode("utf-8", errors).decode("utf-8") for errors in _SURROGATE_FORMS]
    return max(_counts([*forms, text.translate(_LONE_SURROGATES)], encoding))
