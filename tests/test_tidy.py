"""The architecture's rules, checked on the source tree itself."""

import ast
import dataclasses
import importlib
import re
import sys
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE, SERVER = ROOT / "core" / "contextpack", ROOT / "server" / "contextpackd"

# Lower rows may not import higher ones; modules on one row may not import each other.
LAYERS = [
    {"text", "errors", "mappings"},
    {"model", "terms", "tokens", "secrets", "grams", "alignment", "vocabulary"},
    {
        "languages",
        "truncate",
        "similarity",
        "query",
        "kinds",
        "request",
        "content",
        "bm25",
        "hunks",
    },
    {"facts", "resolve", "segment", "stamp"},
    {"graph", "classic", "postings", "codec"},
    {"history", "related"},
    {"snapshot"},
    {"archive", "factors", "joined", "mentions", "entry", "touched"},
    {"ranking"},
    {"rank", "baseline", "names"},
    {"select", "allocate"},
    {"render", "plan"},
    {"shelf", "choice", "excerpts"},
    {"ledger", "pointers", "stable"},
    {"levels"},
    {"bundle"},
    {"admission"},
]
PURE_STDLIB = {
    "__future__", "array", "bisect", "collections", "dataclasses", "enum", "fractions", "functools",
    "hashlib", "heapq", "html", "itertools", "json", "math", "operator", "re", "string", "tomllib", "types",
    "typing", "unicodedata", "zlib",
}  # fmt: skip
# `regex` has the Unicode tables for graphemes, `msgspec` turns values into bytes, `numpy` and
# `tree_sitter` compute: none does I/O.
PURE_THIRD_PARTY = {"tree_sitter", "numpy", "regex", "msgspec"}
IMPURE_CALLS = {"open", "print", "input", "breakpoint", "hash", "id"}
VAGUE = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "base", "handler"}
# One module holds each kind of effect, so that its traps are answered in one place.
ONLY_IN = {
    "ctypes": {"grammars.py", "heap.py", "inotify.py"},
    "sqlite3": {"database.py", "entries.py", "store.py"},
    "subprocess": {"bridge.py", "child.py", "drawing.py", "git.py"},
    "watchfiles": {"notifier.py"},
}
# The protocols' libraries take seconds to load, and their types must not spread.
ONLY_BELOW = {
    "pygls": "lsp", "lsprotocol": "lsp", "cattrs": "lsp",
    "mcp": "mcp", "mcp_types": "mcp", "pydantic": "mcp", "anyio": "mcp",
}  # fmt: skip
BLANKET_EXCEPT = {"cli.py", "batch.py", "worker.py", "connection.py"}
MAX_LINES = 500


def modules(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield node.module or ""


def layer_of(name: str) -> int:
    return next(i for i, row in enumerate(LAYERS) if name in row)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", modules(CORE), ids=name_of)
def test_core_imports_point_down(path: Path) -> None:
    here = path.relative_to(CORE).with_suffix("").parts[0]
    for name in imported(ast.parse(path.read_text())):
        top, _, rest = name.partition(".")
        if top != "contextpack":
            assert top in PURE_STDLIB | PURE_THIRD_PARTY, f"{path.name}: {name} can do I/O"
        elif here != "__init__" and rest.split(".")[0] != here:
            assert layer_of(rest.split(".")[0]) < layer_of(here), f"{path.name} imports {name}"


def test_the_architecture_names_every_module() -> None:
    document = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for number, row in enumerate(LAYERS):
        (line,) = (line for line in document.splitlines() if line.startswith(f"| {number} |"))
        named = {
            name.rstrip("/") for name in re.findall(r"`([a-z0-9_/]+)`", line.split("|")[2])
        }
        assert named == row
    for path in SERVER.glob("[!_]*.py"):
        assert f"`{path.stem}`" in document, f"{path.stem} is not in ARCHITECTURE.md"


@pytest.mark.parametrize("path", modules(CORE), ids=name_of)
def test_core_keeps_no_state(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            is_all = "__all__" in ast.unparse(statement)
            mutable = isinstance(statement.value, ast.List | ast.Dict | ast.Set)
            assert is_all or not mutable, f"{path.name}:{statement.lineno}"
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Global), f"{path.name}:{node.lineno}: global"
        match node:
            case ast.Attribute(attr="cache" | "lru_cache") | ast.Name(id="cache" | "lru_cache"):
                pytest.fail(f"{path.name}:{node.lineno}: caches live in the server")
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                pytest.fail(f"{path.name}:{node.lineno}: {name}()")


@pytest.mark.parametrize("path", modules(CORE) + modules(SERVER), ids=name_of)
def test_modules_say_what_they_are(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path}: no module docstring"
    assert path.stem not in VAGUE, f"{path}: name the thing it holds"
    assert len(path.read_text().splitlines()) <= MAX_LINES, f"{path}: past {MAX_LINES} lines"


@pytest.mark.parametrize("path", modules(SERVER), ids=name_of)
def test_each_kind_of_effect_has_one_home(path: Path) -> None:
    for name in imported(ast.parse(path.read_text())):
        homes = ONLY_IN.get(name.partition(".")[0])
        assert homes is None or path.name in homes, f"{path.name} imports {name}"
        folder = ONLY_BELOW.get(name.partition(".")[0])
        is_below = folder in path.relative_to(SERVER).parts[:-1]
        assert folder is None or is_below, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", modules(CORE) + modules(SERVER), ids=name_of)
def test_only_the_outermost_frame_catches_everything(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "everything"
            is_blanket = caught in {"everything", "Exception", "BaseException"}
            assert not is_blanket or path.name in BLANKET_EXCEPT, f"{path.name}:{node.lineno}"


def test_source_roots_hold_one_package_each() -> None:
    for package in (CORE, SERVER):
        source_root = package.parent
        assert [p.name for p in source_root.glob("*.py")] == []
        packages = [p.name for p in source_root.iterdir() if (p / "__init__.py").exists()]
        assert packages == [package.name]


def core_types() -> list[type]:
    found = set()
    for path in modules(CORE):
        dotted = ".".join(path.relative_to(CORE.parent).with_suffix("").parts)
        module = importlib.import_module(dotted.removesuffix(".__init__"))
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                found.add(value)
    return sorted(found, key=lambda cls: (cls.__module__, cls.__qualname__))


def is_protocol(cls: type) -> bool:
    return getattr(cls, "_is_protocol", False)


@pytest.mark.parametrize("cls", core_types())
def test_core_classes_are_values_enums_errors_or_protocols(cls: type) -> None:
    is_value = dataclasses.is_dataclass(cls)
    assert is_value or issubclass(cls, Exception | Enum) or is_protocol(cls)


@pytest.mark.parametrize("cls", [cls for cls in core_types() if dataclasses.is_dataclass(cls)])
def test_core_values_are_frozen_and_slotted(cls: type) -> None:
    params = vars(cls)["__dataclass_params__"]
    assert params.frozen, "not frozen"
    assert "__slots__" in vars(cls), "no slots"
    for name, hint in typing.get_type_hints(cls, vars(sys.modules[cls.__module__])).items():
        for part in [hint, *typing.get_args(hint)]:
            kind = typing.get_origin(part) or part
            assert kind not in (list, dict, set), f"{name} is mutable"
