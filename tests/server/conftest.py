"""A language server in this process, and a client of it, for the tests that speak to one."""

from collections.abc import Iterator

import pytest

from harness.lsp_client import Client
from harness.lsp_inside import Inside, inside


@pytest.fixture(scope="module")
def servers() -> Iterator[Inside]:
    """The servers of one module's tests: starting them takes a second."""
    with inside() as found:
        yield found


@pytest.fixture
def client(servers: Inside) -> Iterator[Client]:
    """A client that has to leave by the book."""
    found = servers.connect()
    yield found
    servers.hang_up(found)
    assert [] == found.end()
