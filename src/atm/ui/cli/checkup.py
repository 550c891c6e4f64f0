"""`atm doctor`: find and mend what is wrong."""

from __future__ import annotations

from atm import __version__, config
from atm.checkup.services.checkup import Look, examine, findings_of, known_teams, mend
from atm.checkup.services.findings import NOTE, OK, PROBLEM, WARNING, Check, Finding
from atm.core.errors import AtmError
from atm.core.untrusted_text import one_line
from atm.ui.cli.arguments import Args, Command, Option
from atm.ui.cli.session import working_folder
from atm.ui.cli.waiting import Spinner
from atm.ui.views.style import BOLD, DIM, GREEN, RED, YELLOW, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.config import Settings
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.team.services.belonging import RepositoryTeams
    from atm.ui.cli.session import Session

COMMAND = Command(
    "doctor",
    "find and mend what is wrong",
    text="Exit code 1 if a problem or a warning remains. --fix does what is safe; for the rest, see each finding.",
    options=(Option("--fix", help="mend what can be mended safely"),),
    examples=("atm doctor", "atm doctor --fix", "atm doctor --json"),
)


def execute(args: Args, session: Session) -> int:
    doctor = Doctor(session, as_json=args.flag("json"))
    session.do_without_bad_settings()  # the doctor has them noted
    with Spinner(session, "looking at files, daemon, agents and programs"):
        checks, mended = doctor.examine(fix=args.flag("fix"))
    findings = [*mended, *findings_of(checks)]
    if doctor.as_json:
        doctor.print_json(checks, findings)
    else:
        Picture(session).show(checks, findings)
    return 1 if any(finding.is_serious for finding in findings) else 0


class Doctor:
    """
    One visit. Nothing that is wrong may keep it from working, and settings least of all: where they cannot be read, the
    defaults count.
    """

    def __init__(self, session: Session, *, as_json: bool) -> None:
        self._session = session
        self._broken: AtmError | None = None
        self._settings = self._read_settings()
        self.as_json = as_json or self._settings.text("display.format") == "json"

    def _read_settings(self) -> Settings:
        try:
            return self._session.settings
        except AtmError as error:
            self._broken = error
        except OSError as error:
            self._broken = AtmError(str(error), path=error.filename or "")
        return config.Settings({}, [], None, working_folder())

    def examine(self, *, fix: bool) -> tuple[list[Check], list[Finding]]:
        from atm.wiring.board import build_boardroom
        from atm.wiring.checkup import build_files_around
        from atm.wiring.mail import build_room

        layout = self._session.layout
        around = build_files_around(layout, self._session.environment)
        boardroom = build_boardroom(layout, self._settings, build_room(layout, self._settings))
        more = self._more(boardroom)
        checks = examine(boardroom, around, more)
        return mend(boardroom, around, checks, more) if fix else (checks, [])

    def _more(self, boardroom: FullBoardroom) -> list[tuple[str, Look]]:
        """What surrounds the mail."""
        from atm.checkup.services import surroundings as around
        from atm.checkup.services.crew import examine_agents
        from atm.checkup.services.policies import examine_policy
        from atm.checkup.services.repositories import examine_repositories
        from atm.checkup.services.sessions import examine_sessions
        from atm.ui.views.extras import extra_command
        from atm.wiring.approvals import build_approval_policy, policy_problems
        from atm.wiring.checkup import find_extras, find_program, look_at_daemon
        from atm.wiring.crew import build_crewroom
        from atm.wiring.files import build_repositories
        from atm.wiring.sessions import build_sessionroom, find_caller
        from atm.wiring.setup import build_vendor_files, read_installation

        layout, environment, settings = self._session.layout, self._session.environment, self._settings
        vendors = build_vendor_files(layout, environment, settings)
        room, has_tmux = boardroom.room, settings.yes("delivery.tmux")
        crew = build_crewroom(layout, settings, boardroom, environment)
        caller = find_caller(environment, working_folder())
        return [
            (
                "settings",
                lambda: around.examine_settings(settings.files, self._broken, policy_problems(layout, settings)),
            ),
            ("policy", lambda: examine_policy(build_approval_policy(layout, settings))),
            ("daemon", lambda: around.examine_daemon(look_at_daemon(layout), __version__)),
            (
                "tmux",
                lambda: around.examine_tmux(room, known_teams(room), find_program("tmux", environment), has_tmux),
            ),
            ("agents", lambda: examine_agents(crew)),
            (
                "repositories",
                lambda: examine_repositories(room, build_repositories(), self._teams_here(room), self._rebind),
            ),
            ("sessions", lambda: examine_sessions(build_sessionroom(layout, settings, crew, caller, environment))),
            ("hooks", lambda: around.examine_hooks(vendors, settings.root)),
            ("versions", lambda: around.examine_versions(vendors, settings.root, read_installation())),
            ("extras", lambda: around.examine_extras(vendors, settings.root, find_extras(), extra_command)),
        ]

    def _teams_here(self, room: Teamroom) -> RepositoryTeams | None:
        from atm.team.services.belonging import RepositoryTeams
        from atm.wiring.files import build_repositories

        here = build_repositories().around(working_folder())
        return RepositoryTeams(room, build_repositories(), here, lambda _: ()) if here is not None else None

    def _rebind(self, belonging: RepositoryTeams, team: str) -> None:
        from atm.ui.cli.team.belonging import rebind_here

        rebind_here(self._session, belonging, team)

    def print_json(self, checks: list[Check], findings: list[Finding]) -> None:
        self._session.print_json(
            {
                "action": "doctor",
                "healthy": not any(finding.is_serious for finding in findings),
                "findings": [_as_json(finding) for finding in findings],
                "checks": [_check_as_json(check) for check in checks],
                "context": self._context(),
            }
        )

    def _context(self) -> dict[str, object] | None:
        from atm.ui.cli.setup.config import context_json
        from atm.wiring.setup import build_context

        session = self._session
        try:
            return context_json(build_context(session.layout, self._settings, session.environment, working_folder()))
        except (AtmError, OSError):
            return None


