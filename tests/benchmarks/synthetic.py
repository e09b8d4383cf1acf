"""Workspaces of any size for benchmarks: packages of small modules that import each other.

Words come from a vocabulary with Zipf's frequencies, so that postings are as skewed as in code
that people write. The same seed gives the same bytes.
"""

import random
import subprocess
from itertools import accumulate
from pathlib import Path

FILES_PER_PACKAGE = 40
N_WORDS = 20_000
SYLLABLES = (
    "ca", "che", "lo", "ad", "pa", "ck", "in", "dex", "ro", "ute", "se", "ssion", "to", "ken",
    "que", "ry", "mo", "del", "par", "se", "ren", "der", "st", "ore", "wa", "tch", "gra", "ph",
)  # fmt: skip


class Words:
    """A vocabulary of which the first words are used most."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        made = {
            "".join(self._random.choices(SYLLABLES, k=self._random.randint(2, 4)))
            for _ in range(N_WORDS)
        }
        self.all = sorted(made)
        self._random.shuffle(self.all)
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self.all) + 1)))

    def take(self, n: int) -> list[str]:
        return self._random.choices(self.all, cum_weights=self._weights, k=n)

    def below(self, n: int) -> int:
        return self._random.randrange(n)


def module(words: Words, n_modules: int) -> str:
    """A module of some 2.5 KB: three imports, a class, and four functions with comments."""
    imports = [f"from {name_of(words.below(n_modules))} import {w}" for w in words.take(3)]
    lines = ["import os", *imports, "", f"class {words.take(1)[0].title()}:"]
    for name in words.take(7):
        first, second, third, fourth, *prose = words.take(24)
        lines += [
            f"    def {name}_{first}(self, {second}, {third}=None):",
            f'        """{" ".join(prose[:12])}."""',
            f"        if {second} is None or {third} > {len(name)}:",
            f"            raise ValueError('{' '.join(prose[12:])}')",
            f"        self.{first} = {fourth}.{second}({third}, key=self.{name})",
            f"        return [{first} for {first} in self.{fourth} if {first}.{third}]",
            "",
        ]
    return "\n".join(lines)


def name_of(number: int) -> str:
    """The dotted name of a module."""
    return f"pkg{number // FILES_PER_PACKAGE}.mod{number}"


def path_of(number: int) -> str:
    """The path of a module from the root on."""
    return f"{name_of(number).replace('.', '/')}.py"


def write_workspace(root: Path, n_files: int, seed: int = 1) -> None:
    """Write so many modules into a new git repository, all committed."""
    words = Words(seed)
    for number in range(n_files):
        file = root / path_of(number)
        if number % FILES_PER_PACKAGE == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(module(words, n_files))
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")


def git(root: Path, *arguments: str) -> str:
    """The output of a git command that is nobody's own configuration."""
    settings = ("-c", "user.name=b", "-c", "user.email=b@b", "-c", "gc.auto=0")
    command = ["git", "-C", str(root), *settings, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
