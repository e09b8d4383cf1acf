"""The version, where the bridge can read it without looking up the package's metadata."""

VERSION = "0.1.0"

PROTOCOL = 1
"""Of `editors/PROTOCOL.md`. It goes up when a client must change to keep working."""
