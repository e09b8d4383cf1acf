"""Options, profiles and fixtures that all tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Deterministic and without a clock when CI is set: machines are noisy, and a red run must be
# the same red run again.
settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=150,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.register_profile(
    "dev", deadline=None, max_examples=30, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session", autouse=True)
def cache_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Tests keep and find nothing in the user's own cache, and ask no daemon of theirs."""
    directory = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTEXTPACKD_CACHE_DIR", str(directory))
        patch.setenv("CONTEXTPACKD_NO_DAEMON", "1")
        yield directory


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite golden outputs in place, and fail the run naming what changed",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError("--update-golden is refused when CI is set")
