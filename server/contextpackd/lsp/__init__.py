"""The Language Server Protocol. `pygls` and `lsprotocol` live below this package only.

Rules of this package:

- The answers come from `queries`, through `roots`; nothing here reads the workspace's files.
- A request never answers with a traceback, and never takes its connection down.
- What a client sends is checked against one schema (`params`) before anything is done with it.
- Each connection has its own protocol object and session; what they share is `Roots`.
"""
