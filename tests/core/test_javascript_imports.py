"""JS and TS imports lead where the languages' own tools take them, whatever configuration says."""

import json
from collections.abc import Mapping
from time import perf_counter

import pytest

from contextpack import resolve
from contextpack.model import Import, ImportKind
from contextpack.resolve import External, Tree
from contextpack.resolve.globs import matches
from contextpack.resolve.javascript import Resolver, resolver
from harness.memory import facts_of
from harness.paths import FIXTURES

CASES = [
    json.loads(line)
    for line in (FIXTURES / "imports" / "javascript.jsonl").read_text("utf-8").splitlines()
]
BOUND_S = 5.0  # Generous: what a hostile text must not do is take minutes.


def resolver_of(files: Mapping[str, str]) -> Resolver:
    configs = {path: text for path, text in files.items() if resolve.is_config(path)}
    return resolver(Tree(frozenset(files), configs, frozenset()))


def resolved(files: Mapping[str, str], path: str, specifier: str) -> tuple[object, ...]:
    """The targets of an import, or the reason why there are none."""
    found = resolver_of(files).resolve(path, Import(specifier, 1))
    return found.targets or (found.external,)


def tsconfig(**options: object) -> str:
    return json.dumps({"compilerOptions": options})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_edges_are_those_of_the_languages_own_tools(
    case: dict[str, list[list[str]]],
) -> None:
    files: dict[str, str] = case["files"]  # type: ignore[assignment]  # The one field of texts.
    made = resolver_of(files)
    edges, mocks, external = set[object](), set[object](), set[object]()
    for path, text in files.items():
        if path.endswith((".json", ".yaml", ".css", ".svg")):
            continue
        for found in facts_of(path, text).imports:
            resolution = made.resolve(path, found)
            into = mocks if found.kind is ImportKind.MOCK else edges
            into.update((path, target) for target in resolution.targets if target != path)
            if resolution.external in (External.PACKAGE, External.STANDARD_LIBRARY):
                external.add((path, found.specifier))
    optional = {(source, target) for source, target in case["optional"]}
    assert {(a, b) for a, b in case["edges"]} - optional == edges - optional
    assert {(a, b) for a, b in case["mock_edges"]} == mocks
    assert {(a, b) for a, b in case["external"]} == external


def test_a_base_configuration_gives_its_paths_from_its_own_directory() -> None:
    files = {
        "tsconfig.base.json": tsconfig(
            paths={"@lib/*": ["./lib/*"], "@own/*": ["${configDir}/*"]}
        ),
        "app/tsconfig.json": '{"extends": ["./missing", "../tsconfig.base"]}',
        "app/a.ts": "",
        "app/b.ts": "",
        "lib/c.ts": "",
    }
    assert ("lib/c.ts",) == resolved(files, "app/a.ts", "@lib/c")
    assert ("app/b.ts",) == resolved(files, "app/a.ts", "@own/b")


def test_a_configuration_may_be_extended_from_a_package_of_the_workspace() -> None:
    files = {
        "package.json": '{"workspaces": ["tools/*", "app"]}',
        "tools/tsconfig/package.json": '{"name": "@acme/tsconfig"}',
        "tools/tsconfig/base.json": tsconfig(moduleSuffixes=[".web", ""]),
        "app/package.json": '{"devDependencies": {"@acme/tsconfig": "*"}}',
        "app/tsconfig.json": '{"extends": "@acme/tsconfig/base.json"}',
        "app/a.ts": "",
        "app/b.web.ts": "",
        "app/b.ts": "",
    }
    assert ("app/b.web.ts",) == resolved(files, "app/a.ts", "./b")


def test_a_solution_hands_each_file_to_the_project_that_includes_it() -> None:
    files = {
        "tsconfig.json": '{"files": [], "references": [{"path": "./tsconfig.app.json"}, {"path": "test"}]}',
        "tsconfig.app.json": '{"include": ["src"], "compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
        "test/tsconfig.json": tsconfig(paths={"@/*": ["./*"]}),
        "src/main.ts": "",
        "src/u.ts": "",
        "test/u.ts": "",
        "test/t.ts": "",
        "scripts/s.ts": "",
    }
    assert ("src/u.ts",) == resolved(files, "src/main.ts", "@/u")
    assert ("test/u.ts",) == resolved(files, "test/t.ts", "@/u")
    assert (External.PACKAGE,) == resolved(files, "scripts/s.ts", "@/u")


