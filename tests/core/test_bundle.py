"""What holds for every pack: the budget, the ledger, the verbatim lines, the same bytes."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.bundle import finish
from contextpack.ledger import brief_ledger
from contextpack.model import Detail, Format, LedgerEntry, Outcome, Reason, Skip
from contextpack.plan import plan
from contextpack.request import Forced, Order, Request, Strategy
from contextpack.text import split_lines
from contextpack.tokens import profile_of
from contextpackd.counters import counter
from harness.memory import COUNT, packed, snapshot_of
from harness.strategies import changes, requests, workspaces


def counted(entries: Iterable[LedgerEntry]) -> dict[str, int]:
    return Counter(
        entry.reason.value if entry.outcome is Outcome.EXCLUDED else entry.outcome.value
        for entry in entries
    )


@given(st.data())
def test_the_text_never_costs_more_than_the_budget(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    request = data.draw(requests(files))
    pack = packed(files, request, changed=data.draw(changes(files)))
    count = counter(profile_of(request.model))
    assert pack.tokens == count(pack.text)
    assert pack.tokens * (1 + profile_of(request.model).error_bound) <= request.budget_tokens


@given(st.data())
def test_every_candidate_is_in_the_ledger_exactly_once(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    request = data.draw(requests(files))
    skipped = (
        Skip("build/", Reason.IGNORED, ".gitignore:1: build/"),
        Skip(".env", Reason.SECRET),
    )
    changed = data.draw(changes(files))
    pack = packed(files, request, snapshot_of(files, skipped), changed=changed)
    entries = Counter(entry.path for entry in pack.ledger)
    assert entries == Counter([*files, "build/", ".env"])
    included = [e.path for e in pack.ledger if e.outcome is not Outcome.EXCLUDED]
    assert included == [item.path for item in pack.items]
    assert pack.ledger_counts == counted(pack.ledger)


@given(st.data())
def test_a_brief_ledger_is_the_beginning_of_the_whole_and_the_secrets(
    data: st.DataObject,
) -> None:
    files = data.draw(workspaces)
    request = data.draw(requests(files))
    n_left_out = data.draw(st.integers(0, 12))
    skipped = (
        Skip("build/", Reason.IGNORED, ".gitignore:1: build/"),
        *(Skip(f"{name}.pem", Reason.SECRET) for name in "abc"),
    )
    pack = packed(files, request, snapshot_of(files, skipped))
    included = [e for e in pack.ledger if e.outcome is not Outcome.EXCLUDED]
    left_out = [e for e in pack.ledger if e.outcome is Outcome.EXCLUDED]
    secrets = [e for e in left_out[n_left_out:] if e.reason is Reason.SECRET]
    brief = brief_ledger(pack.account, n_left_out)
    assert [*included, *left_out[:n_left_out], *secrets] == list(brief)


@given(st.data())
def test_the_lines_of_every_range_stand_in_the_text(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    request = data.draw(requests(files))
    pack = packed(files, request)
    if request.line_numbers:
        return
    for item in pack.items:
        lines = split_lines(files[item.path])
        for span in item.ranges:
            for line in lines[span.start - 1 : span.end]:
                shown = line.rstrip("\r\n")
                if request.text_format is Format.XML:
                    shown = shown.replace("]]>", "]]]]><![CDATA[>")
                if shown.isprintable():  # The others may have to be escaped.
                    assert shown in pack.text


@given(st.data())
def test_the_order_in_which_files_come_does_not_matter(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    request = data.draw(requests(files))
    order = data.draw(st.permutations(sorted(files)))
    changed = data.draw(changes(files))
    one = packed(files, request, changed=changed)
    other = packed(files, request, snapshot_of(files, order=order), changed=changed)
    assert one == other
    assert one.ledger == other.ledger


def test_the_hash_seed_does_not_matter(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import json, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from harness.memory import packed\n"
        "from contextpack.request import Request, Strategy\n"
        "files = {f'm{i}.py': f'from m{(i * 7) % 20} import f\\ndef f{i}(): return cart(total{i % 3})\\n'"
        " for i in range(20)}\n"
        "out = [packed(files, Request(query=q, budget_tokens=300, strategy=s))"
        " for q in ('cart total f3', 'f', '') for s in Strategy]\n"
        "print(json.dumps([[p.text, [e.path for e in p.ledger]] for p in out]))\n"
    )
    tests = str(Path(__file__).parents[1])
    outputs = [
        subprocess.run(
            [sys.executable, str(script), tests],
            env={"PYTHONHASHSEED": seed, "LC_ALL": locale, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed, locale in (("1", "C"), ("2", "C.UTF-8"), ("77", "tr_TR.UTF-8"))
    ]
    assert outputs[0] == outputs[1] == outputs[2]
    assert len(json.loads(outputs[0])) == 3 * len(Strategy)


BIG = {
    f"src/cart_{i}.py": "".join(
        f"def total_{i}_{k}(items):\n"
        + "".join(f"    price_{k}_{n} = items[{n}] * {i}\n" for n in range(9))
        + "    return items\n\n\n"
        for k in range(12)
    )
    for i in range(12)
}


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("budget", [1000, 8000])
def test_the_budget_is_used_when_enough_is_relevant(strategy: Strategy, budget: int) -> None:
    pack = packed(
        BIG, Request(query="cart total", budget_tokens=budget, strategy=strategy, dedup=1)
    )
    assert 0.95 * budget <= pack.tokens <= budget


@dataclass
class Tally:
    """A counter that says how much it was asked to count."""

    n_characters: int = 0
    n_batches: int = 0

    def __call__(self, text: str) -> int:
        return self.count_many([text])[0]

    def count_many(self, texts: Iterable[str]) -> list[int]:
        batch = list(texts)
        self.n_characters += sum(map(len, batch))
        self.n_batches += 1
        return COUNT.count_many(batch)


def test_a_text_is_counted_a_few_times_and_not_once_for_each_part_of_it() -> None:
    snapshot = snapshot_of(BIG)
    planned = plan(snapshot, Request(query="cart total", dedup=1))
    tally = Tally()
    texts = {path: BIG[path] for path in planned.paths}
    pack = finish(planned, snapshot, texts, count=tally, limit=8000, is_index_counter=True)
    assert pack.tokens > 7600
    assert tally.n_characters < 4 * len(pack.text)
    assert tally.n_batches < 25


@given(st.data())
def test_the_indexs_own_counts_make_the_same_pack(data: st.DataObject) -> None:
    files = data.draw(workspaces)
    request = replace(data.draw(requests(files)), model="o200k")
    snapshot = snapshot_of(files)
    planned = plan(snapshot, request)
    texts = {path: files[path] for path in planned.paths}
    limit = request.spendable_tokens
    counted_anew = finish(planned, snapshot, texts, count=COUNT, limit=limit)
    known = finish(planned, snapshot, texts, count=COUNT, limit=limit, is_index_counter=True)
    assert counted_anew == known


def test_coverage_shows_more_directories_than_greedy_does() -> None:
    files = {
        f"{directory}/part{i}.py": f"def handler_{i}(request):\n"
        + "    checkout(request)\n" * (12 - d)
        for d, directory in enumerate("abcdef")
        for i in range(6)
    }

    def directories(strategy: Strategy) -> set[str]:
        pack = packed(
            files, Request(query="checkout", budget_tokens=500, strategy=strategy, dedup=1)
        )
        return {item.path.partition("/")[0] for item in pack.items}

    assert len(directories(Strategy.COVERAGE)) > len(directories(Strategy.GREEDY))


def test_orderings_arrange_the_same_files() -> None:
    def order(ordering: Order) -> list[str]:
        request = Request(query="cart total", budget_tokens=2000, ordering=ordering, dedup=1)
        return [item.path for item in packed(BIG, request).items]

    natural = order(Order.NATURAL)
    assert sorted(natural) == order(Order.PATH)
    assert [*natural[::2], *reversed(natural[1::2])] == order(Order.U_SHAPED)


def test_a_pin_that_does_not_fit_whole_is_cut() -> None:
    pin = "src/cart_3.py"
    pack = packed(BIG, Request(query="nothing", budget_tokens=300, pins=(pin,)))
    assert [(pin, "truncated")] == [(item.path, item.detail) for item in pack.items]
    assert pack.ledger[0].reason is Reason.PINNED


def test_a_detail_says_more_than_a_pin() -> None:

    path = "src/cart_3.py"
    request = Request(
        query="", budget_tokens=900, pins=(path,), details=(Forced(path, Detail.OUTLINE),)
    )
    assert packed(BIG, request).items[0].detail is Detail.OUTLINE


def test_candidates_beyond_the_limit_are_named() -> None:
    pack = packed(BIG, Request(query="cart total", max_candidates=1))
    assert len(pack.items) == 1
    assert pack.ledger_counts[Reason.MAX_CANDIDATES.value] == len(BIG) - 1


def test_a_line_too_long_for_the_budget_is_cut_at_a_grapheme() -> None:
    files = {"a.py": "cart = '" + "👩‍👩‍👧" * 500 + "'\n"}
    pack = packed(files, Request(query="cart", budget_tokens=120))
    assert [("a.py", "truncated", ())] == [(i.path, i.detail, i.ranges) for i in pack.items]
    assert pack.text.count("👩") == 2 * pack.text.count("👧")


def test_the_start_of_a_file_stands_in_no_bundle_without_a_part_that_it_introduces() -> None:
    imports = "".join(f"import module_{number}\n" for number in range(30))
    body = "".join(f"    comma = split(comma, {number})\n" for number in range(60))
    files = {
        "large.py": f"{imports}\n\ndef comma_list(comma):\n{body}    return comma\n",
        "small.py": "def second(comma): ...\n" * 12,
    }
    made = snapshot_of(files)
    shown = {
        budget: {item.path: item.ranges for item in packed(files, request, made).items}
        for budget in range(100, 1500, 20)
        for request in (Request(query="comma list", budget_tokens=budget),)
    }
    starts = [
        lines[0].start
        for ranges in shown.values()
        for lines in [ranges.get("large.py", ())]
        if lines
    ]
    assert 1 in starts
    for budget, ranges in shown.items():
        large = ranges.get("large.py")
        assert large is None or large[-1].end > 33, budget


FILLER = "".join(f"    comma = comma.replaced({number}, 'x')\n" for number in range(90))


def test_of_a_long_signature_the_first_line_is_shown() -> None:
    arguments = "".join(f"    argument_{number}: int = 0,\n" for number in range(20))
    before = f"def before(comma):\n{FILLER}\n\n"
    text = f"{before}def find_comma(\n{arguments}):\n{FILLER}    return semicolon_at(comma)\n"
    pack = packed({"find.py": text}, Request(query="semicolon", budget_tokens=800))
    assert "semicolon_at" in pack.text
    assert "\ndef find_comma(\n…\n" in pack.text
    assert "argument_3" not in pack.text


@pytest.mark.parametrize(
    ("start", "is_shown"),
    [
        ("// Copyright of somebody.\n//\n// All rights reserved.\n\npackage comma\n", False),
        ("/*\n * Copyright of somebody.\n */\npackage comma\n", False),
        ('// Copyright.\n\npackage comma\n\nimport "other"\n', True),
    ],
)
def test_a_licence_alone_introduces_nothing(start: str, is_shown: bool) -> None:
    body = "\tcomma = replaced(comma)\n" * 90
    rest = "".join(
        f"\n\nfunc {name}(comma string) string {{\n{body}\treturn {name}Of(comma)\n}}\n"
        for name in ("first", "semicolon", "third")
    )
    pack = packed({"find.go": start + rest}, Request(query="semicolon", budget_tokens=900))
    assert "func semicolon" in pack.text
    assert is_shown is (start.splitlines()[-1] in pack.text)


def test_a_file_with_a_licence_is_whole_where_there_is_room() -> None:
    body = "\tcomma = replaced(comma)\n" * 60
    start = "// Copyright of somebody.\n\npackage comma\n"
    files = {"find.go": f"{start}\n\nfunc semicolon() {{\n{body}}}\n"}
    for budget, detail in ((4000, Detail.WHOLE), (460, Detail.CHUNKS)):
        (item,) = packed(files, Request(query="semicolon", budget_tokens=budget)).items
        assert detail is item.detail


def test_a_small_budget_shows_a_part_of_the_best() -> None:
    files = {
        f"comma_{number}.py": f"def comma_{number}(comma):\n{FILLER}" for number in range(20)
    }
    files["other.py"] = "other = comma\n"
    pack = packed(files, Request(query="comma", budget_tokens=150))
    (item,) = pack.items
    assert "comma_0.py" == item.path
    assert Detail.TRUNCATED is item.detail
