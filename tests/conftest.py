"""Options, profiles and fixtures that all tests share."""

import os
import signal
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

# A file is run by one worker, so those that take longest come first: one that came last would
# be waited for while the others have nothing left to do.
LONGEST = (
    "e2e/test_vscode.py",
    "server/test_survey_machine.py",
    "e2e/test_cli.py",
    "e2e/test_daemon.py",
    "server/test_kills.py",
    "server/test_workspace_machine.py",
    "e2e/test_errands.py",
    "e2e/test_lsp_machine.py",
)

# More would wait for the longest files, and a user may have 128 inotify queues on Linux.
MOST_WORKERS = 8


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


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Share many files among processes; run what somebody picks in this one.

    Workers take longer to start than one file takes, and what they print is not shown.
    """
    is_picked = config.getoption("keyword") or config.getoption("lf", default=False)
    if is_picked or not any(Path(arg.partition("::")[0]).is_dir() for arg in config.args):
        return 0
    # One more than there are processors: much of the time is spent waiting for other processes.
    return min((os.cpu_count() or 1) + 1, MOST_WORKERS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    ranks = {(here / name).resolve(strict=True): at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


def pytest_configure(config: pytest.Config) -> None:
    # Shells have their background jobs ignore Ctrl-C, and so would all that tests send it to.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError("--update-golden is refused when CI is set")
