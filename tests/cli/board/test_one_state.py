"""One task has one state: list, show, graph, status, snapshot, MCP, merge queue, screen, page and replay agree."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atm import config
from atm.board.rules import claims
from atm.board.rules.tasks import Change
from atm.files.formats.times import to_iso
from atm.merges.rules.items import CONFLICT, FAILED, MERGED, MERGING, QUEUED, MergeItem, MergeQueue
from atm.merges.rules.shown_state import COLUMNS, SHOWN, shown_on
from atm.runs.rules.memory import RunEvent
from atm.snapshot.services.replay import TeamPast
from atm.ui.mcp.board.view import preview
from atm.ui.tui.lines import width
from atm.ui.tui.model import Model
from atm.ui.tui.panels.about import of_task
from atm.ui.tui.panels.board import board as board_panel
from atm.ui.views.looks import LOOKS
from atm.ui.views.style import BLUE, BOLD, DIM, GREEN, RED, YELLOW
from atm.ui.views.team.attention import NEEDS, PROBLEMS, attention
from atm.ui.views.team.seen import Eyes
from atm.ui.views.team.signs import CELLS, sign
from atm.ui.web.whole import whole_of
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room
from atm.wiring.runs import board_with_merges, build_merges
from atm.wiring.snapshot import build_snapshots

HEAD = "c0ffee"
WORK = {"commit": HEAD, "base": "ba5e", "branch": "atm/work/crew/x"}
MERGES = {"merging": MERGING, "merged": MERGED, "conflict": CONFLICT, "not_merged": FAILED, "left_out": FAILED}

STATES = {
    "1": "pending",
    "2": "blocked",
    "3": "in_progress",
    "4": "review",
    "5": "plan_waits",
    "6": "question",
    "7": "completed",
    "8": "to_merge",
    "9": "merging",
    "10": "merged",
    "11": "conflict",
    "12": "not_merged",
    "13": "left_out",
    "14": "to_retry",
    "15": "failed",
    "16": "cancelled",
    "17": "unreachable",
    "18": "pending",  # it failed for good and was reopened
    "19": "planning",
    "20": "pending",  # it was merged and was reopened
    "21": "unreadable",
}


class Team:
    """A team on disk with one task in every state, and every surface over it."""

    def __init__(self, atm: Any, layout: Any) -> None:
        self.atm, self.layout = atm, layout
        self.settings = config.load(layout, atm.environment, str(atm.folder), {})
        self.boardroom = build_boardroom(layout, self.settings, build_room(layout, self.settings))
        self.merges: list[RunEvent] = []

    def change(self, id: str, rule: Any) -> None:
        with self.boardroom.tasks.turn("crew") as turn:
            turn.change(id, lambda task: rule(task, self.boardroom.stamp("ann")))

    def claim(self, id: str) -> None:
        self.change(id, lambda task, by: claims.claim(task, "ann", by, needs_plan=False))

    def own(self, id: str, **own: Any) -> None:
        self.change(id, lambda _, by: Change(by.event("noted"), own=own))

    def complete(self, id: str, work: dict[str, Any] | None) -> None:
        self.claim(id)
        self.change(id, lambda task, by: claims.complete(task, by, result="", evidence=[], unverified=False, work=work))

    def fail(self, id: str, *, final: bool) -> None:
        self.claim(id)
        self.change(id, lambda task, by: claims.fail(task, by, "exit 1:\nboom", final=final))

    def queue(self, states: dict[str, str]) -> None:
        items = []
        for id, name in states.items():
            status = MERGES.get(name, QUEUED)
            items.append(MergeItem(task=id, head=HEAD, base="ba5e", status=status, skipped=name == "left_out"))
            kind = f"merge.{status}"
            self.merges.append(RunEvent(kind, id, self.boardroom.clock.now(), skipped=name == "left_out" or None))
        build_merges(self.layout).write(MergeQueue(team="crew", branch="main", items=items))

    # Surfaces, each as the shown state of every task.

    def seen(self) -> Any:
        snapshots = build_snapshots(self.layout, self.settings, self.boardroom, self.atm.environment)
        self.fields = snapshots.of("crew")
        return Eyes().see(self.fields)

    def replayed(self, moment: float) -> dict[str, tuple[str, str, str]]:
        board = self.boardroom.tasks.board("crew")
        waits = {card.id: [*card.blocked_by] for card in board.sorted()}
        past = TeamPast([], self.boardroom.tasks.past("crew")[0], [], self.merges, waits)
        tasks: Any = past.at(moment, past.marks())["tasks"]
        return {task["id"]: told(task) for task in tasks}


def list_of(value: Any) -> list[dict[str, Any]]:
    return [*value]


def told(task: dict[str, Any]) -> tuple[str, str, str]:
    return task["shown"]["state"], task["shown"]["word"], task["shown"]["tone"]


@pytest.fixture
def team(atm, layout) -> Team:
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    atm.team("crew", "ann")
    made = Team(atm, layout)
    for id in STATES:
        words = {"2": ("--depends-on", "1"), "17": ("--depends-on", "15")}.get(id, ())
        atm("tasks", "add", f"Task {id}", *words)
    return made


def to_every_state(team: Team) -> None:
    for id in ("3", "4", "5", "6", "19"):
        team.claim(id)
    team.own("4", review={"state": "review", "reviewer": "bob"})
    team.own("5", plan={"state": "submitted", "text": "first this"})
    team.own("6", clarification={"needs": "lead", "question": "which?"})
    team.own("19", plan={"state": "required"})
    team.complete("7", None)
    for id in ("8", "9", "10", "11", "12", "13", "20"):
        team.complete(id, {**WORK})
    team.queue({id: STATES[id] for id in ("9", "10", "11", "12", "13")} | {"20": "merged"})
    team.fail("14", final=False)
    team.fail("15", final=True)
    team.change("16", lambda task, by: claims.cancel(task, by, "not needed"))
    team.fail("18", final=True)
    team.atm("tasks", "reopen", "18")
    team.atm("tasks", "reopen", "20")
    path = team.layout.tasks("crew") + "/21.json"
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**record, "metadata": "none"}, file)


def test_every_surface_shows_each_task_in_the_same_state(team: Team, atm) -> None:
    to_every_state(team)
    wanted = {id: (state, SHOWN[state].word, SHOWN[state].tone) for id, state in STATES.items()}
    surfaces: dict[str, dict[str, Any]] = {}
    surfaces["list"] = {task["id"]: told(task) for task in atm("tasks", "list", "--json").json["tasks"]}
    for id in ("1", "11", "15", "16"):
        surfaces[f"show {id}"] = {id: told(atm("tasks", "show", id, "--json").json["task"])}
    seen = team.seen()
    surfaces["snapshot"] = {task["id"]: told(task) for task in list_of(team.fields["tasks"])}
    whole: Any = whole_of(team.fields, seen, team.boardroom.clock.now())
    surfaces["page"] = {task["id"]: told(task) for task in whole["snapshot"]["tasks"]}
    replay = team.replayed(team.boardroom.clock.now() + 1)
    surfaces["replay"] = {id: state for id, state in replay.items() if id not in ("13", "21")}
    assert replay["13"][0] == "not_merged"  # a run does not tell that a person left work out
    for name, shown in surfaces.items():
        assert shown == {id: wanted[id] for id in shown}, name
    assert len(surfaces["list"]) == len(surfaces["snapshot"]) == len(STATES)
    # In words.
    lines = {line.split()[0]: line for line in atm("tasks", "list").out.splitlines() if line.strip().startswith("#")}
    for id, (state, word, _) in wanted.items():
        assert f" {LOOKS[state].symbol} {word} " in lines[f"#{id}"], lines[f"#{id}"]
    shown = atm("tasks", "show", "11").out
    assert shown.startswith("≠ #11")
    assert "state       in conflict" in shown
    rows = {row.split()[0]: row for row in screen_rows(seen)}
    for id, (state, word, _) in wanted.items():
        assert f" {sign(state).mark} {word}" in rows[f"#{id}"]
    for task in seen.tasks:
        assert task.shown.word in "".join(text for text, _ in of_task(seen, task)[0])
    # Counted the same.
    counts = {state: [*STATES.values()].count(state) for state in STATES.values()}
    assert atm("status", "--json").json["tasks_shown"] == counts
    assert team.fields["task_counts_shown"] == counts
    # Over MCP the state of the board, and what is shown where that says more.
    board = board_with_merges(team.layout, team.boardroom.tasks.board("crew"), "crew")
    for card in board.sorted():
        said = preview(card, board)
        assert said.get("shown", wanted[card.id][1]) == wanted[card.id][1]
        assert ("shown" in said) == (said["state"] != wanted[card.id][0])


def screen_rows(seen: Any) -> list[str]:
    model = Model(team="crew", seen=seen, view="board")
    drawn = [row.draw(100) for row in board_panel(model).rows]
    assert all(width(line) <= 200 for line in drawn)
    lines = ["".join(text for text, _ in line).strip(" ▌") for line in drawn]
    return [line for line in lines if line.startswith("#")]


def test_the_first_screen_says_the_same_word_and_never_counts_a_failed_task_as_at_work(team: Team) -> None:
    to_every_state(team)
    seen = team.seen()
    rows = attention(seen, team.boardroom.clock.now())
    about = {
        row.task: (row.state, row.word) for row in rows if row.target[0] in ("task", "merge") and row.group != NEEDS
    }
    for id in ("11", "12", "14", "15", "17", "21", "7", "8", "10", "13"):
        assert about[id] == (STATES[id], SHOWN[STATES[id]].word)
    assert {row.task for row in rows if row.group == PROBLEMS} >= {"11", "12", "14", "15", "17", "21"}
    assert {SHOWN[STATES[id]].column for id in ("15", "16", "17", "21")} == {"not_done"}


def test_the_merge_queue_shows_the_state_of_its_tasks(team: Team, atm) -> None:
    to_every_state(team)
    said = atm("merge", "queue", "--json", code=None).json
    shown = {item["task"]: item["shown"]["state"] for item in said["items"]}
    assert shown == {id: STATES[id] for id in shown}
    assert {*shown} >= {"9", "10", "11", "12", "13", "20"}


def test_a_replay_shows_each_moment_as_its_board_was(team: Team) -> None:
    clock, moments = team.boardroom.clock, []

    def now_shown(*ids: str) -> None:
        board = board_with_merges(team.layout, team.boardroom.tasks.board("crew"), "crew")
        states = {id: shown_on(board, id).state for id in ids}
        moments.append((clock.now(), states))

    team.claim("1")
    now_shown("1", "2")
    team.complete("1", {**WORK})
    now_shown("1", "2")
    team.queue({"1": "conflict"})
    now_shown("1")
    team.claim("3")
    team.change("3", lambda task, by: claims.fail(task, by, "no"))
    now_shown("3")
    for _ in "12":
        team.fail("3", final=False)
    now_shown("3")
    team.atm("tasks", "reopen", "3")
    now_shown("3")
    team.atm("tasks", "cancel", "4")
    now_shown("4", "3", "1")
    assert [states for _, states in moments] == [
        {"1": "in_progress", "2": "blocked"},
        {"1": "to_merge", "2": "pending"},
        {"1": "conflict"},
        {"3": "to_retry"},
        {"3": "failed"},
        {"3": "pending"},
        {"4": "cancelled", "3": "pending", "1": "conflict"},
    ]
    for moment, states in moments:
        replayed = team.replayed(moment)
        assert {id: replayed[id][0] for id in states} == states, to_iso(moment)


def test_every_state_has_a_look_a_sign_a_cell_a_column_and_the_colour_of_its_tone() -> None:
    colours = {"you": YELLOW, "broken": RED, "moving": BLUE, "proven": GREEN}
    assert {*SHOWN} == {*LOOKS}
    for state, one in SHOWN.items():
        assert one.column in dict(COLUMNS)
        assert sign(state).meaning == CELLS[state].meaning == one.tone
        assert {*LOOKS[state].codes} - {BOLD, DIM} == ({colours[one.tone]} if one.tone in colours else set())
    assert len({one.word for one in SHOWN.values()}) == len(SHOWN)
