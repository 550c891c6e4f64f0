"""Two tasks that change the same line, and a vendor's real program that is asked to put them together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.lab.conftest import LabAgent
from tests.lab.running import TEAM, RunLab, Running
from tests.lab.vendors import Vendor

from atm.testing.model import Story, When, hears, sees

MERGER = "merger"
"""As the queue calls whoever resolves a conflict for it."""

TARGET = f"atm/result/{TEAM}"
FILE = "colours.txt"
FIRST, SECOND = "red", "blue"

IN_CONFLICT = sees("You resolve a merge conflict")
ASKED = hears("You resolve a merge conflict")
AGAIN = hears("Not resolved yet")

_BEGIN = 'echo {colour} > ' + FILE
_WAITS = "while ! {condition}; do sleep 0.1; done"


class Collision:
    """A repository, a plan of two tasks for scripts, and the program that resolves what they do to each other."""

    def __init__(self, agent: LabAgent) -> None:
        self.agent = agent
        self.lab = RunLab(agent)
        self.lab.settings(f'\n[merges]\nresolver = "{agent.vendor.name}"\n')
        (self.lab.folder / FILE).write_text("none\n")
        self.lab.git("add", ".")
        self.lab.git("commit", "-qm", "no colour yet")
        self.plan = self.lab.home / "plan.json"
        self.plan.write_text(json.dumps(self._tasks()))

    def _tasks(self) -> list[dict[str, Any]]:
        """Both begin with the same commit; the second ends when the first is on the target."""
        begun = self.lab.home / "second-has-begun"
        is_merged = f"git show {TARGET}:{FILE} | grep -q {FIRST}"
        change = _BEGIN.format(colour=SECOND)
        return [
            _task(FIRST, f"{_WAITS.format(condition=f'test -e {begun}')}; {_BEGIN.format(colour=FIRST)}"),
            _task(SECOND, f"touch {begun}; {_WAITS.format(condition=is_merged)}; {change}"),
        ]

    def runs(self) -> Running:
        return self.lab.runs("--plan", str(self.plan), "--runtime", "script", "--agents", "2")

    # What is left of it.

    @property
    def merged_text(self) -> str:
        return self.lab.git("show", f"{TARGET}:{FILE}")

    @property
    def item(self) -> dict[str, Any]:
        """The second task in the queue."""
        found: dict[str, Any] = self.lab.atm("merge", "show", "2")["item"]
        return found

    def has_no_merger_left(self) -> None:
        """No process, no worktree, no member of that name."""
        self.lab.has_nothing_left()
        assert MERGER not in [one["name"] for one in self.lab.atm("members")["members"]]


def _task(colour: str, command: str) -> dict[str, Any]:
    return {"id": colour, "title": f"The colour is {colour}", "run": [command]}


def resolving(vendor: Vendor, story: Story, lines: Iterable[str], when: When = ASKED) -> None:
    """The model reads the file, where its program insists on that, and writes it with the program's own tool."""
    text = "".join(f"{line}\n" for line in lines)
    if vendor.name == "claude":
        story.when(when).runs("Read", file_path=FILE)
        story.when(IN_CONFLICT).runs("Write", file_path=FILE, content=text)
    elif vendor.name == "opencode":
        story.when(when).runs("read", filePath=FILE)
        story.when(IN_CONFLICT).runs("write", filePath=FILE, content=text)
    elif vendor.name == "gemini":
        story.when(when).runs("write_file", file_path=FILE, content=text)
    else:  # it has no tool for files, and its sandbox lets its shell do this unasked
        vendor.shell(story.when(when), f"cat > {FILE} <<'END'\n{text}END\ngit add {FILE}")


__all__ = ["AGAIN", "ASKED", "FILE", "FIRST", "IN_CONFLICT", "MERGER", "SECOND", "TARGET", "Collision", "resolving"]
