"""What the command line understands: every command with its options and help."""

import argparse
import functools
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from importlib import metadata
from pathlib import Path

from contextpack.model import Format
from contextpackd import cache, daemon_arguments, envoy
from contextpackd.graphs import GraphFormat
from contextpackd.options import OF_REPLY, OPTIONS, Option, default_of

ENVELOPE = "json"
"""The format that is for programs, of every command that has one."""

_DEFAULT_TOP = 20

_DEFAULT_SECONDS = 300

# What may change how good bundles are, whatever the commit.
_TRIED = (
    "model", "scorer", "strategy", "mmr_lambda", "dedup", "max_candidates", "truncate", "exclude",
    "max_file_bytes",
)  # fmt: skip

Handler = Callable[[argparse.Namespace], int]
"""Runs one command and gives its exit code."""


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a whole number above 0")
    return int(text)


def roots_of(parsed: argparse.Namespace) -> list[Path]:
    """The roots that a command is about, as they were given; at least one."""
    if (root := getattr(parsed, "root", None)) is not None:
        return [root]
    return parsed.roots or [Path()]


def understood(
    made: argparse.ArgumentParser, words: Sequence[str] | None
) -> argparse.Namespace:
    """What a parser of `parser` makes of a command line; `None` is that of this process.

    Python before 3.12.7 takes an optional task as left out when an option stands between it and
    the path before it: `why PATH --budget 4k "the task"`.
    """
    parsed, rest = made.parse_known_args(words)
    if len(rest) == 1 and getattr(parsed, "query", "") is None and not rest[0].startswith("-"):
        parsed.query = rest.pop()
    if rest:
        made.error(f"unrecognized arguments: {' '.join(rest)}")
    if isinstance(roots := getattr(parsed, "root", None), list):
        if len(roots) > 1:
            made.error(f"{parsed.name} is about one --root; there are {len(roots)}")
        parsed.root = roots[0] if roots else Path()
    return parsed


