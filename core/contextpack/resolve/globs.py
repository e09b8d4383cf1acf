"""Path patterns of configuration files: `packages/*`, `src/**/*.ts`.

Not regular expressions: a hostile pattern costs at most its length times the path's.
"""

from contextpack.model import Path


def matches(pattern: str, path: Path) -> bool:
    """Whether a whole path matches; `*` and `?` stay within a part, `**` is any number of parts."""
    parts, wanted = (
        path.split("/"),
        [part for part in pattern.split("/") if part not in ("", ".")],
    )
    at = next_wanted = 0
    star, resume = -1, 0
    while at < len(parts):
        if next_wanted < len(wanted) and wanted[next_wanted] == "**":
            star, resume = next_wanted, at
            next_wanted += 1
        elif next_wanted < len(wanted) and _part_matches(wanted[next_wanted], parts[at]):
            at, next_wanted = at + 1, next_wanted + 1
        elif star >= 0:  # Let the last `**` take one part more.
            resume += 1
            at, next_wanted = resume, star + 1
        else:
            return False
    return all(part == "**" for part in wanted[next_wanted:])


def _part_matches(pattern: str, part: str) -> bool:
    at = wanted = 0
    star, resume = -1, 0
    while at < len(part):
        if wanted < len(pattern) and pattern[wanted] == "*":
            star, resume = wanted, at
            wanted += 1
        elif wanted < len(pattern) and pattern[wanted] in ("?", part[at]):
            at, wanted = at + 1, wanted + 1
        elif star >= 0:
            resume += 1
            at, wanted = resume, star + 1
        else:
            return False
    return all(character == "*" for character in pattern[wanted:])
