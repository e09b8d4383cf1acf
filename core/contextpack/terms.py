"""The one analyser of identifiers and words, used for queries and for files alike."""

import re
from unicodedata import normalize

import regex

# A run of letters, digits, marks and underscores of any script. `$` is part of JS names but
# never tells two of them apart.
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}_]+")

# The parts of an identifier: an acronym before a capitalised word (`HTML` in `HTMLResponse`),
# a capitalised or lower-case word, a run of letters without case (CJK and others), a number.
_PART = regex.compile(
    r"\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|[\p{Lo}\p{Lm}\p{M}]+|\p{Lt}\p{Ll}*|\p{N}+"
)

# The same two for ASCII, which nearly all words are: several times faster. Whatever is in no
# word becomes a space.
_ASCII_WORDS = bytes(
    byte if chr(byte).isalnum() or byte == ord("_") else ord(" ") for byte in range(128)
) + bytes(range(128, 256))
_ASCII_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー]{3,}"
)

# Longer "words" are data (base64, hashes): no query names them.
MAX_WORD_CHARS = 64

# Words that say nothing about where to look. They are dropped from queries only: in files they
# cost a posting, and an identifier may consist of them.
STOP_WORDS = frozenset((
    "a", "about", "after", "again", "all", "also", "an", "and", "any", "are", "as", "at",
    "be", "because", "been", "before", "being", "both", "but", "by", "can", "cannot", "could",
    "did", "do", "does", "doing", "don", "done", "down", "during", "each", "either", "else",
    "even", "ever", "every", "few", "for", "from", "further", "get", "gets", "getting",
    "give", "given", "go", "goes", "got", "had", "has", "have", "having", "he", "her", "here",
    "him", "his", "how", "i", "if", "in", "into", "is", "isn", "it", "its", "itself", "just",
    "know", "let", "like", "ll", "made", "make", "makes", "may", "me", "might", "more",
    "most", "much", "must", "my", "need", "needs", "no", "nor", "not", "now", "of", "off",
    "on", "once", "one", "only", "or", "other", "our", "out", "over", "own", "please",
    "rather", "re", "same", "say", "see", "seem", "seems", "she", "should", "since", "so",
    "some", "somehow", "something", "still", "such", "sure", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "thing", "things", "this", "those", "through",
    "thus", "to", "too", "try", "trying", "under", "until", "up", "upon", "us", "use", "used",
    "uses", "using", "ve", "very", "want", "wants", "was", "wasn", "way", "we", "well",
    "were", "what", "when", "where", "whether", "which", "while", "who", "whom", "why",
    "will", "with", "within", "without", "won", "would", "yes", "yet", "you", "your",
))  # fmt: skip

# Endings that a light stemmer removes, longest first, each with the least length of the rest.
_ENDINGS = (("ing", 3), ("ies", 3), ("ed", 3), ("es", 3), ("s", 3))


def words(text: str) -> list[str]:
    """The words and identifiers of a text, as they are written, in order."""
    if not text.isascii():
        return _WORD.findall(text)
    return text.encode("ascii").translate(_ASCII_WORDS).decode("ascii").split()


def stem(part: str) -> str:
    """A lower-case word without its commonest English endings; other words stay as they are.

    Light on purpose: `parsing`, `parsed`, `parses` and `parse` meet, `class` and `bus` stay.
    """
    if not part.isascii() or len(part) < 4 or part.endswith(("ss", "us", "is")):
        return part
    for ending, rest in _ENDINGS:
        if part.endswith(ending) and len(part) - len(ending) >= rest:
            part = part[: -len(ending)]
            # `running` gives `runn`, `stopped` gives `stopp`: undo the doubling, but keep `call`.
            if ending in ("ing", "ed") and part[-1] == part[-2] and part[-1] not in "lsz":
                part = part[:-1]
            break
    return part[:-1] if len(part) > 3 and part[-1] in "ey" else part


def parts(word: str) -> list[str]:
    """The lower-case parts of an identifier: parse, html, response, 2 of `parseHTMLResponse2`."""
    if word.isascii():
        return [part.lower() for part in _ASCII_PART.findall(word)]
    # One spelling for composed and decomposed letters, `ß` and `ss`: in the analyser alone,
    # never in what is shown or counted.
    return [normalize("NFC", part).casefold() for part in _PART.findall(normalize("NFC", word))]


def terms(word: str) -> tuple[str, ...]:
    """What a word is found by: the stems of its parts and, if it has several, the whole.

    The whole has no separators, so that `get_user`, `getUser` and `getuser` are one. Scripts
    without spaces are found by pairs of characters too. Parts of one letter count only where
    there are no longer ones (`f`, `f0`).
    """
    if len(word) > MAX_WORD_CHARS:
        return ()
    split = parts(word)
    if not word.isascii():
        split = [*split, *_pairs(word)]
    if len(split) == 1:
        return (stem(split[0]),)
    kept = [stem(part) for part in split if len(part) > 1 or not part.isascii()] or split[:1]
    whole = "".join(parts(word))
    return (*kept, stem(whole)) if split else ()


def _pairs(word: str) -> list[str]:
    """The pairs of neighbours in the word's runs of scripts that are written without spaces."""
    return [run[i : i + 2] for run in _UNSPACED.findall(word) for i in range(len(run) - 1)]
