"""
Which vendors there are: those in this room, and those of other packages (entry point `atm.vendors`).

Other rooms ask here, and name none. A vendor is loaded when it is asked for.
"""

from __future__ import annotations

from atm.vendors.at_a_glance import PROCESSES
from atm.vendors.hooks import NONE
from atm.vendors.vendor import Vendor, loaded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.vendors.calls import ToolCalls
    from atm.vendors.hooks import HookTable

BUILT_IN = {
    "claude": "atm.vendors.claude:VENDOR",
    "codex": "atm.vendors.codex:VENDOR",
    "gemini": "atm.vendors.gemini:VENDOR",
    "agy": "atm.vendors.agy:VENDOR",
    "opencode": "atm.vendors.opencode:VENDOR",
    "cursor": "atm.vendors.editors:CURSOR",
    "vscode": "atm.vendors.editors:VSCODE",
    "command": "atm.vendors.command:VENDOR",
    "script": "atm.vendors.script:VENDOR",
}
"""In the order in which they are proposed."""

FORMER = {"antigravity": "agy"}
"""Names that older settings may have."""

_loaded: dict[str, Vendor] = {}
_of_others: dict[str, str] = {}
_is_searched: list[bool] = []


def get(name: str) -> Vendor | None:
    name = FORMER.get(name, name)
    if name not in _loaded and name in BUILT_IN:
        _loaded[name] = _vendor(name, BUILT_IN[name])
    if name not in _loaded and name:
        _search()
    return _loaded.get(name)


def every() -> list[Vendor]:
    """All of them: ours first."""
    _search()
    return [vendor for name in (*BUILT_IN, *sorted(set(_loaded) - set(BUILT_IN))) if (vendor := get(name)) is not None]


def built_in() -> Iterator[Vendor]:
    """Ours alone: where a package of others is not worth the search."""
    return (vendor for name in BUILT_IN if (vendor := get(name)) is not None)


def of_process(program: str) -> Vendor | None:
    """
    Whose program runs under this name: of ours, and of those of others that were asked for already. Hooks pay for no
    search; what goes on for long calls `every` first.
    """
    if program in PROCESSES:
        return get(PROCESSES[program])
    return next((vendor for vendor in [*_loaded.values()] if program in vendor.processes), None)


def of_word(word: str) -> Vendor | None:
    """Whom a word of a roster means: a runtime, a backend, or the name of a model."""
    for vendor in every():
        if word in (vendor.name, *vendor.aliases, *vendor.backends):
            return vendor
    return next((vendor for vendor in every() if any(model in word for model in vendor.models)), None)


def in_agents_shells() -> tuple[str, ...]:
    """Variables that programs set for commands that their models run."""
    return tuple(variable for vendor in every() for variable in vendor.variables)


def hooks_of(name: str) -> HookTable:
    vendor = get(name)
    return (vendor.hooks if vendor is not None else None) or NONE


def calls_of(asker: str) -> ToolCalls:
    """Of a program's hook, by the vendor's name; or of a protocol: `acp`, or `VENDOR/PROTOCOL` for one of its own."""
    from atm.vendors.calls import UNKNOWN  # here: most hooks ask for no permission

    name, _, protocol = asker.partition("/")
    if asker == "acp":
        from atm.vendors.acp import CALLS

        return CALLS
    vendor = get(name)
    calls = (vendor.calls if vendor is not None else None) or UNKNOWN
    return calls.over.get(protocol, UNKNOWN) if protocol else calls


def troubles() -> dict[str, str]:
    """Vendors of other packages that cannot be used, and why."""
    _search()
    return dict(_of_others)


def _vendor(name: str, place: str) -> Vendor:
    found = loaded(place)
    if not isinstance(found, Vendor):
        raise TypeError(f"{place} is no Vendor")
    if found.name != name:
        raise TypeError(f"{place} is called {found.name!r}, and its entry point {name!r}")
    return found


def _search() -> None:
    """
    Packages are looked through once in a process; two threads that begin at once find the same. One that cannot be
    loaded is passed over and told by doctor.
    """
    if _is_searched:
        return
    found = loaded("atm.vendors.packages:vendors_of_others")  # by name: rules ask this module, and that one reads files
    vendors: dict[str, Vendor] = {}
    for name, place in found() if callable(found) else ():
        if name in BUILT_IN or name in FORMER:
            _of_others[name] = f"{place}: atm has a vendor of this name"
            continue
        try:
            vendors[name] = _vendor(name, place)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a package of others must not keep atm from its work
            _of_others[name] = f"{place}: {type(error).__name__}: {error}"
    _loaded.update(vendors)
    _is_searched.append(True)
