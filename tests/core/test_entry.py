"""Entry points add to scores as they say, take from none, and say how they came to a file."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.entry import (
    AROUND_SHARE,
    CALLER_WEIGHT,
    CHANGED_WEIGHT,
    ENCLOSING_SHARE,
    FOCUS_WEIGHT,
    HOP_LOSS,
    IMPORT_SHARE,
    NEAR_WEIGHT,
    REACH_WEIGHT,
    UNSURE_SHARE,
    WHOLE_SHARE,
    entry,
    trails_from,
)
from contextpack.factors import KIND_FACTORS
from contextpack.kinds import Kind
from contextpack.plan import plan
from contextpack.rank import HEADER_SHARE, REPEAT_DISCOUNT, rank
from contextpack.ranking import MIN_SCORE_SHARE, SCORE_DIGITS, Ranking
from contextpack.related import MAX_DEFINING, MAX_USING
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
    # No import says that it is this one's.
    assert by_start["b.py", 1] == UNSURE_SHARE * CALLER_WEIGHT
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
        "far.py": "import y\nimport x\n",
        "x.py": "import z1\n",
        "y.py": "import z0\n",
        "z0.py": "import end\n",
        "z1.py": "import end\n",
        "end.py": "",
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
    far = trails_from(made, Request(query="", origins=("far.py",), depth=3))
    assert far["end.py"] == ("far.py", "y.py", "z0.py", "end.py")
    both = trails_from(made, Request(query="", origins=("a.py", "d.py"), depth=1))
    assert {path for path, trail in both.items() if len(trail) == 1} == {"a.py", "d.py"}


def test_of_equally_near_files_those_count_that_are_used_and_not_everybodys() -> None:
    others = {f"other_{n}.py": "import all_need_it\n" for n in range(5)}
    files = {
        "app.py": "import all_need_it\nimport few\nimport used\n\nanswer = computed_answer()\n",
        "all_need_it.py": "say = 1\n",
        "few.py": "do = 1\n",
        "used.py": "def computed_answer():\n    return 42\n",
        **others,
    }
    ranking = ranked(files, Request(query="", origins=("app.py",)))
    assert [file.path for file in ranking.files] == [
        "app.py", "used.py", "few.py", "all_need_it.py",
    ]  # fmt: skip
    assert ranking.score("app.py") == REACH_WEIGHT
    assert REACH_WEIGHT / (1 + HOP_LOSS) == pytest.approx(ranking.score("used.py"), abs=1e-5)


def test_what_only_imports_is_close_and_a_test_of_it_less_so() -> None:
    files = {
        "tax.py": "rate = 1\n",
        "shop.py": "import tax\n",
        "tests/test_it.py": "import tax\n",
    }
    ranking = ranked(files, Request(query="", focus=(Focus("tax.py", Lines(1, 1)),)))
    near = NEAR_WEIGHT * IMPORT_SHARE / 2**0.5  # Of two neighbours.
    assert ranking.score("shop.py") == pytest.approx(near, abs=1e-5)
    assert ranking.score("tests/test_it.py") == pytest.approx(
        KIND_FACTORS[Kind.TEST] * near, abs=1e-5
    )


def callers(files: dict[str, str], *lines: Lines) -> list[str]:
    """The files that call what these lines of `a.py` define."""
    ranking = ranked(files, Request(query="", diff="HEAD"), {"a.py": lines})
    return [file.path for file in ranking.files if "caller" in file.parts]


def test_callers_are_those_of_the_definitions_that_changed() -> None:
    files = {
        "a.py": function("first_one") + function("second_one"),
        "b.py": "first_one(1)\n",
        "c.py": "second_one(1)\n",
    }
    assert callers(files, Lines(50, 50)) == ["c.py"]
    assert callers(files, Lines(3, 3)) == ["b.py"]
    assert callers(files, Lines(40, 50)) == ["b.py", "c.py"]


def test_a_name_of_one_word_counts_where_an_import_says_whose_it_is() -> None:
    files = {
        "a.py": "def rendered(): ...\n",
        "b.py": "import a\na.rendered()\n",
        "c.md": "What is rendered.\n",
        "d.py": "import b\nrendered()\n",
    }
    assert callers(files, Lines(1, 1)) == ["b.py"]


def test_files_of_one_package_need_no_import() -> None:
    files = {
        "shop/a.go": "package shop\n\nfunc rendered() {}\n",
        "shop/b.go": "package shop\n\nfunc other() { rendered() }\n",
        "more/c.go": "package more\n\nfunc third() { rendered() }\n",
    }
    ranking = ranked(files, Request(query="", diff="HEAD"), {"shop/a.go": (Lines(3, 3),)})
    assert [f.path for f in ranking.files if "caller" in f.parts] == ["shop/b.go"]


def test_a_name_of_everybody_has_no_callers() -> None:
    files = {"a.py": "def rendered(): ...\n", "b.py": "import a\nrendered()\n"}
    assert callers(files, Lines(1, 1)) == ["b.py"]
    defined = {f"d{n}.py": "def rendered(): ...\n" for n in range(MAX_DEFINING)}
    assert callers(files | defined, Lines(1, 1)) == []
    used = {f"u{n}.py": "import a\nrendered()\n" for n in range(MAX_USING)}
    assert callers(files | used, Lines(1, 1)) == []


def test_a_file_is_a_test_by_its_name_if_nothing_else_is_in_it() -> None:
    files = {
        "cart.py": "def total(): ...\n",
        "tests/test_cart.py": "x = 1\n",
        "tests/cart_spec.py": "x = 1\n",
        "tests/test_cart_of_others.py": "x = 1\n",
        "tests/cart.py": "x = 1\n",
        "tests/test_cart.rb": "x = 1\n",
    }
    ranking = ranked(files, Request(query="", diff="HEAD"), {"cart.py": (Lines(1, 1),)})
    tests = [file.path for file in ranking.files if "test" in file.parts]
    assert tests == ["tests/cart_spec.py", "tests/test_cart.py"]


def test_what_changed_gets_nothing_for_using_or_testing_what_changed() -> None:
    files = {
        "a.py": "def total_price(): ...\n",
        "b.py": "import a\ntotal_price()\n",
        "tests/test_a.py": "import a\ntotal_price()\n",
    }
    changed: dict[str, tuple[Lines, ...]] = dict.fromkeys(files, (Lines(1, 1),))
    ranking = ranked(files, Request(query="", diff="HEAD"), changed)
    assert [(file.path, dict(file.parts)) for file in ranking.files] == [
        (path, {"changed": CHANGED_WEIGHT}) for path in sorted(files)
    ]


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
    best = plain.ranking.score("strong.py")
    assert MIN_SCORE_SHARE < plain.ranking.score("weak.py") / best < 2 * MIN_SCORE_SHARE
    assert plain.paths == ("strong.py", "weak.py")
    focused = plan(made, replace(asked, focus=(Focus("strong.py", Lines(1, 1)),)))
    assert focused.ranking.score("strong.py") > 1.5 * best
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
