"""Which chunks speak of each other: what the best ones define is used elsewhere, and vice versa.

Names are resolved by nothing but their rarity: a name that a handful of chunks define means them.
"""

import numpy as np
from numpy.typing import NDArray

from contextpack.bm25 import Floats
from contextpack.grams import distinct
from contextpack.postings import Common, Postings, ranges
from contextpack.segment import MAX_RARE, Segment

# Whose neighbours are looked at: further down a chunk is rarely about the query at all.
N_BEST = 20

# If so many are as good, those that tie with the last are left out: hundreds of chunks that are
# alike say nothing, and would cost their number.
MAX_BEST = 40

# A name that more chunks define or use is nobody's: `get`, `name`, `data`.
MAX_DEFINING = 4
MAX_USING = MAX_RARE - MAX_DEFINING

# Shorter names are variables. In UTF-8: where a word is two characters, those are six bytes.
MIN_NAME_BYTES = 4

_Numbers = NDArray[np.int64]


def related(postings: Postings, scores: Floats) -> tuple[Floats, Floats]:
    """For each chunk how much it is used by the best ones, and how much it uses them.

    Each is the score of the best such neighbour, damped where that has many, and 1 at most.
    """
    best = _best(scores)
    terms, chunks, defines = _uses(postings, _terms_of(postings, best))
    n_defining, n_using = (
        np.bincount(terms[role], minlength=int(terms.max(initial=0)) + 1)
        for role in (defines, ~defines)
    )
    telling = (
        (n_defining > 0) & (n_defining <= MAX_DEFINING) & (n_using > 0) & (n_using <= MAX_USING)
    )
    kept = telling[terms]
    terms, chunks, defines = terms[kept], chunks[kept], defines[kept]
    is_meant = np.zeros(len(scores), np.bool_)
    is_meant[best] = True
    is_best = is_meant[chunks]
    used = _pairs(terms, chunks, is_best & ~defines, defines)
    using = _pairs(terms, chunks, is_best & defines, ~defines)
    return _lift(*used, scores), _lift(*using, scores)


def _best(scores: Floats) -> _Numbers:
    found = np.flatnonzero(scores > 0)
    if len(found) <= N_BEST:
        return found
    values = scores[found]
    least = np.partition(values, len(values) - N_BEST)[len(values) - N_BEST]
    is_best = values >= least
    if np.count_nonzero(is_best) > MAX_BEST:
        is_best = values > least
    best: _Numbers = found[is_best]
    return best


def _terms_of(postings: Postings, chunks: _Numbers) -> _Numbers:
    """The terms of these chunks that some chunk defines and that are rare, or might be.

    One column a term, with its number in each segment, or -1. The chunk that defines it may be
    dead.
    """
    found = [np.zeros((len(postings.segments), 0), np.int64)]
    first = 0
    for place, (segment, common) in enumerate(
        zip(postings.segments, postings.common, strict=True)
    ):
        n_chunks = len(segment.chunk_lengths)
        own = chunks[(chunks >= first) & (chunks < first + n_chunks)] - first
        if len(own):
            numbers = np.concatenate([_rare_of(segment, own), _common_of(segment, common, own)])
            numbers = distinct(numbers)
            is_name = segment.vocabulary.n_bytes(numbers) >= MIN_NAME_BYTES
            found.append(_everywhere(postings, place, numbers[is_name]))
        first += n_chunks
    columns = np.concatenate(found, axis=1)
    is_defined = np.zeros(columns.shape[1], np.bool_)
    is_common = is_defined.copy()
    for segment, common, numbers in zip(
        postings.segments, postings.common, columns, strict=True
    ):
        known = np.flatnonzero(numbers >= 0)  # None, of files without a word.
        is_defined[known] |= segment.is_defined[numbers[known]]
        is_common |= np.isin(numbers, common.terms[common.n_living > MAX_RARE])
    columns = columns[:, is_defined & ~is_common]
    # The same term may have come from several segments.
    return columns if len(found) <= 2 else columns[:, _first_of_each(columns)]


