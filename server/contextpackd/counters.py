"""Token counters for the core: the adapter over the tokenizer library, which nothing else imports.

Text is counted as it is: special tokens are ordinary characters, nothing is normalised, and the
vocabularies are part of the library, so no network is asked. The first count with a vocabulary
loads it (about half a second, once per process, and no other thread runs meanwhile); count an
empty text to have that behind you.
Nothing is remembered here: a count of a kilobyte costs about 40 µs.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import toktok

from contextpack.tokens import Encoding, Profile, estimate_tokens

# Below this, starting threads costs more than they save.
_PARALLEL_CHARS = 1 << 18

# What becomes of a lone surrogate on its way to a model: `?` from Python's `replace`, U+FFFD
# from browsers and Node, the escape from JSON. UTF-8 has no form of its own for it.
_SURROGATE_FORMS = ("replace", "backslashreplace")
_LONE_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


@dataclass(frozen=True, slots=True)
class Counter:
    """The token counter of one profile. Total: any `str` has a count. Safe in any thread.

    A text with lone surrogates counts as the dearest of the forms in which it can be written
    down, so whichever is sent, the count is not below it.
    """

    profile: Profile

    def __call__(self, text: str) -> int:
        """The tokens of one text."""
        return self.count_many((text,))[0]

    def count_many(self, texts: Iterable[str]) -> list[int]:
        """The tokens of each text, in order; large batches use every core."""
        batch = list(texts)
        if self.profile.encoding is Encoding.CHARS:
            return [self._scaled(estimate_tokens(text)) for text in batch]
        try:
            counts = _counts(batch, self.profile.encoding)
        except UnicodeEncodeError:
            counts = [_dearest(text, self.profile.encoding) for text in batch]
        return [self._scaled(count) for count in counts]

    def _scaled(self, count: int) -> int:
        return math.ceil(count * self.profile.factor)


def counter(profile: Profile) -> Counter:
    """The counter of a profile."""
    return Counter(profile)


def _counts(texts: list[str], encoding: Encoding) -> list[int]:
    threads = 0 if len(texts) > 1 and sum(map(len, texts)) > _PARALLEL_CHARS else 1
    counts: list[int] = toktok.batch_count(texts, encoding.value, threads)
    return counts


def _dearest(text: str, encoding: Encoding) -> int:
    forms = [text.encode("utf-8", errors).decode("utf-8") for errors in _SURROGATE_FORMS]
    return max(_counts([*forms, text.translate(_LONE_SURROGATES)], encoding))
