"""
Panes of tmux. Implements `delivery.ports.terminals.Terminals`; the one module that runs tmux.

Each step is one run of `tmux`, bounded in time, without a shell; no text of a message is ever part of a command. Before
it pastes or presses Enter, the server itself looks once more, in the same breath: tmux 3.3 crashes, with everything
that runs in it, when something is pasted into a dead pane.
"""

from __future__ import annotations

import os

from atm.delivery.ports.terminals import Pane, PaneAddress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = 3.0
KEPT_ROWS = 2000
"""How far back the history is read."""
FRONT_PROCESSES = 16
LONGEST_COMMAND_LINE = 400

_FIELDS = (
    "#{pane_id} #{pane_pid} #{pane_dead} #{pane_in_mode} #{pane_synchronized} #{pane_input_off} #{pane_width}"
    " #{pane_tty} #{pane_current_command}"
)

# Nothing but `ports` is imported up here: every hook asks for `pane_of`, and few of them for more.


def pane_of(environment: Mapping[str, str]) -> PaneAddress | None:
    """The pane that a process of this environment lives in; None outside tmux."""
    server = environment.get("TMUX", "").rsplit(",", 2)[0]
    pane = environment.get("TMUX_PANE", "")
    if not server.startswith("/") or not server.isprintable() or not _is_pane_id(pane):
        return None
    return PaneAddress(server, pane)


def _is_pane_id(text: str) -> bool:
    """Checked before every run: a word that ends in `;` would be a second command for tmux."""
    return text.startswith("%") and text[1:].isascii() and text[1:].isdigit() and len(text) <= 10


class TmuxTerminals:
    """Panes of the tmux servers of this machine."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._pastes = 0

    def pane(self, at: PaneAddress) -> Pane | None:
        said = self._ask(at, "display-message", "-p", "-t", at.pane, _FIELDS)
        return None if said is None else _pane(at, said.rstrip("\n"))

    def screen(self, at: PaneAddress) -> str | None:
        return self._ask(at, "capture-pane", "-p", "-J", "-t", at.pane)

    def written(self, at: PaneAddress) -> str | None:
        said = self._ask(at, "capture-pane", "-p", "-J", "-e", "-t", at.pane)
        return None if said is None else without_faint(said)

    def history(self, at: PaneAddress) -> str | None:
        return self._ask(at, "capture-pane", "-p", "-J", "-S", f"-{KEPT_ROWS}", "-t", at.pane)

    def paste(self, at: PaneAddress, line: str) -> bool:
        self._pastes += 1
        buffer = f"atm-{os.getpid()}-{self._pastes}"  # of our own: the user's buffers stay as they are
        paste = f"paste-buffer -p -d -r -b {buffer} -t {at.pane} ; display-message -p done"
        guarded = ("if-shell", "-F", "-t", at.pane, _guard(at.pane), paste, f"delete-buffer -b {buffer}")
        try:
            data = line.encode()
        except UnicodeEncodeError:
            return False
        code, said = self._run(at, ("load-buffer", "-b", buffer, "-", ";", *guarded), data)
        if code is None or "done" in said:
            return True
        self._run(at, ("delete-buffer", "-b", buffer))
        return False

    def press_enter(self, at: PaneAddress) -> bool:
        """By its name: Claude Code does not take `C-m` for Enter."""
        press = f"send-keys -t {at.pane} Enter ; display-message -p done"
        code, said = self._run(at, ("if-shell", "-F", "-t", at.pane, _guard(at.pane), press))
        return code is None or "done" in said

    def _ask(self, at: PaneAddress, *words: str) -> str | None:
        code, said = self._run(at, words)
        return said if code == 0 else None

    def _run(self, at: PaneAddress, words: tuple[str, ...], data: bytes = b"") -> tuple[int | None, str]:
        """Its exit code, None if it did not end in time, and what it said."""
        if not _is_pane_id(at.pane):
            return 1, ""
        import subprocess

        server = ("-S", at.server) if at.server else ()
        try:
            done = subprocess.run(
                ["tmux", "-u", *server, *words],  # -u: whatever the locale, UTF-8 is spoken
                input=data,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=self._seconds,
                env={key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")},
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, ""
        except (OSError, ValueError):  # no tmux here; a NUL in the path
            return 1, ""
        return done.returncode, done.stdout.decode("utf-8", "replace")


def _guard(pane: str) -> str:
    """A condition for tmux: this very pane, alive, its keys its own, and nothing in front that runs what is typed."""
    from atm.vendors.panes import CONSOLES, SHELLS

    programs = "|".join(sorted(SHELLS | CONSOLES))
    closed = "#{||:#{||:#{pane_dead},#{pane_in_mode}},#{||:#{pane_synchronized},#{pane_input_off}}}"
    runs = f"#{{m/r:^-?({programs})$,#{{pane_current_command}}}}"
    return f"#{{==:#{{?#{{||:{closed},{runs}}},,#{{pane_id}}}},{pane}}}"


def _pane(at: PaneAddress, said: str) -> Pane | None:
    """tmux answers for a pane that is not there, too: with nothing."""
    fields = said.split(" ", 8)
    if len(fields) != 9 or fields[0] != at.pane or not fields[1].isdigit():
        return None
    dead, mode, synchronized, off = (field not in ("", "0") for field in fields[2:6])
    pid = int(fields[1])
    return Pane(
        id=fields[0],
        pid=pid,
        command=fields[8],
        is_dead=dead,
        in_mode=mode,
        is_synchronized=synchronized,
        is_locked=off,
        width=int(fields[6]) if fields[6].isdigit() else 0,
        foreground=() if dead else _foreground(pid, fields[7]),
    )


def _foreground(pid: int, tty: str) -> tuple[str, ...]:
    return _foreground_by_proc(pid) if os.path.isdir("/proc/self") else _foreground_by_ps(tty)


def _foreground_by_proc(pid: int) -> tuple[str, ...]:
    """The group of processes that the terminal belongs to now, as Linux tells it."""
    group = _numbers(pid)[1]
    if group <= 0:
        return ()
    members = [int(name) for name in os.listdir("/proc") if name.isdigit() and _numbers(int(name))[0] == group]
    lines = [_command_line(member) for member in sorted(members, key=lambda member: (member != group, member))]
    return tuple(line for line in lines if line)[:FRONT_PROCESSES]


def _numbers(pid: int) -> tuple[int, int]:
    """A process's group, and the group in front at its terminal; zeros if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[2]), int(fields[5])
    except (OSError, ValueError, IndexError):
        return 0, 0