def parser(handlers: Mapping[str, Handler]) -> argparse.ArgumentParser:
    """The parser of all commands. `handlers` run them, by the command's name."""
    made = argparse.ArgumentParser(
        prog="contextpackd",
        description="Which code goes into the prompt, given a task in words and a token budget?",
        epilog="exit codes: 0 a result, 1 nothing relevant found or a bundle that no longer holds,"
        " 2 wrong usage, 3 internal error, 70 (lsp, mcp) the daemon died, 130 interrupted",
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=metadata.version("contextpackd"))
    commands = made.add_subparsers(required=True, metavar="COMMAND")

    pack = _command(
        commands, handlers, "pack", "the bundle of code for a task",
        """examples:
  contextpackd pack "retry failed uploads" --budget 8k
  contextpackd pack "why does login fail" --root ~/src/app --copy
  contextpackd pack "why does login fail" --root ~/src/app --root ~/src/api
  pytest 2>&1 | contextpackd pack - --budget 16k --model claude --output bundle.md
  contextpackd pack "add a discount" --pin src/cart.py --detail src/tax.py=outline --report
  contextpackd pack "is this right?" --diff           # what changed, who uses and who tests it
  contextpackd pack --from src/app.py --depth 2       # a file, and what it needs
  contextpackd pack "late fees" --focus src/cart.py:40-60""",
    )  # fmt: skip
    _add_query(pack)
    _add_root(pack, takes_several=True)
    _add_options(pack, OPTIONS)
    pack.add_argument(
        "--format", choices=[*Format, ENVELOPE], default=None,
        help="markdown, xml or plain: the bundle's text; json: text, items, ledger and report (default: markdown)",
    )  # fmt: skip
    _add_daemon(pack, "report on stderr even if it is no terminal")
    pack.add_argument(
        "--output", type=Path, metavar="FILE", help="write there instead of stdout"
    )
    pack.add_argument(
        "--copy", action="store_true", help="put it on the clipboard instead of stdout"
    )

    explain = _command(
        commands, handlers, "explain", "the scores of a bundle and of the best outside, each with its parts",
        """examples:
  contextpackd explain "retry failed uploads"
  contextpackd explain "retry failed uploads" --top 5 --format json""",
    )  # fmt: skip
    _add_query(explain)
    _add_root(explain, takes_several=True)
    _add_options(explain, OPTIONS)
    _add_table_format(explain)
    explain.add_argument(
        "--top",
        type=_positive,
        default=_DEFAULT_TOP,
        metavar="N",
        help="how many outside the bundle (default: %(default)s)",
    )

    _add_daemon(explain)

    why = _command(
        commands, handlers, "why", "why a file, or a part of it, is in the bundle for a task or out",
        """exit code: 0 when it is in, also in part; 1 when it is out
examples:
  contextpackd why src/upload.py "retry failed uploads"
  contextpackd why src/upload.py:120 "retry failed uploads" --budget 4k --format json""",
    )  # fmt: skip
    why.add_argument(
        "path", metavar="PATH[:LINE]", help="a file, or the part of it at a line (from 1)"
    )
    _add_query(why)
    _add_root(why)
    _add_options(why, OPTIONS)
    _add_table_format(why)
    _add_daemon(why)

    files = _command(
        commands, handlers, "files", "what discovery sees, and what is left out by which rule",
        """examples:
  contextpackd files
  contextpackd files --exclude 'docs/**' --format json""",
    )  # fmt: skip
    _add_root(files, takes_several=True)
    _add_options(files, _discovery_options())
    _add_table_format(files)

    _add_daemon(files)

    graph = _command(
        commands, handlers, "graph", "who imports whom, and how much of it resolves",
        """examples:
  contextpackd graph                                  # resolution rates by language
  contextpackd graph src/app.py --depth 2             # what a file needs
  contextpackd graph src/app.py --importers           # who needs it
  contextpackd graph src/app.py --format mermaid""",
    )  # fmt: skip
    graph.add_argument(
        "paths", nargs="*", metavar="PATH", help="start here (default: everything)"
    )
    _add_root(graph)
    _add_options(graph, _discovery_options())
    graph.add_argument(
        "--format", choices=list(GraphFormat), default=GraphFormat.TABLE.value,
        help="table for people; json, dot, mermaid; svg is drawn by Graphviz (default: table)",
    )  # fmt: skip
    ways = graph.add_mutually_exclusive_group()
    ways.add_argument(
        "--imports", action="store_true", help="follow what PATH imports (the default)"
    )
    ways.add_argument("--importers", action="store_true", help="follow who imports PATH")
    graph.add_argument("--depth", type=_positive, metavar="N", help="at most N steps from PATH")
    graph.add_argument(
        "--unresolved", action="store_true", help="list the imports that did not resolve"
    )

    _add_daemon(graph)

    indexed = _command(
        commands, handlers, "index", "build or refresh what is kept of a workspace, and say what is in it",
        """examples:
  contextpackd index
  contextpackd index --watch                          # keep it fresh, and print what changes
  contextpackd index --root ~/src/app --format json""",
    )  # fmt: skip
    _add_root(indexed)
    _add_options(indexed, _discovery_options())
    _add_table_format(indexed)
    indexed.add_argument(
        "--watch", action="store_true", help="stay, and print each batch of changes"
    )

    verify = _command(
        commands, handlers, "verify", "which ranges of a bundle no longer hold",
        """exit code: 0 when all hold, 1 when not
examples:
  contextpackd verify bundle.md
  pbpaste | contextpackd verify - --format json""",
    )  # fmt: skip
    refresh = _command(
        commands, handlers, "refresh", "ask a bundle's question again and show the difference",
        """the bundle has to be made with --stamp; what still holds keeps its place
examples:
  contextpackd pack "retry failed uploads" --stamp --output bundle.md
  contextpackd refresh bundle.md
  contextpackd refresh bundle.md --write""",
    )  # fmt: skip
    for again in (verify, refresh):
        again.add_argument("bundle", type=Path, metavar="BUNDLE", help="a file; - is stdin")
        _add_root(again)
        _add_table_format(again)
    answer = _command(
        commands, handlers, "answer", "what a chat's reply on stdin names and a bundle did not show",
        """names that stand nowhere in the workspace are listed on stderr
exit code: 0 a bundle, 1 when there is nothing to show
examples:
  pbpaste | contextpackd answer bundle.md --budget 4k
  contextpackd answer bundle.md < reply.md --format json""",
    )  # fmt: skip
    answer.add_argument(
        "bundle", type=Path, metavar="BUNDLE", help="the file that the chat got"
    )
    _add_root(answer, takes_several=True)
    # The reply says what it is about.
    _add_options(answer, [option for option in OPTIONS if option.field not in OF_REPLY])
    _add_table_format(answer)
    refresh.add_argument("--write", action="store_true", help="write the new text to BUNDLE")

    evaluated = _command(
        commands, handlers, "eval", "how well bundles hold what this repository's own past commits changed",
        """each of the last commits that change existing code is a task: its message is the query, the
tree before it the workspace, with the history until then; recall is the share of the lines, and
of the files, that the commit changed. The working tree and the index are not touched.
exit code: 0, or 1 when no commit is a task
examples:
  contextpackd eval
  contextpackd eval --last 50 --budget 8k --budget 32k --seconds 600 --format json""",
    )  # fmt: skip
    _add_root(evaluated)
    evaluated.add_argument(
        "--last", type=_positive, default=_DEFAULT_TOP, metavar="N",
        help="how many commits (default: %(default)s)",
    )  # fmt: skip
    evaluated.add_argument(
        "--budget", dest="budgets", action="append", metavar="N",
        help="tokens of a bundle (repeatable; default: 4k, 8k and 16k)",
    )  # fmt: skip
    evaluated.add_argument(
        "--seconds", type=_positive, default=_DEFAULT_SECONDS, metavar="S",
        help="stop after so long, with the commits that are done (default: %(default)s)",
    )  # fmt: skip
    _add_options(evaluated, [option for option in OPTIONS if option.field in _TRIED])
    _add_table_format(evaluated)

    chunks = _command(
        commands, handlers, "pack-chunks", "choose among scored chunks given as JSON on stdin",
        """input: a list of chunks, or {"chunks": [...], "options": {...}}; a chunk is
  {"content": TEXT, "score": NUMBER, "id"?, "tokens"?, "embedding"?, "metadata"?}
examples:
  contextpackd pack-chunks --budget 4000 --strategy knapsack < chunks.json""",
    )  # fmt: skip
    chunks.add_argument(
        "--budget", type=float, metavar="N", help="most tokens the chunks may have together"
    )
    chunks.add_argument(
        "--strategy", metavar="NAME", help="greedy, mmr, knapsack or coverage (default: greedy)"
    )
    chunks.add_argument("--mmr-lambda", type=float, metavar="X", help="for mmr (default: 0.5)")
    chunks.add_argument(
        "--ordering",
        metavar="NAME",
        help="natural, u-shaped or chronological (default: natural)",
    )
    chunks.add_argument(
        "--dedup",
        dest="redundancy_threshold",
        type=float,
        metavar="T",
        help="similarity that makes a near-duplicate (default: off)",
    )
    chunks.add_argument(
        "--max-candidates", type=int, metavar="N", help="consider only the first N"
    )

    batch = _command(
        commands, handlers, "batch", "answer JSON lines on stdin with JSON lines, staying warm",
        """a line: {"root": DIR, "query": TEXT, "budgetTokens"?: N, ...any option of `pack` in camelCase}
example:
  echo '{"root": ".", "query": "retry failed uploads"}' | contextpackd batch""",
    )  # fmt: skip
    batch.add_argument(
        "--force", action="store_true", help="accept / and the home directory as roots"
    )
    _add_daemon(batch)
    cache.add_command(commands)
    daemon_arguments.add_commands(functools.partial(_command, commands, handlers))
    return made


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    handlers: Mapping[str, Handler],
    name: str,
    summary: str,
    epilog: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.set_defaults(command=handlers[name], name=name)
    return parser


