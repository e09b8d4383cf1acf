"""Python imports resolve as the interpreter would have it, and say what they depend on."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextpack.languages import language_of, outline
from contextpack.model import Import, ImportKind
from contextpack.resolve import External, Tree, is_config
from contextpack.resolve.python import (
    Resolver,
    directories_between,
    keys_of,
    names_between,
    resolver,
)
from contextpack.resolve.tree import parent
from harness.memory import GRAMMARS
from harness.paths import FIXTURES

CASES = [
    json.loads(line)
    for line in (FIXTURES / "imports" / "python.jsonl").read_text(encoding="utf-8").splitlines()
]


def resolver_of(files: dict[str, str]) -> Resolver:
    configs = {path: text for path, text in files.items() if is_config(path)}
    return resolver(Tree(frozenset(files), configs, frozenset(sys.stdlib_module_names)))


def imports_of(text: str) -> tuple[Import, ...]:
    return outline(text, "python", GRAMMARS).imports


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_case_has_the_edges_that_the_interpreter_has(case: dict[str, Any]) -> None:
    files: dict[str, str] = case["files"]
    made = resolver_of(files)
    edges: set[tuple[str, str]] = set()
    reasons: set[tuple[str, str, External]] = set()
    for path, text in files.items():
        if language_of(path) != "python":
            continue
        for found in imports_of(text):
            resolution = made.resolve(path, found)
            edges |= {(path, target) for target in resolution.targets if target != path}
            if resolution.external:
                reasons.add((path, found.specifier.partition(".")[0], resolution.external))
    required = {tuple(edge) for edge in case["edges"]}
    neutral = {tuple(edge[:2]) for edge in case["optional"]}
    assert required == edges - (neutral - required)
    for path, name in case["external"]:
        is_standard = name in sys.stdlib_module_names
        reason = External.STANDARD_LIBRARY if is_standard else External.PACKAGE
        assert (path, name, reason) in reasons


def targets(files: dict[str, str], path: str, statement: str) -> tuple[str, ...] | External:
    found = imports_of(statement)
    assert len(found) == 1
    resolution = resolver_of({**files, path: statement}).resolve(path, found[0])
    return resolution.external or resolution.targets


FLAT = 'setup(name="one", packages=find_packages())'
LAYOUTS = {
    "setuptools where": ("pyproject.toml", '[tool.setuptools.packages.find]\nwhere = ["lib"]'),
    "setuptools package-dir": (
        "pyproject.toml",
        '[tool.setuptools]\npackage-dir = {"" = "lib"}',
    ),
    "setuptools inline": (
        "pyproject.toml",
        '[tool.setuptools]\npackages = {find = {where = ["lib"]}}',
    ),
    "hatch packages": (
        "pyproject.toml",
        '[tool.hatch.build.targets.wheel]\npackages = ["lib/acme"]',
    ),
    "hatch sources": ("pyproject.toml", '[tool.hatch.build]\nsources = ["lib"]'),
    "hatch rewrite": ("pyproject.toml", '[tool.hatch.build.targets.wheel.sources]\n"lib" = ""'),
    "poetry": (
        "pyproject.toml",
        '[tool.poetry]\npackages = [{include = "acme", from = "lib"}]',
    ),
    "poetry tables": (
        "pyproject.toml",
        '[[tool.poetry.packages]]\ninclude = "acme"\nfrom = "lib"',
    ),
    "pdm": ("pyproject.toml", '[tool.pdm.build]\npackage-dir = "lib"'),
    "uv": ("pyproject.toml", '[tool.uv.build-backend]\nmodule-root = "lib"'),
    "maturin": ("pyproject.toml", '[tool.maturin]\npython-source = "lib"'),
    "scikit-build": ("pyproject.toml", '[tool.scikit-build]\nwheel.packages = ["lib/acme"]'),
    "setup.cfg package_dir": ("setup.cfg", "[options]\npackage_dir =\n    = lib\n"),
    "setup.cfg inline": ("setup.cfg", "[options]\npackage_dir = =lib\n"),
    "setup.cfg where": ("setup.cfg", "[options]\n[options.packages.find]\nwhere = lib\n"),
    "setup.py package_dir": ("setup.py", 'setup(package_dir={"": "lib"}, packages=["acme"])'),
    "setup.py find": ("setup.py", "setup(packages=find_packages('lib'))"),
    "setup.py where": ("setup.py", 'setup(packages=find_namespace_packages(where="lib"))'),
    "setup.py renamed": ("setup.py", 'setup(package_dir={"acme": "lib/acme"})'),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_packaging_file_says_where_packages_lie(layout: str) -> None:
    name, text = LAYOUTS[layout]
    header = '[project]\nname = "one"\n' if name == "pyproject.toml" else ""
    files = {"one/lib/acme/__init__.py": "", f"one/{name}": header + text}
    for importer in ("one/tests/test_a.py", "two/pkg/__init__.py"):
        expected = ("one/lib/acme/__init__.py",)
        assert expected == targets(files, importer, "import acme"), importer


@pytest.mark.parametrize("back_end", ["hatchling.build", "flit_core.buildapi", "poetry.core"])
def test_a_src_directory_needs_no_word(back_end: str) -> None:
    files = {
        "one/src/acme.py": "",
        "one/pyproject.toml": f'[build-system]\nbuild-backend = "{back_end}"',
    }
    assert ("one/src/acme.py",) == targets(files, "two/a.py", "import acme")


def test_an_error_in_another_table_does_not_hide_the_layout() -> None:
    text = '[project]\ndependencies = [\n[tool.setuptools]\npackage-dir = {"" = "lib"}\n'
    files = {"pyproject.toml": text, "lib/acme.py": ""}
    assert ("lib/acme.py",) == targets(files, "tests/a.py", "import acme")


def test_a_package_may_lie_in_a_directory_of_another_name() -> None:
    files = {
        "setup.py": 'setup(package_dir={"acme": "source"})',
        "source/__init__.py": "",
        "source/core.py": "",
    }
    assert ("source/core.py",) == targets(files, "tests/a.py", "import acme.core")


def test_the_own_distribution_comes_first_and_others_claim_equally() -> None:
    files = {f"{each}/setup.py": FLAT for each in ("one", "two", "three")}
    files |= {"one/acme.py": "", "two/acme.py": "", "three/other.py": ""}
    assert ("two/acme.py",) == targets(files, "two/tests/a.py", "import acme")
    assert External.AMBIGUOUS == targets(files, "three/tests/a.py", "import acme")
    assert ("three/other.py",) == targets(files, "two/tests/a.py", "import other")


def test_tests_and_scripts_of_another_distribution_are_not_installed() -> None:
    files = {"one/setup.py": FLAT, "two/setup.py": FLAT, "one/tests/data.py": ""}
    assert External.PACKAGE == targets(files, "two/a.py", "import tests.data")
    assert ("one/tests/data.py",) == targets(files, "one/docs/a.py", "import tests.data")


def test_a_relative_import_sees_the_other_portions_of_a_namespace() -> None:
    files = {
        "one/setup.py": FLAT,
        "two/setup.py": FLAT,
        "two/ns/b.py": "",
        "one/ns/sub/__init__.py": "",
    }
    assert ("two/ns/b.py",) == targets(files, "one/ns/a.py", "from .b import x")
    assert ("two/ns/b.py",) == targets(files, "one/ns/sub/a.py", "from .. import b")


def test_a_regular_package_hides_the_rest_of_the_path() -> None:
    files = {"tests/lib/__init__.py": "", "setup.py": FLAT, "lib/deep.py": ""}
    assert External.MISSING == targets(files, "tests/a.py", "import lib.deep")


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        ("apps/conftest.py", ""),
        ("apps/manage.py", ""),
        ("apps/requirements.txt", "django"),
        ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["apps"]'),
        ("pytest.ini", "[pytest]\npythonpath = . apps"),
        ("setup.cfg", "[tool:pytest]\npythonpath =\n  apps"),
    ],
)
def test_what_is_run_somewhere_has_its_directory_on_the_path(evidence: str, text: str) -> None:
    files = {evidence: text, "apps/shared.py": ""}
    assert ("apps/shared.py",) == targets(files, "apps/deep/er/a.py", "import shared")
    del files[evidence]
    assert External.PACKAGE == targets(files, "apps/deep/er/a.py", "import shared")


def test_a_stub_package_stands_for_what_is_installed() -> None:
    files = {"foo-stubs/__init__.pyi": "", "foo-stubs/bar.pyi": ""}
    assert ("foo-stubs/bar.pyi",) == targets(files, "a.py", "import foo.bar")
    assert ("foo-stubs/bar.pyi",) == targets(
        files, "foo-stubs/baz.pyi", "from foo.bar import x"
    )


def test_stubs_see_stubs_and_code_sees_code() -> None:
    files = {"a.py": "", "a.pyi": ""}
    assert ("a.py",) == targets(files, "b.py", "import a")
    assert ("a.pyi",) == targets(files, "b.pyi", "import a")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import_module('pkg.mod')", ("pkg/mod.py",)),
        ("importlib.import_module('.mod', package=__package__)", ("pkg/mod.py",)),
        ("importlib.import_module('.mod', 'pkg')", ("pkg/mod.py",)),
        ("__import__('pkg.mod', fromlist=['x'])", ("pkg/mod.py",)),
        ("importlib.import_module('pkg.' + name)", External.DYNAMIC),
        ("importlib.import_module(name)", External.DYNAMIC),
        ("__import__(f'pkg.{name}')", External.DYNAMIC),
        ("from ... import a", External.OUTSIDE),
        ("from .nothing import a", External.MISSING),
        ("import pkg.nothing", External.MISSING),
        ("import requests.sessions", External.PACKAGE),
        ("import os.path", External.STANDARD_LIBRARY),
    ],
)
def test_every_import_has_targets_or_a_reason(
    statement: str, expected: tuple[str, ...] | External
) -> None:
    files = {"pkg/__init__.py": "", "pkg/mod.py": ""}
    assert expected == targets(files, "pkg/a.py", statement)


def test_what_looks_like_a_dynamic_import_is_none() -> None:
    text = "# import_module('a')\n'''\n__import__('a')\n'''\nself.import_module('b')\n"
    assert imports_of(text) == ()


def test_imports_for_the_type_checker_are_told_apart() -> None:
    text = (
        "if TYPE_CHECKING:\n  import a\nelse:\n  import b\n"
        "if not t.TYPE_CHECKING:\n  import c\nelse:\n  if x:\n    import d\n"
    )
    kinds = {found.specifier: found.kind for found in imports_of(text)}
    assert kinds == {
        "a": ImportKind.TYPE,
        "b": ImportKind.STATIC,
        "c": ImportKind.STATIC,
        "d": ImportKind.TYPE,
    }


def test_a_package_may_have_the_name_of_a_keyword() -> None:
    text = (
        "import async\nfrom a.async import b as c, d\nfrom . import async\nimport x.async.y\n"
    )
    found = [(each.specifier, each.level, each.names) for each in imports_of(text)]
    assert found == [
        ("async", 0, ()),
        ("a.async", 0, ("b", "d")),
        ("", 1, ("async",)),
        ("x.async.y", 0, ()),
    ]


HOSTILE = {
    "dotted key": "[tool.setuptools]\na" + ".a" * 100_000 + " = 1",
    "nested arrays": "[tool.setuptools]\nx = " + "[" * 50_000,
    "nested tables": "[tool.setuptools]\nx = " + "{a = " * 20_000,
    "many tables": "\n".join(f"[tool.hatch{'.b' * 90}.c{i}]" for i in range(1000)),
    "many keys": "[tool.uv]\n" + "\n".join(f"k{i}.b = {i}" for i in range(10_000)),
    "out of the root": '[project]\n[tool.setuptools.packages.find]\nwhere = ["../..", "/", "a/../.."]',
    "wrong types": "[project]\n[tool]\nsetuptools = 3\nhatch = [1]\npoetry = {packages = 1}\nuv = true",
    "blanks": "[options]\na" + " " * 200_000 + "b",
    "further lines": "[options]\npackage_dir =\n" + " =\n" * 60_000,
    "package_dir": "setup(" + "package_dir={" * 15_000,
    "find": "find_packages(" * 15_000,
}


@pytest.mark.parametrize("name", ["pyproject.toml", "setup.cfg", "setup.py", "tox.ini"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_config_costs_nothing_but_its_layout(name: str, text: str) -> None:
    files = {name: text, "acme.py": ""}
    assert ("acme.py",) == targets(files, "b.py", "import acme")


PIECES = [
    *"[]{}=.,\"'\n ",
    "[project]\n",
    "[tool.",
    "setuptools",
    "poetry",
    "packages",
    "setup(",
]


@given(st.text() | st.lists(st.sampled_from(PIECES)))
def test_any_text_is_a_config(text: str | list[str]) -> None:
    files = dict.fromkeys(["pyproject.toml", "setup.cfg", "setup.py"], "".join(text))
    assert ("a.py",) == targets({**files, "a.py": ""}, "b.py", "import a")


NAMES = st.sampled_from(["a", "b", "ns", "src", "one"])
FILES = st.sampled_from(
    [
        "__init__.py",
        "a.py",
        "b.py",
        "b.pyi",
        "ns.py",
        "setup.py",
        "conftest.py",
        "pyproject.toml",
    ]
)
PATHS = st.builds(
    lambda parts, name: "/".join([*parts, name]), st.lists(NAMES, max_size=3), FILES
)
TEXTS = {
    "setup.py": 'setup(package_dir={"a": "b"})',
    "pyproject.toml": '[project]\n[tool.setuptools.packages.find]\nwhere = ["ns", "."]',
}
STATEMENTS = [
    found
    for text in (
        "import a", "import a.b", "from a import b, ns", "from . import a", "from .a import b",
        "from .. import b", "from ..ns.a import *", "import ns.b", "import one.a as x",
    )
    for found in imports_of(text)
]  # fmt: skip


@given(st.sets(PATHS, min_size=1, max_size=12), st.sets(PATHS, min_size=1, max_size=3))
def test_an_import_changes_only_with_what_it_says_it_depends_on(
    paths: set[str], changed: set[str]
) -> None:
    def made(paths: set[str]) -> Resolver:
        return resolver_of({path: TEXTS.get(path.rpartition("/")[2], "") for path in paths})

    before, after = made(paths), made(paths ^ changed)
    names = names_between(before, after, changed)
    elsewhere = directories_between(before, after)
    for path in paths - changed:
        if not path.endswith((".py", ".pyi")):
            continue
        if parent(path) in elsewhere:
            continue
        for found in STATEMENTS:
            if names.isdisjoint(keys_of(path, found)):
                assert before.resolve(path, found) == after.resolve(path, found), found
