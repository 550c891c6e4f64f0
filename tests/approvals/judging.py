"""What the real policy, read from real settings, decides about a command line: as the hook does, without the hook."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from atm import config
from atm.approvals.rules.calls import AgentCall
from atm.approvals.rules.policy import ALLOW, DENY
from atm.approvals.rules.roles import PLANS, refusal
from atm.approvals.services.approvalroom import Approvalroom
from atm.approvals.services.asking import judged
from atm.files.adapters.machine import find_layout
from atm.wiring.approvals import build_approvalroom
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room

HERE = Path(__file__).parent
PATH = "/usr/local/bin:/usr/bin:/bin"
"""Of the shells in the sandbox, and of the hook."""

ASK = "ask"


class Case(NamedTuple):
    """One line of `lines.toml`."""

    line: str
    policy: str
    shells: tuple[str, ...]
    expected: str
    why: str
    does: str
    folder: str

    @property
    def name(self) -> str:
        return f"{self.policy}: {self.line!r}{'' if self.folder == 'w' else f' in {self.folder}'}"


class Verdict(NamedTuple):
    """A decision in the words of `lines.toml`, and its reason."""

    decision: str
    reason: str

    def meets(self, expected: str) -> bool:
        return self.decision != ALLOW if expected == "not-allow" else self.decision == expected


def read_corpus() -> dict[str, Any]:
    return tomllib.loads((HERE / "lines.toml").read_text())


def policies_of(corpus: dict[str, Any]) -> dict[str, dict[str, Any]]:
    named: dict[str, dict[str, Any]] = corpus["policies"]
    return named


def cases_of(corpus: dict[str, Any]) -> Iterator[Case]:
    for group in corpus["class"]:
        for own in group["lines"]:
            said = {**group, **own}
            shells = said["shell"]
            yield Case(
                said["line"],
                said["policy"],
                (shells,) if isinstance(shells, str) else tuple(shells),
                said["expected"],
                said["why"],
                said.get("does", ""),
                said.get("folder", "w"),
            )


class Judge:
    """One policy in force, for agents whose worktree is a folder."""

    def __init__(self, home: Path, settings: str, role: str = "") -> None:
        path = home / ".config/atm/config.toml"
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True)
            path.write_text(settings)
            path.chmod(0o600)
        self._home = home
        self._role = PLANS if role else ""
        self._rooms: dict[str, tuple[Approvalroom, str]] = {}

    def decide(self, line: str, folder: str) -> Verdict:
        room, root = self._room(folder)
        understood, verdict = judged(room, AgentCall("Bash", command=line, folder=folder, root=root))
        refused = refusal(understood, self._role) if self._role else ""
        if refused:
            return Verdict(DENY, refused)
        return Verdict(verdict.decision if verdict.decision in (ALLOW, DENY) else ASK, verdict.reason)

    def _room(self, folder: str) -> tuple[Approvalroom, str]:
        if folder not in self._rooms:
            layout = find_layout({"ATM_HOME": str(self._home)})
            settings = config.load(layout, {}, folder, {})
            mail = build_room(layout, settings)
            room = build_approvalroom(layout, settings, mail, lambda: build_boardroom(layout, settings, mail))
            self._rooms[folder] = room, settings.root
        return self._rooms[folder]


@contextmanager
def as_in_the_hook(home: Path, path: str = PATH) -> Iterator[None]:
    """With the home folder and the PATH of the shells that would run the lines."""
    before = {name: os.environ.get(name) for name in ("HOME", "PATH")}
    os.environ.update(HOME=str(home), PATH=path)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
