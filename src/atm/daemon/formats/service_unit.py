"""
Units of service managers: a systemd user unit, a launchd property list. Pure: paths in, text out.

systemd expands `%` everywhere, `$` in command lines, and understands C escapes in quotes; a path with any of them has
to come out as it went in.
"""

from __future__ import annotations

from atm.core.errors import RequestError

MARK = "# Written by atm; `atm daemon uninstall` removes it."
"""The first line of our systemd units: a unit without it is the user's or another program's."""

LABEL = "org.agent-team-manager.atm"
"""What launchd calls the daemon of the home without a name of its own."""

RESTART_SECONDS, STOP_SECONDS = 5, 15

KEPT_VARIABLES = ("ATM_HOME", "CLAUDE_CONFIG_DIR", "PATH")
KEPT_FOLDERS = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
"""
What tells the daemon where its files lie, and where tmux and git are. Other `XDG_` variables belong to one log-in, and
would change with it.
"""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.,:@+=-")


def unit_suffix(atm_home: str) -> str:
    """Empty, or `-1a2b3c4d` for the home that `ATM_HOME` names."""
    if not atm_home:
        return ""
    import hashlib

    return "-" + hashlib.sha256(atm_home.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def systemd_name(atm_home: str) -> str:
    return f"atm{unit_suffix(atm_home)}.service"


def launchd_label(atm_home: str) -> str:
    return f"{LABEL}{unit_suffix(atm_home)}"


def systemd_unit(command: list[str], environment: dict[str, str]) -> str:
    """
    The unit's file. Raises RequestError for a path that no unit can hold.

    KillMode=process: agents and terminals that the daemon started outlive it, as they outlive its crash.
    """
    variables = [f"Environment={_quoted(f'{key}={value}')}" for key, value in sorted(environment.items())]
    lines = [
        MARK,
        "[Unit]",
        "Description=atm, the agent team manager",
        "",
        "[Service]",
        "Type=simple",
        f"ExecStart={_command_line(command)}",
        *variables,
        "Restart=on-failure",
        f"RestartSec={RESTART_SECONDS}",
        f"TimeoutStopSec={STOP_SECONDS}",
        "KillMode=process",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    return "\n".join(lines)


def is_ours(text: str) -> bool:
    """Did we write this systemd unit?"""
    return text.startswith(MARK)


def launchd_plist(label: str, command: list[str], environment: dict[str, str]) -> str:
    """The property list. AbandonProcessGroup is launchd's word for what KillMode=process says above."""
    import plistlib

    for text in (*command, *environment.values()):
        _check(text)
    wanted = {
        "Label": label,
        "ProgramArguments": command,
        **({"EnvironmentVariables": environment} if environment else {}),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RESTART_SECONDS,
        "ExitTimeOut": STOP_SECONDS,
        "AbandonProcessGroup": True,
        "ProcessType": "Background",
    }
    return plistlib.dumps(wanted, sort_keys=True).decode()


def _command_line(command: list[str]) -> str:
    """
    Words as systemd splits them again. It refuses programs with quotes or backslashes in their path, so a shell starts
    those. It expands `$` in arguments, but not in the path of the program, where `$$` stays two; a colon in front of
    that path switches the expansion off for all of them.
    """
    if any(c in "\"'\\" for c in command[0]):
        command = ["/bin/sh", "-c", 'exec "$0" "$@"', *command]
    if any("$" in word for word in command):
        command = [f":{command[0]}", *command[1:]]
    return " ".join(_quoted(word) for word in command)


def _quoted(word: str) -> str:
    _check(word)
    if word and all(c in _PLAIN for c in word):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _check(text: str) -> None:
    """Control characters, and bytes that are no UTF-8, have no place in either kind of file."""
    if any(ord(c) < 32 or 127 <= ord(c) < 160 or 0xD800 <= ord(c) < 0xE000 for c in text):
        raise RequestError(
            f"{text!r} has characters that a service manager does not accept", "use a folder with another name"
        )
