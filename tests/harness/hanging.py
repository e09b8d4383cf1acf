"""Texts that take a parser minutes, in few of the steps that `languages.tree` counts."""

HANGING = (
    ("a.py", "${" * 400_000),
    ("a.cs", "s{" * 400_000),
)