def _add_query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "query",
        metavar="QUERY",
        nargs="?",
        help="the task in words; - reads it from stdin; not needed with --focus, --from, --diff",
    )


def _add_root(parser: argparse.ArgumentParser, *, takes_several: bool = False) -> None:
    if takes_several:
        parser.add_argument(
            "--root", dest="roots", type=Path, action="append", metavar="DIR",
            help="the workspace; several are packed as one (default: here)",
        )  # fmt: skip
    else:
        parser.add_argument(
            "--root",
            type=Path,
            action="append",
            default=[],
            metavar="DIR",
            help="the workspace (default: here)",
        )
    parser.add_argument(
        "--force", action="store_true", help="accept / and the home directory as root"
    )


def _add_daemon(
    parser: argparse.ArgumentParser, reports: str = "say on stderr who answered"
) -> None:
    parser.add_argument("--report", action="store_true", help=reports)
    parser.add_argument(
        envoy.FLAG, action="store_true", help="answer from this process, even if a daemon runs"
    )


def _add_table_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=["table", ENVELOPE],
        default="table",
        help="for people or for programs",
    )


def _discovery_options() -> list[Option]:
    wanted = {"include", "exclude", "max_file_bytes"}
    return [option for option in OPTIONS if option.field in wanted]


def _add_options(parser: argparse.ArgumentParser, options: Sequence[Option]) -> None:
    for option in options:
        default = default_of(option)
        shown = default.value if isinstance(default, StrEnum) else default
        has_default = shown not in (None, (), False)
        help_text = option.help + (f" (default: {shown})" if has_default else "")
        if option.is_switch:
            parser.add_argument(
                f"--{option.flag}",
                dest=option.field,
                action="store_true",
                default=None,
                help=help_text,
            )
        elif option.bare is not None:
            parser.add_argument(
                f"--{option.flag}",
                dest=option.field,
                nargs="?",
                const=option.bare,
                metavar=option.metavar,
                help=help_text,
            )
        else:
            parser.add_argument(
                f"--{option.flag}",
                dest=option.field,
                action="append" if option.is_repeated else "store",
                metavar=option.metavar,
                help=help_text.replace("%", "%%"),
            )
