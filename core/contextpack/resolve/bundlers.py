"""Names that frameworks and bundlers give to directories, as far as they stand in the tree.

A framework's own default (`$lib` of SvelteKit, `~` of Nuxt) counts where its package is a
dependency; an `alias` of a configuration file where its value is written out. Such a file is a
program: whatever it computes is left out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from contextpack.model import Path
from contextpack.resolve.jsonc import MAX_CHARACTERS
from contextpack.resolve.packages import Package
from contextpack.resolve.tree import joined, parent

CONFIG = re.compile(
    r"^(?:vite|vitest|electron\.vite|svelte|nuxt|astro|vue|webpack|rspack|rsbuild|rollup|babel)"
    r"(?:\.[\w-]+)?\.config\.[cm]?[jt]s$"
)
# A dependency, the name that comes with it, and what it stands for, best first.
_DEFAULTS = (
    ("@sveltejs/kit", "$lib", ("src/lib",)),
    ("nuxt", "~~", ("",)),
    ("nuxt", "@@", ("",)),
    ("nuxt", "~", ("app", "src", "")),
    ("nuxt", "@", ("app", "src", "")),
    ("@vue/cli-service", "@", ("src",)),
    ("laravel-vite-plugin", "@", ("resources/js",)),
)
_STRING = r"'(?:[^'\\\n]|\\.)*+'|\"(?:[^\"\\\n]|\\.)*+\"|`(?:[^`\\]|\\.)*+`"
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)")
_ALIAS = re.compile(r"\balias\s*[:=]\s*(?=[{\[])")
_KIT_LIB = re.compile(r"\bfiles\s*:\s*\{[^{}]*?\blib\s*:\s*['\"]([^'\"\n]+)['\"]")
_KIT = re.compile(r"\bkit\s*:")
_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\](),]")
_LITERAL = re.compile(_STRING)
_KEY = re.compile(rf"\s*({_STRING}|[\w$]+)\s*:\s*(.*)", re.DOTALL)
_NAME = re.compile(r"[\w$]+")
_COMPUTED = re.compile(r"\$\{(?!\s*(?:__dirname|process\.cwd\(\))\s*\})")
_HERE = re.compile(r"\$\{[^}]*\}/?")
MAX_ALIASES = 200  # Of one block, and blocks of one file.
MAX_BLOCK = 10_000  # Characters of one block.


@dataclass(frozen=True, slots=True)
class Alias:
    """A name at the start of a specifier, and the places that it stands for, best first."""

    name: str
    targets: tuple[Path, ...]
    is_exact: bool = False


def aliases(
    configs: Mapping[Path, str], packages: Mapping[Path, Package]
) -> dict[Path, tuple[Alias, ...]]:
    """The aliases of each directory that has some; they hold below it too."""
    found: dict[Path, list[Alias]] = {}
    for path, text in sorted(configs.items()):
        name = path.rpartition("/")[2]
        if CONFIG.match(name) and len(text) <= MAX_CHARACTERS:
            bare = _COMMENT.sub(r"\1", text)
            at = found.setdefault(parent(path), [])
            at.extend(_written(parent(path), bare))
            if name.startswith("svelte.") and _KIT.search(bare):
                lib = _KIT_LIB.search(bare)
                target = joined(parent(path), lib[1] if lib else "src/lib")
                at.extend([Alias("$lib", (target,))] if target is not None else [])
    for directory, package in packages.items():
        names = {name for name, _ in package.dependencies}
        for dependency, name, targets in _DEFAULTS:
            if dependency in names:
                places = tuple(joined(directory, target) or "" for target in targets)
                found.setdefault(directory, []).append(Alias(name, places))
    return {directory: tuple(written) for directory, written in found.items() if written}


def _written(directory: Path, text: str) -> Iterator[Alias]:
    for match in list(_ALIAS.finditer(text))[:MAX_ALIASES]:
        for entry in _entries(text, match.end()):
            key, value = _pair(entry)
            if entry.lstrip().startswith("{"):
                inner = dict(_pair(part) for part in _entries(entry, entry.index("{")))
                key, value = _unquoted(inner.get("find", "")), inner.get("replacement", "")
            target = _place(directory, value)
            if key and target is not None:
                is_exact = key.endswith("$")
                name = key.removesuffix("$").removesuffix("*").rstrip("/")
                if name and not name.startswith("."):
                    yield Alias(name, (target,), is_exact)


def _pair(entry: str) -> tuple[str, str]:
    found = _KEY.fullmatch(entry)
    return (_unquoted(found[1]), found[2]) if found else ("", "")


def _unquoted(text: str) -> str:
    """A key as it is meant; empty when it is computed."""
    text = text.strip()
    if text[:1] in ("'", '"', "`"):
        return text[1:-1]
    return text if _NAME.fullmatch(text) else ""


def _entries(text: str, start: int) -> list[str]:
    """What stands between the commas of the bracket that opens at an offset."""
    result: list[str] = []
    depth = 0
    begin = start + 1
    for token in _TOKEN.finditer(text, start, start + MAX_BLOCK):
        match token[0]:
            case "{" | "[" | "(":
                depth += 1
            case "}" | "]" | ")":
                depth -= 1
                if depth == 0:
                    result.append(text[begin : token.start()])
                    break
            case "," if depth == 1:
                result.append(text[begin : token.start()])
                begin = token.end()
        if len(result) >= MAX_ALIASES:
            break
    return result


def _place(directory: Path, value: str) -> Path | None:
    """The path that an expression writes out: a string, or strings joined by a path function."""
    literals = [literal[1:-1] for literal in _LITERAL.findall(value)]
    literals = [literal for literal in literals if literal not in ("file:", "utf-8")]
    if not literals or _COMPUTED.search(value):
        return None
    relative = "/".join(_HERE.sub("", literal) for literal in literals)
    return joined(directory, relative.removesuffix("*"))
