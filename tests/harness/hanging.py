"""Texts that keep a parser busy past every deadline, in few steps of `languages.tree`.

The first takes a minute, the second some seconds.
"""

HANGING = (
    ("a.cs", "s{" * 400_000),
    ("a.py", "${" * 500_000),
)
