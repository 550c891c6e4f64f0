"""Two tasks that change the same line, and a vendor's real program that is asked to put them together."""

from __future__ import annotations

import json
from typing import Any

from tests.lab.conftest import LabAgent
from tests.lab.running import TEAM, RunLab, Running
from tests.lab.vendors import Vendor

from atm.testing.model import Story, When, hears, sees
from atm.testing.model.story import StoryLine

MERGER = "merger"
"""As the queue calls whoever resolves a conflict for it."""

TARGET = f"atm/result/{TEAM}"
FILE = "colours.txt"
FIRST, SECOND = "red", "blue"
BOTH = f"{FIRST}\n{SECOND}"

ASKED = hears("You resolve a merge conflict")
IN_CONFLICT = sees("You resolve a merge conflict")
AGAIN = hears("Not resolved yet")


class Collision:
    """A repository, a plan of two tasks, and the program that resolves what they do to each other."""

    def __init__(self, agent: LabAgent) -> None:
        self.agent = agent
        self.lab = RunLab(agent)
        (self.lab.folder / FILE).write_text("none\n")
        self.lab.git("add", ".")
        self.lab.git("commit", "-qm", "no colour yet")

    def runs(self) -> Running:
        """The tasks by scripts, the conflict by the program."""
        self.lab.settings(f'\n[merges]\nresolver = "{self.agent.vendor.name}"\n')
        first, second = self._commands()
        plan = self._plan({"run": [first]}, {"run": [second]})
        return self.lab.runs("--plan", plan, "--runtime", "script", "--agents", "2")

    def starts_with_minds(self) -> Running:
        """All of it by the program. Nothing says who resolves the conflict."""
        plan = self._plan(*({"accept": [f"grep -q {colour} {FILE}"]} for colour in (FIRST, SECOND)))
        return self.lab.starts("--plan", plan, "--runtime", self.agent.vendor.name, "--agents", "2")

    def _commands(self) -> tuple[str, str]:
        """Both begin with the same commit; the second ends when the first is on the target."""
        begun = self.lab.home / "second-has-begun"
        is_merged = f"git show {TARGET}:{FILE} | grep -q {FIRST}"
        return (
            f"while ! test -e {begun}; do sleep 0.1; done; echo {FIRST} > {FILE}",
            f"touch {begun}; while ! {is_merged}; do sleep 0.1; done; echo {SECOND} > {FILE}",
        )

    def _plan(self, *more: dict[str, Any]) -> str:
        path = self.lab.home / "plan.json"
        tasks = [
            {"id": colour, "title": f"The colour is {colour}", **facts}
            for colour, facts in zip((FIRST, SECOND), more, strict=True)
        ]
        path.write_text(json.dumps(tasks))
        return str(path)

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


def resolving(vendor: Vendor, story: Story, text: str, when: When = ASKED) -> None:
    """The model of the one that resolves the conflict writes the file."""
    rewriting(vendor, story, text, when, IN_CONFLICT)


def rewriting(vendor: Vendor, story: Story, text: str, when: When, then: When) -> StoryLine:
    """
    With the program's own tool, after it was read where the program insists on that. The first line of it; `then`: when
    the next one comes.
    """
    text = f"{text}\n"
    if vendor.name == "claude":
        first = story.when(when).runs("Read", file_path=FILE)
        story.when(then).runs("Write", file_path=FILE, content=text)
    elif vendor.name == "opencode":
        first = story.when(when).runs("read", filePath=FILE)
        story.when(then).runs("write", filePath=FILE, content=text)
    elif vendor.name == "gemini":
        first = story.when(when).runs("write_file", file_path=FILE, content=text)
    else:  # it has no tool for files; its sandbox lets its shell do this, and stage it, unasked
        first = vendor.shell(story.when(when), f"cat > {FILE} <<'END'\n{text}END\ngit add {FILE}")
    return first