def test_root_directories_lie_over_each_other() -> None:
    files = {
        "tsconfig.json": tsconfig(rootDirs=["src", "generated"]),
        "src/a.ts": "",
        "generated/b.ts": "",
    }
    assert ("generated/b.ts",) == resolved(files, "src/a.ts", "./b")


def test_conditions_follow_how_the_import_is_written() -> None:
    exports = {
        ".": {"import": "./esm.mjs", "require": "./common.cjs"},
        "./deep/*": {"types": "./types/*.d.ts", "default": "./src/*.js"},
        "./deep/private/*": None,
    }
    files = {
        "package.json": json.dumps({"name": "own", "exports": exports}),
        "esm.mjs": "",
        "common.cjs": "",
        "src/a.js": "",
        "src/private/b.js": "",
        "types/a.d.ts": "",
        "t.ts": "",
    }
    made = resolver_of(files)

    def targets(specifier: str, kind: ImportKind) -> tuple[str, ...]:
        return made.resolve("t.ts", Import(specifier, 1, kind=kind)).targets

    assert ("esm.mjs",) == targets("own", ImportKind.STATIC)
    assert ("common.cjs",) == targets("own", ImportKind.REQUIRE)
    assert ("src/a.js", "types/a.d.ts") == targets("own/deep/a", ImportKind.STATIC)
    assert ("types/a.d.ts",) == targets("own/deep/a", ImportKind.TYPE)
    assert () == targets("own/deep/private/b", ImportKind.STATIC)


def test_imports_may_lead_to_another_package_under_a_condition() -> None:
    files = {
        "pnpm-workspace.yaml": "packages:\n# All of them.\n- app\n- 'other/*'  # And these.\n- '!other/old'\n",
        "app/package.json": json.dumps(
            {
                "dependencies": {"plain": "workspace:*", "edge": "workspace:*", "old": "1"},
                "imports": {
                    "#platform/*": {"edge": "edge/*", "default": "plain/*"},
                    "#fs": "fs-extra",
                },
            }
        ),
        "app/a.ts": "",
        "other/edge/package.json": '{"name": "edge"}',
        "other/edge/x.mjs": "",
        "other/plain/package.json": '{"name": "plain"}',
        "other/plain/x.mjs": "",
        "other/old/package.json": '{"name": "old", "main": "x.mjs"}',
        "other/old/x.mjs": "",
    }
    assert ("other/plain/x.mjs",) == resolved(files, "app/a.ts", "#platform/x.mjs")
    assert (External.PACKAGE,) == resolved(files, "app/a.ts", "#fs")
    assert (External.MISSING,) == resolved(files, "app/a.ts", "#nothing")
    assert (External.PACKAGE,) == resolved(files, "app/a.ts", "old")
    assert (External.MISSING,) == resolved(files, "app/a.ts", "plain/gone")


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ("./dist/index.js", "src/index.ts"),
        ("./dist/node/index.js", "src/node/index.ts"),
        ("./dist/esm/index.mjs", "src/index.ts"),
        ("./lib/cli.js", "src/cli.ts"),
        ("./dist/bundle.js", "src/index.ts"),
    ],
)
def test_what_is_not_built_yet_is_guessed_back_to_its_source(target: str, source: str) -> None:
    files = {
        "package.json": '{"workspaces": ["p"], "dependencies": {"p": "*"}}',
        "p/package.json": json.dumps({"name": "p", "exports": target}),
        "a.ts": "",
        f"p/{source}": "",
    }
    assert (f"p/{source}",) == resolved(files, "a.ts", "p")


def test_frameworks_and_bundlers_name_directories() -> None:
    vite = """
    // alias: { '@no': './no' }
    export default defineConfig({
      resolve: {
        alias: {
          '@': path.resolve(__dirname, './src'),
          "~ui": fileURLToPath(new URL('./src/ui', import.meta.url)),
          exact$: '/src/exact.js',
          [computed]: './src',
          '@computed': `${root}/src`,
        },
      },
    })
    """
    array = "export default { resolve: { alias: [{ find: '@list', replacement: resolve(__dirname, 'src') }] } }"
    files = {
        "vite.config.ts": vite,
        "vitest.config.ts": array,
        "kit/svelte.config.js": "export default { kit: { files: { lib: 'source/lib' } } }",
        "kit/source/lib/x.js": "",
        "kit/a.svelte": "",
        "nuxt/package.json": '{"devDependencies": {"nuxt": "3"}}',
        "nuxt/a.vue": "",
        "nuxt/utils/x.ts": "",
        "src/x.ts": "",
        "src/ui/Button.vue": "",
        "src/exact.js": "",
    }
    assert ("src/x.ts",) == resolved(files, "src/a.ts", "@/x")
    assert ("src/ui/Button.vue",) == resolved(files, "src/x.ts", "~ui/Button.vue")
    assert ("src/exact.js",) == resolved(files, "src/x.ts", "exact")
    assert ("src/x.ts",) == resolved(files, "src/x.ts", "@list/x")
    assert (External.PACKAGE,) == resolved(files, "src/x.ts", "@computed/x")
    assert (External.PACKAGE,) == resolved(files, "src/x.ts", "@no/x")
    assert ("kit/source/lib/x.js",) == resolved(files, "kit/a.svelte", "$lib/x")
    assert ("nuxt/utils/x.ts",) == resolved(files, "nuxt/a.vue", "~/utils/x")


