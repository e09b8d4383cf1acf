"""A snapshot after changes says what one made anew says, and costs what changed."""

from collections.abc import Mapping
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from contextpack.model import Reason, Skip
from contextpack.postings import MAX_COUNTED_OFF, MERGE_RATIO, postings
from contextpack.rank import rank
from contextpack.request import Request
from contextpack.resolve import is_config
from contextpack.snapshot import MAX_CUTS, Change, Snapshot, Work, applied, empty
from harness.memory import STANDARD_LIBRARY, packed, reading_of, snapshot_of

PATHS = ("a.py", "b.py", "pkg/__init__.py", "pkg/cache.py", "tests/test_a.py", "web/loader.ts")
TEXTS = (
    "import b\n\ndef load_cache(key):\n    return cache[key]\n",
    "from pkg import cache\nimport pkg.cache\n\nclass Cache:\n    def load(self): ...\n",
    "import { load } from './loader'\nexport const cache = load('key')\n",
    "",
    "# the cache is loaded by its key\n" * 9,
    "def other():\n    pass\n\n\ndef load():\n    return other()\n",
)
QUERIES = ("load the cache by key", "a.py:3 other", "loader", "nothing here", "")

edits = st.lists(
    st.dictionaries(
        st.sampled_from(PATHS), st.sampled_from(TEXTS) | st.none(), min_size=1, max_size=4
    ),
    min_size=1,
    max_size=12,
)


def change_of(before: Mapping[str, str], after: Mapping[str, str]) -> Change:
    """What a shell would report: everything that was written, whether or not it differs."""
    return Change(
        read=tuple(
            reading_of(path, text) for path, text in after.items() if before.get(path) != text
        ),
        gone=frozenset(before.keys() - after.keys()),
        configs={p: t for p, t in after.items() if is_config(p) and before.get(p) != t},
    )


def edited(files: Mapping[str, str], edit: Mapping[str, str | None]) -> dict[str, str]:
    both = {**files, **edit}
    return {path: text for path, text in both.items() if text is not None}


def applied_edits(
    files: Mapping[str, str], steps: list[dict[str, str | None]]
) -> tuple[dict[str, str], Snapshot, list[Work]]:
    now = dict(files)
    made, work = applied(empty(STANDARD_LIBRARY), change_of({}, now))
    log = [work]
    for edit in steps:
        after = edited(now, edit)
        made, work = applied(made, change_of(now, after))
        log.append(work)
        now = after
    return now, made, log


@settings(max_examples=60)
@given(edits)
def test_after_changes_it_ranks_and_packs_as_made_anew(
    steps: list[dict[str, str | None]],
) -> None:
    files, made, _ = applied_edits({"pkg/b.py": TEXTS[5], "c.md": "# Cache\n\nload\n"}, steps)
    cold = snapshot_of(files)
    assert made.sources == cold.sources
    assert made.graph.imports == cold.graph.imports
    assert made.graph.importers == cold.graph.importers
    for query in QUERIES:
        ours, theirs = rank(made, query), rank(cold, query)
        assert ours.files == theirs.files
        assert list(ours.chunks()) == list(theirs.chunks())
        assert ours.unknown_words == theirs.unknown_words
        request = Request(query=query, budget_tokens=400)
        assert packed(files, request, made) == packed(files, request, cold)


def test_chunks_from_a_score_on_are_the_first_of_all() -> None:
    # Many with a common word only, a few with the rare one.
    files = {f"m{n}.py": f"def load_{n}(): ...\n" for n in range(1200)}
    files["rare.py"] = "def load(zebra): ...\n\n\ndef stripes(zebra): ...\n"
    ranking = rank(snapshot_of(files), "load zebra")
    scores = [chunk.score for chunk in ranking.chunks()]
    for least in (0.0, scores[-1], scores[2], scores[1], scores[0], scores[0] * 2):
        above = [chunk for chunk in ranking.chunks() if chunk.score >= least]
        assert above == list(ranking.chunks(least))


def test_a_save_costs_its_own_rows_and_imports() -> None:
    files = {f"m{n}.py": f"import m{n + 1}\n\ndef f{n}(): ...\n" for n in range(50)}
    saved = {"m7.py": "import m9\nimport m3\n\ndef f7(): ...\n"}
    _, _, (_, work) = applied_edits(files, [dict(saved)])
    assert (work.indexed, work.resolved) == (1, (("m7.py", 2),))


def test_a_change_without_another_meaning_costs_no_rows() -> None:
    files = {f"m{n}.py": f"def f{n}(a, b): return a - b\n" for n in range(5)}
    _, before, _ = applied_edits(files, [])
    _, made, (_, work) = applied_edits(files, [{"m3.py": "def f3(a, b): return a + b\n"}])
    assert (work.indexed, work.merged, work.resolved) == (0, 0, ())
    assert made.sources["m3.py"].digest != before.sources["m3.py"].digest


def test_many_saves_copy_rows_a_few_times_each() -> None:
    files = {f"m{n}.py": f"def f{n}(): ...\n" for n in range(200)}
    steps: list[dict[str, str | None]] = [
        {f"m{n % 200}.py": f"def g{n}(): ...\n"} for n in range(400)
    ]
    _, made, log = applied_edits(files, steps)
    assert sum(work.indexed for work in log) == 600
    n_growths = np.log(600) / np.log(MERGE_RATIO)
    assert sum(work.merged for work in log) <= 600 * (MERGE_RATIO + 1) * n_growths
    assert len(made.postings.segments) <= n_growths + 2
    # What is dead takes up to as much room as what lives.
    assert made.postings.n_files == 200
    assert made.postings.n_slots <= 400 + MERGE_RATIO


