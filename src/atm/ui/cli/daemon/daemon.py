"""`atm daemon`: start, stop and look after the daemon."""

from __future__ import annotations

import sys

from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.ui.cli.arguments import NUMBER, Args, Command, Option
from atm.ui.cli.log_view import OPTIONS, show_log
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.daemon.ports import UnitResult
    from atm.ui.cli.session import Session

FINISHING = "waiting for the daemon to finish what it is doing"

COMMAND = Command(
    "daemon",
    "the daemon that delivers, watches and carries plugins",
    text=(
        "One for each home. Mail, the board, runs and approvals work without it; the page, MCP over HTTP and plugins "
        "need it. It retries waiting mail every 5 seconds, restores dropped rows at once, tells idle agents of their "
        "mail, and escalates unanswered messages."
    ),
    subcommands=(
        Command("daemon start", "start it in the background, unless it runs", examples=("atm daemon start",)),
        Command(
            "daemon stop",
            "stop it: it finishes what it is doing",
            options=(
                Option("--seconds", value="N", kind=NUMBER, default=15.0, help="how long to wait before killing it"),
            ),
            examples=("atm daemon stop",),
        ),
        Command("daemon restart", "stop it, then start it", examples=("atm daemon restart",)),
        Command(
            "daemon status",
            "what it does and how it fares (exit code 3: it does not run)",
            examples=("atm daemon status --json",),
        ),
        Command("daemon run", "run it here, in the foreground, until Ctrl-C", examples=("atm daemon run",)),
        Command(
            "daemon logs", "what it has said; the same as `atm logs`", options=OPTIONS, examples=("atm daemon logs -f",)
        ),
        Command(
            "daemon install",
            "have the system start it when you log in (systemd or launchd)",
            options=(Option("--dry-run", help="show the file, and write nothing"),),
            examples=("atm daemon install",),
        ),
        Command("daemon uninstall", "undo that", examples=("atm daemon uninstall",)),
        Command(
            "daemon events",
            "what happens in the teams, as it happens",
            options=(
                Option("--team", "-t", value="TEAM", help="only of this team"),
                Option("--kind", value="KIND", kind="list", help="only these kinds, such as message or task.created"),
            ),
            examples=("atm daemon events --kind message",),
        ),
    ),
    default="status",
    examples=("atm daemon start", "atm daemon status"),
)


def execute(args: Args, session: Session) -> int:
    verb = args.command.word
    return {
        "start": _start,
        "stop": _stop,
        "restart": _restart,
        "status": _status,
        "run": _run,
        "logs": show_log,
        "install": _install,
        "uninstall": _uninstall,
        "events": _events,
    }[verb](args, session)


def _start(args: Args, session: Session) -> int:  # noqa: ARG001 - the shape of every verb
    from atm.wiring.daemon import find_daemon, start_daemon

    before = find_daemon(session.layout)
    with Spinner(session, "waiting for the daemon to start"):
        problem = start_daemon(session.layout, session.environment, wait=True)
    if problem:
        from atm.core.errors import AtmError

        if before is not None:
            raise AtmError(f"the daemon runs already, and cannot be reached: {problem}", "see `atm logs`")
        raise AtmError(f"the daemon did not start: {problem}", "see `atm logs`, or run it with `atm daemon run`")
    running = find_daemon(session.layout)
    pid = running.pid if running is not None else None
    said = f"the daemon runs already: process {pid}" if before is not None else f"the daemon runs: process {pid}"
    session.tell({"action": "daemon start", "pid": pid, "already": before is not None}, said)
    return 0


def _stop(args: Args, session: Session) -> int:
    from atm.wiring.daemon import left_by_daemon, stop_daemon

    with Spinner(session, FINISHING):
        outcome = stop_daemon(session.layout, args.number("seconds") or 15.0)
    left = left_by_daemon(session.layout) if outcome == "stopped" else []
    said = {
        "stopped": "the daemon has stopped" + (f"; not finished: {', '.join(left)}" if left else ""),
        "killed": "it did not stop in time and was killed; nothing is lost",
    }
    result: dict[str, object] = {"action": "daemon stop", "outcome": outcome, **({"left": left} if left else {})}
    session.tell(result, said.get(outcome, "no daemon runs for this home"))
    return 3 if outcome == "not running" else 0


def _restart(args: Args, session: Session) -> int:
    from atm.wiring.daemon import stop_daemon

    with Spinner(session, FINISHING):
        stop_daemon(session.layout, 15.0)
    return _start(args, session)


def _run(args: Args, session: Session) -> int:  # noqa: ARG001 - the shape of every verb
    import gc

    from atm.teamd.daemon import run_daemon
    from atm.ui.mcp.serving.host import McpHost
    from atm.ui.web.host import WebHost

    gc.enable()  # off for commands that live for milliseconds; this one lives for weeks
    left = run_daemon(session.layout, session.environment, [McpHost(), WebHost()])
    for one in left:
        session.warn(f"Warning: not finished: {one}")
    return 0


