"""Mail: did it arrive, and how do we know? Conversations, messages, and the rail of five stops."""

from __future__ import annotations

from functools import partial

from atm.mail.rules.receipts import JOURNEY
from atm.ui.tui.filtering import fits
from atm.ui.tui.lines import BOLD, DIM, PLAIN, ends, padded, text, wrapped
from atm.ui.tui.model import GAP, Body, ListRow, fixed
from atm.ui.views.fitting import cut
from atm.ui.views.letters import in_one_line, in_words
from atm.ui.views.team.signs import PROVEN
from atm.ui.views.team.spans import clock, since, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.snapshot.services.threads import MailSent, MailThread
    from atm.ui.tui.lines import Line
    from atm.ui.tui.model import Model

DOTS = {"yes": "●", "no": "○", "unneeded": "·", "unknown": "?"}
STOP = 13
"""Columns from one stop of the rail to the next."""


def dots(message: MailSent) -> str:
    """`·●●●○`: queued, written, surfaced, read, answered."""
    stands = [message.stand(state) for state in JOURNEY]
    last = "✓" if stands[-1] == "yes" else DOTS[stands[-1]]
    return "".join(DOTS[one] for one in stands[:-1]) + last


def mail(model: Model) -> Body:
    threads = model.read.threads
    if threads is None:
        return Body([fixed([(" …", DIM)])])
    found = [one for one in threads if fits(model.filter, "", " ".join(one.people), _words(one))]
    unread = sum(one.mail.unread or 0 for one in model.seen.members if one.is_human) if model.seen is not None else 0
    head = ListRow(partial(_head, len(found), unread))
    if not threads:
        return Body([head, GAP, fixed([(" Nobody has written yet. Choose an agent with 1, then write with m", DIM)])])
    rows = [ListRow(partial(_row, one, model.now), (("thread", one.key),)) for one in found]
    chosen = next((one for one in found if model.target == ("thread", one.key)), None)
    about = (lambda columns: _shown(chosen.last, columns)) if chosen is not None else None
    return Body([head, *rows], about, 9)


def _head(count: int, unread: int, columns: int) -> Line:
    legend = f"   {'·'.join(JOURNEY)}" if columns >= 76 else ""
    return ends([(" Conversations", BOLD), (f"  {count}{legend}", DIM)], [(f"{unread} unread by you", DIM)], columns)


def _words(one: MailThread) -> str:
    return " ".join([*one.people, one.last.summary, one.last.text[:500]])


def _row(one: MailThread, now: float, columns: int) -> Line:
    title = one.last.summary or in_one_line(one.last.text).partition("\n")[0]
    who = padded(text(", ".join(one.people))[0], max(10, min(24, columns // 4)))
    right: Line = [
        (dots(one.last), PROVEN if dots(one.last).endswith("✓") else PLAIN),
        (f"{span(since(one.last.at, now)):>9}", DIM),
    ]
    return ends([(f" {who} ", PLAIN), text(title)], right, columns)


def _shown(one: MailSent, columns: int) -> list[Line]:
    return [row.draw(columns) for row in message_lines(one, with_rail=True, most=6, columns=columns)]


def thread(model: Model) -> Body:
    """A conversation, newest first: what was just said stands on top."""
    found = next((one for one in model.read.threads or () if one.key == model.thread), None)
    if found is None:
        return Body([GAP, fixed([(" this conversation is gone", DIM)])])
    count = len(found.messages)
    head = fixed(
        [(" ", PLAIN), text(", ".join(found.people), BOLD), (f"  {count} message{'s' if count > 1 else ''}", DIM)]
    )
    rows = [row for one in reversed(found.messages) for row in message_lines(one, with_rail=True)]
    return Body([head, GAP, *rows], is_text=True)


def message_lines(one: MailSent, *, with_rail: bool, most: int = 200, columns: int = 100) -> list[ListRow]:
    """Who wrote to whom, the text, and how far it has come with the evidence of the last stop."""
    to, said = ", ".join(sorted(one.journeys)) or "nobody", in_words(one.text)
    head = ListRow(partial(_message_head, one, to))
    rows = [
        ListRow(partial(_text_line, said, at)) for at in range(min(most, len(wrapped(said, columns - 2, most=most))))
    ]
    if not with_rail:
        return [head, *rows, GAP]
    rails = [ListRow(partial(_rail_line, one, at)) for at in range(3)]
    return [head, *rows, *rails, ListRow(partial(_evidence, one)), GAP]


def _message_head(one: MailSent, to: str, columns: int) -> Line:
    start: Line = [(" ", PLAIN), text(one.sender, BOLD), (" → ", DIM), text(to), (f"  {one.id[:8]}", DIM)]
    return ends(start, [(clock(one.at), DIM)], columns)


def _text_line(said: str, at: int, columns: int) -> Line:
    rows = wrapped(said, columns - 2)
    return [(f" {rows[at]}", PLAIN)] if at < len(rows) else []


def _rail_line(one: MailSent, line: int, columns: int) -> Line:
    """Three lines: the stops, their names, their times. Where there is no room, the five dots and their names."""
    if columns < STOP * len(JOURNEY):
        named = [f"{sign} {state}" for sign, state in zip(dots(one), JOURNEY, strict=True)]
        return [(" " + "  ".join((named[:3], named[3:], [])[line]), PLAIN)]
    stands = [one.stand(state) for state in JOURNEY]
    if line == 0:
        signs = [
            ("∅" if stand == "unneeded" else "✓" if at == 4 and stand == "yes" else DOTS[stand])
            for at, stand in enumerate(stands)
        ]
        ways = [("─" if stand in ("yes", "unknown") else "┄") * (STOP - 1) for stand in [*stands[1:], "no"]]
        drawn = "".join(sign + way for sign, way in zip(signs, ways, strict=True))
        return [(f" {drawn[: STOP * 4 + 1]}", PLAIN)]
    if line == 1:
        return [(" " + "".join(padded(state, STOP) for state in JOURNEY), DIM)]
    times = [_time(one, state, stand) for state, stand in zip(JOURNEY, stands, strict=True)]
    return [(" " + "".join(padded(said, STOP) for said in times), DIM)]


def _time(one: MailSent, state: str, stand: str) -> str:
    at = [journey[state].at for journey in one.journeys.values() if state in journey]
    return (
        clock(max(at))
        if stand == "yes" and at
        else {"unneeded": "not needed", "unknown": "unknown"}.get(stand, "not yet")
    )


def _evidence(one: MailSent, columns: int) -> Line:
    """How the last stop is known. A proof about the context, not about the mind."""
    for state in reversed(JOURNEY):
        known = [journey[state] for journey in one.journeys.values() if state in journey]
        if known:
            rest = ", ".join(JOURNEY[JOURNEY.index(state) + 1 :])
            still = f"; no sign yet of: {rest}" if rest else ""
            return [(cut(f" {state}: {text(known[-1].evidence)[0]}{still}", columns), DIM)]
    return []
