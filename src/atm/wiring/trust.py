"""Consent to what repositories ask for, over real files."""

from __future__ import annotations

import os

from atm import config
from atm.core.errors import BadSetting
from atm.core.work_errors import ForeignFile
from atm.crew.formats.crew_file import AgentPlan, NotACrew, read_crew
from atm.files.adapters.machine import RealClock, login_name
from atm.files.formats.json_record import NotJson
from atm.files.formats.layout import REPO_FILES
from atm.files.formats.times import to_iso
from atm.mail.formats.permissions import REPO_PERMISSIONS, permission_asks
from atm.plugins.rules.sight import PluginScope, names_in, sight_in_words
from atm.trust.adapters import change_consents, read_consents, read_repo_file
from atm.trust.rules import FOREIGN, NEEDS_CONSENT, NONE, TRUSTED, Ask, Consent, kind_of, state_of
from atm.wiring.files import build_locks, change_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.files.formats.layout import Layout
    from atm.trust.adapters import RepoFile
    from atm.trust.formats import Consents

PLUGINS, ENABLED = "plugins.", ".enabled"
CREW_FILE = "crew.toml"
"""How the names of crew files end."""


class Examined:
    """A file of a repository: what it asks for, and where the user's consent stands."""

    __slots__ = ("asks", "at", "content", "file", "owner", "path", "sha256", "state")

    def __init__(self, path: str, found: RepoFile | None, asks: list[Ask], at: str = "") -> None:
        self.path = path
        """The folder that it speaks for."""
        self.at = at
        """Where it was looked for; a link may lead elsewhere from there, to the `file`."""
        self.file = found.path if found else ""
        self.sha256 = found.sha256 if found else ""
        self.state = found.state if found else NONE
        self.owner = found.owner if found else None
        self.asks = asks
        self.content = found.content if found else b""
        """What the checksum is of: whoever acts on the file acts on this, and never reads it again."""


def examine_crew(layout: Layout, path: str) -> Examined:
    """A crew file that a command names, whatever it is called."""
    return _examined(layout, _place(path), _agents_in)


def examine(layout: Layout, given: str | None) -> Examined:
    """
    The file that a path means, or the settings file in force. Raises BadSetting for one that cannot be read: to what
    cannot be shown nobody can say yes.
    """
    place = _place(given)
    file = place if os.path.isfile(place) else config.find_repo_file(place)[1] if os.path.isdir(place) else None
    if file is None:
        return Examined(place, None, [])
    return _examined(layout, file, _reader_of(file))


def _examined(layout: Layout, file: str, asks_in: Callable[[RepoFile], list[Ask]]) -> Examined:
    try:
        found = read_repo_file(layout, file)
    except OSError as error:
        raise BadSetting(f"{file}: {error.strerror}", "check its permissions", file) from None
    if found.state == NONE:
        raise BadSetting(f"{file} is no settings file: too large", "remove it", file)
    return Examined(found.folder, found, [] if found.state == FOREIGN else asks_in(found), file)


def _place(given: str | None) -> str:
    return os.path.abspath(os.path.expanduser(given or ".")).replace(os.sep, "/")


def _reader_of(file: str) -> Callable[[RepoFile], list[Ask]]:
    """
    What a file says to whoever reads it there. The place decides, where it is looked for: a link may lead from there to
    any name, and whoever reads it asks neither for that nor for a suffix.
    """
    if any(file.endswith(f"/{name}") for name in REPO_FILES):
        return _settings_in
    if any(file.endswith(f"/{name}") for name in REPO_PERMISSIONS):
        return _permissions_in
    if file.endswith(CREW_FILE):
        return _agents_in
    names = ", ".join([*REPO_FILES, *REPO_PERMISSIONS, f"*{CREW_FILE}"])
    raise BadSetting(f"nothing reads {file} as settings", f"name a folder, or one of its files {names}", file)


def _permissions_in(found: RepoFile) -> list[Ask]:
    try:
        return permission_asks(found.content)
    except NotJson as error:
        raise BadSetting(f"{found.path} cannot be read: {error}", "mend the settings file", found.path) from None


def _agents_in(found: RepoFile) -> list[Ask]:
    """Each agent that a crew file would start, with all that it says of it."""
    try:
        agents = read_crew(found.content.decode("utf-8")).agents
    except (NotACrew, UnicodeDecodeError) as error:
        raise BadSetting(f"{found.path} is no crew file: {error}", "mend it", found.path) from None
    return [Ask(f"{one.runtime}:{one.name}", _said_of(one), NEEDS_CONSENT) for one in agents]


