"""`atm`: find the command, run it, turn errors into sentences and exit codes."""

from __future__ import annotations

import os
import sys

from atm.core.errors import AtmError, UsageError
from atm.ui.cli.catalog import as_command, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from atm.team.services.choosing import Choice
    from atm.ui.cli.arguments import Args, Command
    from atm.ui.cli.session import Session

DONE, ERROR, PARTIAL, NOTHING = 0, 1, 2, 3
"""Exit codes (D12)."""

BY_SIGNAL, INTERRUPT = 128, 2
"""And those of a command that was interrupted: this, and the number of the signal."""

LOOKING = (
    *("status", "members", "inbox", "tasks", "tasks list", "tasks graph", "peek", "runs", "runs list"),
    *("merge", "merge queue", "sync", "sync status", "sync metrics"),
)
"""Commands that change nothing, so that it does no harm if they look at more teams than were meant."""

LONG_LIVED = ("daemon", "demo", "logs")
"""Commands that run until they are interrupted, or start others that do the work: they may be so anywhere."""


def run() -> None:
    """
    The program. Leaves by `os._exit`: tearing the interpreter down costs 3 ms and does nothing for us. For the same
    reason nothing is collected on the way: a command lives for milliseconds.
    """
    import gc

    gc.disable()
    code = main(sys.argv[1:], is_program=True)
    try:
        if code < BY_SIGNAL:  # what is left of an output that was interrupted is for nobody
            code = _written(code)
        sys.stderr.flush()
    except (OSError, ValueError):
        code = code or ERROR
    os._exit(code)


def _written(code: int) -> int:
    """What stands in the buffer is no output yet: if it cannot be written, that is an error as any other, in words."""
    try:
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        return code or ERROR
    except OSError as error:
        return code or _say(_unexpected(error), as_json=False)
    return code


def main(words: list[str], *, is_program: bool = False) -> int:
    """Run one command line; the exit code. The signals of a process are for its program, and not for a guest."""
    make_output_safe()
    as_json = "--json" in words
    try:
        return dispatch(words, is_program=is_program)
    except AtmError as error:
        return _say(error, as_json)
    except KeyboardInterrupt as error:
        if is_program:
            end_echoed_line(sys.stderr)
        return BY_SIGNAL + (error.args[0] if error.args else INTERRUPT)
    except BrokenPipeError:
        return ERROR
    except Exception as error:
        if os.environ.get("ATM_DEBUG"):
            raise
        return _say(_unexpected(error), as_json)


def end_echoed_line(stream: TextIO) -> None:
    """A terminal draws `^C` where its cursor is. What comes next, the prompt of the shell too, begins on a new line."""
    try:
        if stream.isatty():
            stream.write("\n")
            stream.flush()
    except (OSError, ValueError):
        return  # the terminal is gone


