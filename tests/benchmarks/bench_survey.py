"""What it costs to list a repository of 50 000 files, and to keep that listing true.

    python tests/benchmarks/bench_survey.py [FILES]

All in processor time of this process and of git, as ratios to two things that are measured in the
same run: `git ls-files` with one `lstat` of each file, and that `lstat` alone. Ratios hold from
machine to machine better than times do. The repository is made in a temporary directory, which
takes a minute, and removed.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from contextpackd.disk import Discovery
from contextpackd.survey import Survey

EVERYTHING = Discovery((), (), 1 << 20)
LATER_NS = 3_600_000_000_000  # The new files are not young for these surveys.
N_REPEATS = 5
FILES_A_DIRECTORY = 10
ENDINGS = ("py", "py", "py", "ts", "ts", "js", "go", "rs", "java", "md", "json", "yml", "txt")


def built(root: Path, n_files: int) -> None:
    rng = random.Random(1)
    folders = [""]
    for number in range(n_files // FILES_A_DIRECTORY):
        folder = f"{rng.choice(folders[:800])}d{number}/"
        folders.append(folder)
        (root / folder).mkdir(parents=True)
        for one in range(FILES_A_DIRECTORY):
            name = f"f{number}_{one}.{rng.choice(ENDINGS)}" if one else "__init__.py"
            (root / folder / name).write_text(f"x = {number}\n")
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    for command in (("init", "-q"), ("add", ".")):
        subprocess.run(["git", "-C", root, *command], check=True)


def listed_by_git(root: Path) -> list[str]:
    options = ["ls-files", "-co", "--exclude-standard", "-z"]
    output = subprocess.run(
        ["git", "-c", "core.fsmonitor=false", "-C", root, *options],
        capture_output=True,
        check=True,
    ).stdout
    return os.fsdecode(output).split("\0")[:-1]


def looked_at(root: Path, paths: list[str]) -> None:
    prefix = f"{root}/"
    for path in paths:
        os.lstat(prefix + path)


def processor_seconds(action: Callable[[], object]) -> float:
    """The least of a few runs, children included."""
    best = float("inf")
    for _ in range(N_REPEATS):
        before = spent()
        action()
        best = min(best, spent() - before)
    return best


def spent() -> float:
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def report(root: Path) -> None:
    def survey(saved: bytes | None = None) -> Survey:
        return Survey(root, EVERYTHING, saved, now_ns=lambda: newest + LATER_NS)

    newest = (root / ".git/index").stat().st_mtime_ns
    paths = listed_by_git(root)
    kept = survey()
    kept.sweep()
    assert sorted(paths) == sorted(kept.candidates)
    saved = kept.saved()
    path = paths[len(paths) // 2]
    by_git = processor_seconds(lambda: looked_at(root, listed_by_git(root)))
    bare = processor_seconds(lambda: looked_at(root, paths))
    print(f"{len(paths)} files in {len(kept.directories())} directories")
    print(f"git ls-files and lstat {by_git:.3f} s, lstat alone {bare:.3f} s; times those:")
    for name, action in {
        "first sweep": lambda: survey().sweep(),
        "sweep, nothing changed": kept.sweep,
        "one file touched": lambda: kept.refresh([path]),
        "saved": kept.saved,
        "restored": lambda: survey(saved),
        "restored and swept": lambda: survey(saved).sweep(),
    }.items():
        seconds = processor_seconds(action)
        print(
            f"{name:24} {seconds / by_git:8.3f} {seconds / bare:8.3f} {seconds * 1000:9.1f} ms"
        )


def main() -> None:
    n_files = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        built(root, n_files)
        report(root)


if __name__ == "__main__":
    main()
