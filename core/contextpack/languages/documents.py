"""Prose, data and markup: the languages that scanners read without a grammar.

A scanner is chosen over a grammar where chunks need no more than the lines that entries begin
in: it is total, linear in the text, and needs no package.
"""

from contextpack.languages import keyed, markup, notebook, prose
from contextpack.languages.tree import Outline


def outline(text: str, language: str) -> Outline | None:
    """The outline of a text in one of these languages, or None for any other."""
    match language:
        case "markdown":
            return prose.markdown(text)
        case "rst":
            return prose.rst(text)
        case "json":
            return keyed.json(text)
        case "toml":
            return keyed.toml(text)
        case "yaml":
            return keyed.yaml(text)
        case "ini":
            return keyed.ini(text)
        case "html" | "xml":
            return markup.html(text)
        case "css" | "scss" | "less":
            return markup.css(text)
        case "jupyter":
            return notebook.notebook(text)
        case _:
            return None