def _status(args: Args, session: Session) -> int:  # noqa: ARG001 - the shape of every verb
    from atm.wiring.daemon import ask_daemon, find_daemon

    running = find_daemon(session.layout)
    if running is None:
        session.tell(
            {"action": "daemon status", "running": False},
            "no daemon runs for this home; start it with `atm daemon start`",
        )
        return 3
    facts = ask_daemon(session.layout, "status")
    if not isinstance(facts, dict):
        session.tell(
            {"action": "daemon status", "running": True, "pid": running.pid, "answers": False},
            f"process {running.pid} runs since {running.since}, but does not answer; see `atm logs`",
        )
        return 1
    if session.as_json:
        session.print_json({"action": "daemon status", "running": True, "answers": True, **facts})
    else:
        session.print("\n".join(_lines(session, facts, running.since)))
    return 0


def _lines(session: Session, facts: dict[str, Plain], since: str) -> list[str]:
    from atm.ui.cli.render import Style, when
    from atm.ui.views.style import BOLD
    from atm.ui.views.tables import table

    style = Style(session)
    memory = facts.get("memory")
    size = f", {memory / 1e6:.0f} MB" if isinstance(memory, int) else ""
    started = f"started {when(session, since)}"
    lines = [
        f"{style('daemon', BOLD)} process {facts.get('pid')}, version {facts.get('version')}, {started}{size}",
        f"  watching: {facts.get('watch')}; {_some(facts, 'event')} so far, {_some(facts, 'listener')}",
    ]
    lines += [f"  ! {one_line(str(problem))}" for problem in _listed(facts.get("problems"))]
    rows = [_loop_row(loop) for loop in _listed(facts.get("loops")) if isinstance(loop, dict)]
    lines += ["", *table(["loop", "state", "every", "rounds", "did", "last", "trouble"], rows, drop=(4, 2, 3, 5))]
    plugins = [_plugin_row(plugin) for plugin in _listed(facts.get("plugins")) if isinstance(plugin, dict)]
    if plugins:
        lines += ["", *table(["plugin", "place", "state", "restarts", "trouble"], plugins, drop=(1, 3))]
    return lines


def _some(facts: dict[str, Plain], what: str) -> str:
    number = facts.get(f"{what}s")
    return counted(number, what) if isinstance(number, int) else f"unknown {what}s"


def _listed(value: Plain) -> list[Plain]:
    return value if isinstance(value, list) else []


def _loop_row(loop: dict[str, Plain]) -> list[str]:
    last = loop.get("last_seconds")
    return [
        str(loop.get("name")),
        str(loop.get("state")),
        f"{loop.get('period'):g} s" if isinstance(loop.get("period"), int | float) else "-",
        str(loop.get("runs")),
        str(loop.get("done")),
        f"{last * 1000:.0f} ms" if isinstance(last, int | float) else "-",
        one_line(str(loop.get("last_error") or "")),
    ]


def _plugin_row(plugin: dict[str, Plain]) -> list[str]:
    return [
        one_line(str(plugin.get(key, "") or "" if key != "restarts" else plugin.get(key)))
        for key in ("name", "place", "state", "restarts", "last_error")
    ]


def _events(args: Args, session: Session) -> int:
    from atm.files.formats.times import to_iso
    from atm.wiring.daemon import listen_to_daemon

    heard = False
    fields: dict[str, Plain] = {"kinds": [*args.many("kind")], "team": args.text("team") or ""}
    for event in listen_to_daemon(session.layout, fields):
        heard = True
        if session.as_json:
            session.print_json(event)
        elif event.get("kind") != "listening":
            at, detail = event.get("at"), event.get("detail")
            where = f"{event.get('subject')}@{event.get('team')}" if event.get("team") else str(event.get("subject"))
            said = " ".join(f"{key}={value}" for key, value in detail.items()) if isinstance(detail, dict) else ""
            stamp = to_iso(at) if isinstance(at, int | float) else ""
            session.print(f"{stamp}  {event.get('kind')!s:<18} {one_line(where)}  {one_line(said)[:160]}")
        sys.stdout.flush()  # whoever reads us through a pipe wants to hear of it now
    if not heard:
        session.warn("no daemon runs for this home; start it with `atm daemon start`")
    return 0 if heard else 3


def _install(args: Args, session: Session) -> int:
    from atm.wiring.daemon import build_units

    units = build_units(session.environment)
    if args.flag("dry_run"):
        session.tell(
            {"action": "daemon install", "dry_run": True, "path": units.path, "text": units.text()}, units.text()
        )
        return 0
    return _show_unit(session, "daemon install", units.install())


def _uninstall(args: Args, session: Session) -> int:  # noqa: ARG001 - the shape of every verb
    from atm.wiring.daemon import build_units

    return _show_unit(session, "daemon uninstall", build_units(session.environment).uninstall())


def _show_unit(session: Session, action: str, result: UnitResult) -> int:
    """Exit code 2: the file is as it should be, but the service manager did not do its part."""
    lines = [f"{result.change}: {result.path}"]
    if result.problem:
        lines.append(f"  {one_line(result.problem)}")
    if result.hint:
        lines.append(f"  run: {result.hint}")
    session.tell({"action": action, **result.fields()}, "\n".join(lines))
    return 0 if result.done else 2
