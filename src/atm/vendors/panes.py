"""
What is in front in a terminal pane, and may a line be put there? Judged from what the machine says and what is visible.

A screen proves little, so every doubt means no: a line goes only where a composer is seen, with nothing else in front
of it. The agents draw their dialogs *in place of* the composer; what looks like a dialog above a composer is talk
about dialogs. Vendors change their words from version to version: their `Screen` has what was seen, and a screen
that fits none of them is not ready.
"""

from __future__ import annotations

import re
from functools import cache

from atm.vendors.screen import BOX, WITHOUT_BOX, squeezed
from atm.vendors.screens import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class PaneFacts(Protocol):
        """What `delivery.ports.terminals.Pane` knows and this module asks."""

        command: str
        foreground: tuple[str, ...]
        is_dead: bool
        in_mode: bool
        is_synchronized: bool
        is_locked: bool


READY = "ready"
"""A composer is in front."""
DIALOG = "dialog"
"""A question is in front; a key would answer it."""
SHELL = "shell"
"""What is typed here runs."""
FOREIGN = "foreign"
"""Another program, and who knows what is behind it."""
DRAFT = "draft"
"""The user has begun to write in the composer; a paste would join it, and Enter would submit both."""
DEAD, GONE, MODE, SYNCHRONIZED, LOCKED = "dead", "gone", "mode", "synchronized", "locked"
UNKNOWN = "busy-unknown"
"""No composer to be seen: it starts, or works without one, or is something that we do not know."""

FRONTS = {
    READY: "a composer is in front",
    DIALOG: "a dialog is in front; a key would answer it",
    SHELL: "a shell or a prompt that runs what is typed is in front",
    FOREIGN: "another program is in front",
    DRAFT: "somebody has begun to write in its composer",
    DEAD: "its program has ended; the pane is dead",
    GONE: "it is not there, or its server does not answer",
    MODE: "somebody scrolls or selects in it (copy mode)",
    SYNCHRONIZED: "its keys go to the window's other panes too (synchronize-panes)",
    LOCKED: "its input is switched off",
    UNKNOWN: "no composer can be seen in it",
}
"""Each front in words."""

SHELLS = {
    *("sh", "bash", "zsh", "fish", "dash", "ash", "ksh", "mksh", "tcsh", "csh", "rbash", "busybox"),
    *("elvish", "nu", "xonsh", "pwsh", "powershell", "cmd", "oil", "osh"),
}
CONSOLES = {
    *("ipython", "bpython", "ptpython", "irb", "pry", "iex", "ghci", "erl", "scala", "sbcl", "clisp", "R", "julia"),
    *(
        "psql",
        "mysql",
        "mariadb",
        "sqlite3",
        "redis-cli",
        "mongosh",
        "gdb",
        "lldb",
        "bc",
        "dc",
        "ftp",
        "sftp",
        "telnet",
    ),
}
"""Programs that run what is typed, as a shell does."""

