"""The file packer where its ancestor is silent or wrong; the recorded data hold the rest."""

import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.allocate import (
    ExcludedFile,
    Exclusion,
    FilePack,
    IncludedFile,
    allocate,
    build_context_pack,
)
from contextpack.classic import (
    File,
    ScoredFile,
    build_import_graph,
    extract_import_specifiers,
    normalize_query,
    resolve_import_path,
    score_file,
    score_repo,
)
from contextpack.errors import Code, PackError
from contextpack.tokens import estimate_tokens, profile_of
from contextpack.truncate import Truncation, summary_truncate, tail_truncate
from contextpackd.counters import counter

O200K = counter(profile_of("o200k"))
LONG = ScoredFile("long.py", "x" * 400, 1.0)
SHORT = ScoredFile("short.py", "y" * 40, 0.5)

CONTENTS = st.text(st.sampled_from("ab 漢😀\n\u0301\x00"), max_size=300)
PATHS = st.sampled_from(["a.js", "src/b.js", "src/c/d.ts", "漢.py", "\ue000", "😀"])
FILES = st.lists(st.builds(File, PATHS, CONTENTS), max_size=6, unique_by=lambda f: f.path)
BUDGETS = st.integers(-5, 300) | st.floats(-5, 300) | st.sampled_from([math.nan, -math.inf])


@pytest.mark.parametrize("budget", [0, -1, -10.5, math.nan, -math.inf])
def test_a_budget_that_buys_nothing_excludes_everything(budget: float) -> None:
    pack = allocate([SHORT, LONG], budget)

    assert pack.included == ()
    expected = [
        ExcludedFile("long.py", Exclusion.EXHAUSTED),
        ExcludedFile("short.py", Exclusion.EXHAUSTED),
    ]
    assert expected == list(pack.excluded)


@pytest.mark.parametrize("budget", [math.nan, -math.inf])
def test_a_budget_that_is_no_number_leaves_zero(budget: float) -> None:
    pack = build_context_pack([File("a.py", "text")], "text", budget)
    assert (pack.budget, pack.remaining) == (0, 0)
    assert json.dumps([pack.budget, pack.remaining], allow_nan=False) == "[0, 0]"


def test_an_endless_budget_is_refused() -> None:
    with pytest.raises(PackError) as caught:
        allocate([SHORT], math.inf)
    assert caught.value.code == Code.INVALID_BUDGET


@pytest.mark.parametrize("budget", ["5", None, True, [5], 10**400])
def test_a_budget_is_a_number_that_a_float_can_hold(budget: Any) -> None:
    for pack in (partial(allocate, []), partial(build_context_pack, [], "query")):
        with pytest.raises(PackError, match="budget_tokens must be a finite number") as caught:
            pack(budget)
        assert caught.value.code == Code.INVALID_BUDGET
        assert len(caught.value.message) < 150


def test_a_budget_endlessly_below_zero_buys_nothing() -> None:
    assert FilePack((), (), 0, 0) == allocate([], -(10**400))


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (None, "must be an iterable of"),
        (7, "must be an iterable of"),
        (b"bytes", "must be an iterable of"),
        ("text", "must be an iterable of"),
        ({"a.py": "text"}, "must be an iterable of"),
        ([{"path": "a.py", "content": "text"}], "got dict at 0"),
        ([b"bytes"], "got bytes at 0"),
        ([None], "got NoneType at 0"),
    ],
)
def test_files_are_files(files: Any, problem: str) -> None:
    calls: dict[str, Callable[[], object]] = {
        "`scored_files`": lambda: allocate(files, 5),
        "`files`": lambda: build_context_pack(files, "query", 5),
        "`files` ": lambda: score_repo(files, ["query"]),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"{name.strip()} .*{problem}"):
            call()


def test_paths_and_contents_are_text_and_times_are_numbers() -> None:
    not_text: Any = b"bytes"
    with pytest.raises(TypeError, match=r"`scored_files` .* at 1 whose content is not text"):
        allocate([SHORT, ScoredFile("a.py", not_text, 1.0)], 5)
    with pytest.raises(TypeError, match=r"`files` .* at 0 whose path is not text but bytes"):
        score_repo([File(not_text, "text")], [])
    with pytest.raises(TypeError, match="`modified_at` must be a number or None, got bytes"):
        score_repo([File("a.py", "text", not_text)], [])
    with pytest.raises(TypeError, match="`query` must be text, got bytes"):
        build_context_pack([], not_text, 5)
    # An int that no float can hold is as unknown as NaN.
    assert [1.0] == [file.score for file in score_repo([File("a", "", 10**400)], [])]


def test_functions_can_be_called() -> None:
    no_function: Any = "head"
    with pytest.raises(TypeError, match="`truncate` must be callable, got str"):
        allocate([], 5, truncate=no_function)
    with pytest.raises(TypeError, match="`counter` must be callable, got str"):
        allocate([], 5, counter=no_function)


