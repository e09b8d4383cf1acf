"""What a survey remembers of the directories and repositories that it visited."""

import os
from dataclasses import dataclass, field

from contextpackd.inputs import DOUBTED, Inputs, Mark
from contextpackd.judgement import Folder
from contextpackd.scope import Scope


@dataclass(slots=True)
class Node:
    """A visited directory."""

    path: str
    ignored_by: str | None
    is_included: bool
    is_silent: bool
    mark: tuple[int, int, int] = DOUBTED[:3]
    """Its `mtime_ns`, `ctime_ns` and inode."""
    ignores: dict[str, tuple[Mark, bytes | None]] = field(default_factory=dict)
    """Its ignore files: their marks, and what they say."""
    matched: set[str] = field(default_factory=set)
    """Globs of the options that match something in it."""
    is_pruned: bool = False
    """Whether something in it says that it is not to be looked into."""
    folder: Folder | None = None
    """The rules that hold in it, once they are needed."""
    unpacked: dict[str, bool] | None = None
    packed: bytes = b""
    """Its names as they were saved, until they are needed."""

    @property
    def names(self) -> dict[str, bool]:
        """Everything in it, and whether that is a directory."""
        if self.unpacked is None:
            names = os.fsdecode(self.packed).split("\0") if self.packed else ()
            self.unpacked = {name.removesuffix("/"): name.endswith("/") for name in names}
            self.packed = b""
        return self.unpacked

    def repacked(self) -> bytes:
        """Its names to be saved."""
        if self.unpacked is None:
            return self.packed
        names = (
            f"{name}/" if is_directory else name for name, is_directory in self.names.items()
        )
        return os.fsencode("\0".join(names))


@dataclass(slots=True)
class Repository:
    """A directory with a `.git`, or the root."""

    scope: Scope | None
    """None where the rules around it hold, since it is none or a second copy."""
    inputs: Inputs
    used_git: bool
    """Whether git answered at first."""

    def has_left_git(self) -> bool:
        """Whether git failed in the middle of a walk."""
        return self.scope is not None and self.used_git and not self.scope.uses_git


@dataclass(slots=True)
class Round:
    """What has to be judged again."""

    walks: set[str] = field(default_factory=set)
    names: dict[str, dict[str, bool]] = field(default_factory=dict)
    """Names by directory, each with whether it is a directory."""

    def add(self, node: Node, name: str, *, is_directory: bool) -> None:
        """Note a name to be judged."""
        self.names.setdefault(node.path, {})[name] = is_directory
