"""`atm init`: put our hooks into the settings of agent CLIs, look whether they are there, take them out again."""

from __future__ import annotations

import re

from atm.domain.errors import UsageError
from atm.domain.moments import AGY, CODEX, GEMINI
from atm.domain.untrusted_text import one_line
from atm.domain.vendor_setup import INSTALLED, KNOWN, PROJECT, USER
from atm.services.vendor_setup import CREATED, REFUSED, REMOVED, UNCHANGED, FileChange, apply, check, detect, plan
from atm.ui.cli.arguments import MANY, Args, Command, Option
from atm.ui.cli.render import BLUE, BOLD, DIM, GREEN, RED, YELLOW, Style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.vendor_setup import Vendor
    from atm.ports.vendor_files import VendorFiles
    from atm.ui.cli.session import Session

COMMAND = Command(
    "init",
    "set up agent CLIs, so that mail reaches them by itself",
    text="Writes hooks into the settings of Claude Code, Codex, Gemini CLI, Antigravity CLI and OpenCode.\n"
    "Everything else in these files stays as it is, and --remove leaves them as they were.\n"
    "Exit code 3 if no agent CLI is found, 2 if some of the files could not be changed.",
    options=(
        Option(
            "--vendor", value="NAME", kind=MANY, help=f"only these: {', '.join(KNOWN)} (default: all that are here)"
        ),
        Option("--user", help="in your own settings, for all projects (default)"),
        Option("--project", help="in the settings of this repository"),
        Option("--check", help="only look; exit code 1 if something is missing or out of date"),
        Option("--remove", help="take our hooks out again"),
        Option("--dry-run", help="show what would change, and write nothing"),
    ),
    examples=("atm init", "atm init --dry-run", "atm init --vendor claude,codex --project", "atm init --remove"),
)

LONGEST_LINE = 200
CONTEXT = 3
ERROR, PARTIAL, NOTHING = 1, 2, 3


def execute(args: Args, session: Session) -> int:
    from atm.wiring import build_vendor_files

    remove, scope = args.flag("remove"), _scope(args)
    files = build_vendor_files(session.layout, session.environment)
    vendors = _named(args) or (list(KNOWN) if remove else list(detect(files, session.settings.root)))
    if not vendors:
        return _say_nothing_found(session, files)
    if args.flag("check"):
        return _check(session, files, vendors, scope)
    changes = plan(files, vendors, scope, session.settings.root, remove=remove)
    if not args.flag("dry_run"):
        changes = apply(files, changes, remove=remove)
    return _report(args, session, files, changes, scope)


def _scope(args: Args) -> str:
    if args.flag("user") and args.flag("project"):
        raise UsageError("both --user and --project were given", "leave one of them out")
    if args.flag("check") and args.flag("remove"):
        raise UsageError("both --check and --remove were given", "leave one of them out")
    return PROJECT if args.flag("project") else USER


def _named(args: Args) -> list[str]:
    names = [name.strip() for given in args.many("vendor") for name in given.split(",") if name.strip()]
    for name in names:
        if name not in KNOWN:
            raise UsageError(f"unknown vendor {name!r}", f"choose from {', '.join(KNOWN)}")
    if args.given("vendor") and not names:
        raise UsageError("--vendor names nobody", f"choose from {', '.join(KNOWN)}")
    return list(dict.fromkeys(names))


def _say_nothing_found(session: Session, files: VendorFiles) -> int:
    places = files.places(session.settings.root)
    looked = {name: [*vendor.programs, *_traces(vendor, places.root_of(name))] for name, vendor in KNOWN.items()}
    lines = ["No agent CLI was found here. Looked for:"]
    lines += [f"  {KNOWN[name].title:<15} {one_line(', '.join(words))}" for name, words in looked.items()]
    lines.append("Name one to set it up all the same: atm init --vendor claude")
    session.tell({"action": "init", "vendors": [], "files": [], "looked_for": looked}, "\n".join(lines))
    return NOTHING


def _traces(vendor: Vendor, root: str) -> list[str]:
    return ([f"{root}/{name}" for name in vendor.evidence] or [root]) if root else []


# --check


def _check(session: Session, files: VendorFiles, vendors: list[str], scope: str) -> int:
    everything = check(files, vendors, scope, session.settings.root)
    complete = all(change.is_installed for change in everything)
    if session.as_json:
        session.print_json(
            {
                "action": "init",
                "check": True,
                "scope": scope,
                "installed": complete,
                "files": [_standing_json(change) for change in everything],
                "notes": [note for change in everything for note in change.notes],
            }
        )
        return 0 if complete else ERROR
    style = Style(session)
    for change in everything:
        session.print(_standing_line(style, change))
    _print_notes(session, style, everything)
    return 0 if complete else ERROR


def _standing_json(change: FileChange) -> dict[str, object]:
    return {
        "vendor": change.vendor,
        "path": change.path,
        "state": REFUSED if change.refusal else change.standing.state,
        "missing": list(change.standing.missing),
        "outdated": list(change.standing.outdated),
        "error": _error_json(change),
    }


def _error_json(change: FileChange) -> dict[str, str] | None:
    error = change.refusal
    return None if error is None else {"code": error.code, "message": str(error), "remedy": error.remedy}


