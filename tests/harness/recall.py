"""How much of the code that a task is about stands in a bundle.

A task is a line of JSON: `id`, `query`, `gold` (each a `path` with `ranges` of lines, both ends
counted), and where it is asked: `workspace` (a folder of `fixtures`), or `repo` and `base_commit`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextpack.bundle import Pack


@dataclass(frozen=True, slots=True)
class Task:
    """A query, and the lines that it is about."""

    id: str
    query: str
    gold: Mapping[str, frozenset[int]]
    """By path: the numbers of the lines, from 1."""
    place: str
    """The workspace or the repository."""
    commit: str | None
    """The commit of the repository at which the task is asked."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What of a task's code stands in a bundle, as counts."""

    n_lines: int
    n_gold_lines: int
    n_files: int
    n_gold_files: int

    @property
    def lines(self) -> float:
        """The share of the lines."""
        return self.n_lines / self.n_gold_lines

    @property
    def files(self) -> float:
        """The share of the files of which at least one of the lines' files' lines is shown."""
        return self.n_files / self.n_gold_files

    @property
    def all_files(self) -> float:
        """1 where no file is missing."""
        return float(self.n_files == self.n_gold_files)


def tasks(file: Path) -> list[Task]:
    """The tasks of a file, in its order."""
    return [_task(json.loads(line)) for line in file.read_text("utf-8").splitlines() if line]


def _task(row: dict[str, Any]) -> Task:
    return Task(
        id=row["id"],
        query=row["query"],
        gold={
            item["path"]: frozenset(
                number for first, last in item["ranges"] for number in range(first, last + 1)
            )
            for item in row["gold"]
        },
        place=row.get("workspace") or row["repo"],
        commit=row.get("base_commit"),
    )


def recall(task: Task, pack: Pack) -> Recall:
    """What of the task's code the pack shows."""
    shown = {
        item.path: frozenset(
            number for lines in item.ranges for number in range(lines.start, lines.end + 1)
        )
        for item in pack.items
    }
    return Recall(
        n_lines=sum(
            len(lines & shown.get(path, frozenset())) for path, lines in task.gold.items()
        ),
        n_gold_lines=sum(map(len, task.gold.values())),
        n_files=sum(1 for path in task.gold if shown.get(path)),
        n_gold_files=len(task.gold),
    )


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0