class Picture:
    """The visit for people: what was found, then every check with ✓ or ✗."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._style = _style_of(session)

    def show(self, checks: list[Check], findings: list[Finding]) -> None:
        if not findings:
            said = self._style("Everything is in order.", GREEN)
            self._session.print(f"{said}  ({one_line(self._session.layout.claude_root)})")
        for finding in findings:
            self._show_finding(finding)
        self._session.print()
        width = max(width_of(one_line(check.name)) for check in checks)
        for check in checks:
            self._show_check(check, width)

    def _show_finding(self, finding: Finding) -> None:
        word = "mended" if finding.mended else finding.severity
        color = GREEN if finding.mended else {PROBLEM: RED, WARNING: YELLOW}.get(finding.severity, DIM)
        head = f"{self._style(word, color)}  {self._style(finding.code, BOLD)}"
        self._session.print(f"{head}  {one_line(finding.message)}".rstrip())
        if not finding.mended:
            self._session.print(f"    → {one_line(finding.command)}", is_folded=False)  # it is for pasting

    def _show_check(self, check: Check, width: int) -> None:
        mark = self._style("✓", GREEN) if check.state == OK else self._style("✗", RED)
        name, detail = one_line(check.name), one_line(_in_words(check))
        gap = " " * (width - width_of(name))
        self._session.print(f"  {mark} {name}{gap}  {self._style(detail, DIM)}" if detail else f"  {mark} {name}")


def _in_words(check: Check) -> str:
    """What came of a check: how much was found, or else how it stands."""
    if check.has_failed:
        return "could not be checked to its end"
    counts = {
        severity: sum(one.severity == severity for one in check.findings) for severity in (PROBLEM, WARNING, NOTE)
    }
    found = [f"{count} {severity}{'s' if count > 1 else ''}" for severity, count in counts.items() if count]
    return ", ".join(found) or check.detail


def _style_of(session: Session) -> Callable[..., str]:
    from atm.ui.cli.render import Style

    try:
        return Style(session)
    except AtmError:  # settings that cannot be read say nothing about colours
        return lambda text, *_: text


def _as_json(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "path": finding.path or None,
        "command": finding.command,
        "mended": finding.mended,
    }


def _check_as_json(check: Check) -> dict[str, object]:
    return {
        "name": check.name,
        "state": check.state,
        "detail": check.detail or None,
        "findings": [finding.code for finding in check.findings],
    }
