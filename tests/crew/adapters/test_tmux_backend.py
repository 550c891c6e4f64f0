"""What a host in a window lives with: the environment that was left for it, in the pane that it is in."""

from __future__ import annotations

import os

from atm.crew.adapters.tmux_backend import environment_file
from atm.files.formats.json_record import encode, to_bytes
from atm.wiring.crew import environment_left_for


def test_a_host_knows_its_own_pane_and_not_that_of_whoever_started_it(layout):
    path = environment_file(layout, "crew", "bob")
    os.makedirs(os.path.dirname(path))
    left = {"ATM_TEAM": "crew", "TMUX": "/tmp/users,1,0", "TMUX_PANE": "%7", "TERM_PROGRAM": "iTerm"}
    with open(path, "wb") as file:
        file.write(to_bytes(encode(left)))
    own = {"TMUX": "/tmp/atm,2,0", "TMUX_PANE": "%0", "TERM": "tmux-256color", "HOME": "/nobody"}
    found = environment_left_for(layout, "crew", "bob", own)
    assert found == {"ATM_TEAM": "crew", "TMUX": "/tmp/atm,2,0", "TMUX_PANE": "%0", "TERM": "tmux-256color"}
    assert environment_left_for(layout, "crew", "bob", own) is None
