"""Bare `atm` at a terminal: one screen. Who is here, what waits for you, the board in a line, what to type next."""

from __future__ import annotations

import shutil

from atm.core.errors import AtmError, NoSuchTeam
from atm.core.untrusted_text import one_line
from atm.runs.rules.standing import DIED
from atm.ui.cli.overview import WHAT_IT_IS
from atm.ui.cli.render import Style
from atm.ui.views.extras import screen_command
from atm.ui.views.style import BLUE, BOLD, DIM, GREEN, RED, YELLOW, width_of
from atm.ui.views.team.attention import NEEDS, PROBLEMS, WORKING, attention, own_mail, strip
from atm.ui.views.team.last_run import run_lines
from atm.ui.views.team.next_steps import first_steps, next_steps, screen_steps, step_lines
from atm.ui.views.team.signs import BROKEN, MOVING, PROVEN, REST, YOU, cell_sign, sign
from atm.vendors.runtimes import with_a_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from atm.ui.cli.session import Session
    from atm.ui.views.team.attention import AttentionRow
    from atm.ui.views.team.next_steps import NextStep
    from atm.ui.views.team.seen import TeamSeen

MOST_MEMBERS, MOST_ROWS, MOST_CELLS = 10, 6, 60
CODES = {YOU: (BOLD, YELLOW), BROKEN: (BOLD, RED), MOVING: (BLUE,), PROVEN: (GREEN,), REST: ()}


def show_home(session: Session) -> int:
    """The team that can be told from here; without any, the first steps; of several, a line for each."""
    from atm.team.services.choosing import choose_team

    page = HomePage(session)
    named = session.home_team()
    if named is None:
        try:
            choice = choose_team(session.room, session.whereabouts)
        except NoSuchTeam:
            page.several(session.room.rosters.teams())
            return 0
        page.team(choice.team, choice.others)
    else:
        page.team(named, [])
    return 0


