"""
The four vendors' programs in the lab: how each is pointed at the scripted model, started, and what it calls our tools.

Everything that a program might tell anybody is switched off, and no program gets more of an environment than is said
here: no credentials, no proxy, no registry.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from atm.testing.model.story import StoryLine

KEY = "dummy"
NOWHERE = "http://127.0.0.1:9/"
"""The port for what is thrown away. A package manager inside a program finds nothing there, at once."""


class Place(NamedTuple):
    """Where one program lives."""

    home: Path
    folder: Path
    """Of the project."""
    address: str
    """Of the model."""


class Vendor(ABC):
    """One program."""

    name: ClassVar[str]
    can_go_on: ClassVar[bool] = True
    """Can a hook keep it from ending its turn?"""
    known_defects: ClassVar[dict[str, str]] = {}
    """Tests that fail with this program, and why."""
    allowing: ClassVar[tuple[str, ...]] = ()
    """Words of its command line that keep it from asking for a permission."""
    asks_again: ClassVar[str] = ""
    """What it shows at the first Esc of two."""
    briefed_as: ClassVar[str] = "user"
    """The role of what a hook says at the start."""
    briefed_by: ClassVar[int] = 1
    """Which request in a terminal has it at the latest."""

    @abstractmethod
    def prepare(self, place: Place, /) -> None:
        """Settings that lead to the model, beside those that `atm init` wrote."""

    @abstractmethod
    def environment(self, place: Place, /) -> dict[str, str]: ...

    @abstractmethod
    def headless(self, prompt: str) -> list[str]: ...

    @abstractmethod
    def interactive(self, prompt: str) -> list[str]:
        """In a terminal, with a first prompt or without any."""

    @abstractmethod
    def shell(self, line: StoryLine, command: str) -> StoryLine:
        """Let the model run this in the program's shell tool."""

    @abstractmethod
    def tool(self, name: str) -> str:
        """What it calls a tool of our MCP server."""


class ClaudeCode(Vendor):
    name = "claude"
    allowing = ("--allowedTools=Bash,mcp__atm",)
    briefed_as = "system"

    def prepare(self, place: Place) -> None:
        edit(
            place.home / ".claude.json",
            hasCompletedOnboarding=True,
            lastOnboardingVersion="9.9.9",
            theme="dark",
            customApiKeyResponses={"approved": [KEY], "rejected": []},
            projects={str(place.folder): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        )

    def environment(self, place: Place) -> dict[str, str]:
        off = ("DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "DISABLE_ERROR_REPORTING")
        return {
            "ANTHROPIC_BASE_URL": place.address,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
            **dict.fromkeys(off, "1"),
        }

    def headless(self, prompt: str) -> list[str]:
        return [*self.interactive(prompt), "-p", "--output-format", "stream-json", "--verbose"]

    def interactive(self, prompt: str) -> list[str]:
        return ["claude", "--allowedTools=Bash,mcp__atm", *([prompt] if prompt else [])]

    def shell(self, line: StoryLine, command: str) -> StoryLine:
        return line.runs("Bash", command=command, description="x")

    def tool(self, name: str) -> str:
        return f"mcp__atm__{name}"


class Codex(Vendor):
    name = "codex"
    briefed_as = "developer"

    def prepare(self, place: Place) -> None:
        settings = place.home / ".codex/config.toml"
        ours = settings.read_text()
        # The keys of the file's head have to stand before the first table.
        head = 'model = "gpt-5"\nmodel_provider = "lab"\ncheck_for_update_on_startup = false\n'
        provider = (
            f'name = "lab"\nbase_url = "{place.address}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
        )
        more = "request_max_retries = 2\nstream_max_retries = 2\n"
        trusted = f'\n[projects."{place.folder}"]\ntrust_level = "trusted"\n\n[analytics]\nenabled = false\n'
        settings.write_text(f"{head}{ours}\n[model_providers.lab]\n{provider}{more}{trusted}")

    def environment(self, _: Place) -> dict[str, str]:
        return {"OPENAI_API_KEY": KEY, "RUST_LOG": "error"}

    def headless(self, prompt: str) -> list[str]:
        return ["codex", "exec", "--json", *self._free(), prompt]

    def interactive(self, prompt: str) -> list[str]:
        return ["codex", *self._free(), *([prompt] if prompt else [])]

    def _free(self) -> tuple[str, ...]:
        return "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"

    def shell(self, line: StoryLine, command: str) -> StoryLine:
        return line.runs("exec_command", cmd=command)

    def tool(self, name: str) -> str:
        return f"mcp__atm/{name}"


class GeminiCli(Vendor):
    name = "gemini"
    allowing = ("-y",)
    briefed_by = 2  # 0.61.0 sends its first prompt without waiting for its SessionStart hook, if that takes a second

    def prepare(self, place: Place) -> None:
        edit(
            place.home / ".gemini/settings.json",
            security={"auth": {"selectedType": "gemini-api-key"}},
            privacy={"usageStatisticsEnabled": False},
            telemetry={"enabled": False},
            general={"disableAutoUpdate": True, "disableUpdateNag": True},
        )

    def environment(self, place: Place) -> dict[str, str]:
        return {
            "GOOGLE_GEMINI_BASE_URL": place.address,
            "GEMINI_API_KEY": KEY,
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }

    def headless(self, prompt: str) -> list[str]:
        return [*self._words(), "--output-format", "stream-json", "-p", prompt]

    def interactive(self, prompt: str) -> list[str]:
        return [*self._words(), *(["-i", prompt] if prompt else [])]

    def _words(self) -> tuple[str, ...]:
        return "gemini", "-m", "gemini-2.5-flash", "-y"

    def shell(self, line: StoryLine, command: str) -> StoryLine:
        return line.runs("run_shell_command", command=command)

    def tool(self, name: str) -> str:
        return f"mcp_atm_{name}"


class OpenCode(Vendor):
    name = "opencode"
    can_go_on = False
    asks_again = "again to interrupt"

    def prepare(self, place: Place) -> None:
        here = place.home / ".config/opencode"
        models = {"scripted": {"name": "scripted", "tool_call": True}}
        options = {"baseURL": f"{place.address}/v1", "apiKey": KEY}
        lab = {"npm": "@ai-sdk/openai-compatible", "name": "lab", "options": options, "models": models}
        edit(here / "opencode.json", model="lab/scripted", provider={"lab": lab}, autoupdate=False, share="disabled")
        # It installs a package for plugins at each start in a new home, 30 s long and from the network, unless it
        # finds traces of having done so. Our plugin does not need it.
        wanted = {"dependencies": {"@opencode-ai/plugin": "*"}}
        (here / "node_modules").mkdir()
        (here / "package.json").write_text(json.dumps(wanted))
        (here / "package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": {"": wanted}}))

    def environment(self, _: Place) -> dict[str, str]:
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE")
        return {**{f"OPENCODE_DISABLE_{what}": "1" for what in off}, "npm_config_registry": NOWHERE}

    def headless(self, prompt: str) -> list[str]:
        return ["opencode", "run", "--format", "json", prompt]

    def interactive(self, prompt: str) -> list[str]:
        return ["opencode", *(["--prompt", prompt] if prompt else [])]

    def shell(self, line: StoryLine, command: str) -> StoryLine:
        return line.runs("bash", command=command, description="x")

    def tool(self, name: str) -> str:
        return f"atm_{name}"


VENDORS: dict[str, Vendor] = {vendor.name: vendor for vendor in (ClaudeCode(), Codex(), GeminiCli(), OpenCode())}


def edit(path: Path, **facts: Any) -> None:
    """Enter these in a file of JSON settings that is there."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}, indent=2))
