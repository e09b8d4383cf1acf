"""The estimate, the profiles and what may be spent under them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.tokens import (
    MODEL_NAMES,
    PROFILES,
    Encoding,
    Profile,
    estimate_tokens,
    profile_of,
    token_count,
    usable_budget,
)

CLAUDE = profile_of("claude")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("漢字かな交", 2),
        ("😀😀😀", 2),
        ("\ud800" * 5, 2),
    ],
)
def test_the_estimate_is_a_quarter_of_the_utf16_length(text: str, tokens: int) -> None:
    assert tokens == estimate_tokens(text)


def test_the_estimate_has_a_public_name() -> None:
    assert token_count is estimate_tokens


@pytest.mark.parametrize(
    ("model", "profile"),
    [
        ("o200k", "o200k"), ("o200k_base", "o200k"), ("cl100k", "cl100k"),
        ("cl100k_base", "cl100k"), ("estimate", "estimate"), ("chars/4", "estimate"),
        ("gpt-4o", "o200k"), ("gpt-4o-mini-2024-07-18", "o200k"), ("chatgpt-4o-latest", "o200k"),
        ("gpt-4.1-nano", "o200k"), ("gpt-4.5-preview", "o200k"), ("gpt-5", "o200k"),
        ("gpt-5.1-codex", "o200k"), ("gpt-oss-20b", "o200k"), ("o1", "o200k"),
        ("o3-pro", "o200k"), ("o4-mini", "o200k"),
        ("gpt-4", "cl100k"), ("gpt-4-turbo", "cl100k"), ("gpt-4-32k-0613", "cl100k"),
        ("gpt-3.5-turbo-16k", "cl100k"), ("gpt-35-turbo", "cl100k"),
        ("claude", "claude"), ("claude-sonnet-4-5@20250929", "claude"),
        ("gemini-2.5-pro", "gemini"), ("models/gemini-2.5-pro", "gemini"),
        ("anthropic/claude-opus-4.1", "claude"), (" GPT-4o ", "o200k"),
    ],
)  # fmt: skip
def test_a_model_is_known_by_its_family(model: str, profile: str) -> None:
    assert profile == profile_of(model).name


def test_every_name_offered_is_known() -> None:
    assert {profile_of(name) for name in MODEL_NAMES} == set(PROFILES)
    assert {profile_of(profile.name) for profile in PROFILES} == set(PROFILES)


@pytest.mark.parametrize(
    ("model", "closest"),
    [("gtp-4o", "gpt-4o"), ("cluade", "claude"), ("gemni", "gemini"), ("cl200k", "cl100k")],
)
def test_an_unknown_model_gets_the_names_and_the_closest(model: str, closest: str) -> None:
    with pytest.raises(ValueError, match="unknown model") as caught:
        profile_of(model)
    assert f"unknown model '{model}'; did you mean {closest}? known are" in str(caught.value)
    assert str(caught.value).endswith(", ".join(MODEL_NAMES))


@pytest.mark.parametrize(
    "model", ["", "gpt-4.7", "o1x", "gpt-40", "漢", "x\ny" * 1000, "\ud800"]
)
def test_a_name_outside_the_families_claims_no_exactness(model: str) -> None:
    with pytest.raises(ValueError, match="unknown model") as caught:
        profile_of(model)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_only_published_vocabularies_are_exact() -> None:
    assert {"o200k", "cl100k"} == {profile.name for profile in PROFILES if profile.exact}
    assert Profile("estimate", Encoding.CHARS, 1, 0, exact=False) == profile_of("estimate")


@given(budget=st.integers(1, 10**7), profile=st.sampled_from(PROFILES))
def test_what_is_spent_and_its_error_stay_within_the_budget(
    budget: int, profile: Profile
) -> None:
    usable = usable_budget(budget, profile)
    error = 1 + Fraction(str(profile.error_bound))
    assert usable * error <= budget
    assert (usable + 1) * error > budget


@given(o200k=st.integers(1, 10**6), percent_below=st.integers(10, 30))
def test_claudes_bound_covers_what_reports_say(o200k: int, percent_below: int) -> None:
    reported = Fraction(o200k) / (1 - Fraction(percent_below, 100))
    counted = o200k * Fraction(CLAUDE.factor)
    assert abs(reported - counted) <= counted * Fraction(str(CLAUDE.error_bound))


def test_a_budget_of_nothing_buys_nothing() -> None:
    assert [usable_budget(budget, CLAUDE) for budget in (0, 1, -5)] == [0, 0, 0]


@pytest.mark.parametrize(
    ("factor", "bound", "exact"), [(0.5, 0, False), (1, -1, False), (1, 0.1, True)]
)
def test_a_profile_that_cannot_be_is_refused(factor: float, bound: float, exact: bool) -> None:
    with pytest.raises(ValueError, match=r"profile"):
        Profile("p", Encoding.O200K, factor, bound, exact)
