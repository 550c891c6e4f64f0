"""`atm doctor`: find and mend what is wrong."""

from __future__ import annotations

from atm.domain.untrusted_text import one_line
from atm.services.checkup.checkup import examine, mend
from atm.services.checkup.findings import PROBLEM, WARNING, Finding
from atm.ui.cli.arguments import Args, Command, Option
from atm.ui.cli.render import Style
from atm.ui.cli.session import working_folder
from atm.ui.views.style import BOLD, DIM, GREEN, RED, YELLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "doctor",
    "find and mend what is wrong",
    text="Exit code 1 if a problem or a warning remains. --fix does what is safe; for the rest, see each finding.",
    options=(Option("--fix", help="mend what can be mended safely"),),
    examples=("atm doctor", "atm doctor --fix", "atm doctor --json"),
)


def execute(args: Args, session: Session) -> int:
    from atm.wiring.checkup import build_files_around
    from atm.wiring.setup import build_context

    around = build_files_around(session.layout, session.environment)
    findings = examine(session.boardroom, around)
    if args.flag("fix"):
        findings = mend(session.boardroom, around, findings)
    left = [finding for finding in findings if finding.severity in (PROBLEM, WARNING) and not finding.mended]
    if session.as_json:
        from atm.ui.cli.setup.config import context_json

        context = build_context(session.layout, session.settings, session.environment, working_folder())
        session.print_json(
            {
                "action": "doctor",
                "healthy": not left,
                "findings": [_as_json(f) for f in findings],
                "context": context_json(context),
            }
        )
    else:
        _show(session, findings)
    return 1 if left else 0


def _as_json(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "path": finding.path or None,
        "command": finding.command,
        "mended": finding.mended,
    }


def _show(session: Session, findings: list[Finding]) -> None:
    style = Style(session)
    if not findings:
        session.print(style("Everything is in order.", GREEN) + f"  ({one_line(session.layout.claude_root)})")
        return
    colors = {PROBLEM: RED, WARNING: YELLOW}
    for finding in findings:
        mark = style("mended", GREEN) if finding.mended else style(finding.severity, colors.get(finding.severity, DIM))
        session.print(f"{mark}  {style(finding.code, BOLD)}  {one_line(finding.message)}")
        if not finding.mended:
            session.print(f"    → {one_line(finding.command)}")
