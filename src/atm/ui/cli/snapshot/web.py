"""`atm web`: the page for a second monitor, a phone, a colleague. The daemon serves it, on this machine only."""

from __future__ import annotations

import os
import sys
import time

from atm.core.errors import AtmError, UsageError
from atm.ui.cli.arguments import NUMBER, TEAM, Args, Command, Option
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain
    from atm.ui.cli.session import Session

OPEN_SECONDS = 30.0
ANSWER_SECONDS = 10.0
"""Without an answer there is no link: on a busy machine somebody who waits for it would rather wait."""
LOOK_EVERY = 0.1
PASSED_ON = ("ATM_IDENTITY", "ATM_TEAM", "ATM_CONFIG", "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMUX")

COMMAND = Command(
    "web",
    "the page: what the screen shows, in a browser",
    text="The link works once; type the command again for another one. The port is open on this machine only, until"
    " --stop, eight hours in which nobody looks, or the end of the daemon.",
    options=(
        TEAM,
        Option("--observer", help="a link for somebody who may only look"),
        Option("--port", value="N", kind=NUMBER, help="the port (default: 8420, or any that is free)"),
        Option("--no-open", help="print the link, and leave the browser alone"),
        Option("--stop", help="close the page and its port"),
    ),
    examples=("atm web", "atm web --observer", "atm web --port 8420 --no-open", "atm web --stop"),
)


def execute(args: Args, session: Session) -> int:
    if args.flag("stop"):
        return _stop(session)
    _check_extra()
    role = "observer" if args.flag("observer") else "human"
    if role == "human":
        _check_is_person(session)
    team = session.team(args) if args.text("team") else ""
    with Spinner(session, "waiting for the page to open"):
        _open(session, int(args.number("port") or 0))
    invited = _ask(session, "web-invite", _who(session, args, role))
    url = f"{invited['url']}"
    if team:
        from urllib.parse import quote

        url = url.replace("/login#", f"/login?team={quote(team, safe='')}#", 1)
    is_opened = _can_open(args, session) and _show(url)
    said = "a browser opens it" if is_opened else "open it in a browser; it works once"
    looks_only = ", and may only look" if role == "observer" else ""
    session.tell(
        {"action": "web", "url": url, "port": invited["port"], "role": role, "opened": is_opened},
        f"{url}\n{said}{looks_only}. Close the page with `atm web --stop`.",
    )
    return 0


def _check_extra() -> None:
    from importlib.util import find_spec

    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        from atm.ui.views.extras import extra_command

        raise UsageError(
            "the page needs starlette and uvicorn", f"install them: {extra_command('web')}; or see `atm top`"
        )


def _check_is_person(session: Session) -> None:
    """The page acts as a person: an agent that opened it would answer its own requests."""
    from atm.core.errors import NotAllowed
    from atm.team.services.standing import check_person

    try:
        check_person(session.room, "open the page")
    except NotAllowed as error:
        raise NotAllowed(str(error), "for a link that may only look: `atm web --observer`") from None


def _who(session: Session, args: Args, role: str) -> dict[str, Plain]:
    from atm.ui.cli.session import working_folder

    passed = {key: session.environment[key] for key in PASSED_ON if key in session.environment}
    return {"role": role, "person": session.named(args), "folder": working_folder(), "environment": {**passed}}


def _open(session: Session, port: int) -> None:
    """Start the daemon if it does not run, and wait until its page is there."""
    from atm.wiring.daemon import find_daemon, start_daemon

    if not session.may_start_daemon and find_daemon(session.layout) is None:
        raise UsageError(
            f"the daemon serves the page and does not run; {session.forbids_daemon} forbids this command to start it",
            "start it: `atm daemon start`",
        )
    problem = start_daemon(session.layout, session.environment, wait=True)
    if problem:
        raise AtmError(f"the daemon could not be started: {problem}", "see `atm daemon status` and `atm logs`")
    state = _ask(session, "web-open", {"port": port})
    end = time.monotonic() + OPEN_SECONDS
    while state["state"] == "opening" and time.monotonic() < end:
        session.room.clock.sleep(LOOK_EVERY)
        state = _ask(session, "web-state", {})
    if state["state"] != "open":
        why = state.get("problem") or f"it did not open within {OPEN_SECONDS:.0f} s"
        raise AtmError(f"the page cannot be opened: {why}", "choose another port with --port; see `atm logs`")
    if port and state.get("port") not in (None, port):
        raise UsageError(
            f"the page is open at port {state['port']} already", "close it first: `atm web --stop`; or leave out --port"
        )


def _ask(session: Session, do: str, fields: dict[str, Plain]) -> dict[str, Plain]:
    from atm.wiring.daemon import ask_daemon

    answer = ask_daemon(session.layout, do, fields, ANSWER_SECONDS)
    if not isinstance(answer, dict):
        raise AtmError("the daemon does not answer", "see `atm daemon status`; `atm daemon restart` starts it anew")
    return answer


def _stop(session: Session) -> int:
    from atm.wiring.daemon import find_daemon

    was = "closed"
    if find_daemon(session.layout) is not None:
        was = str(_ask(session, "web-close", {}).get("was"))
        end = time.monotonic() + OPEN_SECONDS
        with Spinner(session, "waiting for the page to close"):
            while _ask(session, "web-state", {})["state"] == "open" and time.monotonic() < end:
                session.room.clock.sleep(LOOK_EVERY)
    is_closed = was in ("open", "opening")
    session.tell({"action": "web stop", "was": was}, "the page is closed" if is_closed else "the page is not open")
    return 0 if is_closed else 3


def _can_open(args: Args, session: Session) -> bool:
    """A browser with windows: one that runs in the terminal would take it over."""
    if args.flag("no_open") or session.as_json or not sys.stdout.isatty() or "SSH_CONNECTION" in session.environment:
        return False
    return sys.platform in ("darwin", "win32") or _has_windows(session.environment)


def _has_windows(environment: Mapping[str, str]) -> bool:
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _show(url: str) -> bool:
    """What the browser prints is not for this terminal."""
    import webbrowser

    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        return webbrowser.open(url)
    except (OSError, webbrowser.Error):
        return False
    finally:
        os.dup2(kept, 2)
        os.close(kept)
