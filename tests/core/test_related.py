"""Chunks that speak of each other, in an index of one segment or of several."""

import numpy as np

from contextpack.related import MAX_BEST, MAX_DEFINING, MAX_USING, related
from contextpack.segment import MAX_RARE
from contextpack.snapshot import Change, Snapshot, applied
from harness.memory import reading_of, snapshot_of

FILES = {
    "a.py": "def find_best(x): return make_tree(x)\n",
    "b.py": "def make_tree(x): return x\n",
    "c.py": "def main(): return find_best(1)\n",
    "d.py": "def other(): return 0\n",
}


def lifted(snapshot: Snapshot) -> tuple[list[str], list[str]]:
    """The files that are used by `a.py`, and that use it."""
    postings = snapshot.postings
    scores = np.zeros(len(postings.chunk_slots))
    scores[postings.first_chunks[snapshot.slots["a.py"]]] = 1.0
    used, using = related(postings, scores)
    return (
        [snapshot.paths[postings.chunk_slots[chunk]] for chunk in np.flatnonzero(used)],
        [snapshot.paths[postings.chunk_slots[chunk]] for chunk in np.flatnonzero(using)],
    )


def test_definitions_and_uses_are_found_by_their_names() -> None:
    assert lifted(snapshot_of(FILES)) == (["b.py"], ["c.py"])


def test_they_are_found_across_segments() -> None:
    before = snapshot_of(FILES)
    edit = reading_of("b.py", "def make_tree(x): return x + 1\n")
    after, work = applied(before, Change(read=(edit,)))
    assert len(after.postings.segments) == 2 or work.merged
    assert lifted(after) == (["b.py"], ["c.py"])


def test_a_segment_without_a_word_says_nothing() -> None:
    wordless = reading_of("_.json", "{}\n")
    after, work = applied(snapshot_of(FILES), Change(read=(wordless,)))
    assert not work.merged
    assert 0 == len(after.postings.segments[-1].vocabulary)
    assert lifted(after) == (["b.py"], ["c.py"])


def test_a_name_that_many_define_is_nobodys() -> None:
    same = {f"same{i}.py": "def make_tree(x): return x\n" for i in range(MAX_DEFINING)}
    assert lifted(snapshot_of(FILES | same)) == ([], ["c.py"])


def test_a_name_is_rare_again_when_enough_of_its_users_are_gone() -> None:
    users = {
        f"user{i:02}.py": "def main(): return find_best(1)\n" for i in range(MAX_USING + 9)
    }
    before = snapshot_of(FILES | users)
    assert lifted(before) == (["b.py"], [])
    gone = frozenset(list(users)[:20])
    after, work = applied(before, Change(gone=gone))
    assert not work.merged
    alive = sorted({"c.py", *users.keys() - gone})
    assert lifted(after) == (["b.py"], alive) == lifted(snapshot_of(FILES | {
        path: text for path, text in users.items() if path not in gone
    }))  # fmt: skip


def test_without_scores_nothing_is_related() -> None:
    postings = snapshot_of(FILES).postings
    used, using = related(postings, np.zeros(len(postings.chunk_slots)))
    assert not used.any()
    assert not using.any()
    empty = snapshot_of({}).postings
    assert [len(lift) for lift in related(empty, np.zeros(0))] == [0, 0]


def test_chunks_that_tie_beyond_measure_are_nobodys_neighbours() -> None:
    def neighbours(n_alike: int) -> set[str]:
        alike = {f"u{n}.py": f"def use{n}(): return make_tree({n})\n" for n in range(n_alike)}
        postings = (made := snapshot_of(FILES | alike)).postings
        scores = np.zeros(len(postings.chunk_slots))
        for path in alike:
            scores[postings.first_chunks[made.slots[path]]] = 1.0
        used, _ = related(postings, scores)
        return {made.paths[postings.chunk_slots[chunk]] for chunk in np.flatnonzero(used)}

    assert neighbours(MAX_BEST) == {"b.py"}
    assert neighbours(MAX_BEST + 1) == set()


def test_rare_terms_of_chunks_are_those_that_stand_in_them() -> None:
    many = {f"many{i:02}.py": "def main(): return sometimes(1)\n" for i in range(MAX_RARE + 1)}
    files = FILES | many
    changed = [reading_of(path, f"{text}# more\n") for path, text in list(files.items())[:3]]
    after, _ = applied(snapshot_of(files), Change(read=tuple(changed)))
    for made in (snapshot_of(files), after):
        for segment in made.postings.segments:
            rows = segment.chunks
            terms = np.repeat(np.arange(len(segment.vocabulary)), np.diff(rows.starts))
            is_rare = np.diff(rows.starts)[terms] <= MAX_RARE
            rare = zip(rows.documents[is_rare].tolist(), terms[is_rare].tolist(), strict=True)
            n_chunks = len(segment.chunk_lengths)
            chunks = np.repeat(np.arange(n_chunks), np.diff(segment.rare_starts))
            kept = zip(chunks.tolist(), segment.rare_terms.tolist(), strict=True)
            assert set(rare) == set(kept)
            defined = {term for term in set(terms.tolist()) if rows.of(term)[2].any()}
            assert defined == set(np.flatnonzero(segment.is_defined).tolist())
