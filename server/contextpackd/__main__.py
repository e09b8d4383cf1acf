"""`python -m contextpackd`: the command line."""

from contextpackd.cli import main

main()
