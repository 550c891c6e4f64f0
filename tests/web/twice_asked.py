"""
Every button of the page that runs at once what cannot be taken back, and so asks twice: made from the offers themselves
(`ui/faces/deeds.py`) and the page's own labels, so that a new one is tapped by the tests of the browser too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.tui.lantern import ago, shown_seen
from tests.web import lantern_page as made
from tests.web import lantern_reads as reads

from atm.ui.views.team.seen import RunSeen
from atm.ui.web.whole import offers_of

TEAM = "/t/lantern"
DEEDS_JS = Path(__file__).parents[2] / "src/atm/ui/web/page/parts/deeds.js"
RUN = str(reads.RUNS[0]["run"])
DEAD = RunSeen(RUN, "died", ago(180), f"atm run --resume {RUN} --team lantern", True, None, None, 2, 8, ["tern"])
SEEN = replace(
    made.SEEN,
    runs=[DEAD],
    tasks=[
        replace(one, state="failed", owner=None, shown=shown_seen("failed")) if one.id == "11" else one
        for one in made.SEEN.tasks
    ],
)
"""A team about which everything is offered: its run died, and a task failed."""
LIKED = {"7", "tern", "11"}
"""Of several things about which the same is offered, these are tapped on."""
PLACES = {
    ("approval", "approve"): (("", "Approve"), ("/approvals", "Approve once")),
    ("approval", "deny"): (("", ""), ("/approvals", "")),
    ("task", "approve the plan"): (("/approvals/plan%3A{id}", ""), ("/task/{id}", "")),
    ("task", "cancel"): (("/task/{id}", ""),),
    ("task", "reopen"): (("", ""), ("/task/{id}", "")),
    ("member", "kill"): (("/agent/{id}", ""),),
    ("merge", "skip"): (("/merge", ""),),
    ("run", "resume"): (("", ""), ("/runs/{id}", "")),
    ("session", "resume"): (("/sessions", ""),),
}
"""Where the page has the button, and the label that it has there, if that is its own."""
OPENED_BY = {f"{TEAM}/sessions": "Resume…"}
"""The button that opens the place first."""


def targets() -> Iterator[tuple[str, str]]:
    yield from (("approval", one.id) for one in SEEN.approvals)
    yield from (("task", one.id) for one in SEEN.tasks)
    yield from (("member", one.name) for one in SEEN.members)
    yield from (("merge", one.task) for one in (SEEN.merges.open if SEEN.merges is not None else ()))
    yield from (("run", one.run) for one in SEEN.runs)
    yield from (("session", str(one["team"])) for one in reads.SESSIONS)


def offered_twice() -> dict[tuple[str, str], str]:
    """Kind and word of each offer that asks twice, and what it is tapped on for."""
    found: dict[tuple[str, str], str] = {}
    for kind, id in sorted(targets(), key=lambda one: one[1] not in LIKED):
        for offer in offers_of((kind, id), SEEN):
            if offer.is_twice:
                found.setdefault((kind, offer.word), id)
    return found


def labels() -> dict[str, str]:
    """What the page writes on a button, where that is not its word."""
    said = re.search(r"const SAYS = \{(.*?)\};", DEEDS_JS.read_text(encoding="utf-8"), re.DOTALL)
    assert said is not None
    return {quoted or plain: label for quoted, plain, label in re.findall(r'(?:"([^"]+)"|(\w+)): "([^"]*)"', said[1])}


def asking() -> list[tuple[str, str, str]]:
    """Path, label and deed of each button."""
    known = labels()
    return [
        (f"{TEAM}{path.format(id=id)}", label or known.get(word, word[:1].upper() + word[1:]), word)
        for (kind, word), id in offered_twice().items()
        for path, label in PLACES[kind, word]
    ]
