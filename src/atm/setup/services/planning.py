"""
Setting up agent CLIs: plan what would change in their files, do it, say how they stand.

One vendor's unreadable file does not keep the others from being set up: each file has its own refusal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from atm.core.errors import AtmError, UnreadableFile
from atm.vendors.settings import (
    INSTALLED,
    KINDS,
    PLUGIN,
    PROJECT,
    SERVER,
    USER,
    ConfigFile,
    HookStanding,
    WantedEntries,
)
from atm.vendors.settings_files import files_of, with_hooks_of_ours
from atm.vendors.settings_hooks import NotEditable, is_blank
from atm.vendors.settings_parts import parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from atm.setup.ports import VendorFiles
    from atm.vendors.server_entries import Identity
    from atm.vendors.settings import SettingsPart, Surroundings

CREATED, CHANGED, REMOVED, UNCHANGED, REFUSED = "created", "changed", "removed", "unchanged", "refused"
NOT_LOOKED_AT = HookStanding()


@dataclass(frozen=True, slots=True)
class FileChange:
    """What happens to one file. None is no file."""

    file: ConfigFile
    before: str | None = None
    after: str | None = None
    standing: HookStanding = NOT_LOOKED_AT
    """How it stood before."""
    notes: tuple[str, ...] = ()
    """What its owner should know, though nothing is wrong with the file."""
    refusal: AtmError | None = None

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def vendor(self) -> str:
        return self.file.vendor

    @property
    def is_installed(self) -> bool:
        return self.refusal is None and self.standing.state == INSTALLED

    @property
    def what(self) -> str:
        if self.refusal is not None:
            return REFUSED
        if self.before == self.after:
            return UNCHANGED
        return CREATED if self.before is None else REMOVED if self.after is None else CHANGED


def detect(files: VendorFiles, project: str) -> dict[str, str]:
    """The vendors that are installed, each with the program or folder that says so."""
    places = files.places(project)
    found = {name: files.evidence(vendor, places) for name, vendor in with_hooks_of_ours().items()}
    return {name: evidence for name, evidence in found.items() if evidence}


@dataclass(frozen=True, slots=True)
class SetupOrder:
    """What is to be done to the files: which kinds of ours are meant, whether they go, and what the server is told."""

    kinds: Collection[str] = KINDS
    remove: bool = False
    identity: Identity | None = None
    """Whom the MCP server acts for; None leaves the names that an entry has."""

    def wish(self, files: VendorFiles) -> WantedEntries:
        is_gentle = set(self.kinds) != {SERVER}
        permits = (files.permits(project=False), files.permits(project=True))
        return WantedEntries(files.program(), self.identity, permits=permits, is_gentle=is_gentle)

    def kinds_in(self, file: ConfigFile) -> list[str]:
        return [kind for kind in file.kinds if kind in self.kinds]


SET_UP = SetupOrder()


def plan(
    files: VendorFiles, vendors: Sequence[str], scope: str, project: str, order: SetupOrder = SET_UP
) -> list[FileChange]:
    """What would change. Nothing is written."""
    places, wish = files.places(project), order.wish(files)
    found = [file for vendor in vendors for file in files_of(vendor, scope, places) if order.kinds_in(file)]
    changes = [_planned(files, _chosen(files, file), wish, order) for file in found]
    return changes if order.remove else [_with_warning(files, change, scope, places, order) for change in changes]


def apply(files: VendorFiles, changes: Sequence[FileChange], order: SetupOrder = SET_UP) -> list[FileChange]:
    """Do what was planned, on the files as they are now; what really happened to each."""
    wish = order.wish(files)
    if not order.remove:
        return [_applied(files, change, wish, order) for change in changes]
    # Backwards: the first file of a vendor is the one for which its folder was made, and takes it along.
    return [_applied(files, change, wish, order) for change in reversed(changes)][::-1]


def check(
    files: VendorFiles, vendors: Sequence[str], scope: str, project: str, order: SetupOrder = SET_UP
) -> list[FileChange]:
    """How every file stands; those that are not `is_installed` lack something."""
    return plan(files, vendors, scope, project, order)


def _chosen(files: VendorFiles, file: ConfigFile) -> ConfigFile:
    """Of two files that a program would read: the one that has ours, else the one that is there."""
    if not file.instead:
        return file
    both = (file, replace(file, path=file.instead))
    try:
        texts = [files.read(one) for one in both]
    except AtmError:
        return file
    ours = [one for one, text in zip(both, texts, strict=True) if _has_ours(one, text or "")]
    return ours[0] if ours else both[texts[0] is None and texts[1] is not None]


def _planned(files: VendorFiles, file: ConfigFile, wish: WantedEntries, order: SetupOrder) -> FileChange:
    try:
        before = files.read(file)
        after = _edit(files, file, wish, order)(before)
        standing, notes = _look(file, before or "", wish, order)
    except AtmError as error:
        return FileChange(file, refusal=error)
    except NotEditable as error:
        return FileChange(file, refusal=_refusal(file, error))
    return FileChange(file, before, after, standing, () if order.remove else notes)


def _applied(files: VendorFiles, change: FileChange, wish: WantedEntries, order: SetupOrder) -> FileChange:
    if change.what == REFUSED or (change.what == UNCHANGED and not order.remove):
        return change
    before, after = change.before, change.after
    try:
        if before != after:
            before, after = files.change(change.file, _edit(files, change.file, wish, order))
        if _is_of_no_interest(change.file, before, after, order):
            files.forget(change.file)
    except AtmError as error:
        return replace(change, refusal=error)
    except NotEditable as error:
        return replace(change, refusal=_refusal(change.file, error))
    return replace(change, before=before, after=after)


def _is_of_no_interest(file: ConfigFile, before: str | None, after: str | None, order: SetupOrder) -> bool:
    """What was there before we made the file: ours is gone, or has come into a file that the user made since."""
    if order.remove:
        return not _has_ours(file, after or "")
    return not (before is None or is_blank(before) or _has_ours(file, before))


def _with_warning(
    files: VendorFiles, change: FileChange, scope: str, places: Surroundings, order: SetupOrder
) -> FileChange:
    """
    Hooks that stand in both scopes are run twice, which costs time at every step of the agent.

    Of two servers with one name each program takes one.
    """
    other = USER if scope == PROJECT else PROJECT
    kinds = set(order.kinds_in(change.file)) - {SERVER}
    try:
        found = [file for file in files_of(change.vendor, other, places) if kinds & set(file.kinds)]
        twice = [
            file.path
            for file in found
            if file.path != change.path and _has_ours(file, files.read(file) or "", kinds & set(file.kinds))
        ]
    except AtmError:
        return change  # what cannot be read there is nothing to us here
    notes = [f"{path} has our hooks too, so each would run twice" for path in twice]
    return replace(change, notes=(*change.notes, *notes))


def _has_ours(file: ConfigFile, text: str, kinds: Collection[str] = KINDS) -> bool:
    return any(_is_in(part, text) for part in parts_of(file, [kind for kind in file.kinds if kind in kinds]))


def _is_in(part: SettingsPart, text: str) -> bool:
    try:
        return part.is_in(text)
    except NotEditable:
        return False  # where that kind cannot be read, we have put none


def _refusal(file: ConfigFile, error: NotEditable) -> AtmError:
    return UnreadableFile(f"{file.path} is left alone: {error}", "mend the file, then try again", file.path)


def _edit(
    files: VendorFiles, file: ConfigFile, wish: WantedEntries, order: SetupOrder
) -> Callable[[str | None], str | None]:
    """The change of one file as a function of its text, so that it can be made again on another version of it."""
    parts = parts_of(file, order.kinds_in(file))

    def put_in(text: str | None) -> str | None:
        new = text or ""
        for part in parts:
            new = part.put(new, wish)
        return text if new == (text or "") else new

    def take_out(text: str | None) -> str | None:
        if text is None:
            return None
        rest = text
        for part in reversed(parts):
            rest = part.take(rest)
        if rest == text:
            return text
        former = files.before(file) if parts[0].leaves_nothing(rest) else None
        if former is not None:
            return former.text
        return None if PLUGIN in file.kinds else rest  # the whole file is ours, whoever made it: it may come from git

    return take_out if order.remove else put_in


def _look(file: ConfigFile, text: str, wish: WantedEntries, order: SetupOrder) -> tuple[HookStanding, tuple[str, ...]]:
    """How a file stands, and what its owner should know."""
    looks = [part.look(text, wish) for part in parts_of(file, order.kinds_in(file))]
    missing = tuple(name for standing, _ in looks for name in standing.missing)
    outdated = tuple(name for standing, _ in looks for name in standing.outdated)
    return HookStanding(missing, outdated), tuple(note for _, notes in looks for note in notes)
