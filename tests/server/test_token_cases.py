"""Counters give the verified counts of the token cases, and never fail on a text."""

import hashlib
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.tokens import PROFILES, Profile, estimate_tokens, profile_of
from contextpackd.counters import Counter, counter

DATA = Path(__file__).parents[2] / "fixtures" / "cases" / "c.jsonl"
CASES: dict[str, dict[str, Any]] = {
    case["id"]: case for case in map(json.loads, DATA.read_text("utf-8").splitlines())
}
BPE = {name: counter(profile_of(name)) for name in ("o200k_base", "cl100k_base")}
# Ends the process at the first socket or name lookup.
OFFLINE = """
import json, os, sys
sys.addaudithook(lambda event, _: os._exit(9) if event.startswith("socket.") else None)
from contextpack.tokens import PROFILES
from contextpackd.counters import counter
print(json.dumps({profile.name: counter(profile)("x = 1\\n") for profile in PROFILES}))
"""
ANY_TEXT = st.text(st.characters(), max_size=60)  # Lone surrogates too.


def assert_counts(text: str, expected: dict[str, int]) -> None:
    exact = {name: n for name, n in expected.items() if name in BPE}
    assert exact == {name: BPE[name](text) for name in exact}


def test_c01_special_tokens_are_ordinary_text() -> None:
    for text, expected in CASES["c01"]["expect"]["counts"].items():
        assert_counts(text, expected)


def test_c02_long_runs_of_one_character_are_counted_exactly() -> None:
    runs = {"a*100000": "a" * 100_000, "_*50000": "_" * 50_000, "sp*100000": " " * 100_000}
    runs["-*32768"] = "-" * 32_768
    assert runs.keys() == CASES["c02"]["expect"]["counts"].keys()
    for name, expected in CASES["c02"]["expect"]["counts"].items():
        assert_counts(runs[name], expected)


def test_c04_random_letters_cost_twice_the_estimate() -> None:
    letters = random.Random(4711)
    text = "".join(letters.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(100_000))
    case = CASES["c04"]
    assert case["input"]["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert_counts(text, case["expect"]["counts"]["rand"])
    assert case["expect"]["chars_div_4"] == estimate_tokens(text)


def test_c05_joined_text_may_cost_less_or_more_than_its_parts() -> None:
    case = CASES["c05"]
    *ordinary, dearer = case["input"]["joins"]
    *expected, dearer_expected = case["expect"]["sum_vs_joined"]
    for parts, (apart, joined) in zip(ordinary, expected, strict=True):
        assert apart == {name: sum(count.count_many(parts)) for name, count in BPE.items()}
        assert_counts("".join(parts), joined)
    o200k = BPE["o200k_base"]
    assert dearer_expected["o200k_base"] == [
        sum(o200k.count_many(dearer)),
        o200k("".join(dearer)),
    ]


def test_c07_dense_text_is_counted_exactly_and_estimated_low() -> None:
    for name, text in CASES["c07"]["input"]["texts"].items():
        expected = CASES["c07"]["expect"]["counts"][name]
        assert_counts(text, expected)
        # The estimate is marked as not exact for this: it is below the truth here.
        assert expected["chars_div_4"] == estimate_tokens(text) < expected["o200k_base"]
    assert not profile_of("estimate").exact


def test_c09_a_hundred_headers_are_counted_joined() -> None:
    # The counter's side of it: the paths alone cost more than the case's whole budget.
    paths = [
        f"src/very/long/directory/name/number_{i:03d}/module_with_a_long_name_{i:03d}.py"
        for i in range(100)
    ]
    contents = [f"X = {i}\n" for i in range(100)]
    o200k = BPE["o200k_base"]
    assert (
        o200k("\n".join(paths)) > 2 * o200k("".join(contents)) > CASES["c09"]["input"]["budget"]
    )


def test_c11_the_estimate_is_javascripts() -> None:
    for text, expected in CASES["c11"]["expect"]["js_estimate"].items():
        assert expected == estimate_tokens(text)


def test_c12_vocabularies_are_bundled_and_estimates_are_named() -> None:
    # In a process of its own: this one has loaded them already.
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": ""}
    run = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = {"o200k": 5, "cl100k": 5, "claude": 7, "gemini": 6, "estimate": 2}
    assert expected == json.loads(run.stdout)
    exact = {profile.name: profile.exact for profile in PROFILES}
    assert exact == {name: name in ("o200k", "cl100k") for name in expected}


def test_c14_nothing_is_normalised() -> None:
    for text, expected in CASES["c14"]["expect"]["counts"].items():
        assert_counts(text, expected)


@pytest.mark.parametrize("name", ["claude", "gemini"])
def test_an_estimate_is_a_multiple_of_o200k_rounded_up(name: str) -> None:
    profile = profile_of(name)
    for text in ("", "x", "def f(x):\n    return x\n", "漢字" * 50):
        assert math.ceil(BPE["o200k_base"](text) * profile.factor) == counter(profile)(text)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@given(texts=st.lists(ANY_TEXT, max_size=5))
def test_every_text_has_a_count_alone_and_in_a_batch(
    profile: Profile, texts: list[str]
) -> None:
    count = counter(profile)
    assert [count(text) for text in texts] == count.count_many(texts)
    assert all((count(text) > 0) == (text != "") for text in texts)


@pytest.mark.parametrize("count", BPE.values(), ids=BPE)
@given(text=ANY_TEXT)
def test_lone_surrogates_count_as_the_dearest_of_their_forms(count: Counter, text: str) -> None:
    forms = (
        text.encode("utf-8", "replace").decode(),
        text.encode("utf-8", "backslashreplace").decode(),
        "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text),
    )
    assert max(count(form) for form in forms) == count(text)


def test_a_large_batch_is_counted_like_its_texts() -> None:
    texts = [f"value_{i} = compute({i})\n" * 40 for i in range(1000)]
    o200k = BPE["o200k_base"]
    assert [o200k(text) for text in texts] == o200k.count_many(iter(texts))
