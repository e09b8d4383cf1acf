"""`pack_manifest`: what a bundle holds and leaves out, without its text."""

from contextpack.text import display_path
from contextpackd import wire
from contextpackd.fields import Takes
from contextpackd.mcp.session import Fields, Kept, Session
from contextpackd.mcp.tool import QUERY, ROOTS, Lines, Model, Tool
from contextpackd.mcp.tools.pack_context import answered, note, warnings_of
from contextpackd.view import Progress

MAX_ITEMS = 100
"""Files that are listed: some 10 kB, which a client gets twice."""

MAX_LEFT_OUT = 10


class Shown(Model):
    """One file in the bundle."""

    path: str
    detail: str
    ranges: list[Lines]
    tokens: int


class LeftOut(Model):
    """One file that nearly was in the bundle, or that nobody may see."""

    path: str
    reason: str
    tokens: int | None


class Manifest(Model):
    """What a bundle holds."""

    bundle: str
    """Its id, under which `pack_context` gives its text."""
    roots: list[str]
    budget_tokens: int
    tokens: int
    tokenizer: str
    exact: bool
    freshness: str
    n_files: int
    """Shown in the bundle; `files` has the first hundred."""
    files: list[Shown]
    left_out_counts: dict[str, int]
    left_out: list[LeftOut]
    """The best of them."""
    warnings: list[str]


async def _run(session: Session, fields: Fields, progress: Progress) -> Manifest:
    answer = await answered(session, fields, progress)
    pack, where = answer.pack, tuple(answer.roots.values())
    bundle = session.keep(Kept(pack.text, note(answer), where, fields, pack.standing))
    entries = [entry for entry in wire.shown_entries(answer) if entry.outcome == "excluded"]
    is_in = {"whole", "chunks", "outline", "truncated"}
    return Manifest(
        bundle=bundle,
        roots=[display_path(str(root)) for root in where],
        budget_tokens=answer.request.budget_tokens,
        tokens=pack.tokens,
        tokenizer=answer.profile.name,
        exact=answer.profile.exact,
        freshness=answer.scan.freshness,
        n_files=len(pack.items),
        files=[
            Shown(
                path=display_path(item.path),
                detail=item.detail.value,
                ranges=[[lines.start, lines.end] for lines in item.ranges],
                tokens=item.tokens,
            )
            for item in pack.items[:MAX_ITEMS]
        ],
        left_out_counts={
            name: n for name, n in pack.ledger_counts.items() if name not in is_in
        },
        left_out=[
            LeftOut(
                path=display_path(entry.path), reason=entry.reason.value, tokens=entry.tokens
            )
            for entry in entries[:MAX_LEFT_OUT]
        ],
        warnings=warnings_of(answer),
    )


TOOL = Tool(
    "pack_manifest",
    "What a bundle holds",
    "What `pack_context` would give for a task, without the code: the files with their line"
    " ranges and tokens, how many were left out for which reason, and the best of those. Cheap:"
    " use it to plan, to read the ranges yourself, or where your client cuts long results; with"
    " the `bundle` id `pack_context` gives the text, in pages of any size. Takes every option"
    " of `pack_context`.",
    Takes.ALL,
    (QUERY, *ROOTS),
    _run,
    model=Manifest,
)
