"""The shell that Codex's app-server puts around a command, and nothing that only looks like it."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.approvals.rules.vendor_shell import wrapped_line


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40))
def test_the_line_inside_comes_out_byte_for_byte(line):
    assert wrapped_line(shlex.join(["/bin/bash", "-lc", line])) == line
    assert wrapped_line(shlex.join(["/usr/bin/zsh", "-c", line])) == line


def test_double_quotes_are_read_as_a_shell_reads_them():
    assert wrapped_line(r'''/bin/sh -c "say \"it\" for \$5"''') == 'say "it" for $5'


@pytest.mark.parametrize(
    "command",
    [
        "make",
        "",
        "bash -lc make",
        "/tmp/x/bash -lc make",
        "./bash -lc make",
        "/bin/bashful -c make",
        "/bin/bash -x -c make",
        "/bin/bash -ic make",
        "/bin/bash -lc make one",
        "/bin/bash -lc make; rm x",
        "/bin/bash -lc 'make' > x",
        "X=1 /bin/bash -lc make",
        "/bin/bash -lc $X",
        '/bin/bash -lc "$X"',
        '/bin/bash -lc "`x`"',
        "/bin/bash -lc 'make",
        "/bin/bash -lc make\nrm x",
        "/bin/ba*h -lc make",
        "/bin/bash\t-lc make",
        "/bin/../tmp/bash -lc make",
    ],
)
def test_everything_else_is_no_shell_of_a_vendor(command):
    assert wrapped_line(command) is None