def _standing_line(style: Style, change: FileChange) -> str:
    title = f"{style(KNOWN[change.vendor].title, BOLD)}  {one_line(change.path)}"
    if change.refusal is not None:
        return f"{style('unclear', RED)}    {title}\n    {one_line(str(change.refusal))}"
    state = change.standing.state
    if state == INSTALLED:
        return f"{style(state, GREEN)}  {title}"
    lacking = [f"missing: {', '.join(change.standing.missing)}"] if change.standing.missing else []
    lacking += [f"of another program: {', '.join(change.standing.outdated)}"] if change.standing.outdated else []
    return f"{style(f'{state:<9}', YELLOW)}  {title}\n    {'; '.join(lacking)}"


# What was done.


def _report(args: Args, session: Session, files: VendorFiles, changes: list[FileChange], scope: str) -> int:
    refused = [change for change in changes if change.refusal is not None]
    dry = args.flag("dry_run")
    if session.as_json:
        result: dict[str, object] = {"action": "init", "scope": scope, "remove": args.flag("remove"), "dry_run": dry}
        result["files"] = [_change_json(change) for change in changes]
        result["notes"] = [note for change in changes for note in change.notes]
        session.tell(result, "")
    else:
        session.tell({}, "\n".join(_words(args, session, files, changes, scope)))
    for change in refused:
        session.warn(f"error: {change.refusal}")
        session.warn(f"  fix: {change.refusal.remedy if change.refusal else ''}")
    return 0 if not refused else PARTIAL if len(refused) < len(changes) else ERROR


def _change_json(change: FileChange) -> dict[str, object]:
    return {
        "vendor": change.vendor,
        "path": change.path,
        "change": change.what,
        "diff": "\n".join(_diff(change)),
        "error": _error_json(change),
    }


def _words(args: Args, session: Session, files: VendorFiles, changes: list[FileChange], scope: str) -> list[str]:
    style, dry, remove = Style(session), args.flag("dry_run"), args.flag("remove")
    lines = []
    for change in changes:
        if change.what != UNCHANGED and change.refusal is None:
            lines += [f"{style(_done(change, dry), BOLD)}  {one_line(change.path)}", *_coloured(style, change), ""]
    done = [change for change in changes if change.what not in (UNCHANGED, REFUSED)]
    if not done and not any(change.refusal for change in changes):
        lines.append("There is nothing of ours to remove." if remove else "Everything is installed already.")
    lines += [style(f"note: {one_line(note)}", YELLOW) for change in changes for note in change.notes]
    if done and not dry and not remove:
        lines += _next_steps(files, {change.vendor for change in done}, scope)
    return lines or ["Nothing was changed."]


def _done(change: FileChange, dry: bool) -> str:
    verb = {CREATED: "create", REMOVED: "remove"}.get(change.what, "change")
    return f"would {verb}" if dry else f"{verb}d"


def _next_steps(files: VendorFiles, vendors: set[str], scope: str) -> list[str]:
    lines = ["Next:", "  Restart agents that are running: most read their hooks at the start."]
    if CODEX in vendors:
        lines.append(
            "  Codex runs a new or changed hook only after you trusted it: type /hooks in codex and look at them."
        )
    if GEMINI in vendors and scope == PROJECT:
        lines.append(
            "  Gemini CLI asks before it runs hooks of a project, and runs none in a folder it does not trust."
        )
    if AGY in vendors:
        lines += _words_about_agy(scope)
    lines.append("  Tell each agent who it is: ATM_TEAM and ATM_IDENTITY in its environment,")
    lines.append("  or core.default_team and core.identity in the .atm.toml of its repository.")
    if scope == PROJECT and files.program() != ("atm",):
        lines.append(f"  atm is not on PATH, so these files name {one_line(files.program()[0])}: not so for others who")
        lines.append("  share this repository.")
    return lines


def _words_about_agy(scope: str) -> list[str]:
    """On projects: google-antigravity/antigravity-cli has open reports, 1036 and 1052, and people for whom it works."""
    lines = ["  Antigravity CLI does not say when it reads no hooks from a file: type /hooks in agy and look for atm."]
    if scope == PROJECT:
        lines.append("  It reads those of a project in a folder that it trusts; if it does not, use --user instead.")
    else:
        lines.append("  The .atm.toml of its workspace counts where agy names one; the variables below always do.")
    return lines


def _print_notes(session: Session, style: Style, changes: list[FileChange]) -> None:
    for change in changes:
        for note in change.notes:
            session.print(style(f"note: {one_line(note)}", YELLOW))


# The diff.


def _coloured(style: Style, change: FileChange) -> list[str]:
    colours = {"+": GREEN, "-": RED, "@": BLUE}
    return [style(one_line_kept(line), colours.get(line[:1], DIM)) for line in _diff(change)]


def one_line_kept(line: str) -> str:
    """A line of somebody's file, made harmless, with its indentation."""
    return one_line(line.replace("\t", "    "))


def _diff(change: FileChange) -> list[str]:
    """A unified diff. What both have at the start and at the end is left out before difflib sees it: it is slow."""
    import difflib

    old, new = _lines(change.before), _lines(change.after)
    if old == new:
        return []
    start, end = _shared(old, new), 0
    end = _shared(old[start:][::-1], new[start:][::-1])
    first = max(0, start - CONTEXT)
    rows = difflib.unified_diff(
        old[first : len(old) - max(0, end - CONTEXT)],
        new[first : len(new) - max(0, end - CONTEXT)],
        lineterm="",
        n=CONTEXT,
    )
    return [_moved(row, first) if row.startswith("@@") else _short(row) for row in list(rows)[2:]]


def _lines(text: str | None) -> list[str]:
    return [] if not text else [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def _shared(old: list[str], new: list[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _moved(head: str, by: int) -> str:
    return re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + by}", head)


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}… ({len(line):,} characters)"
