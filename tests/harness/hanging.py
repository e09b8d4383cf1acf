"""Texts that keep a parser busy past every deadline, in few of the steps that `languages.tree` counts.

The first takes a minute, the second some seconds.
"""

HANGING = (
    ("a.cs", "s{" * 400_000),
    ("a.py", "${" * 500_000),
)
