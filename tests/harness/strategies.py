"""Random workspaces in memory, and requests to them."""

from hypothesis import strategies as st

from contextpack.model import Format
from contextpack.request import Cut, Focus, Order, Request, Strategy
from contextpack.text import Lines

WORDS = [
    "cart",
    "total",
    "login",
    "session",
    "parse",
    "émoji",
    "数量",
    "render",
    "x",
    "getUserById",
]

identifiers = st.sampled_from(WORDS)
statements = st.one_of(
    st.builds("{} = {}\n".format, identifiers, identifiers),
    st.builds("def {}({}):\n    return {}\n".format, identifiers, identifiers, identifiers),
    st.builds("class {}:\n    {} = 1\n".format, identifiers, identifiers),
    st.builds("import {}\n".format, identifiers),
    st.sampled_from(
        ["\n", "\r\n", "\t\n", "# ``` fence\n", "]]></file>\n", "x" * 300 + "\n", "def (\n"]
    ),
    st.text(max_size=40),
)
texts = st.lists(statements, max_size=30).map("".join)
paths = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "src/", "tests/", "a b/", "docs/"]),
    identifiers,
    st.sampled_from([".py", ".ts", ".jsx", ".md", ".go", ".json", ""]),
)
workspaces = st.dictionaries(paths, texts, max_size=8)
queries = st.lists(st.sampled_from([*WORDS, "the", "zzz", "src/cart.py:3"]), max_size=5).map(
    " ".join
)


@st.composite
def requests(draw: st.DrawFn, files: dict[str, str]) -> Request:
    n_pins = draw(st.integers(0, min(2, len(files))))
    pins = draw(st.permutations(sorted(files)))[:n_pins]
    origins = draw(st.lists(st.sampled_from(sorted(files)), max_size=1)) if files else ()
    # Without a file to begin at these mean nothing, and no door takes them.
    depth = draw(st.integers(1, 3)) if origins else Request(query="").depth
    importers = draw(st.booleans()) if origins else False
    diff = draw(st.sampled_from([None, None, "HEAD"]))
    # Mostly not: nothing else counts then, and no door takes what else would be ranked.
    names = st.lists(st.sampled_from([*files, *WORDS]), max_size=2)
    only = draw(st.just([]) | names) if not origins and diff is None else []
    return Request(
        query=draw(queries),
        budget_tokens=draw(st.one_of(st.integers(1, 400), st.integers(1, 200_000))),
        model=draw(st.sampled_from(["o200k", "cl100k", "claude", "estimate"])),
        text_format=draw(st.sampled_from(Format)),
        task=draw(st.booleans()),
        tree=draw(st.booleans()),
        line_numbers=draw(st.booleans()),
        strategy=draw(st.sampled_from(Strategy)),
        ordering=draw(st.sampled_from(Order)),
        dedup=draw(st.sampled_from([0.5, 0.97, 1.0])),
        max_candidates=draw(st.sampled_from([None, 1, 3])),
        truncate=draw(st.sampled_from(Cut)),
        pins=tuple(pins),
        only=tuple(only),
        focus=tuple(draw(st.lists(foci(files), max_size=2))),
        origins=tuple(origins),
        depth=depth,
        importers=importers,
        diff=diff,
    )


places = st.builds(
    lambda start, n: Lines(start, start + n), st.integers(1, 40), st.integers(0, 9)
)


def foci(files: dict[str, str]) -> st.SearchStrategy[Focus]:
    """Places in these files, and some that are in none."""
    return st.builds(Focus, st.sampled_from([*sorted(files), "nowhere.py"]), st.none() | places)


def changes(files: dict[str, str]) -> st.SearchStrategy[dict[str, tuple[Lines, ...]]]:
    """Changed lines of some of these files."""
    paths = st.sampled_from([*sorted(files), "nowhere.py"])
    return st.dictionaries(
        paths, st.lists(places, min_size=1, max_size=3).map(tuple), max_size=3
    )
