"""The shell around `contextpack`: disk, git, the command line, and this door for Python.

import contextpackd
pack = contextpackd.open(".").pack("retry failed uploads", budget_tokens=8000)
print(pack.text)
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextpackd.door import Root

__all__ = ["open"]


def open(root: str | Path, *others: str | Path, force: bool = False) -> "Root":  # noqa: A001  # `contextpackd.open` reads well
    """A directory as a workspace, or several as one. Nothing is read before the first question.

    Raises `contextpackd.errors.RootProblem`; `force` accepts `/` and the home directory.
    """
    # Imported when it is called for: every module of the package pays for what stands here.
    from contextpackd.door import open_root

    return open_root(root, *others, force=force)
