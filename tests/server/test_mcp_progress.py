"""Progress of a call: it grows, not too often, and ends with the call."""

import asyncio
from itertools import count

from contextpackd.mcp.progress import REPORT_EVERY_SECONDS, Reporter

Told = list[tuple[float, float | None, str | None]]


async def told(
    reports: list[tuple[int, int]], seconds: float, *, is_wanted: bool = True
) -> Told:
    """What is sent of reports that come so many seconds apart, the last after the end."""
    sent: Told = []

    async def send(done: float, total: float | None, message: str | None) -> None:
        sent.append((done, total, message))

    times = count(0.0, seconds)
    reporter = Reporter(send, is_wanted=is_wanted, clock=lambda: next(times))
    for done, total in reports:
        if (done, total) == reports[-1]:
            await reporter.end()
        reporter.report(done, total)
        for _ in range(3):
            await asyncio.sleep(0)
    return sent


REPORTS = [(0, 9), (3, 9), (3, 9), (2, 9), (5, 0), (9, 9)]


def test_it_grows_and_ends() -> None:
    sent = asyncio.run(told(REPORTS, 2 * REPORT_EVERY_SECONDS))
    assert [(3, 9, "3/9 files"), (5, None, "5 files")] == sent


def test_it_does_not_come_too_often() -> None:
    assert [3] == [done for done, _, _ in asyncio.run(told(REPORTS, REPORT_EVERY_SECONDS / 9))]


def test_nobody_hears_of_it_unasked() -> None:
    assert [] == asyncio.run(told(REPORTS, 2 * REPORT_EVERY_SECONDS, is_wanted=False))
