"""
What `atm doctor` finds about what surrounds the mail: settings, the daemon, tmux, hooks of agent CLIs, extras.

None of it is needed to send and to read. What is not there is said and is no finding; what is there and does not work,
or is asked for and not there, is one.
"""

from __future__ import annotations

from collections.abc import Iterator

from atm.checkup.services.findings import NOTE, PROBLEM, WARNING, Finding
from atm.core.untrusted_text import shell_word
from atm.setup.rules.installation import upgrade_command
from atm.setup.services.planning import CHANGED, REMOVED, SetupOrder, check, detect, plan
from atm.vendors.known import troubles
from atm.vendors.settings import INSTALLED, SERVER, USER, WITHOUT_SERVER
from atm.vendors.settings_files import with_hooks_of_ours
from atm.vendors.versions import is_unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.approvals.rules.policy_files import PolicyFileProblem
    from atm.checkup.ports import DaemonSeen
    from atm.core.errors import AtmError
    from atm.roster.services.teamroom import Teamroom
    from atm.setup.ports import VendorFiles
    from atm.setup.rules.installation import Installation


def examine_settings(
    files: list[str], broken: AtmError | None, policies: Sequence[PolicyFileProblem] = ()
) -> Iterator[Finding | str]:
    """
    Settings that cannot be read keep every other command from working; here the defaults count instead. A policy in a
    file that another user could change denies everything to agents.
    """
    if broken is not None:
        word = shell_word(broken.path) if broken.path else ""
        command = f"${{EDITOR:-vi}} {word}" if word else "atm config list"
        what = f"{broken}; until it is mended, commands stop here" + (f" ({broken.remedy})" if broken.remedy else "")
        yield Finding("broken-settings", PROBLEM, what, command, broken.path, subject="settings")
        return
    for one in policies:
        what = f"{one.what}, so its policy is not read and agents may do nothing"
        yield Finding("unsafe-policy", PROBLEM, what, one.command, one.path)
    yield ", ".join(files) if files else "all as they come"


def examine_daemon(seen: DaemonSeen, version: str) -> Iterator[Finding | str]:
    if not seen.pid:
        yield "does not run; it is started when something needs it"
        return
    if not seen.answers:
        what = f"process {seen.pid} holds the daemon's seat and does not answer at {seen.socket}"
        yield Finding("silent-daemon", PROBLEM, what, "atm daemon restart", seen.socket, subject="daemon")
        return
    if seen.version != version:
        what = f"the daemon is version {seen.version or 'unknown'}, and this is {version}"
        yield Finding("old-daemon", WARNING, what, "atm daemon restart", subject="daemon")
    for problem in seen.problems:
        yield Finding("daemon-problem", WARNING, f"the daemon says: {problem}", "atm daemon status", subject=problem)
    yield f"process {seen.pid}, version {seen.version}"


def examine_tmux(room: Teamroom, teams: list[str], program: str, is_wanted: bool) -> Iterator[Finding | str]:
    """Needed to wake agents that sit idle in its panes."""
    inside = [
        member
        for team in teams
        for member in room.endpoints.known(team)
        if (found := room.endpoints.of(team, member)) is not None and found.pane
    ]
    if inside and is_wanted and not program:
        what = f"tmux is not on your PATH, so {', '.join(inside[:3])} cannot be woken there when mail comes"
        yield Finding("no-tmux", WARNING, what, "atm config set delivery.tmux false", subject="tmux")
    yield program or "not here; needed only to wake agents in its panes"


def examine_hooks(files: VendorFiles, project: str) -> Iterator[Finding | str]:
    """Ours in the settings of agent CLIs: all of them, or none."""
    said = []
    for vendor in detect(files, project):
        title, states = with_hooks_of_ours()[vendor].title, []
        present = _present(files, vendor, project, SetupOrder(WITHOUT_SERVER, remove=True))
        for change in check(files, [vendor], USER, project, SetupOrder(WITHOUT_SERVER)):
            if change.refusal is not None:
                word = shell_word(change.path)
                yield Finding("unreadable-hooks", WARNING, str(change.refusal), f"${{EDITOR:-vi}} {word}", change.path)
            elif present and change.standing.state != INSTALLED:
                what = f"our hooks in {change.path} are {change.standing.state}: mail may not reach {title} by itself"
                yield Finding("old-hooks", WARNING, what, f"atm init --vendor {shell_word(vendor)}", change.path)
            states.append(change.is_installed)
        said.append(f"{title} {'yes' if present and all(states) else 'in part' if present else 'no'}")
    hint = "; `atm init` enters them" if any(one.endswith(" no") for one in said) else ""
    yield f"{', '.join(said)}{hint}" if said else "no agent CLI is here"


def examine_versions(files: VendorFiles, project: str, installation: Installation) -> Iterator[Finding | str]:
    """Of agent CLIs: those that the lab has not run may have other hooks, screens and files."""
    for name, why in troubles().items():
        what = f"the vendor {name} of another package cannot be used: {why}"
        yield Finding("broken-vendor", WARNING, what, "atm runtimes", subject=name)
    said = []
    for vendor in detect(files, project):
        known = with_hooks_of_ours()[vendor]
        title, version = known.title, files.version(known)
        if is_unseen(known, version):
            what = f"{title} {version} is installed; atm was tried with {', '.join(known.seen)}: what it changed since"
            what, command = f"{what} is not known", upgrade_command(installation)
            yield Finding("unseen-version", NOTE, what, command, subject=vendor)
        said.append(f"{title} {version or 'unknown'}")
    yield ", ".join(said) if said else "no agent CLI is here"


def _present(files: VendorFiles, vendor: str, project: str, order: SetupOrder) -> bool:
    """Would taking ours out change anything?"""
    return any(change.what in (CHANGED, REMOVED) for change in plan(files, [vendor], USER, project, order))


def examine_extras(
    files: VendorFiles, project: str, extras: Mapping[str, bool], command_for: Callable[..., str]
) -> Iterator[Finding | str]:
    """
    What was left out when atm was installed, with the command that brings it; trouble only if an agent is told of
    something that cannot start.
    """
    if not files.can_serve():
        for vendor in detect(files, project):
            if _present(files, vendor, project, SetupOrder((SERVER,), remove=True)):
                title = with_hooks_of_ours()[vendor].title
                what = f"{title} is told of our MCP server, and this atm was installed without it"
                yield Finding("missing-extra", WARNING, what, command_for("mcp"), subject=f"mcp {vendor}")
    missing = [name for name, is_here in extras.items() if not is_here]
    hint = f"; the others: {command_for(*missing)}" if missing else ""
    yield ", ".join(f"{name} {'yes' if is_here else 'no'}" for name, is_here in extras.items()) + hint
