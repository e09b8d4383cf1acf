"""The pool's worker with less work in it, to compare with: `STAGE` says how much is done."""

import os

from tree_sitter import Parser

from contextpack.content import content_reason, decoded
from contextpack.facts import facts
from contextpack.languages import outline
from contextpack.text import split_lines
from contextpackd import worker
from contextpackd.worker import Job, Kit, Made

STAGE = os.environ.get("STAGE", "bare")


def bare(job: Job, tools: Kit) -> Made:
    """A text, its tree, and its tokens."""
    text = job.data.decode("utf-8", "replace")
    if job.language in tools.grammars:
        Parser(tools.grammars[job.language].language).parse(job.data)
    tools.count(text)
    return Made(job.id)


def outlined(job: Job, tools: Kit) -> Made:
    """The outline, and the tokens of the text and of its chunks."""
    found = decoded(job.data)
    if found is None or content_reason(job.path, found.text):
        return Made(job.id)
    said = outline(found.text, job.language, tools.grammars)
    lines = split_lines(found.text)
    chunks = ["".join(lines[span.start - 1 : span.end]) for span in said.chunks]
    tools.count.count_many([found.text, *chunks])
    return Made(job.id)


def unencoded(job: Job, tools: Kit) -> Made:
    """Facts and terms, which are thrown away."""
    found = decoded(job.data)
    if found is None or content_reason(job.path, found.text):
        return Made(job.id)
    facts(
        found.text,
        job.language,
        grammars=tools.grammars,
        count=tools.count,
        lexicon=tools.lexicon,
    )
    return Made(job.id)


STAGES = {"bare": bare, "outline": outlined, "terms": unencoded, "bytes": worker.made}

if __name__ == "__main__":
    worker.made = STAGES[STAGE]
    worker.main()
