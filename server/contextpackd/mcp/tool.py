"""What a tool is: what it takes, what it says of itself, and what it finds."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pydantic
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from contextpackd.fields import DEFAULT_TOP, Field, Shape, Takes
from contextpackd.mcp.session import Fields, Session
from contextpackd.queries import Answer
from contextpackd.view import Progress

Lines = Annotated[list[int], pydantic.Field(min_length=2, max_length=2)]
"""The first line and the last one, 1-based."""


class Model(BaseModel):
    """A result with a schema. Only what is small has one: clients get it twice."""

    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, extra="forbid"
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A text of any length, which is kept and comes in pages."""

    text: str
    where: tuple[Path, ...]
    note: str = ""
    """What else there is to say, for the reader of the text."""
    answer: Answer | None = None
    """The answer that this is about, whose bundle can be asked for by its id."""
    fields: Fields | None = None
    """What the answer's question was, where the tool's own fields do not say it."""


Run = Callable[[Session, Fields, Progress], Awaitable["Found | Model"]]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. With a `model` its result is one, else `Found`."""

    name: str
    title: str
    summary: str
    """For the agent that chooses among tools: what it gives, when to use it."""
    takes: Takes
    fields: tuple[Field, ...]
    run: Run
    model: type[Model] | None = None
    shows_options: bool = False
    """Whether its schema has all options that it takes, or refers to another tool's."""

    @property
    def own(self) -> tuple[Field, ...]:
        """The fields beside the options."""
        return self.fields if self.model is not None else (*self.fields, *PAGES)


QUERY = Field("query", Shape.TEXT, "the task in words; names of code and paths help")
ROOT = Field("root", Shape.NAME, "one of the server's roots, by its path or name")
ROOTS = (
    Field("root", Shape.NAME, f"{ROOT.help} (default: all of them, as one)"),
    Field("roots", Shape.NAMES, "several of them, in place of `root`"),
)
BUNDLE = Field("bundle", Shape.NAME, "a bundle of this connection, by the id in its note")
TOP = Field("top", Shape.COUNT, f"how many of the best (default: {DEFAULT_TOP})")

PAGES = (
    Field("page", Shape.COUNT, "which page of a long result (default: 1)"),
    Field("pageBytes", Shape.COUNT, "most bytes of one page, for clients that cut results"),
    Field("pageOf", Shape.NAME, "the id of an earlier result, whose page this is; needs nothing else"),
)  # fmt: skip
