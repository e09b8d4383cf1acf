"""A single save is passed on at once, a run of changes in few parts."""

import pytest

from contextpackd.bursts import (
    FIRST_QUIET_SECONDS,
    LONGEST_BURST_SECONDS,
    QUIET_SECONDS,
    Burst,
)
from harness.paces import batches


def test_a_single_save_is_passed_on_at_once() -> None:
    assert [pytest.approx(5.004 + FIRST_QUIET_SECONDS)] == batches([5.0, 5.004])


def test_saves_that_are_apart_are_each_passed_on_at_once() -> None:
    saves = [n * (QUIET_SECONDS + 0.001) for n in range(9)]
    assert [pytest.approx(save + FIRST_QUIET_SECONDS) for save in saves] == batches(saves)


def test_what_follows_soon_has_to_rest_longer() -> None:
    assert [pytest.approx(0.03), pytest.approx(0.3)] == batches([0.0, 0.1])


def test_a_burst_has_to_rest_the_longer_it_goes_on() -> None:
    burst = Burst.began(10.0, 0.0)
    rests = [burst.extended(10 + age).ends_at() - (10 + age) for age in (0, 0.1, 0.5)]
    assert [pytest.approx(rest) for rest in (FIRST_QUIET_SECONDS, 0.1, QUIET_SECONDS)] == rests


def test_what_never_rests_is_passed_on_in_parts() -> None:
    taken = batches([n / 100 for n in range(1000)])
    assert 9 == len(taken)
    assert pytest.approx(LONGEST_BURST_SECONDS) == taken[0]


@pytest.mark.parametrize("gap", [0.04, 0.1, 0.11, 0.19])
def test_a_run_makes_one_batch_more_than_if_all_had_to_rest(gap: float) -> None:
    changes = [n * gap for n in range(int(5 / gap) + 1)]
    assert len(batches(changes)) <= 1 + 5 / LONGEST_BURST_SECONDS + 1
