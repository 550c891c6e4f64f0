"""Calls of tools over the Agent Client Protocol, in which agents of several vendors ask their host."""

from __future__ import annotations

from atm.vendors.calls import ToolCalls, ToolFields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain

_STRIPPED = ("sh", "bash", "zsh", "cmd.exe", "powershell", "powershell.exe", "pwsh", "pwsh.exe")
"""Shells that Gemini CLI takes off at the beginning of a command, by rules that are not a shell's."""

_WHERE, _WITHIN = "[current working directory ", "[in "
"""How Gemini CLI tells its host where a command runs."""


def why_unclear(command: str) -> str:
    words = command.split(None, 2)
    if len(words) > 1 and words[0].rpartition("/")[2].lower() in _STRIPPED and words[1][:1] in "-/":
        return "Gemini CLI takes the shell at its beginning off, by rules of its own"
    return ""


def _why_title_unclear(command: str) -> str:
    if why := why_unclear(command):
        return why
    if _WHERE in command or "[in directory " in command:
        return "its title may have a remark of its program in it"
    return ""


def _folder_of(given: Mapping[str, Plain], folder: str) -> tuple[str, str]:
    """Gemini CLI says it in words beside the command: `[in sub] (a description)`. And why it cannot be told."""
    said = _words_beside(given.get("content"))
    if said == "":
        return folder, ""
    if said is not None and said.startswith(_WHERE) and "]" in said:
        return said[len(_WHERE) : said.index("]")], ""
    if said is not None and said.startswith(_WITHIN) and said.count("]") == 1:
        named = said[len(_WITHIN) : said.index("]")]
        return named if named.startswith("/") or not folder else f"{folder}/{named}", ""
    return folder, "it does not say in which folder it runs"


def _words_beside(content: Plain) -> str | None:
    """The one text beside a call; empty if there is nothing, None if there is anything else."""
    if content in (None, "") or content == []:
        return ""
    one = content[0] if isinstance(content, list) and len(content) == 1 else None
    inner = one.get("content") if isinstance(one, dict) and one.get("type") == "content" else None
    text = inner.get("text") if isinstance(inner, dict) else None
    return text if isinstance(text, str) and text else None


_SHOWN = ("title", "kind", "content", "locations")
ACP = "acp"
CALLS = ToolCalls(
    "an agent over ACP",
    folder_of=_folder_of,
    is_aside=lambda key, value: key == "content" and _words_beside(value) is not None,
    why_unclear=_why_title_unclear,
    tools={
        "execute": ToolFields(command="title", shown=("locations",), quiet=("kind", "content")),
        "edit": ToolFields(paths=("locations", "content"), shown=_SHOWN),
        "delete": ToolFields(paths=("locations", "content"), shown=_SHOWN),
        "move": ToolFields(paths=("locations", "content"), shown=_SHOWN),
        "read": ToolFields(paths=("locations",), shown=_SHOWN),
        "fetch": ToolFields(shown=_SHOWN),
    },
)
