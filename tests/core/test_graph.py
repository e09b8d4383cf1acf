"""An updated graph equals one made anew, and only what may have changed is resolved again."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.graph import Graph, graph, updated
from contextpack.model import Facts
from contextpack.resolve import Tree, is_config
from harness.memory import STANDARD_LIBRARY, facts_of
from harness.paths import FIXTURES

CASES = [
    json.loads(line)
    for file in sorted((FIXTURES / "imports").glob("*.jsonl"))
    for line in file.read_text(encoding="utf-8").splitlines()
]

Files = Mapping[str, str]


def parts(files: Files) -> tuple[dict[str, Facts], Tree]:
    configs = {path: text for path, text in files.items() if is_config(path)}
    facts = {path: facts_of(path, text) for path, text in files.items()}
    return facts, Tree(frozenset(files), configs, STANDARD_LIBRARY)


def seen(made: Graph) -> tuple[object, ...]:
    return made.edges, made.mocks, dict(made.unresolved), dict(made.rates), dict(made.importers)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_taking_any_file_away_and_putting_it_back_gives_the_same_graph(
    case: Mapping[str, Files],
) -> None:
    files = case["files"]
    whole = graph(*parts(files))
    for path in files:
        rest = {other: text for other, text in files.items() if other != path}
        without, _ = updated(whole, *parts(rest))
        assert seen(without) == seen(graph(*parts(rest))), f"without {path}"
        again, _ = updated(without, *parts(files))
        assert seen(again) == seen(whole), f"with {path} again"


@given(case=st.sampled_from(CASES), data=st.data())
def test_any_edit_gives_the_graph_that_a_cold_start_gives(
    case: Mapping[str, Files], data: st.DataObject
) -> None:
    files = dict(case["files"])
    made = graph(*parts(files))
    for _ in range(data.draw(st.integers(1, 4))):
        path = data.draw(st.sampled_from(sorted(case["files"])))
        other = data.draw(st.sampled_from(sorted(case["files"])))
        match data.draw(st.sampled_from(["drop", "swap", "empty", "restore"])):
            case "drop":
                files.pop(path, None)
            case "swap":
                files[path] = case["files"][other]
            case "empty":
                files[path] = ""
            case _:
                files[path] = case["files"][path]
        made, _ = updated(made, *parts(files))
        assert seen(made) == seen(graph(*parts(files)))


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
    made, done = updated(graph(*parts(before)), *parts(after))
    assert seen(made) == seen(graph(*parts(after)))
    return dict(done)


def test_a_body_edit_resolves_nothing() -> None:
    assert work(PYTHON, PYTHON | {"pkg/b.py": "import json\nX = 1\n"}) == {}


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
    assert [("a.test.ts", "c.ts")] == [(e.source, e.target) for e in made.edges]
    assert [("a.test.ts", "b.ts")] == [(e.source, e.target) for e in made.mocks]


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