def test_what_is_skipped_changes_apart_from_the_files() -> None:
    made, _ = applied(
        empty(STANDARD_LIBRARY), Change(read=(reading_of("a.py", "x = 1\n"),), configs={})
    )
    skips = (Skip("z.bin", Reason.BINARY), Skip("b.bin", Reason.BINARY))
    after, work = applied(made, Change(skipped=skips))
    assert [skip.path for skip in after.skipped] == ["b.bin", "z.bin"]
    assert (work.indexed, work.merged, work.resolved) == (0, 0, ())
    assert after.postings.segments == made.postings.segments


@settings(max_examples=60)
@given(edits)
def test_an_extended_index_is_that_of_its_segments(
    steps: list[dict[str, str | None]],
) -> None:
    # Small batches, so that one change makes several segments.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("contextpack.postings.BATCH_FILES", 2)
        _, made, _ = applied_edits({f"m{n}.py": TEXTS[n % 6] for n in range(8)}, steps)
    check_index(made)


@pytest.mark.parametrize("n_at_once", [1, 3, MAX_COUNTED_OFF + 1])
def test_where_common_terms_still_stand_is_counted(n_at_once: int) -> None:
    # Of some the chunks that die are the first of their rows, the last, and none.
    files = {f"m{n:03}.py": f"def f{n}(kept): low{n // 70} = step{n % 2}\n" for n in range(140)}
    order = [0, 139, 69, 70, *range(1, 60)]
    steps: list[dict[str, str | None]] = [
        {f"m{n:03}.py": "other = 1\n" if n % 3 else None for n in order[at : at + n_at_once]}
        for at in range(0, 3 * n_at_once, n_at_once)
    ]
    _, made, _ = applied_edits(files, steps)
    check_index(made)
    first, common = made.postings.segments[0], made.postings.common[0]
    assert first.n_files == 140
    for number, n_living in zip(common.terms.tolist(), common.n_living.tolist(), strict=True):
        stands = made.postings.in_chunks(first.vocabulary.term(number)).documents
        assert n_living == np.count_nonzero(stands < len(first.chunk_lengths))
    assert {"kept", "low0", "low1", "step0", "step1"} <= {
        first.vocabulary.term(number) for number in common.terms.tolist()
    }


def test_of_several_new_segments_the_large_one_stays() -> None:
    long = "".join(f"def load_{n}(key): return cache_{n}[key]\n" for n in range(60))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("contextpack.postings.BATCH_FILES", 1)
        made = snapshot_of({"a.py": long, "b.py": "b = 1\n", "c.py": "c = 1\n"})
    assert [1, 2] == [segment.n_files for segment in made.postings.segments]
    check_index(made)


@pytest.mark.parametrize("n_files", [MAX_CUTS, MAX_CUTS + 1])
def test_the_edges_of_a_file_that_all_import_follow_it(n_files: int) -> None:
    files = {f"m{n}.py": "import hub\nimport m0\n" for n in range(1, n_files + 1)}
    files |= {"hub.py": "hub = 1\n", "m0.py": "import hub\n"}
    _, made, _ = applied_edits(files, [{"hub.py": "hub = other\n"}])
    assert len(made.importing) == 2 * n_files + 1
    check_index(made)


def check_index(made: Snapshot) -> None:
    """An index that was extended is that of its segments, and all columns are by its slots."""
    ours = made.postings
    theirs = postings(ours.segments, ours.is_alive)
    for name in ("first_chunks", "chunk_slots", "chunk_lengths", "n_stem_terms"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    for our, their in zip(ours.common, theirs.common, strict=True):
        assert np.array_equal(our.terms, their.terms)
        assert np.array_equal(our.n_living, their.n_living)
    assert (ours.n_files, ours.n_chunks) == (theirs.n_files, theirs.n_chunks)
    assert made.slots == {
        path: slot for slot, path in enumerate(made.paths.tolist()) if ours.is_alive[slot]
    }
    ends = zip(made.paths[made.importing], made.paths[made.imported], strict=True)
    assert sorted(ends) == sorted(
        (source, target)
        for source, targets in made.graph.imports.items()
        for target in targets
        if target in made.slots
    )


def test_times_stand_at_the_slots_of_their_files() -> None:
    made = snapshot_of({f"m{n}.py": TEXTS[n % 6] for n in range(8)})
    for seconds, name in enumerate(("m3.py", "m7.py", "new.py", "m3.py", "m0.py"), 1):
        read = reading_of(name, TEXTS[seconds])
        found = replace(read, source=replace(read.source, modified=seconds))
        made, _ = applied(made, Change(read=(found,)))
        restated = replace(made.sources["m1.py"], modified=100 + seconds)
        made, _ = applied(made, Change(restated=(restated,)))
    times = {path: float(made.modified[slot]) for path, slot in made.slots.items()}
    assert times == {path: source.modified for path, source in made.sources.items()}
    assert (times["m1.py"], times["m3.py"], times["new.py"]) == (105, 4, 3)
