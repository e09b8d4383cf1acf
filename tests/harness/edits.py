"""Files that a test changes while a server watches them."""

import tempfile
from pathlib import Path


def written(file: Path, text: str) -> None:
    """Replace a file at once: a pack under way must not see it empty, and tell of that too.

    What is written first stands in the system's directory for such files, which no server watches;
    pytest's own directories are below it.
    """
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="", delete=False
    ) as outside:
        outside.write(text)
    Path(outside.name).replace(file)
