"""Agents of two users, or of two homes, of one machine count their ports from the same number."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from atm.crew.adapters.free_ports import is_free


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        one.bind(("127.0.0.1", 0))
        one.listen()
        yield one


def test_a_port_that_somebody_listens_on_is_not_free_until_they_are_gone(listener):
    port = listener.getsockname()[1]
    assert not is_free(port)
    assert not is_free(port), "asking does not change it"
    listener.close()
    assert is_free(port)


def test_a_port_whose_last_conversation_is_just_over_is_free(listener):
    with socket.create_connection(listener.getsockname()) as caller:
        answering, _ = listener.accept()
        answering.close()  # who ends it first keeps the address for a minute
        caller.recv(1)
    port = listener.getsockname()[1]
    listener.close()
    assert is_free(port)
