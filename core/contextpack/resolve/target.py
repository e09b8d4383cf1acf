"""Where an import leads: to files of the workspace, or out of it for a stated reason."""

from dataclasses import dataclass
from enum import StrEnum

from contextpack.model import Path


class External(StrEnum):
    """Why an import has no target in the workspace."""

    STANDARD_LIBRARY = "standard-library"
    PACKAGE = "package"
    ASSET = "asset"
    """A file of the workspace that is no code: a style sheet, a picture, data."""
    MISSING = "missing"
    """It should be in the workspace and is not."""
    OUTSIDE = "outside"
    """It leads out of the root."""
    DYNAMIC = "dynamic"
    """Its specifier is computed."""
    AMBIGUOUS = "ambiguous"
    """Several files have an equal claim."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The files that an import names, in order of use, or why there are none."""

    targets: tuple[Path, ...] = ()
    external: External | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where the imports of one file lead. Plain values, so that they can be stored."""

    resolutions: tuple[Resolution, ...]
    """Parallel to its imports."""
    keys: tuple[str, ...]
    """The names by which what appears, vanishes or is declared anew can change them."""
