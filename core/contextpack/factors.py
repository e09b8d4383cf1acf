"""What a query asks for besides its words: the product's own code, unless it says otherwise."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from contextpack.bm25 import Floats
from contextpack.grams import distinct
from contextpack.kinds import KINDS, Kind
from contextpack.query import Question
from contextpack.snapshot import Snapshot

# What a file's score is multiplied with when the query does not ask for its kind.
KIND_FACTORS: Mapping[Kind, float] = MappingProxyType(
    {
        Kind.TEST: 0.25,
        Kind.DOCUMENT: 0.25,
        Kind.EXAMPLE: 0.25,
        Kind.TOOLING: 0.35,
        Kind.VENDORED: 0.25,
        Kind.DATA: 0.35,
    }
)
# The terms by which a query asks for a kind.
KIND_TERMS: Mapping[Kind, tuple[str, ...]] = MappingProxyType(
    {
        Kind.TEST: ("test", "spec", "fixtur", "testcas"),
        Kind.DOCUMENT: ("doc", "docs", "documentation", "readm", "changelog", "document"),
        Kind.EXAMPLE: ("exampl", "demo", "sampl", "tutorial"),
        Kind.TOOLING: ("benchmark", "bench", "script", "workflow", "ci"),
        Kind.VENDORED: ("vendor", "legac", "deprecat"),
        Kind.DATA: (
            "config",
            "configuration",
            "json",
            "yaml",
            "toml",
            "html",
            "css",
            "styl",
            "templat",
        ),
    }
)

# And when it does: who asks for tests of something often means that, too. Worth half a point of
# changed lines in 8 000 tokens and a point of files.
ASKED_FACTOR = 0.7

# A word that more than this share of the product's own files hold asks for no kind: in a test
# runner all tasks speak of tests.
MAX_COMMON_SHARE = 0.2


def kind_factors(snapshot: Snapshot, asked: Question) -> Floats:
    """By slot: what scores are multiplied with for the kind of the file."""
    factors = [
        ASKED_FACTOR if _is_asked_for(kind, snapshot, asked) else KIND_FACTORS.get(kind, 1.0)
        for kind in KINDS
    ]
    return np.array(factors)[snapshot.kinds]


def _is_asked_for(kind: Kind, snapshot: Snapshot, asked: Question) -> bool:
    postings = snapshot.postings
    terms = [term for term in KIND_TERMS.get(kind, ()) if asked.asks_for(term)]
    if not terms:
        return False
    is_source = (snapshot.kinds == KINDS.index(Kind.SOURCE)) & postings.is_alive
    most = MAX_COMMON_SHARE * int(is_source.sum())
    for term in terms:
        files = distinct(postings.chunk_slots[postings.in_chunks(term).documents])
        if int(is_source[files].sum()) <= most:
            return True
    return False
