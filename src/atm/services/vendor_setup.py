"""
Setting up agent CLIs: plan what would change in their files, do it, say how they stand.

One vendor's unreadable file does not keep the others from being set up: each file has its own refusal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from atm.domain.errors import AtmError, UnreadableFile
from atm.domain.vendor_setup import (
    HOOKS,
    INSTALLED,
    KNOWN,
    NAMED_HOOKS,
    NOTIFY,
    PLUGIN,
    PROJECT,
    USER,
    ConfigFile,
    Standing,
    compare,
    entries_for,
    files_of,
    notify_words,
)
from atm.formats.codex_notify import has_hook_tables, has_other_notify, notify_program, with_notify, without_notify
from atm.formats.opencode_plugin import is_ours, is_untouched, plugin_text, says_the_same
from atm.formats.vendor_settings import (
    GROUPED,
    NAMED,
    NotEditable,
    holds_nothing,
    hooks_in,
    is_blank,
    switched_off,
    with_hooks,
    without_hooks,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.domain.vendor_setup import Places
    from atm.ports.vendor_files import VendorFiles

CREATED, CHANGED, REMOVED, UNCHANGED, REFUSED = "created", "changed", "removed", "unchanged", "refused"
NOT_LOOKED_AT = Standing()
_SHAPES = {HOOKS: GROUPED, NAMED_HOOKS: NAMED}


@dataclass(frozen=True, slots=True)
class FileChange:
    """What happens to one file. None is no file."""

    file: ConfigFile
    before: str | None = None
    after: str | None = None
    standing: Standing = NOT_LOOKED_AT
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
    found = {name: files.evidence(vendor, places) for name, vendor in KNOWN.items()}
    return {name: evidence for name, evidence in found.items() if evidence}


def plan(
    files: VendorFiles, vendors: Sequence[str], scope: str, project: str, *, remove: bool = False
) -> list[FileChange]:
    """What would change. Nothing is written."""
    places, program = files.places(project), files.program()
    wanted = [file for vendor in vendors for file in files_of(vendor, scope, places)]
    changes = [_planned(files, file, program, remove) for file in wanted]
    return changes if remove else [_with_warning(files, change, scope, places) for change in changes]


def apply(files: VendorFiles, changes: Sequence[FileChange], *, remove: bool = False) -> list[FileChange]:
    """Do what was planned, on the files as they are now; what really happened to each."""
    program = files.program()
    if not remove:
        return [_applied(files, change, program, remove) for change in changes]
    # Backwards: the first file of a vendor is the one for which its folder was made, and takes it along.
    return [_applied(files, change, program, remove) for change in reversed(changes)][::-1]


def check(files: VendorFiles, vendors: Sequence[str], scope: str, project: str) -> list[FileChange]:
    """How every file stands; those that are not `is_installed` lack something."""
    return plan(files, vendors, scope, project)


def _planned(files: VendorFiles, file: ConfigFile, program: tuple[str, ...], remove: bool) -> FileChange:
    try:
        before = files.read(file)
        after = _edit(files, file, program, remove)(before)
        standing, notes = _look(file, before or "", program)
    except AtmError as error:
        return FileChange(file, refusal=error)
    except NotEditable as error:
        return FileChange(file, refusal=_refusal(file, error))
    return FileChange(file, before, after, standing, () if remove else notes)


def _applied(files: VendorFiles, change: FileChange, program: tuple[str, ...], remove: bool) -> FileChange:
    if change.what == REFUSED or (change.what == UNCHANGED and not remove):
        return change
    before, after = change.before, change.after
    try:
        if before != after:
            before, after = files.change(change.file, _edit(files, change.file, program, remove))
        if remove or not (before is None or is_blank(before) or _has_ours(change.file, before)):
            files.forget(change.file)  # ours is gone, or has come into a file that somebody made since
    except AtmError as error:
        return replace(change, refusal=error)
    except NotEditable as error:
        return replace(change, refusal=_refusal(change.file, error))
    return replace(change, before=before, after=after)


def _with_warning(files: VendorFiles, change: FileChange, scope: str, places: Places) -> FileChange:
    """Hooks that stand in both scopes are run twice, which costs time at every step of the agent."""
    other = USER if scope == PROJECT else PROJECT
    try:
        found = [file for file in files_of(change.vendor, other, places) if file.kind == change.file.kind]
        twice = [file.path for file in found if file.path != change.path and _has_ours(file, files.read(file) or "")]
    except (AtmError, NotEditable):
        return change  # what cannot be read there is nothing to us here
    notes = [f"{path} has our hooks too, so each would run twice" for path in twice]
    return replace(change, notes=(*change.notes, *notes))


def _has_ours(file: ConfigFile, text: str) -> bool:
    if file.kind in _SHAPES:
        return bool(hooks_in(text, _SHAPES[file.kind]))
    return notify_program(text) is not None if file.kind == NOTIFY else is_ours(text)


def _refusal(file: ConfigFile, error: NotEditable) -> AtmError:
    return UnreadableFile(f"{file.path} is left alone: {error}", "mend the file, then run `atm init` again", file.path)


def _edit(
    files: VendorFiles, file: ConfigFile, program: tuple[str, ...], remove: bool
) -> Callable[[str | None], str | None]:
    """The change of one file as a function of its text, so that it can be made again on another version of it."""

    def put_in(text: str | None) -> str | None:
        return _with_ours(file, text or "", program)

    def take_out(text: str | None) -> str | None:
        if text is None:
            return None
        rest = _without_ours(file, text)
        if rest == text:
            return text
        former = files.before(file) if _is_empty(file, rest) else None
        if former is not None:
            return former.text
        return None if file.kind == PLUGIN else rest  # the whole file is ours, whoever made it: it may come from git

    return take_out if remove else put_in


def _with_ours(file: ConfigFile, text: str, program: tuple[str, ...]) -> str:
    if file.kind in _SHAPES:
        return with_hooks(text, entries_for(file.vendor, program), _SHAPES[file.kind])
    if file.kind == NOTIFY:
        return text if has_other_notify(text) else with_notify(text, notify_words(program))
    _check_plugin(text)
    wanted = plugin_text(program)
    return text if says_the_same(text, wanted) else wanted


def _without_ours(file: ConfigFile, text: str) -> str:
    if file.kind in _SHAPES:
        return without_hooks(text, _SHAPES[file.kind])
    if file.kind == NOTIFY:
        return without_notify(text)
    if not is_ours(text):
        return text
    _check_plugin(text)
    return ""


def _check_plugin(text: str) -> None:
    if not is_blank(text) and not is_ours(text):
        raise NotEditable("it is not a plugin that atm wrote")
    if not is_blank(text) and not is_untouched(text):
        raise NotEditable("somebody has changed it by hand since atm wrote it; move it away to have a new one")


def _is_empty(file: ConfigFile, text: str) -> bool:
    return holds_nothing(text) if file.kind in _SHAPES else is_blank(text)


def _look(file: ConfigFile, text: str, program: tuple[str, ...]) -> tuple[Standing, tuple[str, ...]]:
    """How a file stands, and what its owner should know."""
    if file.kind in _SHAPES:
        found, off = hooks_in(text, _SHAPES[file.kind]), switched_off(text, _SHAPES[file.kind])
        standing = compare(entries_for(file.vendor, program), found, program, file.vendor)
        return standing, (f"{off} in {file.path} keeps our hooks from running",) if off else ()
    if file.kind == NOTIFY:
        return _look_at_notify(file, text, program)
    if is_blank(text):
        return Standing(missing=("plugin",)), ()
    return (Standing() if says_the_same(text, plugin_text(program)) else Standing(outdated=("plugin",))), ()


def _look_at_notify(file: ConfigFile, text: str, program: tuple[str, ...]) -> tuple[Standing, tuple[str, ...]]:
    notes = []
    if has_other_notify(text):
        notes.append(f"notify in {file.path} belongs to another program and is left alone; the Stop hook does its work")
    if has_hook_tables(text):
        notes.append(f"{file.path} has hooks of its own, so Codex will warn that hooks.json has some too; both run")
    found = notify_program(text)
    if has_other_notify(text) or found == program:
        return Standing(), tuple(notes)
    return Standing(missing=("notify",)) if found is None else Standing(outdated=("notify",)), tuple(notes)
