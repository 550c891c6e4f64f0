from __future__ import annotations
import time, os, signal, pytest, sys, subprocess
from tests.delivery.conftest import Stage, until, PaneAgent, House

@pytest.mark.parametrize("vendor", ["plain", "claude"])
def test_x(stage: Stage, vendor, monkeypatch):
    old = stage.house.pane
    monkeypatch.setattr(stage.house, "pane", lambda *w, **e: old(sys.executable, "-c", "import subprocess,sys; subprocess.call(sys.argv[1:])", *w, **e))
    ann = stage.agent_in_pane("ann", vendor)
    if vendor == "claude": until(lambda: stage.is_idle("ann"))
    child = int(subprocess.run(["pgrep", "-P", str(ann.pid)], capture_output=True, text=True).stdout)
    os.kill(child, signal.SIGSTOP)
    sent = stage.write("ann", "letter-1")
    until(lambda: "pasted" in stage.states(sent))
    time.sleep(1)
    os.kill(child, signal.SIGCONT)
    for _ in range(20):
        time.sleep(1); stage.house.wake("delivery")
    print(stage.states(sent), ann.prompts, ann.heard, stage.unread("ann"))
    print(ann.screen)
    print(stage.house.said[-1500:])
