"""What the loop of a run can do, as plain values: decided by one function, done by another."""

from __future__ import annotations

from dataclasses import dataclass

SUCCESS, PARTIAL, NOTHING_DONE, STOPPED = "success", "partial", "failed", "stopped"


@dataclass(frozen=True, slots=True)
class Give:
    """A task to an agent, which is started for it where it does not run."""

    task: str
    seat: str
    is_restart: bool = False


@dataclass(frozen=True, slots=True)
class StartLeader:
    is_restart: bool = False


@dataclass(frozen=True, slots=True)
class Clear:
    """What an agent left that is gone. Its task fails this attempt only if the agent reported a failure itself."""

    seat: str
    why: str
    is_blamed: bool = True


@dataclass(frozen=True, slots=True)
class EndAgent:
    """Now: it had its chance. Its task fails this attempt (for good if `final`), or goes back without blame."""

    seat: str
    why: str
    is_blamed: bool = True
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class AskHow:
    """An agent that has been at its task for long, and silent."""

    seat: str
    task: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CloseSeat:
    seat: str
    why: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """A task that nobody can be given until a person does something."""

    task: str
    why: str


@dataclass(frozen=True, slots=True)
class Say:
    """Once."""

    kind: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class MergeNow:
    """What is done is merged, beside everything else that goes on."""


@dataclass(frozen=True, slots=True)
class Finish:
    outcome: str
    why: str = ""


Action = Give | StartLeader | Clear | EndAgent | AskHow | CloseSeat | Refuse | Say | MergeNow | Finish
