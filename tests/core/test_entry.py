"""Entry points add to scores as they say, take from none, and say how they came to a file."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from contextpack.entry import (
    AROUND_SHARE,
    CALLER_WEIGHT,
    CHANGED_WEIGHT,
    ENCLOSING_SHARE,
    FOCUS_WEIGHT,
    NEAR_WEIGHT,
    WHOLE_SHARE,
    entry,
    trails_from,
)
from contextpack.plan import MIN_SCORE_SHARE, plan
from contextpack.rank import HEADER_SHARE, REPEAT_DISCOUNT, rank
from contextpack.ranking import SCORE_DIGITS, Ranking
from contextpack.request import Focus, Request, Scorer
from contextpack.text import Lines
from harness.memory import packed, snapshot_of
from harness.strategies import changes, foci, queries, requests, workspaces

FILLER = "".join(f"    total = total + {number} * total\n" for number in range(40))


def function(name: str, body: str = "") -> str:
    return f"def {name}(total):\n{body}{FILLER}    return total\n\n\n"


def ranked(
    files: dict[str, str], request: Request, changed: dict[str, tuple[Lines, ...]] | None = None
) -> Ranking:
    made = snapshot_of(files)
    return rank(made, request.query, entry(made, request, changed))


def scores(ranking: Ranking) -> list[tuple[str, int, float]]:
    return [(chunk.path, chunk.lines.start, chunk.score) for chunk in ranking.chunks()]


def discounted(score: float, n_better: int) -> float:
    return round(score / (1 + REPEAT_DISCOUNT * n_better), SCORE_DIGITS)


def test_focused_lines_come_before_the_rest_of_their_file() -> None:
    files = {"a.py": function("first") + function("second") + function("third")}
    focus = Focus("a.py", Lines(50, 50))
    assert scores(ranked(files, Request(query="", focus=(focus,)))) == [
        ("a.py", 45, FOCUS_WEIGHT),
        # The start of a file says what the rest speaks of.
        ("a.py", 1, discounted(HEADER_SHARE * FOCUS_WEIGHT, 1)),
        ("a.py", 89, discounted(AROUND_SHARE * FOCUS_WEIGHT, 2)),
    ]


def test_a_file_in_focus_is_so_as_a_whole() -> None:
    files = {"a.py": function("first") + function("second")}
    found = scores(ranked(files, Request(query="", focus=(Focus("a.py"),))))
    share = WHOLE_SHARE * FOCUS_WEIGHT
    assert found == [("a.py", 1, share), ("a.py", 45, discounted(share, 1))]


def test_a_focus_beyond_the_end_is_one_on_the_file() -> None:
    files = {"a.py": function("first")}
    found = scores(ranked(files, Request(query="", focus=(Focus("a.py", Lines(900, 901)),))))
    assert found == [("a.py", 1, AROUND_SHARE * FOCUS_WEIGHT)]


def test_what_is_close_is_bounded_however_much_is_in_focus() -> None:
    files = {f"m{n}.py": f"def maker_{n}():\n    return maker_{n + 1}()\n" for n in range(30)}
    focus = tuple(Focus(f"m{n}.py") for n in range(20))
    ranking = ranked(files, Request(query="", focus=focus))
    near = [file.parts["near"] for file in ranking.files if "near" in file.parts]
    assert near
    assert max(near) <= NEAR_WEIGHT


def test_changed_lines_then_their_function_then_what_uses_it() -> None:
    long = function(
        "long_calculation", "".join(f"    if total == {n}:\n{FILLER}" for n in range(30))
    )
    files = {
        "a.py": function("first") + long + function("last"),
        "b.py": function("caller_of_it", "    long_calculation(total)\n"),
    }
    request = Request(query="", diff="HEAD")
    ranking = ranked(files, request, {"a.py": (Lines(60, 60),)})
    made = ranking.snapshot
    by_start = {(path, start): score for path, start, score in scores(ranking)}
    inside = [
        start
        for path, start, _ in scores(ranking)
        if path == "a.py" and 45 <= start < made.sources["a.py"].n_lines - 44
    ]
    assert by_start["a.py", 45] == CHANGED_WEIGHT
    assert len(inside) > 2
    assert sorted(by_start["a.py", start] for start in inside)[-2] == discounted(
        ENCLOSING_SHARE * CHANGED_WEIGHT, 1
    )
    assert by_start["b.py", 1] == CALLER_WEIGHT
    assert ("a.py", made.sources["a.py"].n_lines - 43) not in by_start


def test_a_changed_attribute_does_not_bring_the_whole_class() -> None:
    methods = "".join(f"    def method_{n}(self, total):\n    {FILLER}\n" for n in range(6))
    files = {"a.py": f"class Big:\n    LIMIT = 3\n{methods}"}
    ranking = ranked(files, Request(query="", diff="HEAD"), {"a.py": (Lines(2, 2),)})
    assert [start for _, start, _ in scores(ranking)] == [1]


def test_the_shortest_way_is_told_and_depth_ends_it() -> None:
    files = {
        "a.py": "import b\nimport c\n",
        "b.py": "import d\n",
        "c.py": "import d\n",
        "d.py": "import e\nimport a\n",
        "e.py": "",
    }
    made = snapshot_of(files)
    forward = trails_from(made, Request(query="", origins=("a.py",)))
    assert forward == {
        "a.py": ("a.py",),
        "b.py": ("a.py", "b.py"),
        "c.py": ("a.py", "c.py"),
        "d.py": ("a.py", "b.py", "d.py"),
    }
    back = trails_from(made, Request(query="", origins=("e.py",), importers=True, depth=9))
    assert back["c.py"] == ("c.py", "d.py", "e.py")
    assert back["a.py"] == ("a.py", "b.py", "d.py", "e.py")
    both = trails_from(made, Request(query="", origins=("a.py", "d.py"), depth=1))
    assert {path for path, trail in both.items() if len(trail) == 1} == {"a.py", "d.py"}


def test_a_bundle_says_which_imports_led_to_each_file() -> None:
    files = {"a.py": "import b\n", "b.py": "import c\n", "c.py": "x = 1\n", "d.py": "y = 1\n"}
    pack = packed(files, Request(query="", origins=("a.py",)))
    assert {item.path: item.reasons[-1] for item in pack.items} == {
        "a.py": "imports lead to it",
        "b.py": "imports: a.py → b.py",
        "c.py": "imports: a.py → b.py → c.py",
    }


def test_the_classic_scorer_takes_entry_points_too() -> None:
    files = {"a.py": "import b\n", "b.py": "x = 1\n", "c.py": "y = 1\n"}
    request = Request(
        query="", scorer=Scorer.CLASSIC, origins=("a.py",), focus=(Focus("b.py"),)
    )
    assert [item.path for item in packed(files, request).items] == ["b.py", "a.py"]


@given(st.data())
def test_a_focus_and_changes_take_from_no_score(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    request = data.draw(requests(files))
    made = snapshot_of(files)
    plain = Request(query=request.query, focus=request.focus, diff=request.diff)
    found = entry(made, plain, data.draw(changes(files)))
    before, after = rank(made, plain.query), rank(made, plain.query, found)
    if not before.is_fallback:
        for file in before.files:
            assert after.score(file.path) >= file.score


@given(st.data())
def test_a_focus_and_changes_leave_no_hit_out(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    made = snapshot_of(files)
    asked = Request(query=data.draw(queries), budget_tokens=50_000)
    focus = tuple(data.draw(st.lists(foci(files), max_size=3)))
    more = replace(asked, focus=focus, diff="HEAD")
    before = plan(made, asked)
    after = plan(made, more, changed=data.draw(changes(files)))
    if not before.ranking.is_fallback:
        assert set(before.paths) <= set(after.paths)


def test_a_weak_hit_is_no_noise_beside_a_strong_focus() -> None:
    files = {
        "strong.py": function("strong", "    quote = escape = comma = 1\n"),
        "weak.py": function("other", "    comma = 2\n"),
        "tests/test_it.py": function("tested", "    comma = 1\n"),
    }
    made = snapshot_of(files)
    asked = Request(query="quote escape comma", budget_tokens=50_000)
    plain = plan(made, asked)
    assert plain.ranking.score("strong.py") == 1.0
    assert MIN_SCORE_SHARE < plain.ranking.score("weak.py") < 2 * MIN_SCORE_SHARE
    assert plain.paths == ("strong.py", "weak.py")
    focused = plan(made, replace(asked, focus=(Focus("strong.py", Lines(1, 1)),)))
    assert focused.ranking.score("strong.py") == 2.0
    assert focused.paths == ("strong.py", "weak.py")


@given(st.data())
def test_only_what_imports_lead_to_has_a_score(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    request = data.draw(requests(files))
    made = snapshot_of(files)
    changed = data.draw(changes(files))
    found = entry(made, request, changed)
    if found is None or not request.origins:
        return
    named = {focus.path for focus in request.focus} | (set(changed) if request.diff else set())
    ranking = rank(made, request.query, found)
    assert {file.path for file in ranking.files} <= {*ranking.trails, *named}
    for path, trail in ranking.trails.items():
        assert len(trail) - 1 <= request.depth
        assert path in (trail[0], trail[-1])
        for importer, imported in pairwise(trail):
            assert imported in made.graph.imports[importer]
