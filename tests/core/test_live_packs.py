"""Packs that follow one another while files change: what must hold at every step."""

from collections.abc import Mapping

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from contextpack.bundle import Pack
from contextpack.model import Format, Outcome, Style
from contextpack.render import header, render_piece
from contextpack.request import Order, Request, Strategy
from contextpack.stable import MARGIN, ChangeKind
from contextpack.text import split_lines
from harness.memory import COUNT, packed

WORDS = ["cart", "total", "login", "session", "parse", "render", "cache"]

names = st.sampled_from(WORDS)
functions = st.builds(
    "def {}_{}({}):\n{}    return {}\n\n\n".format,
    names,
    names,
    names,
    st.lists(st.builds("    {} = {}({})\n".format, names, names, names), max_size=12).map(
        "".join
    ),
    names,
)
classes = st.builds("class {}:\n    {} = 1\n\n".format, names, names)
definitions = st.one_of(functions, functions, classes)
contents = st.lists(definitions, max_size=6).map("".join)
paths = st.builds("{}{}.py".format, st.sampled_from(["", "src/", "src/deep/", "tests/"]), names)


def style_of(request: Request) -> Style:
    return Style(request.text_format, line_numbers=request.line_numbers)


class LivePack(RuleBasedStateMachine):
    """A workspace in memory whose pack is asked for again after every few edits."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}
        self.request = Request(query="")
        self.pack: Pack | None = None

    @initialize(
        files=st.dictionaries(paths, contents, min_size=2, max_size=8),
        query=st.lists(names, max_size=3).map(" ".join),
        budget=st.integers(40, 1200),
        strategy=st.sampled_from(Strategy),
        ordering=st.sampled_from([Order.NATURAL, Order.STABLE]),
        text_format=st.sampled_from(Format),
        line_numbers=st.booleans(),
    )
    def begin(
        self,
        files: dict[str, str],
        query: str,
        budget: int,
        strategy: Strategy,
        ordering: Order,
        text_format: Format,
        line_numbers: bool,
    ) -> None:
        self.files = files
        self.request = Request(
            query=query,
            budget_tokens=budget,
            strategy=strategy,
            ordering=ordering,
            text_format=text_format,
            line_numbers=line_numbers,
        )
        self.ask()

    @rule(path=paths, content=contents)
    def write(self, path: str, content: str) -> None:
        self.files[path] = content

    @precondition(lambda self: self.files)
    @rule(data=st.data(), definition=definitions)
    def insert(self, data: st.DataObject, definition: str) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        lines = split_lines(self.files[path])
        place = data.draw(st.integers(0, len(lines)))
        self.files[path] = "".join([*lines[:place], definition, *lines[place:]])

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def cut(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.files)))
        lines = split_lines(self.files[path])
        start = data.draw(st.integers(0, len(lines)))
        self.files[path] = "".join([*lines[:start], *lines[start + 3 :]])

    @precondition(lambda self: self.files)
    @rule(data=st.data(), path=paths)
    def copy(self, data: st.DataObject, path: str) -> None:
        self.files[path] = self.files[data.draw(st.sampled_from(sorted(self.files)))]

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        del self.files[data.draw(st.sampled_from(sorted(self.files)))]

    @rule()
    def ask(self) -> None:
        before = self.pack
        pack = packed(self.files, self.request, previous=before)
        assert pack.tokens == COUNT(pack.text) <= self.request.budget_tokens
        assert_nothing_is_stale(pack, self.files)
        assert_every_candidate_is_in_the_ledger_once(pack, self.files)
        alone = packed(self.files, self.request)
        assert pack.score + 1e-6 >= (1 - MARGIN) * alone.score
        assert pack.given_up == max(0.0, round(alone.score - pack.score, 6))
        again = packed(self.files, self.request, previous=pack)
        assert (again.text, again.revision, again.changes) == (pack.text, pack.revision, ())
        if before is not None:
            assert pack.revision == before.revision + (pack.text != before.text)
            assert_the_text_begins_as_before(before, pack, style_of(self.request))
            assert_changes_are_the_differences(before, pack, style_of(self.request))
        self.pack = pack


def assert_nothing_is_stale(pack: Pack, files: Mapping[str, str]) -> None:
    for piece in pack.standing.pieces:
        lines = split_lines(files[piece.path])
        assert piece.n_lines == len(lines)
        for section in piece.sections:
            if section.lines is None:
                assert section.text in files[piece.path]
            else:
                shown = lines[section.lines.start - 1 : section.lines.end]
                assert section.text == "".join(shown)


def assert_every_candidate_is_in_the_ledger_once(pack: Pack, files: Mapping[str, str]) -> None:
    assert sorted(files) == sorted(entry.path for entry in pack.ledger)
    included = [e.path for e in pack.ledger if e.outcome is not Outcome.EXCLUDED]
    assert included == [item.path for item in pack.items]


def assert_the_text_begins_as_before(before: Pack, pack: Pack, style: Style) -> None:
    if not before.items or not pack.items:
        return
    new = {piece.path: render_piece(piece, style) for piece in pack.standing.pieces}
    parts = [header((), style)]
    for piece in before.standing.pieces:
        part = render_piece(piece, style)
        if new.get(piece.path) != part:
            break
        parts.append(part)
    assert before.text.startswith("".join(parts))
    assert pack.text.startswith("".join(parts))


def assert_changes_are_the_differences(before: Pack, pack: Pack, style: Style) -> None:
    old = {piece.path: render_piece(piece, style) for piece in before.standing.pieces}
    new = {piece.path: render_piece(piece, style) for piece in pack.standing.pieces}
    expected = dict.fromkeys(new.keys() - old.keys(), ChangeKind.ADDED)
    expected |= dict.fromkeys(old.keys() - new.keys(), ChangeKind.REMOVED)
    expected |= {
        path: ChangeKind.CHANGED for path in old.keys() & new.keys() if old[path] != new[path]
    }
    assert expected == {change.path: change.kind for change in pack.changes}
    assert len(pack.changes) == len(expected)


TestLivePack = LivePack.TestCase
# Each step asks three times.
TestLivePack.settings = settings(
    max_examples=settings().max_examples // 2, stateful_step_count=12
)
