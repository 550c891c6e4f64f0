"""
Which plugins there are: entry points of the group `atm.plugins`, and what each says of itself.

Finding one runs none of its code. Asking it who it is does, so that happens in a process of its own.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atm.core.errors import AtmError, RequestError
from atm.core.names import check_new_name, nearest_name
from atm.core.untrusted_text import one_line
from atm.files.formats.json_record import NotJson, decode_object, to_text
from atm.teamd.plugins.api import GROUP, Capability, Plugin, PluginError, PluginMetadata
from atm.teamd.plugins.process_care import end_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from atm.core.plain import Plain

SECONDS_TO_DESCRIBE = 15.0
MODULE = "atm.teamd.plugins.inside.process"


@dataclass(frozen=True, slots=True)
class Found:
    """A plugin that is installed. With an `error` it cannot be used."""

    name: str
    target: str
    """`module:attribute`"""
    distribution: str = ""
    version: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """What a plugin says of itself, or why it does not."""

    name: str
    version: str = ""
    description: str = ""
    capabilities: tuple[str, ...] = ()
    error: str = ""


def discover() -> list[Found]:
    """Every plugin that is installed here, by name."""
    # Here, because a daemon without plugins and the process of a plugin never ask: half of what this module imports.
    from importlib.metadata import entry_points

    return sort_out(_found(entry) for entry in entry_points(group=GROUP))


def check_installed(name: str) -> None:
    """Raises, and says which is near."""
    found = {one.name: one for one in discover()}
    if name not in found:
        near = nearest_name(name, list(found))
        hint = f"did you mean {near!r}?" if near else "install it into atm's environment; see `atm plugins list`"
        raise RequestError(f"no plugin {one_line(name)!r} is installed", hint)
    if found[name].error:
        raise RequestError(f"the plugin {name!r} cannot be used: {found[name].error}", "remove or mend one of them")


def _found(entry: EntryPoint) -> Found:
    made_by = entry.dist
    name, version = (made_by.name, made_by.version) if made_by is not None else ("", "")
    return Found(entry.name, entry.value, str(name), str(version))


def sort_out(found: Iterable[Found]) -> list[Found]:
    """Each name once; a name that cannot be one, or that two lay claim to, is an error that is shown."""
    by_name: dict[str, set[Found]] = {}
    for one in found:
        by_name.setdefault(one.name, set()).add(one)
    return [_one_of(name, group) for name, group in sorted(by_name.items())]


def _one_of(name: str, group: set[Found]) -> Found:
    first = min(group, key=lambda one: (one.distribution, one.version, one.target))
    if len({one.target for one in group}) > 1:
        owners = ", ".join(sorted({one.distribution or one.target for one in group}))
        return Found(name, first.target, first.distribution, first.version, f"two plugins have this name: {owners}")
    error = check_name(name) or ("" if ":" in first.target else f"{first.target!r} is not module:attribute")
    return Found(name, first.target, first.distribution, first.version, error)


def check_name(name: str) -> str:
    """Why a plugin may not have this name: it becomes a section of settings, a folder and a backend."""
    try:
        check_new_name(name, "plugin")
    except AtmError as error:
        return f"{error}; {error.remedy}"
    return "a plugin's name has no '.' and no '+'" if "." in name or "+" in name else ""


def load_plugin(target: str, name: str) -> tuple[Plugin, PluginMetadata]:
    """Import a plugin and check that it is one. Runs its code: only in a process that may be lost."""
    module_name, _, path = target.partition(":")
    found: object = importlib.import_module(module_name)
    for part in path.split("."):
        found = getattr(found, part)
    made = found() if callable(found) else found
    if not isinstance(made, Plugin):
        raise PluginError(f"{target} has not the methods of a plugin", "give it metadata, init, run and shutdown")
    return made, checked_metadata(made.metadata(), name)


def checked_metadata(given: object, name: str) -> PluginMetadata:
    if not isinstance(given, PluginMetadata):
        raise PluginError("metadata() gives no PluginMetadata", "return one from atm.teamd.plugins.api")
    capabilities = tuple(given.capabilities)
    if not all(isinstance(one, Capability) for one in capabilities):
        raise PluginError("a capability is not one of Capability", "see atm.teamd.plugins.api.Capability")
    if given.name != name:
        raise PluginError(f"it calls itself {given.name!r}, but its entry point is {name!r}", "give both the same name")
    return given


def describe(found: Found, environment: Mapping[str, str], seconds: float = SECONDS_TO_DESCRIBE) -> Description:
    return describe_all([found], environment, seconds)[found.name]


def describe_all(
    found: Iterable[Found], environment: Mapping[str, str], seconds: float = SECONDS_TO_DESCRIBE
) -> dict[str, Description]:
    """Ask all of them at once, each in a process of its own and none for long."""
    every = list(found)
    asked = [(one, _ask(one, environment)) for one in every if not one.error]
    end = time.monotonic() + seconds
    answers = {one.name: _answer(one, process, end) for one, process in asked}
    return {one.name: answers.get(one.name) or Description(one.name, error=one.error) for one in every}


def _ask(found: Found, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*command(), "--describe", found.name, found.target],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
        start_new_session=True,
    )


def command() -> list[str]:
    """How the process of a plugin is started. `-P`: a module in the folder it stands in is not imported by mistake."""
    return [sys.executable, "-P", "-m", MODULE]


def _answer(found: Found, process: subprocess.Popen[bytes], end: float) -> Description:
    try:
        said, _ = process.communicate(timeout=max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        _abandon(process)
        return Description(found.name, error="it did not say in time who it is")
    try:
        fields = decode_object(to_text(said.strip().rpartition(b"\n")[2]))
    except NotJson:
        return Description(found.name, error=f"it ended with exit code {process.returncode} and said nothing")
    return _described(found.name, fields)


def _abandon(process: subprocess.Popen[bytes]) -> None:
    end_group(process)
    try:
        process.communicate(timeout=2)
    except subprocess.TimeoutExpired:  # something that left the group holds the pipe open
        if process.stdout is not None:
            process.stdout.close()


def _described(name: str, fields: dict[str, Plain]) -> Description:
    version, description, error = (str(fields.get(key) or "") for key in ("version", "description", "error"))
    listed = fields.get("capabilities")
    capabilities = tuple(str(one) for one in listed) if isinstance(listed, list) else ()
    return Description(name, version[:100], description[:1000], capabilities, error[:2000])