def _command_line(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(LONGEST_COMMAND_LINE).split(b"\0")
    except OSError:
        return ""
    return " ".join(word.decode("utf-8", "replace") for word in words).strip()


def _foreground_by_ps(tty: str) -> tuple[str, ...]:
    import subprocess

    words = ["ps", "-ww", "-t", tty.removeprefix("/dev/"), "-o", "pid=,pgid=,tpgid=,args="]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ()
    rows = [row.split(None, 3) for row in done.stdout.decode("utf-8", "replace").splitlines()]
    front = [row for row in rows if len(row) == 4 and row[1] == row[2]]
    front.sort(key=lambda row: row[0] != row[1])
    return tuple(row[3][:LONGEST_COMMAND_LINE] for row in front)[:FRONT_PROCESSES]


_FAINT_COLOURS = {"8", *(str(grey) for grey in range(238, 249))}
_GREY = range(80, 181)


def without_faint(drawn: str) -> str:
    """A screen with its colours, as text: what is faint, grey or inverse (a drawn cursor) becomes blank."""
    style = _Style()
    first, *others = drawn.replace("\x0e", "").replace("\x0f", "").split("\x1b")
    parts = [first]
    for part in others:
        if part.startswith("["):
            end = next((at for at, sign in enumerate(part) if at and "@" <= sign <= "~"), len(part) - 1)
            if part[end] == "m":
                style.change(part[1:end])
            parts.append(style.show(part[end + 1 :]))
        else:  # a link (`]8;;address`, ended by BEL or by `ESC \\`), or the end of one
            parts.append(style.show(part.partition("\x07")[2] if part.startswith("]") else part[1:]))
    return "".join(parts)


class _Style:
    """How characters look, from here on."""

    def __init__(self) -> None:
        self._faint = self._inverse = self._grey = False

    def show(self, text: str) -> str:
        if self._faint or self._inverse or self._grey:
            return "".join(sign if sign == "\n" else " " for sign in text)
        return text

    def change(self, codes: str) -> None:
        words = codes.replace(":", ";").split(";")
        while words:
            code = words.pop(0)
            if code in ("38", "48"):
                taken = [words.pop(0) for _ in range(4 if words[:1] == ["2"] else 2) if words]
                self._grey = _is_grey(taken) if code == "38" else self._grey
            elif code in ("", "0"):
                self._faint = self._inverse = self._grey = False
            elif code in ("2", "22"):
                self._faint = code == "2"
            elif code in ("7", "27"):
                self._inverse = code == "7"
            elif code == "39" or code in _BASIC:
                self._grey = code == "90"


_BASIC = {str(code) for code in (*range(30, 38), *range(90, 98))}


def _is_grey(colour: list[str]) -> bool:
    if colour[:1] == ["5"]:
        return colour[-1] in _FAINT_COLOURS
    values = [int(value) for value in colour[1:] if value.isdigit()]
    return len(values) == 3 and max(values) - min(values) <= 12 and values[0] in _GREY
