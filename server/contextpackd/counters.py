"""Token counters for the core: the adapter over the tokenizer library, which nothing else imports.

Text is counted as it is: special tokens are ordinary characters, nothing is normalised, and the
vocabularies are part of the library, so no network is asked. The first count with a vocabulary
loads it (about half a second, once per process, and no other thread runs meanwhile); count an
empty text to have that behind you, or have `tokenizer` do it elsewhere.
No count is remembered here: one of a kilobyte costs about 40 µs.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Counter:
    """The token counter of one profile. Total: any `str` has a count. Safe in any thread.

    A text with lone surrogates counts as the dearest of the forms in which it can be written
    down, so whichever is sent, the count is not below it.
    """

    profile: Profile
    elsewhere: Elsewhere | None = None
    """Who counts as long as this process has not loaded the vocabulary."""

    def __call__(self, text: str) -> int:
        """The tokens of one text."""
        return self.count_many((text,))[0]

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """The tokens of each text, in order; large batches use every core."""
        batch = list(texts)
        if self.profile.encoding is Encoding.CHARS:
            return [self._scaled(estimate_tokens(text)) for text in batch]
        counts = self._counts_elsewhere(batch)
        if counts is None:
            try:
                counts = _counts(batch, self.profile.encoding)
            except UnicodeEncodeError:
                counts = [_dearest(text, self.profile.encoding) for text in batch]
        return [self._scaled(count) for count in counts]

    def _counts_elsewhere(self, texts: list[str]) -> list[int] | None:
        if self.elsewhere is None or self.profile.encoding in _loaded:
            return None
        return self.elsewhere(texts, _n_threads(texts))

    def _scaled(self, count: int) -> int:
        return math.ceil(count * self.profile.factor)


def counter(profile: Profile, elsewhere: Elsewhere | None = None) -> Counter:
    """The counter of a profile. `elsewhere` counts with its vocabulary."""
    return Counter(profile, elsewhere)


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