ELSEWHERE = {
    *("ssh", "mosh", "mosh-client", "su", "sudo", "doas", "login", "docker", "podman", "kubectl", "nerdctl", "lxc"),
    *("machinectl", "nsenter", "chroot", "vagrant", "screen", "tmux", "zellij", "script", "dtach", "abduco", "nc"),
    *("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "hx", "micro", "less", "more", "most", "man", "watch"),
    *("top", "htop", "btop", "fzf", "tig", "lazygit", "ranger", "mc", "nnn", "git"),
}
"""Programs behind which anything may be, a shell of another machine for instance; and those that are never agents."""

INTERPRETERS = re.compile(r"(python|pypy|node|nodejs|bun|deno|ruby|perl|php|lua)[\d.]*")
"""They run a script, or wait for one at their own prompt: the command line tells."""

NEAR = 12
"""How many lines above a composer a question still counts; below it, or where there is no composer, all do."""

_ANSWERS = re.compile(
    r"(yes|no|ok|allow|deny|approve|reject|accept|decline|trust|don't trust|continue|cancel|skip|exit|quit|proceed|"
    r"always|never|log ?in|sign in|update now)\b",
    re.IGNORECASE,
)
_OUR_TAG = re.compile(r"\[(atm:[0-9a-f]{8})\]")
_CHIP = re.compile(r"\[pasted(text|content)[^\]]*\]", re.IGNORECASE)
_PROMPT = re.compile(r" ?(?:[│┃║|▌▏] ?)?([>❯›!*])(?=\s|$)")
"""At the left edge, or just inside a box. A row that continues a composer is indented by more than that."""
_SELECTED = re.compile(r"[\s│┃║|]*[❯›▶●→>]\s*(\(?\d{1,2}[.):]\s*\S|\[[ x✓✔]\])")
_SIDES = "│┃║|▌▏"
_NOT_TYPED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def front_of(pane: PaneFacts, screen: str, written: str | None = None) -> str:
    """
    What is in front: one of `FRONTS`. Only READY may be pasted into.

    `written` is the same screen without what is drawn faint: only it can tell a suggestion from a draft.
    """
    if pane.is_dead:
        return DEAD
    if pane.in_mode:
        return MODE
    if pane.is_synchronized:
        return SYNCHRONIZED
    if pane.is_locked:
        return LOCKED
    return _program(pane) or _view(_rows(screen), _rows(screen if written is None else written))


def rests(screen: str) -> bool:
    """Is a composer to be seen, empty or with a draft, with no dialog and nothing that runs around it?"""
    rows = _rows(screen)
    at = _composer(rows)
    if at is None or _view(rows, rows) not in (READY, DRAFT):
        return False
    return not _any_mark(rows[max(0, at - NEAR) :], _working())


def has_composer(screen: str) -> bool:
    """Is a composer to be seen, whatever is in it or in front of it?"""
    return _composer(_rows(screen)) is not None


def asks(screen: str) -> bool:
    """Is a question in front, which only a key answers?"""
    rows = _rows(screen)
    return _view(rows, rows) == DIALOG


def below_composer(screen: str) -> str:
    """What stands under the composer, where programs keep their status line; empty without a composer."""
    rows = _rows(screen)
    at = _composer(rows)
    return "" if at is None else "\n".join(rows[_end_of_composer(rows, at) :])


def runs_what_is_typed(command: str) -> bool:
    """By its name alone: a shell, also a login shell, or the console of some other program."""
    name = program_name(command)
    return name in SHELLS or name in CONSOLES


def program_name(command: str) -> str:
    """`-bash` and `/bin/bash` are bash; `C:\\…\\pwsh.exe` is pwsh."""
    return command.strip().replace("\\", "/").rsplit("/", 1)[-1].lstrip("-").removesuffix(".exe")


def shows(screen: str, tag: str) -> bool:
    """Is it visible, wherever the terminal or the program wrapped the line, and whatever frame is around it?"""
    wanted = squeezed(tag)
    return bool(wanted) and wanted in squeezed(screen)


def composer_holds(screen: str, tag: str) -> bool:
    """Is it still in the composer: pasted, but not submitted?"""
    rows = _rows(screen)
    at = _composer(rows)
    return at is not None and shows("\n".join(rows[at:]), tag)


def composer_holds_a_chip(screen: str) -> bool:
    """Some agents show a long paste as `[Pasted text #1 +3 lines]`: the text itself is then not visible."""
    return bool(_CHIP.search(_composed(screen)))


def composer_holds_only(screen: str, line: str) -> bool:
    """Nothing but this line, or a part of it where the composer is too small, or the chip that stands for it."""
    text = _composed(screen)
    return bool(text) and (_letters(text) in _letters(line) or bool(_CHIP.fullmatch(text)))


def tag_in_composer(screen: str) -> str:
    """The tag of a line of ours that was pasted and not submitted, if the composer begins with one."""
    found = _OUR_TAG.match(_composed(screen))
    return found[1] if found else ""


def fault_of(line: str, tag: str) -> str:
    """Why a line may never be pasted; empty if it may."""
    if not tag or tag not in line:
        return "the line does not hold its own mark"
    if _NOT_TYPED.search(line):
        return "the line holds control characters"
    if not (line[0].isalnum() or line[0] in "[(<«"):
        return f"the line begins with {line[0]!r}, which agents may take for a command"
    if line.rstrip().endswith("\\"):
        return "the line ends with a backslash, after which Enter only begins a new line"
    if _ANSWERS.match(line) or _SELECTED.match(f"> {line}"):
        return "the line begins like the answer to a dialog"
    return ""


def _program(pane: PaneFacts) -> str:
    """By the name of the program in front; empty if that does not decide."""
    if runs_what_is_typed(pane.command):
        return SHELL
    name = program_name(pane.command)
    if name in ELSEWHERE or not name:
        return FOREIGN
    if INTERPRETERS.fullmatch(name) and pane.foreground and _waits_for_code(pane.foreground[0]):
        return SHELL
    return ""


def _waits_for_code(command_line: str) -> bool:
    return not any(not word.startswith("-") for word in command_line.split()[1:])


def _view(rows: list[str], written: list[str]) -> str:
    at = _composer(rows)
    below = rows if at is None else rows[_end_of_composer(rows, at) :]
    if any(_SELECTED.match(row) for row in (rows if at is None else [rows[at], *below])) or _any_mark(below, _asking()):
        return DIALOG
    if at is None:
        return UNKNOWN
    if _any_mark(rows[max(0, at - NEAR) : at], _asking_near()):
        return DIALOG
    if _mark(rows, at) == "!" or _any_mark(below, _running()):
        return SHELL
    return _begun(rows, written, at)


def _begun(rows: list[str], written: list[str], at: int) -> str:
    """Is something written in the composer? An answer is, where the mark is that of a menu."""
    row = written[at] if len(written) == len(rows) else rows[at]
    text = row.translate(WITHOUT_BOX).strip().lstrip(">❯›!*").strip()
    if not text or squeezed(text).lower().startswith(_suggestions()):
        return READY
    return DIALOG if _ANSWERS.match(text) else DRAFT


def _composed(screen: str) -> str:
    """The text in the composer, without its mark, its frame and white space."""
    rows = _rows(screen)
    at = _composer(rows)
    return "" if at is None else squeezed("\n".join(rows[at : _end_of_composer(rows, at)])).lstrip(">❯›!*")


def _end_of_composer(rows: list[str], at: int) -> int:
    """Its text goes on in indented rows, as long as there is no gap and no frame. What it says is no question."""
    for end in range(at + 1, len(rows)):
        inside = rows[end].lstrip(_SIDES)
        if not inside.startswith("  ") or not inside.translate(WITHOUT_BOX).strip():
            return end
    return len(rows)


def _any_mark(rows: list[str], marks: tuple[str, ...]) -> bool:
    text = squeezed("\n".join(rows)).lower()
    return any(mark in text for mark in marks)


def _composer(rows: list[str]) -> int | None:
    """The row of the last prompt mark."""
    for at in range(len(rows) - 1, -1, -1):
        if _mark(rows, at):
            return at
    return None


def _mark(rows: list[str], at: int) -> str:
    """`!` and `*` begin many a line of output; inside a frame they are the marks of a composer in another mode."""
    found = _PROMPT.match(rows[at])
    if found is None or (found[1] in "!*" and not _is_framed(rows, at)):
        return ""
    return found[1]


def _is_framed(rows: list[str], at: int) -> bool:
    return rows[at].lstrip()[0] in BOX or (at > 0 and sum(sign in BOX for sign in rows[at - 1]) >= 8)


def _rows(screen: str) -> list[str]:
    return [row.rstrip() for row in screen.split("\n")]


def _letters(text: str) -> str:
    """Letters and digits are drawn as they are; of everything else each program and terminal has its own idea."""
    return "".join(sign for sign in text if sign.isalnum())


@cache
def _asking() -> tuple[str, ...]:
    return words(lambda screen: (*screen.asking, *screen.asking_near))


@cache
def _asking_near() -> tuple[str, ...]:
    return words(lambda screen: screen.asking_near)


@cache
def _running() -> tuple[str, ...]:
    return words(lambda screen: screen.running)


@cache
def _working() -> tuple[str, ...]:
    return words(lambda screen: screen.working)


@cache
def _suggestions() -> tuple[str, ...]:
    return words(lambda screen: screen.suggestions)