def test_files_may_come_one_by_one() -> None:
    files = [File("a.py", "text"), File("b.bin", "\0"), File("c.py", "import './a.py'")]
    assert build_context_pack(files, "text", 50) == build_context_pack(iter(files), "text", 50)
    assert score_repo(files, ["text"]) == score_repo(iter(files), ["text"])
    assert allocate([SHORT, LONG], 50) == allocate(iter([SHORT, LONG]), 50)


def test_no_files_leave_the_budget_whole() -> None:
    assert FilePack((), (), 100, 100) == build_context_pack([], "", 100)


def test_a_fraction_of_a_token_buys_nothing() -> None:
    pack = allocate([LONG], 25.5)
    assert [file.tokens for file in pack.included] == [25]
    assert pack.remaining == 0.5


def test_a_file_is_whole_then_cut_then_left_out() -> None:
    last = ScoredFile("last.py", "z", 0.1)
    pack = allocate([last, LONG, SHORT, LONG], 125)
    assert [
        IncludedFile("long.py", "x" * 400, 100, truncated=False, score=1.0),
        IncludedFile("long.py", "x" * 100, 25, truncated=True, score=1.0),
    ] == list(pack.included)
    assert [
        ExcludedFile("short.py", Exclusion.EXHAUSTED),
        ExcludedFile("last.py", Exclusion.EXHAUSTED),
    ] == list(pack.excluded)


def test_too_small_a_rest_leaves_a_file_out_and_the_next_may_fit() -> None:
    pack = allocate([LONG, SHORT], 19)
    assert [file.path for file in pack.included] == ["short.py"]
    assert (ExcludedFile("long.py", Exclusion.INSUFFICIENT),) == pack.excluded


def test_how_small_a_rest_is_worth_cutting_for_is_an_option() -> None:
    pack = allocate([LONG], 19, min_truncate_tokens=19)
    assert [file.tokens for file in pack.included] == [19]
    for bad in (-1, cast("int", math.nan), cast("int", "20"), cast("int", None)):
        with pytest.raises(PackError) as caught:
            allocate([LONG], 19, min_truncate_tokens=bad)
        assert caught.value.code == Code.INVALID_TOKENS


def test_equal_scores_go_by_path_in_utf16_order() -> None:
    files = [ScoredFile(path, "", 1.0) for path in ("\ue000", "😀", "b", "a", "B")]
    assert [f.path for f in allocate(files, 1).included] == ["B", "a", "b", "😀", "\ue000"]


@pytest.mark.parametrize("tokens", [26, 10**9, 10**400, -1, math.nan, math.inf, 3.5, None, "7"])
def test_a_strategy_that_claims_an_impossible_count_is_refused(tokens: object) -> None:
    with pytest.raises(PackError) as caught:
        allocate([LONG], 25, truncate=lambda _, __: Truncation("x", cast("int", tokens)))
    assert caught.value.code == Code.INVALID_TRUNCATION
    assert caught.value.details["path"] == "long.py"


def test_a_strategy_that_returns_too_much_text_is_refused() -> None:
    with pytest.raises(PackError) as caught:
        allocate([LONG], 25, truncate=lambda content, _: Truncation(content, 3))
    assert caught.value.code == Code.INVALID_TRUNCATION


def test_a_strategy_that_returns_something_else_is_refused() -> None:
    with pytest.raises(PackError) as caught:
        allocate([LONG], 25, truncate=lambda content, _: cast("Truncation", content[:4]))
    assert caught.value.code == Code.INVALID_TRUNCATION


def test_a_strategy_is_charged_what_it_claims_or_what_it_costs_if_that_is_more() -> None:
    claims_more = allocate([LONG], 25, truncate=lambda *_: Truncation("xxxx", 5))
    claims_less = allocate([LONG], 25, truncate=lambda *_: Truncation("x" * 40, 5))
    assert (claims_more.included[0].tokens, claims_more.remaining) == (5, 20)
    assert (claims_less.included[0].tokens, claims_less.remaining) == (10, 15)


def test_scores_and_counts_that_are_no_numbers_are_refused() -> None:
    for score in (math.nan, math.inf, 10**400, 10**5000, cast("float", "1"), True):
        with pytest.raises(PackError) as caught:
            allocate([ScoredFile("a", "", score)], 10)
        assert caught.value.code == Code.INVALID_SCORE
    for count in (-1, cast("int", math.nan)):
        with pytest.raises(PackError) as caught:
            allocate([SHORT], 10, counter=lambda _, count=count: count)  # type: ignore[misc]  # mypy types no lambda with defaults.
        assert caught.value.code == Code.INVALID_TOKENS


@given(
    files=FILES,
    budget=BUDGETS,
    strategy=st.sampled_from([None, tail_truncate, summary_truncate]),
)
def test_the_budget_holds_and_every_file_has_one_place(
    files: list[File], budget: float, strategy: Callable[..., Truncation] | None
) -> None:
    for count in (estimate_tokens, O200K):
        truncate = partial(strategy, counter=count) if strategy else None
        pack = build_context_pack(
            files, "a b", budget, truncate=truncate, counter=count, min_truncate_tokens=3
        )
        spent = sum(count(file.content) for file in pack.included)
        assert spent == sum(file.tokens for file in pack.included)
        assert spent == 0 or spent <= budget
        assert pack.remaining >= min(0, pack.budget)
        places = [file.path for file in pack.included] + [file.path for file in pack.excluded]
        assert sorted(file.path for file in files) == sorted(places)


