"""Budgeted context: which code goes into a prompt, in which form and order, and why.

Everything here is a pure function of its arguments: no file is opened, no clock is read, and
grammars, counters and texts are passed in. Two libraries stand side by side:

- `pack` chooses among scored chunks under a limit of tokens;
- `build_context_pack` scores whole files against a query and shares a budget among them.

The workspace pipeline is built from the same parts, a module each: `facts` of each text, a
`snapshot` of a root, a `plan` for a request, and `bundle.finish`, which makes the bundle. The
`contextpackd` package is the shell around it that reads disks.
"""

from contextpack.allocate import (
    ExcludedFile,
    FilePack,
    IncludedFile,
    allocate,
    build_context_pack,
)
from contextpack.classic import (
    File,
    ScoredFile,
    build_import_graph,
    extract_import_specifiers,
    normalize_query,
    resolve_import_path,
    score_file,
    score_repo,
)
from contextpack.content import is_binary_content
from contextpack.errors import Code, PackError
from contextpack.select import (
    ExcludedChunk,
    PackedChunk,
    Packer,
    PackOptions,
    PackReport,
    PackResult,
    ScoredChunk,
    StrategyContext,
    create_packer,
    pack,
)
from contextpack.tokens import estimate_tokens, token_count
from contextpack.truncate import Truncation, head_truncate, summary_truncate, tail_truncate

__all__ = [
    "Code",
    "ExcludedChunk",
    "ExcludedFile",
    "File",
    "FilePack",
    "IncludedFile",
    "PackError",
    "PackOptions",
    "PackReport",
    "PackResult",
    "PackedChunk",
    "Packer",
    "ScoredChunk",
    "ScoredFile",
    "StrategyContext",
    "Truncation",
    "allocate",
    "build_context_pack",
    "build_import_graph",
    "create_packer",
    "estimate_tokens",
    "extract_import_specifiers",
    "head_truncate",
    "is_binary_content",
    "normalize_query",
    "pack",
    "resolve_import_path",
    "score_file",
    "score_repo",
    "summary_truncate",
    "tail_truncate",
    "token_count",
]
