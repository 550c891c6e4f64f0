"""
A crew as a file: which agents a team is made of. TOML; `atm init --crew` writes one with every key explained.

An unknown key is an error that names the nearest known one: a line that is silently ignored is worse than none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.core.names import nearest_name

LARGEST = 1_000_000
AGENT_KEYS = {
    "name": "who it is in the team",
    "runtime": "script, command, claude, codex, gemini, opencode, or one of your own",
    "model": "which model; empty for the program's own choice",
    "prompt": "what it is told first",
    "prompt_file": "the same, in a file beside this one",
    "command": "for the runtime `command`: the program and its words",
    "env": "variables that it gets on top",
    "cwd": "work in this folder, and in no worktree of its own",
    "require_plan": "it plans first and writes nothing until its plan is approved",
    "backend": "auto, headless or tmux",
    "tools": "the only tools that it may use (claude, opencode)",
}
CREW_KEYS = {"team": "the team's name", "backend": "for all agents", "agents": "one table for each"}


class NotACrew(ValueError):
    """The text is no crew file; says where, and what is wrong there."""


@dataclass(slots=True)
class AgentPlan:
    """One agent as the file wants it."""

    name: str
    runtime: str
    model: str = ""
    prompt: str = ""
    prompt_file: str = ""
    command: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    require_plan: bool = False
    backend: str = ""
    tools: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CrewPlan:
    """All of it."""

    team: str = ""
    backend: str = "auto"
    agents: list[AgentPlan] = field(default_factory=list)


def read_crew(text: str) -> CrewPlan:
    """Raises NotACrew."""
    import tomllib

    if len(text) > LARGEST:
        raise NotACrew(f"it has {len(text):,} characters; at most {LARGEST:,} are read")
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotACrew(f"it is not TOML: {error}") from None
    _check_keys(said, CREW_KEYS, "the file")
    agents = said.get("agents", [])
    if not isinstance(agents, list) or not agents:
        raise NotACrew("it names no agents: write [[agents]] for each")
    found = [_agent(one, f"agent {number}") for number, one in enumerate(agents, 1)]
    names = [one.name.casefold() for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise NotACrew(f"two agents are called {twice!r}")
    return CrewPlan(_text(said, "team", "the file"), _text(said, "backend", "the file") or "auto", found)


def read_short(word: str) -> AgentPlan:
    """`script:ann`, as it is typed."""
    runtime, mark, name = word.partition(":")
    if not mark or not runtime or not name:
        raise NotACrew(f"{word!r} is no agent: write RUNTIME:NAME, for example script:ann")
    return AgentPlan(name, runtime)


def _agent(said: object, where: str) -> AgentPlan:
    if not isinstance(said, dict):
        raise NotACrew(f"{where} is no table")
    _check_keys(said, AGENT_KEYS, where)
    name, runtime = _text(said, "name", where), _text(said, "runtime", where)
    if not name or not runtime:
        raise NotACrew(f"{where} says no {'name' if not name else 'runtime'}")
    command, env, plan = said.get("command", []), said.get("env", {}), said.get("require_plan", False)
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise NotACrew(f"{where} ({name}): command must be a list of words")
    tools = said.get("tools", [])
    if not isinstance(tools, list) or not all(isinstance(word, str) for word in tools):
        raise NotACrew(f"{where} ({name}): tools must be a list of names")
    if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
        raise NotACrew(f"{where} ({name}): env must be a table of texts")
    if not isinstance(plan, bool):
        raise NotACrew(f"{where} ({name}): require_plan must be true or false")
    texts = {key: _text(said, key, where) for key in ("model", "prompt", "prompt_file", "cwd", "backend")}
    return AgentPlan(name, runtime, command=words, env=env, require_plan=plan, tools=tools, **texts)


def _check_keys(said: dict[str, object], known: dict[str, str], where: str) -> None:
    for key in said:
        if key not in known:
            near = nearest_name(key, list(known))
            hint = f"did you mean {near!r}?" if near else f"known are {', '.join(known)}"
            raise NotACrew(f"{where}: unknown key {key!r}; {hint}")


def _text(said: dict[str, object], key: str, where: str) -> str:
    value = said.get(key, "")
    if not isinstance(value, str):
        raise NotACrew(f"{where}: {key} must be text")
    return value


def commented(team: str) -> str:
    """A file to begin with."""
    lines = ["# A crew for `atm up --crew`. Every key, and what it is for.", f'team = "{team}"', 'backend = "auto"', ""]
    lines += ["[[agents]]", 'name = "ann"', 'runtime = "script"', ""]
    lines += ["# [[agents]]", *(f"# {key} = …  # {about}" for key, about in AGENT_KEYS.items()), ""]
    return "\n".join(lines)


def schema() -> dict[str, object]:
    """For editors: JSON schema."""
    kinds: dict[str, dict[str, object]] = {
        "command": {"type": "array", "items": {"type": "string"}},
        "tools": {"type": "array", "items": {"type": "string"}},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "require_plan": {"type": "boolean"},
    }
    text: dict[str, object] = {"type": "string"}
    agent = {key: {**kinds.get(key, text), "description": about} for key, about in AGENT_KEYS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "atm crew file",
        "type": "object",
        "additionalProperties": False,
        "required": ["agents"],
        "properties": {
            "team": {"type": "string", "description": CREW_KEYS["team"]},
            "backend": {"enum": ["auto", "headless", "tmux"], "description": CREW_KEYS["backend"]},
            "agents": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name", "runtime"],
                    "properties": agent,
                },
            },
        },
    }