def _first_of_each(columns: _Numbers) -> _Numbers:
    """The places of different columns: which number the first segment that knows a term has."""
    places = np.arange(columns.shape[1])
    knowing = (columns >= 0).argmax(axis=0)
    keys = columns[knowing, places] * len(columns) + knowing
    return np.unique(keys, return_index=True)[1]


def _everywhere(postings: Postings, place: int, numbers: _Numbers) -> _Numbers:
    """The terms with these numbers in the segment at this place, as `_terms_of` gives them."""
    columns = np.empty((len(postings.segments), len(numbers)), np.int64)
    columns[place] = numbers
    if len(postings.segments) > 1:
        written = postings.segments[place].vocabulary.written(numbers)
        for other, segment in enumerate(postings.segments):
            if other != place:
                columns[other] = segment.vocabulary.find(written)
    return columns


def _rare_of(segment: Segment, chunks: _Numbers) -> _Numbers:
    starts = segment.rare_starts[chunks].astype(np.int64)
    ends = segment.rare_starts[chunks + 1]
    return segment.rare_terms[ranges(starts, ends - starts)].astype(np.int64)


def _common_of(segment: Segment, common: Common, chunks: _Numbers) -> _Numbers:
    """The terms of these chunks that are rare now, for enough of the chunks with them are dead."""
    rows = segment.chunks
    numbers = common.terms[(common.n_living > 0) & (common.n_living <= MAX_RARE)]
    lengths = rows.starts[numbers + 1] - rows.starts[numbers]
    is_meant = np.zeros(len(segment.chunk_lengths), np.bool_)
    is_meant[chunks] = True
    at = ranges(rows.starts[numbers].astype(np.int64), lengths)
    return np.repeat(numbers, lengths)[is_meant[rows.documents[at]]].astype(np.int64)


def _uses(postings: Postings, wanted: _Numbers) -> tuple[_Numbers, _Numbers, NDArray[np.bool_]]:
    """Where the terms in these columns stand.

    The column of each, the chunk, and whether that defines it.
    """
    terms = [np.zeros(0, np.int64)]
    chunks = [np.zeros(0, np.int64)]
    defines = [np.zeros(0, np.bool_)]
    first = 0
    for segment, numbers in zip(postings.segments, wanted, strict=True):
        rows = segment.chunks
        known = np.flatnonzero(numbers >= 0)
        starts = rows.starts[numbers[known]].astype(np.int64)
        lengths = rows.starts[numbers[known] + 1] - starts
        at = ranges(starts, lengths)
        found = rows.documents[at].astype(np.int64) + first
        alive = postings.is_alive[postings.chunk_slots[found]]
        terms.append(np.repeat(known, lengths)[alive])
        chunks.append(found[alive])
        defines.append((rows.names[at] > 0)[alive])
        first += len(segment.chunk_lengths)
    return np.concatenate(terms), np.concatenate(chunks), np.concatenate(defines)


def _pairs(
    terms: _Numbers, chunks: _Numbers, sources: NDArray[np.bool_], targets: NDArray[np.bool_]
) -> tuple[_Numbers, _Numbers]:
    """Each source with every target of the same term."""
    order = np.flatnonzero(targets)[np.argsort(terms[targets], kind="stable")]
    starts = np.searchsorted(terms[order], terms[sources], side="left")
    lengths = np.searchsorted(terms[order], terms[sources], side="right") - starts
    return np.repeat(chunks[sources], lengths), chunks[order][ranges(starts, lengths)]


def _lift(sources: _Numbers, targets: _Numbers, scores: Floats) -> Floats:
    lift = np.zeros(len(scores))
    if len(sources):
        # One number a pair: sorting those is far quicker than sorting rows.
        pairs = distinct((sources * len(scores) + targets)[sources != targets])
        sources, targets = pairs // len(scores), pairs % len(scores)
        n_neighbours = np.bincount(sources, minlength=len(scores))
        np.maximum.at(lift, targets, scores[sources] / np.sqrt(n_neighbours[sources]))
    top = float(lift.max(initial=0.0))
    return lift / top if top > 0 else lift