def test_no_file_is_cut_inside_a_character() -> None:
    pack = build_context_pack([File("a.md", "😀" * 100)], "", 25, counter=len)
    assert pack.included[0].content == "😀" * 25
    estimated = build_context_pack([File("a.md", "a" + "😀" * 100)], "", 25)
    # 100 UTF-16 units would end in half a pair.
    assert estimated.included[0].content == "a" + "😀" * 49


def test_query_words_are_lower_case_and_unique() -> None:
    assert normalize_query("  Fix the\tLOGIN\n the\u3000fix\ufeff") == ("fix", "the", "login")
    assert normalize_query(" ") == ()


def test_a_score_is_keywords_and_depth() -> None:
    file = File("src/auth/Login.js", "login(); LOGIN; logout")
    assert score_file(file, ["login", "out"]) == 10 + 2 * 2 + 2 + 1 / 3
    assert score_file(File("", ""), ["x"]) == 1.0


def test_an_import_lends_once_over_one_hop_and_recency_is_relative() -> None:
    files = [
        File("login.js", "import './b'", modified_at=1000),
        File("b.js", "import './c'", modified_at=3000),
        File("c.js", "", modified_at=2000),
        File("d.js", "", modified_at=math.nan),
    ]
    scores = {file.path: file.score for file in score_repo(files, ["login"])}
    assert scores == {"login.js": 11.0, "b.js": 1 + 3 + 3.0, "c.js": 1 + 1.5, "d.js": 1.0}


def test_one_dated_file_is_the_newest() -> None:
    assert [file.score for file in score_repo([File("a", "", modified_at=7)], [])] == [4.0]


@pytest.mark.parametrize(
    ("importer", "specifier", "target"),
    [
        ("src/a.js", "./b", "src/b.ts"),
        ("src/a.js", "../lib", "lib/index.js"),
        ("src/a.js", ".", "src/index.mjs"),
        ("src/a.js", "./b.ts", "src/b.ts"),
        ("src/a.js", "/b", "src/b.ts"),
        ("src/a.js", "../../c", "../c.js"),
        ("/src/a.js", "../d", "/d.js"),
        ("/a.js", "../../d", "/d.js"),
        ("a.js", "/src//x/../b", "src/b.ts"),
        ("a.js", ".", None),
        ("src/a.js", "../lib/", None),
        ("src/a.js", "./gone", None),
    ],
)
def test_specifiers_resolve_like_joined_paths(
    importer: str, specifier: str, target: str | None
) -> None:
    known = {"src/b.ts", "src/index.mjs", "lib/index.js", "../c.js", "/d.js", "index.js"}
    assert target == resolve_import_path(importer, specifier, known)


def test_the_graph_leaves_out_a_file_itself_and_repetitions() -> None:
    content = "import './a'; import x from './b'; require('./b.js'); export * from './c'"
    files = [File("a.js", content), File("b.js", ""), File("c.js", "require('./a')")]
    expected = {"a.js": ("b.js", "c.js"), "b.js": (), "c.js": ("a.js",)}
    assert expected == build_import_graph(files)


SPACE = "[ \t\n\v\f\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
FROM = rf"""{SPACE}+(?:[^'";]+?{SPACE}+from{SPACE}+)?['"]([^'"]+)['"]"""
REFERENCE = (
    re.compile("import" + FROM),
    re.compile("export" + FROM),
    re.compile(rf"""require\({SPACE}*['"]([^'"]+)['"]{SPACE}*\)"""),
)
SNIPPETS = st.lists(
    st.sampled_from([
        "import", "export", "from", "require(", ")", " ", "  ", "\n", "\ufeff", "\x1c", "'", '"',
        ";", "'./a'", '"/b"', "''", "x", "{ a }", "importx", "xfrom", "* as n",
    ]),
    max_size=25,
).map("".join)  # fmt: skip


@given(content=SNIPPETS)
def test_imports_are_those_that_the_backtracking_patterns_find(content: str) -> None:
    found = [name for pattern in REFERENCE for name in pattern.findall(content)]
    expected = dict.fromkeys(name for name in found if name[0] in "./")
    assert tuple(expected) == extract_import_specifiers(content)


@pytest.mark.parametrize(
    "content",
    [
        "import" + " " * 300_000,
        "import " * 100_000 + "'",
        "import a from " * 100_000,
        "export" + " x from" * 100_000 + ";",
        "require(" + " " * 300_000,
        "require('" * 100_000,
        "import ''" * 100_000,
        "import 'x" * 100_001,
    ],
    ids=lambda content: content[:12],
)
def test_reading_imports_is_linear(content: str) -> None:
    # With three overlapping runs, one of these would keep a machine busy for years.
    assert extract_import_specifiers(content) == ()
