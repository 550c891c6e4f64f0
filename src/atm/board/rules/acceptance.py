"""
Evidence before "done": what a task declares as proof, and what counts as proven.

A check is a command that must succeed (or tests, which are one by another name), a file that must exist, or a commit
that must be reachable from a branch. What ran, how it ended and the end of what it said are kept with the task.
"""

from __future__ import annotations

from atm.core.work_errors import BadTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain, Record

COMMAND, TESTS, FILE, COMMIT, RUN = "command", "tests", "file", "commit", "run"
SUBJECTS = {COMMAND: "command", TESTS: "command", FILE: "path", COMMIT: "branch", RUN: "command"}
"""For each kind of check the key under which it says what it is about."""

COMMANDS = (COMMAND, TESTS, RUN)
"""Those that run something. What a task itself *runs* is no check, and is entered and marked as one."""

OUTPUT_KEPT = 4000
"""Characters of a program's output that are kept: the last ones, where errors stand."""


class Ran:
    """How a program ended."""

    __slots__ = ("code", "errors", "output", "seconds", "timed_out")

    def __init__(
        self,
        code: int | None,
        output: str = "",
        *,
        errors: str = "",
        seconds: float = 0.0,
        timed_out: bool = False,
    ) -> None:
        self.code = code
        """None if it could not be started or was stopped."""
        self.output = output
        self.errors = errors
        """The end of what it wrote to standard error."""
        self.seconds = seconds
        self.timed_out = timed_out


def check(kind: str, about: str) -> Record:
    if kind not in SUBJECTS:
        raise BadTask(f"{kind!r} is no kind of check", f"use one of {', '.join(SUBJECTS)}")
    if not about.strip():
        raise BadTask(f"a {kind} check says nothing", f"name the {SUBJECTS[kind]}")
    return {"kind": kind, SUBJECTS[kind]: about}


def about(check: Record) -> str:
    """What a check is about; empty if it does not say."""
    value = check.get(SUBJECTS.get(kind_of(check), ""))
    return value if isinstance(value, str) else ""


def commit_of(proof: Record) -> str:
    """The commit that was checked out when it ran; empty if that is not known."""
    commit = proof.get("commit")
    return commit if isinstance(commit, str) else ""


def is_command(check: Record) -> bool:
    return kind_of(check) in COMMANDS


def kind_of(check: Record) -> str:
    kind = check.get("kind")
    return kind if isinstance(kind, str) else ""


def describe(check: Record) -> str:
    kind = kind_of(check)
    words = {COMMAND: "command", TESTS: "tests", FILE: "file exists:", COMMIT: "commit is in", RUN: "run"}
    return f"{words.get(kind, kind)} {about(check)}"


def evidence(check: Record, ran: Ran, commit: str = "") -> dict[str, Plain]:
    """What is kept as proof; with the commit that was checked out, beside which there may have been changes."""
    return {
        **{key: value for key, value in check.items() if key != "mark"},
        "ok": ran.code == 0,
        "code": ran.code,
        "seconds": round(ran.seconds, 3),
        "output": said_by(ran),
        **({"timedOut": True} if ran.timed_out else {}),
        **({"commit": commit} if commit else {}),
    }


def why_not(check: Record, ran: Ran, limit: float) -> str:
    """What the claimant is told about the check that failed."""
    if ran.timed_out:
        said = f"did not end within {limit:g} s"
    elif ran.code is None:
        said = "could not be run"
    else:
        said = f"ended with {ran.code}" if kind_of(check) in COMMANDS else "is not so"
    tail = said_by(ran).strip()
    return f"{describe(check)} {said}" + (f":\n{tail}" if tail else "")


def reason_and_output(error: str) -> tuple[str, str]:
    """What an attempt failed of, and what its command or check printed: the first line of an error, and the rest."""
    reason, _, output = error.strip().partition("\n")
    return reason.removesuffix(":"), output.strip("\n")


def in_a_line(error: str, longest: int = 160) -> str:
    """The last line that a failed command or check printed; the reason itself where it printed nothing."""
    reason, output = reason_and_output(error)
    lines = [line.strip() for line in output.split("\n") if line.strip()]
    return (lines[-1] if lines else " ".join(reason.split()))[:longest]


def in_brief(error: str, lines: int = 10, longest: int = 1500) -> str:
    """An error with the last lines of its output: errors stand at the end of an output, and reasons at its head."""
    reason, output = reason_and_output(error)
    end = "\n".join([line for line in output.split("\n") if line.strip()][-lines:])[-longest:]
    return f"{reason[:500]}:\n{end}" if end else reason[:500]


def said_by(ran: Ran) -> str:
    """The end of both streams."""
    return (ran.output + ran.errors)[-OUTPUT_KEPT:]
