"""Whose server listens at a port: told by the system, for real sockets and processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from atm.files.adapters.listeners import listener_among

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the system does not tell")

LISTEN = """
import socket, sys
made = socket.create_server(("127.0.0.1", 0))
print(made.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def another():
    """Another process with a server."""
    with subprocess.Popen([sys.executable, "-c", LISTEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.pid, f"http://localhost:{int(process.stdout.readline())}/"
        process.communicate()


def test_the_process_that_listens_is_found_among_others(another):
    pid, url = another
    assert listener_among([1, os.getpid(), pid], url) == pid


def test_a_server_of_another_process_is_nobodys_of_ours(another):
    _, url = another
    assert listener_among([os.getpid(), os.getppid()], url) is None


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_server_of_either_family_is_found_and_is_gone_when_it_is_closed(family):
    try:
        server = socket.create_server(("", 0), family=family)
    except OSError:
        pytest.skip("this machine has no such network")
    with server:
        url = f"http://localhost:{server.getsockname()[1]}"
        assert listener_among([os.getpid()], url) == os.getpid()
    assert listener_among([os.getpid()], url) is None


def test_a_connection_is_no_server():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as line:
        assert listener_among([os.getpid()], f"http://localhost:{line.getsockname()[1]}") is None


@pytest.mark.parametrize("url", ["", "http://localhost:99999999/", "http://[", "nonsense"])
def test_what_is_no_address_is_nobodys(url):
    assert listener_among([os.getpid()], url) is None