@pytest.mark.parametrize(
    ("specifier", "reason"),
    [
        ("../../a", External.OUTSIDE),
        ("@up/x", External.OUTSIDE),
        ("./gone", External.MISSING),
        ("@/gone", External.MISSING),
        ("./style.css", External.ASSET),
        ("./data", External.ASSET),
        ("./picture.png", External.ASSET),
        ("node:test", External.STANDARD_LIBRARY),
        ("fs/promises", External.STANDARD_LIBRARY),
        ("https://esm.sh/react", External.PACKAGE),
        ("virtual:pages", External.PACKAGE),
        ("react", External.PACKAGE),
        ("", External.MISSING),
    ],
)
def test_an_import_without_a_target_has_a_reason(specifier: str, reason: External) -> None:
    files = {
        "tsconfig.json": tsconfig(paths={"@/*": ["./*"], "@up/*": ["../../other/*"]}),
        "src/a.ts": "",
        "src/style.css": "",
        "src/data.json": "",
    }
    assert (reason,) == resolved(files, "src/a.ts", specifier)


HOSTILE = {
    "a loop": {"a.json": '{"extends": "./tsconfig"}', "tsconfig.json": '{"extends": "./tsconfig.json"}'},
    "a diamond": {
        f"tsconfig.{n}.json": json.dumps({"extends": [f"./tsconfig.{n + 1}"] * 2}) for n in range(200)
    } | {"tsconfig.json": '{"extends": "./tsconfig.0"}'},
    "references in a circle": {
        "tsconfig.json": '{"files": [], "references": [{"path": "./tsconfig.b.json"}]}',
        "tsconfig.b.json": '{"files": [], "references": [{"path": "."}]}',
    },
    "ten megabytes": {"tsconfig.json": '{"compilerOptions": {"paths": {' + '"a": ["b"],' * 900_000 + "}}}"},
    "open comments": {"tsconfig.json": "/* " * 300_000},
    "open strings": {"tsconfig.json": '"\\' * 300_000},
    "nesting": {"tsconfig.json": "[" * 100_000, "package.json": '{"exports":' + '{"a":' * 900 + "1" + "}" * 901},
    "stars": {
        "tsconfig.json": json.dumps(
            {"include": ["**/*a*a*a*a*a*a*a*b/**/**/**/x" * 3], "references": [{"path": "x"}]}
        ),
        "package.json": json.dumps({"workspaces": ["*a" * 500, "**/" * 500]}),
    },
    "wrong types": {
        "tsconfig.json": '{"extends": 3, "references": {}, "files": 1, "compilerOptions": {"paths": [1], "baseUrl": {}}}',
        "package.json": '{"exports": [1, null, {"a": 2}], "imports": 3, "main": [], "workspaces": 4, "name": {}}',
        "pnpm-workspace.yaml": "packages: 3",
    },
    "aliases": {"vite.config.js": "alias: {" + "{'a': (" * 50_000, "vue.config.js": "alias: [" * 20_000},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_configuration_ends_in_bounded_time(name: str) -> None:
    files = {**HOSTILE[name], "a" * 200 + ".ts": "", "b.ts": ""}
    start = perf_counter()
    assert ("b.ts",) == resolved(files, "a" * 200 + ".ts", "./b")
    assert perf_counter() - start < BOUND_S


def test_the_places_of_an_import_have_names_of_every_file_that_could_meet_it() -> None:
    files = {
        "package.json": '{"name": "own", "exports": {".": "./dist/entry.js", "./*": "./dist/*.js"}}',
        "tsconfig.json": tsconfig(baseUrl=".", paths={"@/*": ["./gen/*", "./packages/*/src"]}),
        "src/deep/a.ts": "",
    }
    specifiers = ("./b", "./b.js", "..", "@/thing", "own", "own/part", "bare", "./x.y")
    later = (
        "src/deep/b.ts", "src/deep/b/index.tsx", "src/index.ts", "gen/thing.ts", "packages/thing/src/index.ts",
        "dist/entry.js", "src/entry.ts", "src/index.ts", "src/part.ts", "bare.ts", "bare/index.js",
        "src/deep/x.y.ts", "src/deep/x.y/index.ts", "src/deep/x.ts",
    )  # fmt: skip
    n_changed = 0
    for specifier in specifiers:
        found = Import(specifier, 1)
        before = resolver_of(files)
        for path in later:
            after = resolver_of({**files, path: ""})
            assert before.scope("src/deep/a.ts") == after.scope("src/deep/a.ts")
            if before.resolve("src/deep/a.ts", found) != after.resolve("src/deep/a.ts", found):
                n_changed += 1
                _, places = before.traced("src/deep/a.ts", found)
                assert before.names_of(path) & set(places), (specifier, path)
    assert n_changed > len(specifiers)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("packages/*", "packages/a", True),
        ("packages/*", "packages/a/b", False),
        ("packages/**", "packages/a/b", True),
        ("**/*.ts", "a.ts", True),
        ("src/**/t?st.*", "src/a/b/test.ts", True),
        ("./src", "src", True),
        ("src", "srcs", False),
        ("**", "a", True),
        ("a/**/b/**/c", "a/b/x/b/c", True),
    ],
)
def test_globs_match_parts(pattern: str, path: str, *, expected: bool) -> None:
    assert expected == matches(pattern, path)


