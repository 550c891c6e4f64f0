"""Runtimes: those of all vendors, and the user's own."""

from __future__ import annotations

from atm.core.errors import BadSetting
from atm.core.names import check_new_name
from atm.vendors.known import BUILT_IN, every
from atm.vendors.runtime import BOARD, PLAIN, Runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SHARED_DRIVERS = {"acp": "atm.vendors.drivers.acp:AcpDriver"}
"""Of protocols that no vendor owns: without the ways of one program."""

MOVE_TEAMS = ("CLAUDE_CONFIG_DIR", "HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
"""Variables by which atm, too, finds its files."""

_OWN = ("brings", "command", "env", "like", "protocol")
"""What the user can say of a runtime of their own."""


def known() -> dict[str, Runtime]:
    """Of all vendors, in the order in which they are proposed."""
    found: dict[str, Runtime] = {}
    for vendor in every():
        runtime = vendor.runtime
        if runtime is not None:
            if vendor.name not in BUILT_IN:
                runtime.origin = "entry point atm.vendors"
            found[runtime.name] = runtime
    return found


def with_a_model() -> list[str]:
    """Names of those that think, in the order in which they are proposed."""
    return [runtime.name for runtime in known().values() if runtime.protocol not in (BOARD, PLAIN)]


def can_limit_tools(runtime: Runtime) -> bool:
    return bool(runtime.tools) or runtime.takes_tools


def read_runtime(name: str, said: Mapping[str, object], origin: str) -> Runtime:
    """A runtime of the user's own: a program that is started as it is, or one of a known vendor's with other words."""
    check_new_name(name, "runtime")
    unknown = sorted(set(said) - set(_OWN))
    if unknown:
        raise BadSetting(f"runtimes.{name}: {unknown[0]!r} is unknown", f"known are {', '.join(sorted(_OWN))}")
    command = said.get("command")
    words = [command] if isinstance(command, str) else command if isinstance(command, list) else []
    if not words or not all(isinstance(word, str) and word for word in words):
        raise BadSetting(f"runtimes.{name}.command must be a list of words", 'for example ["aider", "--no-git"]')
    brings, more = str(said.get("brings") or ""), _variables(name, said.get("env"))
    like = _alike(name, said)
    if like.protocol == PLAIN or said.get("protocol") is not None:
        return Runtime(
            name,
            protocol=like.protocol,
            program=words[0],
            headless=words,
            environment=more,
            ends_by_signal=like.ends_by_signal,
            driver=SHARED_DRIVERS.get(like.protocol, like.driver),
            variables=like.variables,
            brings=brings,
            origin=origin,
        )
    return Runtime(
        name,
        protocol=like.protocol,
        program=words[0],
        headless=[*words, *like.headless[1:]],
        terminal=[*words, *like.terminal[1:]],
        resume=like.resume,
        tools=like.tools,
        environment={**like.environment, **more},
        version=[words[0], *like.version[1:]],
        vendor=like.vendor,
        modes=like.modes,
        ignored=like.ignored,
        ends_by_signal=like.ends_by_signal,
        goes_on=like.goes_on,
        takes_tools=like.takes_tools,
        driver=like.driver,
        variables=like.variables,
        brings=brings,
        origin=origin,
    )


def _alike(name: str, said: Mapping[str, object]) -> Runtime:
    """By the name of a runtime whose words it takes, or by the protocol that it speaks with words of its own."""
    there = {key: runtime for key, runtime in known().items() if runtime.protocol != BOARD}
    protocol = said.get("protocol")
    if protocol is not None:
        found = next((runtime for runtime in there.values() if runtime.protocol == protocol), None)
        if found is None:
            spoken = ", ".join(dict.fromkeys(runtime.protocol for runtime in there.values()))
            raise BadSetting(f"runtimes.{name}.protocol: atm does not speak {protocol!r}", f"use one of {spoken}")
        return found
    like = there.get(str(said.get("like", "command")))
    if like is None:
        raise BadSetting(
            f"runtimes.{name}.like names no runtime with a program", f"use one of {', '.join(with_a_model())}"
        )
    return like


def _variables(name: str, said: object) -> dict[str, str]:
    """`env = { NAME = "value" }`. What says who an agent is stays atm's own."""
    if said is None:
        return {}
    if not isinstance(said, dict) or not all(isinstance(value, str) for value in said.values()):
        raise BadSetting(f"runtimes.{name}.env must be a table of texts", 'for example { CODEX_HOME = "/x" }')
    for key in said:
        if key.startswith("ATM_") or not key.isidentifier():
            raise BadSetting(f"runtimes.{name}.env cannot set {key}", "leave it out")
        if key in MOVE_TEAMS:
            raise BadSetting(
                f"runtimes.{name}.env cannot set {key}: its agents would look for their team elsewhere", "leave it out"
            )
    return dict(said)
