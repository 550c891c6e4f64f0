"""
What can be done with what is chosen. Each deed is a command of `atm`, and the screen runs exactly the one it shows.

Letters command in lists; what cannot be taken back wants its key twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.core.untrusted_text import shell_word
from atm.ui.faces.view_names import AGENT, APPROVALS, MAIL, MERGE, RUNS, SESSIONS, TASK, TEAMS, THREAD
from atm.ui.views.team.seen import TeamSeen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.faces.view_names import Target


@dataclass(frozen=True, slots=True)
class KeyOffer:
    """Something that a key does: a command, a question first, or another view."""

    key: str
    word: str
    command: tuple[str, ...] = ()
    asks: str = ""
    """What the line asks for; what is typed takes the place of `{}` in the command."""
    opens: str = ""
    is_twice: bool = False
    in_terminal: bool = False
    """It needs the terminal for itself."""


ANSWER = "{}"
"""Where what was typed goes in a command."""


def offers_for(target: Target, seen: TeamSeen) -> list[KeyOffer]:
    """For one row; the first with a command is the one whose command is shown. An id is a word, and no option."""
    made = _MADE.get(target[0])
    return made(target[1], seen) if made is not None and not target[1].startswith("-") else []


ADD = KeyOffer("+", "add", ("tasks", "add", "--", ANSWER), asks="title of the new task")


def _approval(id: str, _: TeamSeen) -> list[KeyOffer]:
    no = "--reason", "a person said no"
    return [
        KeyOffer("a", "approve", ("approvals", "approve", id), is_twice=True),
        KeyOffer("x", "deny", ("approvals", "deny", id, *no), is_twice=True),
        KeyOffer(
            "X", "deny and say why", ("approvals", "deny", id, f"--reason={ANSWER}"), asks="why not? the agent reads it"
        ),
        KeyOffer("enter", "open", opens=APPROVALS),
    ]


def _member(name: str, seen: TeamSeen) -> list[KeyOffer]:
    found = seen.member(name)
    made = [
        KeyOffer("m", "write", ("send", name, "--", ANSWER), asks=f"write to {name}"),
        KeyOffer("enter", "open", opens=AGENT),
        KeyOffer("n", "nudge", ("sync", "nudge", name)),
    ]
    if found is not None and found.agent is not None:
        if found.agent.pane:
            made.append(KeyOffer("o", "attach", ("attach", name), in_terminal=True))
        made.append(KeyOffer("D", "kill", ("kill", name), is_twice=True))
    return made


def _task(id: str, seen: TeamSeen) -> list[KeyOffer]:
    task = seen.task(id)
    made = [KeyOffer("enter", "open", ("tasks", "show", id), opens=TASK)]
    if task is None:
        return made
    if task.plan == "submitted":
        why = KeyOffer(
            "X",
            "reject the plan",
            ("tasks", "plan", "reject", id, f"--feedback={ANSWER}"),
            asks="what is wrong with it?",
        )
        made = [KeyOffer("a", "approve the plan", ("tasks", "plan", "approve", id), is_twice=True), why, *made]
    if task.needs:
        made.insert(0, KeyOffer("r", "answer", ("tasks", "clarify", id, f"--answer={ANSWER}"), asks="your answer"))
    if task.owner:
        made.append(KeyOffer("m", "write", ("send", task.owner, "--", ANSWER), asks=f"write to {task.owner}"))
    made.append(KeyOffer("c", "comment", ("tasks", "comment", id, "--", ANSWER), asks=f"remark on #{id}"))
    if task.state in ("completed", "failed", "cancelled"):
        made.append(KeyOffer("O", "reopen", ("tasks", "reopen", id, "--note", "reopened by a person"), is_twice=True))
    if task.state not in ("completed", "failed", "cancelled"):
        made.append(
            KeyOffer("D", "cancel", ("tasks", "cancel", id, "--reason", "cancelled by a person"), is_twice=True)
        )
    return made


def _merge(id: str, _: TeamSeen) -> list[KeyOffer]:
    return [
        KeyOffer("enter", "open", ("merge", "show", id), opens=MERGE),
        KeyOffer("r", "try again", ("merge", "retry", id)),
        KeyOffer("e", "resolve by hand", ("merge", "resolve", id)),
        KeyOffer("f", "it is resolved", ("merge", "resolve", id, "--done")),
        KeyOffer("S", "skip", ("merge", "skip", id), is_twice=True),
    ]


def _thread(id: str, seen: TeamSeen) -> list[KeyOffer]:
    people = id.split("\n")
    others = [name for name in people if (one := seen.member(name)) is not None and not one.is_human]
    reply = [KeyOffer("r", "reply", ("send", others[0], "--", ANSWER), asks=f"reply to {others[0]}")] if others else []
    return [*reply, KeyOffer("enter", "open", opens=THREAD)]


def _message(id: str, _: TeamSeen) -> list[KeyOffer]:
    return [KeyOffer("enter", "receipts", ("receipts", id), opens=MAIL)]


def _inbox(id: str, _: TeamSeen) -> list[KeyOffer]:
    return [KeyOffer("R", "read it", ("read", "--as", id)), KeyOffer("enter", "open", opens=MAIL)]


def _run(id: str, seen: TeamSeen) -> list[KeyOffer]:
    opened = KeyOffer("enter", "open", ("runs", "show", id), opens=RUNS)
    found = seen.run(id)
    if found is None or not found.resumable:
        return [opened]
    return [KeyOffer("r", "resume", ("run", "--resume", id, "--detach"), is_twice=True), opened]


def _session(id: str, _: TeamSeen) -> list[KeyOffer]:
    resume = KeyOffer("r", "resume", ("session", "resume", id), is_twice=True)
    return [KeyOffer("enter", "open", ("session", "show", id), opens=SESSIONS), resume]


def _team(id: str, _: TeamSeen) -> list[KeyOffer]:
    return [KeyOffer("enter", "look at it", ("top", "--team", id), opens=TEAMS)]


_MADE = {
    "approval": _approval,
    "member": _member,
    "task": _task,
    "merge": _merge,
    "thread": _thread,
    "message": _message,
    "inbox": _inbox,
    "run": _run,
    "session": _session,
    "team": _team,
}


def words(offer: KeyOffer, team: str, typed: str = "…") -> list[str]:
    """The words behind `atm`, with the team, and with what was typed: as a value it can be no option."""
    filled = [_filled(word, typed) for word in offer.command]
    if not team or offer.command[0] in ("session", "top"):
        return filled
    at = filled.index("--") if "--" in offer.command else len(filled)
    return [*filled[:at], "--team", team, *filled[at:]]


def _filled(word: str, typed: str) -> str:
    return word.removesuffix(ANSWER) + typed if word == ANSWER or word.endswith(f"={ANSWER}") else word


def spelled(offer: KeyOffer, team: str) -> str:
    """As somebody would type it."""
    said = [word for word in words(offer, team) if not offer.asks or word != "--"]
    return f"atm {' '.join(_spelled(word) if offer.asks else shell_word(word) for word in said)}"


def _spelled(word: str) -> str:
    """What is typed stands where it goes: behind its option, or at the end."""
    if word.endswith("=…"):
        return f"{word.removesuffix('=…')} “…”"
    return "“…”" if word == "…" else shell_word(word)