def make_output_safe() -> None:
    """Text that is not UTF-8 must not end a command in the middle of its output."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


class ClosedOutput:
    """Standard output that was closed before we started: whoever must be heard finds out by writing."""

    def write(self, text: str) -> int:
        raise OSError(9, f"standard output is closed; {len(text)} characters were not written")

    def flush(self) -> None:
        raise OSError(9, "standard output is closed")

    def isatty(self) -> bool:
        return False


def dispatch(words: list[str], *, is_program: bool = False) -> int:
    flags, words = _told_apart(words)
    words = as_command(words)
    if not words and sys.stdout.isatty():
        return _home(is_program)
    if not words or words[0] in ("--help", "-h", "help"):
        from atm.ui.cli.overview import overview

        return overview(words[1:])
    if words[0] in ("--version", "-V"):
        words = ["version", *words[1:]]
    if words[0] == "hook" and not {"--help", "-h"} & set(words):
        from atm.ui.hook import run as attend

        _listen(is_program)
        return attend(words[1:])  # past the parser: an agent waits, and no mistake of ours is its business
    if words[0] == "permit" and not {"--help", "-h"} & set(words):
        from atm.ui.permit import run as permit

        _listen(is_program)
        return permit(words[1:])  # past the parser too, and for the opposite reason: every mistake is a no
    command, execute = load(words[0])
    args = _parsed(command, [*flags, *words[1:]])
    if args.flag("help"):
        from atm.ui.cli.help import show

        return show(args.command)
    from atm.ui.cli.session import Session

    _listen(is_program, always=command.name in LONG_LIVED)
    ask = None if command.name == "trust" else _ask_for_trust
    session = Session(
        _environment(), as_json=args.flag("json"), speaker=args.speaker, ask_for_trust=ask, ask_for_team=_ask_for_team
    )
    session.warn_guests()
    code = _look(args, session, execute) if args.command.name in LOOKING else _do(args, session, execute)
    try:
        session.finish()
    except (OSError, ValueError):
        pass  # met again, and judged, where the program ends
    return code


def _parsed(command: Command, words: list[str]) -> Args:
    """A person is asked for what is missing."""
    from atm.ui.cli.arguments import parse

    while True:
        try:
            return parse(command, words)
        except UsageError as error:
            if not error.missing or "--json" in words:
                raise
            from atm.ui.cli.asking import answer_to, at_terminal

            said = answer_to(f"{error.missing}:") if at_terminal() else ""
            if not said:
                raise
            words = [*words, *([] if "--" in words else ["--"]), said]


def _do(args: Args, session: Session, execute: Callable[[Args, Session], int]) -> int:
    """And a command that has shown what it would do, does it if a person says so."""
    try:
        code = execute(args, session)
    except UsageError as error:
        if not session.wants_yes or not _said_yes(session, f"{error}\n"):
            raise
    else:
        if not session.wants_yes or not _said_yes(session):
            return code
    args.values["yes"] = True
    return execute(args, session)


def _said_yes(session: Session, about: str = "") -> bool:
    from atm.core.untrusted_text import many_lines
    from atm.ui.cli.asking import can_ask, said_yes_to

    session.flush()
    return can_ask(session) and said_yes_to(f"{many_lines(about)}Do it now?")


def _home(is_program: bool) -> int:
    from atm.ui.cli.session import Session
    from atm.ui.cli.snapshot.home import show_home

    _listen(is_program)
    session = Session(_environment(), ask_for_trust=_ask_for_trust)
    session.warn_guests()
    code = show_home(session)
    session.finish()
    return code


def _look(args: Args, session: Session, execute: Callable[[Args, Session], int]) -> int:
    from atm.ui.cli.team.looking import look

    return look(args, session, execute)


def _told_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """Options that stand before the command, and the words from the command on."""
    if not words or not words[0].startswith("-"):
        return [], words
    from atm.ui.cli.arguments import leading

    return leading(words)


def _environment() -> Mapping[str, str]:
    """In an agent's shell the variables that say who it is may be another member's."""
    from atm.vendors.at_a_glance import SHELL_VARIABLES

    if not any(name in os.environ for name in SHELL_VARIABLES):
        return os.environ
    from atm.wiring.delivery import environment_of_speaker

    return environment_of_speaker(os.environ)


def _listen(is_program: bool, *, always: bool = False) -> None:
    """Before anything is done: from here on a signal is noticed where we wait."""
    if is_program:
        from atm.wiring.files import interruptions

        interruptions.listen()
        if always:
            interruptions.always()


def _ask_for_team(session: Session) -> Choice:
    from atm.ui.cli.team.choosing import choose

    return choose(session)


def _ask_for_trust(session: Session) -> bool:
    from atm.ui.cli.setup.untrusted import ask_or_tell

    return ask_or_tell(session)


def _unexpected(error: Exception) -> AtmError:
    if isinstance(error, MemoryError):
        return AtmError("there is not enough memory for this", "make room, or read less with --limit")
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return AtmError(f"{where}{error.strerror or error}", "check permissions and free space, then try again")
    return AtmError(
        f"unexpected {type(error).__name__}: {error}",
        "this is a bug in atm; run again with ATM_DEBUG=1 and report it",
    )


def _wants_json() -> bool:
    """Does `display.format` say so? Settings that are themselves the error say nothing."""
    from atm.ui.cli.session import Session

    try:
        return Session(os.environ).as_json
    except (AtmError, OSError):
        return False


def _say(error: AtmError, as_json: bool) -> int:
    from atm.core.untrusted_text import many_lines, one_line
    from atm.ui.cli.overview import colour
    from atm.ui.views.style import BOLD, GREEN, RED

    style = colour(sys.stderr)
    said = many_lines(str(error)).replace("\n", "\n    ") if error.has_output else one_line(str(error))
    lines = [f"error: {said}", *([f"  fix: {one_line(error.remedy)}"] if error.remedy else [])]
    if sys.stderr.isatty():
        from atm.ui.cli.session import fitted

        lines = [fitted(line, sys.stderr) for line in lines]
    lines[0] = style("error:", BOLD, RED) + lines[0].removeprefix("error:")
    lines[1:] = [line.replace("fix:", style("fix:", GREEN), 1) for line in lines[1:]]
    sys.stderr.write("\n".join([*lines, ""]))
    if as_json or _wants_json():
        from atm.files.formats.json_record import encode

        if isinstance(sys.stdout, ClosedOutput):
            return ERROR
        parts = {"code": error.code, "message": str(error), "remedy": error.remedy, "path": error.path}
        try:
            sys.stdout.write(encode({"error": parts}) + "\n")
        except OSError:
            pass  # that may be the very error
    return error.exit_code
