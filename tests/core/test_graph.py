"""An updated graph equals one made anew, and only what may have changed is resolved again."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.graph import (
    Graph,
    Said,
    Work,
    edges,
    graph,
    mocks,
    rates,
    restored,
    said,
    unresolved,
    updated,
)
from contextpack.model import Import, ImportKind
from contextpack.resolve import External, Family, Resolution, Resolved, Tree, is_config
from harness.memory import STANDARD_LIBRARY, facts_of
from harness.paths import FIXTURES

CASES = [
    json.loads(line)
    for file in sorted((FIXTURES / "imports").glob("*.jsonl"))
    for line in file.read_text(encoding="utf-8").splitlines()
]

Files = Mapping[str, str]


def parts(files: Files) -> tuple[dict[str, Said], Tree]:
    configs = {path: text for path, text in files.items() if is_config(path)}
    every = {path: said(facts_of(path, text)) for path, text in files.items()}
    return every, Tree(frozenset(files), configs, STANDARD_LIBRARY)


def seen(made: Graph) -> tuple[object, ...]:
    return made, edges(made), mocks(made), dict(unresolved(made)), dict(rates(made))


def step(made: Graph, before: Files, after: Files) -> tuple[Graph, Work]:
    """The graph after these files became those, by the difference alone."""
    changed = {path: text for path, text in after.items() if before.get(path) != text}
    return updated(
        made,
        {path: said(facts_of(path, text)) for path, text in changed.items()},
        before.keys() - after.keys(),
        {path: text for path, text in changed.items() if is_config(path)},
    )


def check(made: Graph, before: Files, after: Files) -> Graph:
    """An update gives the cold graph, and says rightly whose edges it changed."""
    now, work = step(made, before, after)
    assert seen(now) == seen(graph(*parts(after)))
    everybody = made.imports.keys() | now.imports.keys()
    moved = {path for path in everybody if made.imports.get(path) != now.imports.get(path)}
    assert moved == work.moved
    return now


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_taking_any_file_away_and_putting_it_back_gives_the_same_graph(
    case: Mapping[str, Files],
) -> None:
    files = case["files"]
    whole = graph(*parts(files))
    for path in files:
        rest = {other: text for other, text in files.items() if other != path}
        check(check(whole, files, rest), rest, files)


@given(case=st.sampled_from(CASES), data=st.data())
def test_any_sequence_of_changes_gives_the_graph_that_a_cold_start_gives(
    case: Mapping[str, Files], data: st.DataObject
) -> None:
    files = dict(case["files"])
    paths = st.sampled_from(sorted(files))
    made = graph(*parts(files))
    for _ in range(data.draw(st.integers(1, 4))):
        before = dict(files)
        for _ in range(data.draw(st.integers(1, 3))):
            path, other = data.draw(paths), data.draw(paths)
            match data.draw(
                st.sampled_from(["drop", "swap", "empty", "restore", "move", "shift"])
            ):
                case "drop":
                    files.pop(path, None)
                case "swap":
                    files[path] = case["files"][other]
                case "empty":
                    files[path] = ""
                case "move":  # Beside another file.
                    directory = other.rpartition("/")[0]
                    name = path.rpartition("/")[2]
                    text = files.pop(path, case["files"][path])
                    files[f"{directory}/{name}" if directory else name] = text
                case "shift":
                    files[path] = "\n" + files.get(path, "")
                case _:
                    files[path] = case["files"][path]
        if data.draw(st.booleans()):  # As after a restart.
            made = restored(made.said, made.tree, made.resolved)
        made = check(made, before, files)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_graph_is_restored_from_plain_values(case: Mapping[str, Files]) -> None:
    every, tree = parts(case["files"])
    made = graph(every, tree)
    stored = json.dumps(
        {
            path: ([(one.targets, one.external) for one in each.resolutions], sorted(each.keys))
            for path, each in made.resolved.items()
        }
    )
    back = {
        path: Resolved(
            tuple(Resolution(tuple(x), why and External(why)) for x, why in resolutions),
            tuple(keys),
        )
        for path, (resolutions, keys) in json.loads(stored).items()
    }
    assert seen(made) == seen(restored(every, tree, back))


PYTHON = {
    "pkg/__init__.py": "",
    "pkg/a.py": "import os\nfrom pkg import b\nfrom pkg import new\n",
    "pkg/b.py": "import json\n",
    "main.py": "import pkg.a\nimport pkg.b\n",
}
TYPESCRIPT = {
    "tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]}}}',
    "src/a.ts": "import './b'\nimport '@/c'\nimport './new'\n",
    "src/b.ts": "import '@/c'\n",
    "src/c.ts": "",
    "other/tsconfig.json": "{}",
    "other/d.ts": "import './e'\n",
    "other/e.ts": "",
}


def work(before: Files, after: Files) -> dict[str, int]:
    made = graph(*parts(before))
    check(made, before, after)
    return dict(step(made, before, after)[1].resolved)


def test_a_body_edit_resolves_nothing() -> None:
    assert work(PYTHON, PYTHON | {"pkg/b.py": "import json\nX = 1\n"}) == {}
    assert work(PYTHON, PYTHON | {"pkg/b.py": "\n\nimport json\n"}) == {}


def test_a_save_keeps_whatever_it_does_not_change() -> None:
    made = graph(*parts(PYTHON | TYPESCRIPT))
    saved = Said("python", (Import("json", 9),))
    now, work = updated(made, {"pkg/b.py": saved})
    assert Work((), frozenset()) == work
    assert now.tree is made.tree
    assert now.imports is made.imports
    assert now.importers is made.importers
    assert all(now.resolvers[family] is made.resolvers[family] for family in made.resolvers)
    assert all(now.resolved[path] is made.resolved[path] for path in made.resolved)


def test_a_restored_graph_makes_the_resolvers_that_a_change_needs() -> None:
    made = graph(*parts(PYTHON | TYPESCRIPT))
    back = restored(made.said, made.tree, made.resolved)
    assert {} == back.resolvers
    saved, _ = updated(back, {"pkg/b.py": back.said["pkg/b.py"]})
    assert {} == saved.resolvers
    edited, _ = updated(back, {"pkg/b.py": Said("python", (Import("pkg.a", 1),))})
    assert {Family.PYTHON} == edited.resolvers.keys()


def test_an_edited_import_resolves_the_imports_of_its_file() -> None:
    assert work(PYTHON, PYTHON | {"pkg/b.py": "import re\n"}) == {"pkg/b.py": 1}


def test_a_new_file_resolves_the_imports_that_could_meet_it() -> None:
    python = work(PYTHON, PYTHON | {"pkg/new.py": ""})
    assert python["pkg/a.py"] <= 2  # Not `import os`: nothing in its name can meet the file.
    assert "pkg/b.py" not in python
    assert work(TYPESCRIPT, TYPESCRIPT | {"src/new.ts": ""}) == {"src/a.ts": 1}


def test_an_edited_configuration_resolves_only_its_scope() -> None:
    edited = '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["*"]}}}'
    assert set(work(TYPESCRIPT, TYPESCRIPT | {"other/tsconfig.json": edited})) == {"other/d.ts"}
    # The outer one speaks for all below it: its aliases are tried last in the inner scope.
    everybody = {"src/a.ts", "src/b.ts", "other/d.ts"}
    assert set(work(TYPESCRIPT, TYPESCRIPT | {"tsconfig.json": edited})) == everybody


def test_mocks_are_no_edges() -> None:
    files = {"a.test.ts": "jest.mock('./b')\nimport './c'\n", "b.ts": "", "c.ts": ""}
    made = graph(*parts(files))
    assert [("a.test.ts", "c.ts")] == [(e.source, e.target) for e in edges(made)]
    assert [("a.test.ts", "b.ts")] == [(e.source, e.target) for e in mocks(made)]


def test_what_a_stub_imports_is_for_the_type_checker() -> None:
    made = graph(*parts({"a.pyi": "import b\n", "c.py": "import b\n", "b.py": ""}))
    kinds = {edge.source: edge.kind for edge in edges(made)}
    assert {"a.pyi": ImportKind.TYPE, "c.py": ImportKind.STATIC} == kinds


def test_files_without_facts_are_targets() -> None:
    every, tree = parts({"a.py": "import b_pb2\n", "b_pb2.py": "import json\n"})
    made = graph({"a.py": every["a.py"]}, tree)
    assert {"a.py": ("b_pb2.py",)} == made.imports
    later, _ = updated(made, {"b_pb2.py": every["b_pb2.py"]})
    assert seen(later) == seen(graph(every, tree))


CSHARP = {
    "A/One.cs": "namespace Shop.Carts;\nclass One {}\n",
    "B/Use.cs": "using Shop.Carts;\nusing System;\nclass Use {}\n",
    "B/Other.cs": "using Shop.Taxes;\nusing System;\nclass Other {}\n",
}


def test_an_edit_of_what_a_file_declares_resolves_the_imports_of_that_name() -> None:
    edited = CSHARP | {"A/One.cs": "namespace Shop.Taxes;\nclass One {}\n"}
    assert work(CSHARP, edited) == {"B/Other.cs": 1, "B/Use.cs": 1}
    # `Shop` holds both, so that `using Shop` would be asked again too; `System` never is.
    assert work(CSHARP, CSHARP | {"A/One.cs": CSHARP["A/One.cs"] + "// Said.\n"}) == {}


def test_where_scripts_run_and_composer_configuration_resolve_their_languages() -> None:
    ruby = {"gem/lib/shop.rb": "", "main.rb": "require 'shop'\n", "a.sh": ". ./b.sh\n"}
    assert work(ruby, ruby | {"gem/Gemfile": ""}) == {"main.rb": 1}
    php = {"src/Cart.php": "<?php class Cart {}", "a.php": "<?php\nuse Shop\\Cart;\n"}
    config = '{"autoload": {"psr-4": {"Shop\\\\": "src"}}}'
    assert work(php, php | {"composer.json": config}) == {"a.php": 1}