class HomePage:
    """Lines that fit the terminal."""

    __slots__ = ("columns", "session", "style")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.style = Style(session)
        self.columns = max(40, shutil.get_terminal_size().columns)

    def say(self, text: str = "", *codes: str) -> None:
        self.session.print(self.style(cut(text, self.columns), *codes))

    @property
    def me(self) -> str:
        return self.session.settings.text("core.identity")

    def programs(self) -> list[str]:
        path = self.session.environment.get("PATH")
        return [name for name in with_a_model() if shutil.which(name, path=path)]

    # Without a team that is meant.

    def several(self, teams: Sequence[str]) -> None:
        from atm.core.names import is_claudes_team

        ours = [name for name in teams if not is_claudes_team(name)]
        if not ours:
            self._first(teams)
            return
        self.say("Several teams are here; say which with --team:", BOLD)
        for name in teams:
            self.say(f"  {one_line(name)}")
        self.steps([*_of_several(ours[0])])

    def _first(self, claudes: Sequence[str]) -> None:
        programs = self.programs()
        self.say(WHAT_IT_IS)
        self.say()
        self.say("There is no team here yet. Three steps:", BOLD)
        self.steps(first_steps(programs, self._likely_me()), head="")
        if not programs:
            self.say()
            self.say(f"  (none of {', '.join(with_a_model())} is here: script agents run commands,")
            self.say("  and need no model; `atm runtimes` says how to get the others)")
        if claudes:
            self.say()
            self.say(f"  sessions of Claude Code, with --team: {one_line(', '.join(claudes[:3]))}", DIM)
        self.say()
        self.say("Everything else: atm help")

    def _likely_me(self) -> str:
        from atm.wiring.setup import name_of_person

        identity = self.session.settings.setting("core.identity")
        return name_of_person() if identity.origin == "default" else self.me

    # With one.

    def team(self, name: str, others: Sequence[str]) -> None:
        from atm.ui.views.team.seen import Eyes
        from atm.wiring.snapshot import build_snapshots

        session = self.session
        parts = session.layout, session.settings, session.boardroom, session.environment
        try:
            seen = Eyes().see(build_snapshots(*parts).of(name))
        except AtmError as error:
            self.say(f"team {one_line(name)} cannot be read: {one_line(str(error))}")
            self.say(f"  fix: {one_line(error.remedy)}" if error.remedy else "")
            return
        now = session.room.clock.now()
        rows = [row for row in attention(seen, now) if row.target[0] != "run"]
        told = self._last_run(seen, now)
        self._head(seen)
        self._members(seen, rows)
        needs = [row for row in rows if row.group == NEEDS] + own_mail(seen, self.me)
        self._rows("waits for you", needs, "" if told else "nothing waits for you")
        self._rows("goes wrong", [row for row in rows if row.group == PROBLEMS], "")
        self._board(seen)
        self.steps(next_steps(seen, self.me, self.programs(), screen_command()))
        if others:
            self.say(f"  other teams here, with --team: {one_line(', '.join(others[:6]))}", DIM)

    def _last_run(self, seen: TeamSeen, now: float) -> list[str]:
        """First of all. The command is never cut: the reader wants to type it."""
        told = run_lines(seen.runs, now)
        for at, line in enumerate(told):
            codes = (BOLD, RED if seen.runs[0].state == DIED else YELLOW) if at % 2 == 0 else ()
            self.session.print(self.style(line, *codes), is_folded=at % 2 == 0)
        return told

    def _head(self, seen: TeamSeen) -> None:
        who = seen.member(self.me)
        you = f"you are {one_line(who.name)}" if who is not None else "you are not in it"
        left = f"{one_line(seen.team)}"
        gap = " " * max(2, self.columns - width_of(left) - width_of(you))
        self.session.print(f"{self.style(left, BOLD)}{gap}{self.style(you, DIM)}")

    def _members(self, seen: TeamSeen, rows: Sequence[AttentionRow]) -> None:
        """Agents first: they are why somebody looks."""
        told = {row.who: row for row in rows if row.target[0] == "member" and row.group != PROBLEMS}
        shown = sorted((one for one in seen.members if one.name != self.me), key=lambda one: one.is_human)
        wide = max((width_of(one_line(one.name)) for one in shown[:MOST_MEMBERS]), default=0)
        for one in shown[:MOST_MEMBERS]:
            row = told.get(one.name)
            word = "person" if one.is_human else row.word if row is not None else one.liveness
            kind = one.agent.runtime if one.agent is not None else one.type or ""
            what = f"#{row.task} {row.text}" if row is not None and row.group == WORKING and row.task else ""
            mail = f"{one.mail.unread} unread" if one.mail.unread else ""
            mark = self.style(sign(word).mark if not one.is_human else "·", *CODES[sign(word).meaning])
            name, more = one_line(one.name), "  ".join(filter(None, [what, mail]))
            text = f"{name}{' ' * (wide - width_of(name))}  {one_line(kind):<8}  {word:<8}  {one_line(more)}"
            self.session.print(f"  {mark} {cut(text.rstrip(), self.columns - 4)}")
        if len(shown) > MOST_MEMBERS:
            self.say(f"  … and {len(shown) - MOST_MEMBERS} more: atm members", DIM)
        if not shown:
            self.say("  nobody else is in it yet")

    def _rows(self, head: str, rows: Sequence[AttentionRow], otherwise: str) -> None:
        if not rows:
            if otherwise:
                self.say()
                self.say(otherwise, DIM)
            return
        self.say()
        self.say(head, BOLD)
        for row in rows[:MOST_ROWS]:
            look = sign(row.state)
            task = f"#{row.task}  " if row.task else ""
            who = f"{row.who}  " if row.who and row.target[0] != "inbox" else ""
            text = cut(one_line(f"{row.word}  {who}{task}{row.text}"), self.columns - 6 - width_of(row.right))
            right = f"  {self.style(one_line(row.right), DIM)}" if row.right else ""
            self.session.print(f"  {self.style(look.mark, *CODES[look.meaning])} {text}{right}")
        if len(rows) > MOST_ROWS:
            self.say(f"  … and {len(rows) - MOST_ROWS} more: {screen_steps(screen_command())[0].command}", DIM)

    def _board(self, seen: TeamSeen) -> None:
        self.say()
        if not seen.tasks:
            self.say("the board is empty", DIM)
            return
        cells = "".join(cell_sign(cell).mark for cell in strip(seen)[:MOST_CELLS])
        done = sum(task.state == "completed" for task in seen.tasks)
        works = sum(task.state == "in_progress" for task in seen.tasks)
        more = f", {works} in progress" if works else ""
        self.say(f"board  {cells}  {done} of {len(seen.tasks)} done{more}")

    def steps(self, steps: Sequence[NextStep], head: str = "next") -> None:
        if head:
            self.say()
            self.say(head, BOLD)
        for line in step_lines(steps, self.columns):
            self.session.print(line)


def _of_several(team: str) -> Iterator[NextStep]:
    from atm.core.untrusted_text import shell_words
    from atm.ui.views.team.next_steps import NextStep

    yield from screen_steps(screen_command(), "the live screen, where you can choose")
    yield NextStep(f"atm status --team {shell_words(team)}", "one of them at a glance")
    yield NextStep(f"atm config set core.default_team {shell_words(team)}", "the one you mean from now on")


def cut(text: str, columns: int) -> str:
    if width_of(text) <= columns:
        return text
    kept = text
    while width_of(kept) > columns - 1:
        kept = kept[:-1]
    return f"{kept}…"