@pytest.mark.parametrize("path", ["a.ts", "a.jsx", "a.vue", "a.astro"])
@pytest.mark.parametrize(
    "unit",
    ["require('a');", "[require('a'),", "import('", "import/*", "import { type  ", "<script {", "<script></script>",
     "<script>let a = 1;", '<script "', "<!--", "`${", "jest.mock<(", "export const a = () => ", "vi.mock(import(", "---\n"],
)  # fmt: skip
def test_a_hostile_text_ends_in_bounded_time(path: str, unit: str) -> None:
    start = perf_counter()
    facts_of(path, unit * (20_000 // len(unit)))  # The parser alone is slower than linear.
    assert perf_counter() - start < BOUND_S


def test_lines_of_a_component_are_those_of_its_file() -> None:
    text = "<template>\r\n</template>\r\n<script src='./x.js'/><script>import './y'\rfunction f() {\r}</script>"
    found = facts_of("a.vue", text)
    assert [("./x.js", 3), ("./y", 3)] == [(i.specifier, i.line) for i in found.imports]
    assert [("f", 4, 5)] == [(s.name, s.lines.start, s.lines.end) for s in found.symbols]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import a from 'x'", ImportKind.STATIC),
        ("import type from 'x'", ImportKind.STATIC),
        ("import { type A, b } from 'x'", ImportKind.STATIC),
        ("export * from 'x'", ImportKind.STATIC),
        ("import type { A } from 'x'", ImportKind.TYPE),
        ("import type A = require('x')", ImportKind.TYPE),
        ("import { type A, type B, } from 'x'", ImportKind.TYPE),
        ("export type * from 'x'", ImportKind.TYPE),
        ("let a: import('x').A", ImportKind.TYPE),
        ("let a: Map<string, import('x').A[]>", ImportKind.TYPE),
        ("let a = b as typeof import('x')", ImportKind.TYPE),
        ("let a = b as import('x').A", ImportKind.TYPE),
        ("await import('x')", ImportKind.DYNAMIC),
        ("const a = (await import('x')) as A", ImportKind.DYNAMIC),
        ("import('x').then(run)", ImportKind.DYNAMIC),
        ("import a = require('x')", ImportKind.REQUIRE),
        ("require?.('y'); require('x')", ImportKind.REQUIRE),
        ("vi.mock<typeof A>('x')", ImportKind.MOCK),
        ("vi . doMock ( `x` , f)", ImportKind.MOCK),
        ("jest.requireActual('x')", ImportKind.MOCK),
        ("import(x)", ImportKind.COMPUTED),
        ("require(`x${y}`)", ImportKind.COMPUTED),
    ],
)
def test_the_kind_of_an_import_is_how_it_is_written(text: str, kind: ImportKind) -> None:
    assert [kind] == [found.kind for found in facts_of("a.ts", text).imports]
