"""
The screen in lines, for screen readers: no drawing, spoken units, nothing moves. What changes is said when it does.

A number opens a line, a word does the rest; `?` says them. Without a terminal it is said once.
"""

from __future__ import annotations

import sys
import threading

from atm.core.untrusted_text import one_line
from atm.ui.tui.model import Model
from atm.ui.tui.panels.about import about
from atm.ui.views.team.attention import IDLE, NEEDS, PROBLEMS, WORKING, attention
from atm.ui.views.team.signs import vendor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.ui.cli.session import Session
    from atm.ui.tui.reading import TeamLook, TeamReader
    from atm.ui.views.team.attention import AttentionRow
    from atm.ui.views.team.seen import TeamSeen

COLUMNS = 100
WORDS = "A number and Enter: hear more of that line. p: problems. w: who works. i: who is idle. b: the board. q: leave."
UNITS = ((" min", " minutes"), (" s", " seconds"), (" h ", " hours "), (" left", " left, then denied"))


def speak(session: Session, reader: TeamReader, team: str) -> int:
    look = reader.look(team)
    if look.seen is None:
        session.print(look.trouble or "No team here yet: atm teams create crew")
        return 1
    speaker = _Speaker(session, reader, look.seen)
    speaker.say_all()
    session.flush()
    if not sys.stdin.isatty():
        return 0
    over = threading.Event()
    threading.Thread(
        target=reader.watch, args=(team, lambda: not over.is_set(), speaker.hear), name="atm-top-plain", daemon=True
    ).start()
    try:
        while speaker.answer(input().strip()):
            session.flush()
    except EOFError:
        return 0
    finally:
        over.set()
    return 0


class _Speaker:
    """Says what there is, then only what is new."""

    def __init__(self, session: Session, reader: TeamReader, seen: TeamSeen) -> None:
        self._session, self._reader, self._seen = session, reader, seen
        self._rows: list[AttentionRow] = []
        self._known: set[str] = set()

    def _now(self) -> float:
        return self._reader.session.room.clock.now()

    def say_all(self) -> None:
        seen = self._seen
        rows = attention(seen, self._now())
        done = sum(task.state == "completed" for task in seen.tasks)
        self._session.print(f"{one_line(seen.team)}, {seen.status}, {done} of {len(seen.tasks)} done.")
        needs = [row for row in rows if row.group == NEEDS]
        self._session.print(f"{len(needs)} need you." if len(needs) != 1 else "1 needs you.")
        self._say_rows(needs)
        troubles = sum(row.group == PROBLEMS for row in rows)
        self._session.print(
            f"{troubles or 'No'} problem{'' if troubles == 1 else 's'}. Type ? and Enter for what can be typed."
        )
        self._known = {_key(row) for row in rows}

    def _say_rows(self, rows: Sequence[AttentionRow]) -> None:
        self._rows = [*rows]
        for number, row in enumerate(rows, 1):
            self._session.print(f"{number}. {sentence(row, self._seen)}")

    def hear(self, look: TeamLook) -> None:
        """What is new since the last look."""
        if look.seen is None:
            return
        self._seen = look.seen
        rows = [row for row in attention(look.seen, look.at) if row.group in (NEEDS, PROBLEMS)]
        for row in rows:
            if _key(row) not in self._known:
                self._session.print(f"New: {sentence(row, look.seen)}")
        self._known |= {_key(row) for row in rows}
        self._session.flush()

    def answer(self, said: str) -> bool:
        """To what was typed; False to leave."""
        groups = {"p": PROBLEMS, "w": WORKING, "i": IDLE, "n": NEEDS}
        if said in ("q", "quit"):
            return False
        if said.isdecimal() and 1 <= int(said) <= len(self._rows):
            model = Model(seen=self._seen, now=self._now())
            for line in about(model, self._rows[int(said) - 1].target, COLUMNS):
                words = "".join(piece for piece, _ in line).strip()
                if words and not set(words) <= {"▓", "░", " "}:
                    self._session.print(words)
        elif said in groups:
            found = [row for row in attention(self._seen, self._now()) if row.group == groups[said]]
            self._session.print(f"{groups[said]}: {len(found) or 'none'}.")
            self._say_rows(found)
        elif said == "b":
            for task in self._seen.tasks:
                self._session.print(f"Task {task.id}, {one_line(task.shown.word)}. {one_line(task.subject)}.")
        else:
            self._session.print(WORDS)
        return True


def _key(row: AttentionRow) -> str:
    return f"{row.group} {row.word} {row.target}"


def sentence(row: AttentionRow, seen: TeamSeen) -> str:
    """`Command. kite, Codex, task 6. git push …. 11:42 left, then denied.`"""
    member = seen.member(row.who)
    started = member.agent.runtime if member is not None and member.agent is not None else None
    kind = f", {vendor(started, member.backend, member.model)[1]}" if member is not None and started else ""
    task = f", task {row.task}" if row.task else ""
    who = f" {one_line(row.who)}{kind}{task}." if row.who else ""
    right = row.right
    for short, spoken in UNITS:
        right = right.replace(short, spoken) if right.endswith(short) or short == " h " else right
    end = f" {one_line(right[:1].upper() + right[1:])}." if right else ""
    said = one_line(row.text)
    what = f" {one_line(row.next[:1].upper() + row.next[1:])}" if row.next else ""
    return f"{row.word.capitalize()}.{who} {said}{'' if said.endswith(('.', '?', '!')) else '.'}{end}{what}"
