"""`why`: each claim about a file or a part of it is held against packs that are made for it."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contextpackd
from contextpack.bundle import Pack
from contextpack.model import Detail, Outcome, Piece, Reason, Section, Style
from contextpack.render import render
from contextpack.text import Lines
from contextpackd.door import Root
from contextpackd.errors import OptionProblem
from contextpackd.why import Why
from harness.lsp_client import Client, Refused
from harness.memory import COUNT
from harness.paths import FIXTURES
from harness.trees import write

QUERY = "objections to a checkout"
QUERIES = [QUERY, "cart discount total", "overdue loan fee", ""]

POLICY = "python-src/src/lending/policy.py"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    folder = tmp_path_factory.mktemp("why") / "shop"
    for name in ("python-src", "js-app"):
        shutil.copytree(FIXTURES / name, folder / name)
    policy = (folder / "python-src/src/lending/policy.py").read_text()
    write(folder, {"copies/policy.py": policy, "empty.py": "", "blank.md": "\n\n\n"})
    return contextpackd.open(folder)


def lines_shown(pack: Pack, path: str) -> set[int]:
    return {
        line
        for item in pack.items
        if item.path == path
        for lines in item.ranges
        for line in range(lines.start, lines.end + 1)
    }


def is_in(root: Root, pack: Pack, found: Why) -> bool:
    """Whether the target is in, told from the answer and the file alone."""
    if found.lines is None:
        return found.path in [item.path for item in pack.items]
    text = (root.path / found.path).read_text().split("\n")
    wanted = range(found.lines.start, found.lines.end + 1)
    told = {line for line in wanted if text[line - 1].strip()}
    return told <= lines_shown(pack, found.path) and bool(
        lines_shown(pack, found.path) & {*wanted}
    )


def assert_admission(root: Root, found: Why, query: str, options: dict[str, Any]) -> None:
    """A smallest budget lets the target in, one token less does not, and it is out where told."""
    admission, asked = found.admission, options["budget_tokens"]
    assert admission is not None
    budget = admission.budget_tokens
    assert budget is not None
    assert budget <= asked or found.state != "in"
    assert admission.way is not None
    assert admission.way == found.way or budget != asked
    standing = {budget: True, budget - 1: False}
    if admission.out_again is not None:
        assert admission.out_again > budget
        standing[admission.out_again] = False
    if admission.in_again is not None:
        assert budget < asked < admission.in_again
        standing |= {asked: False, admission.in_again: True}
    for at, expected in standing.items():
        if at > options.get("reserve_tokens", 0):
            pack = root.pack(query, **{**options, "budget_tokens": at})
            assert is_in(root, pack, found) == expected


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    options: dict[str, Any] = {
        "budget_tokens": draw(st.one_of(st.integers(30, 600), st.integers(600, 6000))),
        "ledger": "all",
    }
    options |= draw(
        st.sampled_from(
            [
                {}, {}, {}, {"strategy": "mmr"}, {"strategy": "knapsack"}, {"strategy": "levels"},
                {"scorer": "classic"},
                {"max_candidates": 2}, {"reserve_tokens": 20}, {"model": "claude"},
                {"tree": True}, {"pins": ["python-src/README.md"]}, {"exclude": ["*.md"]},
                {"include": ["python-src/**"]}, {"dedup": 0.6}, {"line_numbers": True},
            ]
        )
    )  # fmt: skip
    return draw(st.sampled_from(QUERIES)), options


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_every_claim_is_what_packs_say(root: Root, data: st.DataObject) -> None:
    query, options = data.draw(questions())
    pack = root.pack(query, **options)
    entries = {entry.path: entry for entry in pack.ledger}
    path = data.draw(st.sampled_from(sorted(entries)))
    entry = entries[path]
    n_lines = 0
    if (
        entry.reason not in (Reason.EXCLUDED, Reason.NOT_INCLUDED, Reason.SECRET)
        and entry.tokens
    ):
        n_lines = len((root.path / path).read_text().splitlines())
    line = data.draw(st.none() | st.integers(1, n_lines)) if n_lines else None
    found = root.why(path, query, line=line, **options)

    # Where it stands, and why.
    assert is_in(root, pack, found) == (found.state == "in")
    assert {line for r in found.ranges for line in range(r.start, r.end + 1)} == lines_shown(
        pack, path
    )
    if line is None:
        assert entry == found.entry
    else:
        assert found.lines is not None
        assert found.lines.start <= line <= found.lines.end
        is_shown = bool(
            lines_shown(pack, path) & {*range(found.lines.start, found.lines.end + 1)}
        )
        assert is_shown == (found.state != "out")
    assert (found.entry.outcome is not Outcome.EXCLUDED) == (found.state == "in")
    assert found.because
    assert (found.way is None) == (found.state == "out")
    assert (found.way == "named") == (found.state != "out" and path in options.get("pins", ()))
    if found.way == "chosen" and found.state == "in" and found.entry.score:
        assert found.cut_score <= found.entry.score

    # The smallest budget, as far as it was looked for.
    if found.admission is not None and found.admission.budget_tokens is not None:
        assert_admission(root, found, query, options)
    elif found.admission is not None:
        assert found.state != "in"
        most = {**options, "budget_tokens": found.admission.most_tokens}
        assert not is_in(root, root.pack(query, **most), found)

    # What it would displace.
    if found.displacement is not None and found.displacement.is_pinned:
        pinned = {**options, "pins": [*options.get("pins", []), path]}
        after = root.pack(query, **pinned)
        assert is_in(root, after, found) == found.displacement.fits
        gone = {
            item.path: lines_shown(pack, item.path) - lines_shown(after, item.path)
            for item in pack.items
        }
        kept = {item.path for item in after.items}
        told = {file.path: file for file in found.displacement.files}
        assert {p for p, lines in gone.items() if lines or p not in kept} == told.keys()
        for file in told.values():
            left = {line for r in file.ranges for line in range(r.start, r.end + 1)}
            assert left == gone[file.path]
            assert file.is_gone == (file.path not in kept)


def passed_over(root: Root, query: str, first: int) -> list[tuple[str, int]]:
    """Files that a budget lets in and all of the next larger ones leave out, with that budget."""
    budgets = range(first, 3 * first, first // 20)
    files = [{item.path for item in root.pack(query, budget).items} for budget in budgets]
    return [
        (path, budget)
        for n, budget in enumerate(budgets[:-6])
        for path in sorted(files[n].difference(*files[n + 1 : n + 6]))
    ]


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(QUERIES[:3]), st.integers(600, 1400), st.booleans())
def test_what_is_in_has_no_smallest_budget_above_what_was_asked(
    root: Root, query: str, first: int, is_part: bool
) -> None:
    """What the last room was filled with is out again at many a larger budget."""
    for path, budget in passed_over(root, query, first)[:3]:
        line = min(lines_shown(root.pack(query, budget), path)) if is_part else None
        found = root.why(path, query, budget, line=line)
        assert found.state != "out"
        if found.state == "in":
            assert_admission(root, found, query, {"budget_tokens": budget})


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(QUERIES[:3]), st.integers(0, 8), st.sampled_from([None, 3]))
def test_a_proven_smallest_budget_is_the_smallest(
    root: Root, query: str, number: int, line: int | None
) -> None:
    paths = [item.path for item in root.pack(query, 2000).items]
    found = root.why(paths[number % len(paths)], query, 300, line=line)
    assert found.admission is not None
    budget = found.admission.budget_tokens
    if found.admission.n_untried == 0 and budget is not None:
        for smaller in range(max(1, budget - 30), budget):
            assert not is_in(root, root.pack(query, smaller), found)


def test_a_file_that_is_cut_for_another_leaves_in_part(root: Root) -> None:
    """A pin of a blank file costs a dozen tokens, for which some file shows fewer lines."""
    seen = 0
    for budget in range(300, 2000, 37):
        before = root.pack(QUERY, budget)
        after = root.pack(QUERY, budget, pins=["blank.md"])
        if [i.path for i in before.items] == [
            i.path for i in after.items if i.path != "blank.md"
        ]:
            told = root.why("blank.md", QUERY, budget).displacement
            assert told is not None
            for file in told.files:
                assert not file.is_gone
                left = {n for r in file.ranges for n in range(r.start, r.end + 1)}
                assert left == lines_shown(before, file.path) - lines_shown(after, file.path)
                seen += 1
        if seen:
            break
    assert seen


def test_ranks_are_places_in_the_ranking(root: Root) -> None:
    scored = [e for e in root.pack(QUERY, 900, ledger="all").ledger if e.score]
    best_first = sorted(scored, key=lambda entry: (-(entry.score or 0.0), entry.path))
    for place, entry in enumerate(best_first[:3], 1):
        found = root.why(entry.path, QUERY, 900)
        assert (place, len(best_first)) == (found.rank, found.n_ranked)


def test_what_is_missing_is_what_the_text_would_have_too_much(tmp_path: Path) -> None:
    body = "".join(f"    discount = total_{n} * price_{n}\n" for n in range(6))
    files = {
        f"cart_{n}.py": f"def discount_{n}(total):\n{body * (n % 3 + 1)}" for n in range(9)
    }
    write(tmp_path, files)
    with contextpackd.open(tmp_path) as root:
        missing = 0
        for budget in (300, 450):
            pack = root.pack("cart discount", budget, dedup=1, max_candidates=9)
            for path in sorted(files.keys() - {item.path for item in pack.items})[:2]:
                found = root.why(path, "cart discount", budget, dedup=1, max_candidates=9)
                lines = Lines(1, files[path].count("\n"))
                whole = Piece(
                    path, "python", Detail.WHOLE, (Section(lines, files[path]),), lines.end
                )
                over = COUNT(render([*pack.standing.pieces, whole], Style())) - budget
                assert over == found.over_by
                assert f"over by {over} tokens" in found.because
                missing += 1
        assert missing


BODY = "".join(f"    comma = comma.replaced({n}, 'comma')\n" for n in range(40))


def test_what_is_in_by_less_than_its_score_is_told_apart(tmp_path: Path) -> None:
    """Twenty files alike, of which a few fit: the next are pointed to, one is cut."""
    write(
        tmp_path,
        {
            f"m{i:02}.py": f"def comma_{i:02}(comma):\n{BODY}    return comma\n"
            for i in range(20)
        },
    )
    seen = set()
    with contextpackd.open(tmp_path) as root:
        pack = root.pack("comma", 4000, dedup=1)
        for item in pack.items:
            (lines,) = item.ranges
            way = {42: "chosen", 1: "pointer", 2: "pointer"}.get(lines.end, "cut")
            found = root.why(item.path, "comma", 4000, dedup=1)
            part = root.why(item.path, "comma", 4000, line=1, dedup=1)
            assert (way, way) == (found.way, part.way)
            assert ("part" if lines.end < 42 else "in") == part.state
            assert ("ranks high" in found.because) == (way == "chosen")
            assert (
                ("signature" in found.because)
                == (way == "pointer")
                == ("only the signature" in part.because)
            )
            if part.admission is not None and part.admission.budget_tokens is not None:
                assert part.admission.way == "chosen"
            seen.add(way)
    assert {"chosen", "pointer"} <= seen


def test_a_part_of_a_small_file_comes_along_with_the_best(tmp_path: Path) -> None:
    small = "def comma(text):\n    return text.comma\n\n\ndef other(a):\n    return a + 1\n"
    big = f"class Holder:\n    def comma(self, comma):\n{BODY.replace('    ', '        ')}"
    write(tmp_path, {"small.py": small, "big.py": big * 3})
    with contextpackd.open(tmp_path) as root:
        ways = {line: root.why("small.py", "comma", 2000, line=line).way for line in (1, 5)}
        assert ways[1] == "chosen"
        outlined = root.why("big.py:4", "comma", 2000, details={"big.py": "outline"})
        assert ("part", "named") == (outlined.state, outlined.way) or outlined.state == "out"
        assert "outline" in outlined.because


@pytest.mark.parametrize(
    ("path", "options", "reason", "said"),
    [
        ("python-src/.env", {}, "secret", "credentials"),
        ("empty.py", {}, "empty", "no text"),
        ("python-src/README.md", {"exclude": ["*.md"]}, "excluded", "exclude option"),
        ("empty.py", {"include": ["python-src/**"]}, "not-included", "include options"),
        ("copies/policy.py", {}, "near-duplicate", "policy.py says the same"),
        (POLICY, {"max_file_bytes": 10}, "too-large", "too-large"),
        (POLICY, {"only": ["empty.py"]}, "not-relevant", "about other files"),
        (POLICY, {"origins": ["python-src/README.md"]}, "not-relevant", "no import"),
    ],
)
def test_what_no_budget_lets_in(
    root: Root, path: str, options: dict[str, Any], reason: str, said: str
) -> None:
    found = root.why(path, QUERY, 2000, **options)
    assert ("out", reason) == (found.state, found.entry.reason)
    assert said in found.because
    assert found.admission is None or found.admission.budget_tokens is None


def test_without_words_nobody_is_told_of_words(root: Root) -> None:
    found = root.why("python-src/README.md", "", 2000, focus=["js-app/package.json"])
    assert ("out", Reason.NOT_RELEVANT) == (found.state, found.entry.reason)
    assert "no link with what the request is about" in found.because


def test_a_rule_is_named_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "# made\nbuild/\n", "build/app.py": "x = 1\n", "a.py": ""})
    found = contextpackd.open(tmp_path).why("build/app.py", "x")
    assert (Reason.IGNORED, ".gitignore:2: build/") == (found.entry.reason, found.entry.rule)
    assert ".gitignore:2: build/" in found.because


def test_a_place_is_taken_as_it_is_written(root: Root, tmp_path: Path) -> None:
    by_line = root.why("python-src/src/lending/policy.py", QUERY, line=12)
    assert by_line == replace(
        root.why("python-src/src/lending/policy.py:12", QUERY), scan=by_line.scan
    )
    write(tmp_path, {"odd:3": "odd = 1\n"})
    assert contextpackd.open(tmp_path).why("odd:3", "odd").line is None
    for path, line in (("python-src", None), ("nowhere.py", None), ("../x", None)):
        with pytest.raises(OptionProblem, match="no file below"):
            root.why(path, QUERY, line=line)
    with pytest.raises(OptionProblem, match="has 0 lines"):
        root.why("empty.py", QUERY, line=1)


def test_an_editor_asks_of_the_pack_that_it_holds(client: Client, root: Root) -> None:
    client.initialize(root.path)
    pack = client.command("pack", {"query": QUERY, "budgetTokens": 500})
    path = "python-src/src/lending/policy.py"
    uri = (root.path / path).as_uri()
    told = client.command("why", {"packId": pack["packId"], "uri": uri})
    item = next(item for item in pack["items"] if item["path"] == path)
    assert (500, QUERY, path) == (told["budgetTokens"], told["query"], told["path"])
    assert ("in", item["ranges"], item["parts"]) == (
        told["state"], told["ranges"], told["parts"],
    )  # fmt: skip
    part = client.command("why", {"packId": pack["packId"], "path": path, "line": 12})
    assert part["lines"][0] <= 12 <= part["lines"][1]
    alone = client.command("why", {"query": QUERY, "budgetTokens": 500, "uri": uri})
    assert {**alone, "freshness": ""} == {**told, "freshness": ""}
    for fields in (
        {"query": QUERY},
        {"uri": uri},
        {"packId": pack["packId"], "path": path, "root": str(root.path)},
        {"query": QUERY, "uri": uri, "line": 0},
        {"query": QUERY, "path": "nowhere.py"},
        {"query": QUERY, "uri": "untitled:x"},
    ):
        with pytest.raises(Refused):
            client.command("why", fields)


def test_a_blank_line_stands_for_what_is_below_it(root: Root) -> None:
    rows = (root.path / POLICY).read_text().split("\n")
    line = max(n for n, row in enumerate(rows, 1) if row.startswith(("def ", "class ")))
    below = root.why(POLICY, QUERY, 2000, line=line)
    assert below.lines is not None
    above = below.lines.start - 1
    assert "" == rows[above - 1]
    assert below.lines == root.why(POLICY, QUERY, 2000, line=above).lines