def _said_of(agent: AgentPlan) -> str:
    said = {"command": agent.command, "env": agent.env, "cwd": agent.cwd, "prompt": agent.prompt or agent.prompt_file}
    return ", ".join(f"{key} = {value}" for key, value in said.items() if value) or "nothing more"


def _settings_in(found: RepoFile) -> list[Ask]:
    said = config.parse_file(found.content, found.path)
    return [Ask(key, value, kind_of(key), _sight(found.folder, key, said)) for key, value in said.items()]


def _sight(folder: str, key: str, said: Mapping[str, object]) -> str:
    """What the plugin that a line enables would see."""
    plugin = key.removeprefix(PLUGINS).removesuffix(ENABLED)
    if key != f"{PLUGINS}{plugin}{ENABLED}" or "." in plugin or str(said[key]).casefold() != "true":
        return ""
    return sight_in_words(PluginScope(plugin, folder, folder, names_in(said.get(f"{PLUGINS}{plugin}.teams"))))


def check_not_foreign(found: Examined) -> None:
    if found.state == FOREIGN:
        raise ForeignFile(
            f"{found.file} belongs to another user (number {found.owner})",
            "copy the repository into a folder of your own",
            found.file,
        )


def give_consent(layout: Layout, found: Examined) -> None:
    def change(consents: Consents) -> None:
        _forget(consents, found)
        consents.trusted.append(_consent(found))

    change_consents(build_locks(layout), layout, change)


def refuse_consent(layout: Layout, found: Examined) -> None:
    """Remember the no, so that the same content is not asked about again."""

    def change(consents: Consents) -> None:
        _forget(consents, found)
        consents.refused.append(_consent(found))

    change_consents(build_locks(layout), layout, change)


def revoke_consent(layout: Layout, given: str | None) -> list[str]:
    """Take the yes to a file, or to a folder's files, back, whatever lies there now. The files that were trusted."""
    place = _place(given)
    file = config.find_repo_file(place)[1] if os.path.isdir(place) else place
    meant = {os.path.realpath(path).replace(os.sep, "/") for path in (place, file or place)}

    def is_meant(consent: Consent) -> bool:
        return bool(meant & {consent.file, consent.path})

    gone = [one.file for one in read_consents(layout).trusted if is_meant(one)]

    def change(consents: Consents) -> None:
        consents.trusted = [one for one in consents.trusted if not is_meant(one)]

    if gone:
        change_consents(build_locks(layout), layout, change)
    return gone


def was_refused(layout: Layout, found: Examined) -> bool:
    return any(_is_about(one, found) and one.sha256 == found.sha256 for one in read_consents(layout).refused)


def given_consents(layout: Layout) -> list[tuple[Consent, str]]:
    """Everything that was said yes to, and whether that still holds."""
    return [(one, _state_now(layout, one)) for one in read_consents(layout).trusted]


def change_with_consent(layout: Layout, path: str, change: Callable[[str], str], *, by_person: bool) -> None:
    """
    Change a repository's file for a person at a command. What was trusted before, or asked for nothing, is trusted
    afterwards: it says what they said. What came from elsewhere does not become theirs by it.
    """
    before = examine(layout, path) if os.path.isfile(path) else None
    if before is not None:
        check_not_foreign(before)  # written over, it would be ours, with their words in it
    change_settings(layout, path, change)
    was_theirs = before is None or before.state == TRUSTED or not _asks_for_something(before)
    after = examine(layout, path)
    if by_person and was_theirs and _asks_for_something(after):
        give_consent(layout, after)


def _asks_for_something(found: Examined) -> bool:
    return any(one.kind == NEEDS_CONSENT for one in found.asks)


def _state_now(layout: Layout, consent: Consent) -> str:
    try:
        found = read_repo_file(layout, consent.file)
    except OSError:
        return NONE
    return FOREIGN if found.state == FOREIGN else state_of([consent], consent.path, found.path, found.sha256)


def _forget(consents: Consents, found: Examined) -> None:
    consents.trusted = [one for one in consents.trusted if not _is_about(one, found)]
    consents.refused = [one for one in consents.refused if not _is_about(one, found)]


def _is_about(consent: Consent, found: Examined) -> bool:
    return (consent.path, consent.file) == (found.path, found.file)


def _consent(found: Examined) -> Consent:
    return Consent(
        path=found.path, file=found.file, sha256=found.sha256, at=to_iso(RealClock().now()), by=login_name() or "?"
    )
