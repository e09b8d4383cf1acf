"""Chunks of a text whose language has no grammar: cut where something at the margin begins."""

from contextpack.text import Lines, split_lines

# About one function: the shape that ranks best. Shorter pieces join their neighbour, since a
# path line costs as much as they do; longer ones are cut.
MIN_LINES = 8
TARGET_LINES = 40
MAX_LINES = 60


def chunks(text: str) -> tuple[Lines, ...]:
    """Ranges that cover the text, cut at lines without indentation that follow a blank line."""
    lines = split_lines(text)
    if not lines:
        return ()
    starts = [1]
    for number, line in enumerate(lines, 1):
        is_margin = not line[0].isspace() and line[0] not in "})]"
        follows_gap = number > 1 and not lines[number - 2].strip()
        is_heading = line.startswith("#")
        if is_margin and (follows_gap or is_heading) and number - starts[-1] >= MIN_LINES:
            starts.append(number)
    result: list[Lines] = []
    for start, following in zip(starts, [*starts[1:], len(lines) + 1], strict=True):
        result.extend(windows(Lines(start, following - 1)))
    return tuple(result)


def windows(lines: Lines) -> list[Lines]:
    """A range cut into windows of `TARGET_LINES` when it is longer than `MAX_LINES`."""
    result = []
    start = lines.start
    while lines.end - start + 1 > MAX_LINES:
        result.append(Lines(start, start + TARGET_LINES - 1))
        start += TARGET_LINES
    result.append(Lines(start, lines.end))
    return result
