"""Importing a plan again: lines find their tasks, what nobody has begun follows, the rest stays and is told."""

from __future__ import annotations

import random
from typing import Any

import pytest

from atm.board.formats.plan_ticks import ticked
from atm.board.formats.task_import import read_plan
from atm.board.rules.acceptance import COMMAND, RUN, Ran, check
from atm.board.services import planning
from atm.board.services import working as board
from atm.board.services.importing import Imported, done_drafts, rehearse_import, reimport
from atm.board.services.marks import written_by
from atm.board.services.new_tasks import NewTask, wishes_of
from atm.core.errors import NotAllowed
from atm.core.work_errors import DependencyCycle, HookBlocked
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import HUMAN, Member
from atm.testing import MemoryTasks, memory_boardroom, memory_room

LEAD, PLAN = "team-lead", "/w/plan.md"


def make_desk(**fields: Any) -> FullBoardroom:
    room = memory_room()
    create_team(room, "crew", lead=LEAD)
    for name in ("ann", "bob"):
        add_member(room, "crew", Member(name))
    return memory_boardroom(room, **fields)


@pytest.fixture
def boardroom() -> FullBoardroom:
    return make_desk()


def files(boardroom: FullBoardroom) -> dict[int, bytes]:
    assert isinstance(boardroom.tasks, MemoryTasks)
    return dict(boardroom.tasks.files.get("crew", {}))


def plan(boardroom: FullBoardroom, text: str, *, who: str = LEAD, source: str = PLAN, allowed_by: str = "") -> Imported:
    """Import it; a rehearsal before it says the same and writes nothing."""
    wishes = wishes_of(read_plan(text, "markdown"), allowed_by=allowed_by, source=source)
    before = files(boardroom)
    said = rehearse_import(boardroom, "crew", who, wishes, source)
    assert files(boardroom) == before
    done = reimport(boardroom, "crew", who, wishes, source)
    assert told(said) == told(done)
    return done


def told(done: Imported) -> dict[str, object]:
    return {
        "added": [task.id for task in done.added],
        "changed": {one.id: one.what for one in done.changed},
        "unchanged": done.unchanged,
        "kept": {one.id: one.why for one in done.kept},
        "missing": [card.id for card in done.missing],
    }


def became(**fields: object) -> dict[str, object]:
    return {"added": [], "changed": {}, "unchanged": [], "kept": {}, "missing": [], **fields}


def test_the_same_plan_again_changes_no_byte(boardroom):
    text = (
        "- [ ] A (id: a) (files: x.py) (accept: make) (run: true) (runtime: codex) (plan: required)\n  Why.\n- [ ] B\n"
    )
    assert told(plan(boardroom, text)) == became(added=["1", "2"])
    before = files(boardroom)
    assert told(plan(boardroom, text)) == became(unchanged=["1", "2"])
    assert files(boardroom) == before


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("A (id: a)", "Better (id: a)", ["title"]),
        ("A", "a", ["title"]),
        ("A", "A (id: a)", ["id"]),
        ("A", "A (priority: high)", ["priority"]),
        ("A", "A (files: x.py, y.py)", ["files"]),
        ("A (files: x.py)", "A", ["files"]),
        ("A", "A (runtime: codex)", ["runtime"]),
        ("A (runtime: codex)", "A", ["runtime"]),
        ("A", "A (plan: required)", ["plan"]),
        ("A (plan: required)", "A", ["plan"]),
        ("A", "A (accept: make)", ["accept"]),
        ("A (accept: make) (accept: true)", "A (accept: make)", ["accept"]),
        ("A (run: make)", "A (run: make all)", ["run"]),
        ("A", "A\n  Why.", ["description"]),
        ("A\n  Why.", "A", ["description"]),
        ("A\n- [ ] B", "A (after: B)\n- [ ] B", ["depends_on"]),
        ("A (after: B)\n- [ ] B", "A\n- [ ] B", ["depends_on"]),
    ],
)
def test_what_nobody_has_begun_becomes_as_the_plan_says(boardroom, old, new, what):
    plan(boardroom, f"- [ ] {old}\n")
    assert told(plan(boardroom, f"- [ ] {new}\n"))["changed"] == {"1": what}
    fresh = make_desk()
    plan(fresh, f"- [ ] {new}\n")
    for key in ("subject", "description", "files", "priority", "key", "runtime", "plan", "run", "acceptance"):
        one, other = (getattr(each.tasks.read("crew", "1"), key) for each in (boardroom, fresh))
        assert one == other
    assert told(plan(boardroom, f"- [ ] {new}\n"))["changed"] == {}


def test_both_sides_of_a_dependency_change(boardroom):
    plan(boardroom, "- [ ] A (id: a)\n- [ ] B (id: b) (after: a)\n- [ ] C (id: c)\n")
    done = plan(boardroom, "- [ ] A (id: a)\n- [ ] B (id: b) (after: c, d)\n- [ ] C (id: c)\n- [ ] D (id: d)\n")
    assert told(done) == became(added=["4"], changed={"2": ["depends_on"]}, unchanged=["1", "3"])
    read = {id: boardroom.tasks.read("crew", id) for id in "1234"}
    assert [read[id].blocked_by for id in "1234"] == [[], ["3", "4"], [], []]
    assert [read[id].blocks for id in "1234"] == [[], [], ["2"], ["2"]]


def test_an_edge_may_turn_round(boardroom):
    plan(boardroom, "- [ ] A (id: a)\n- [ ] B (id: b) (after: a)\n")
    plan(boardroom, "- [ ] A (id: a) (after: b)\n- [ ] B (id: b)\n")
    assert [boardroom.tasks.read("crew", id).blocked_by for id in "12"] == [["2"], []]
    assert [boardroom.tasks.read("crew", id).blocks for id in "12"] == [[], ["1"]]


def test_what_somebody_added_by_hand_stays(boardroom):
    plan(boardroom, "- [ ] A\n- [ ] B\n- [ ] C\n")
    planning.depend(boardroom, "crew", LEAD, "2", ["1"])
    planning.split(boardroom, "crew", LEAD, "3", [NewTask("part")])
    assert told(plan(boardroom, "- [ ] A\n- [ ] B\n- [ ] C\n")) == became(unchanged=["1", "2", "3"])
    assert [boardroom.tasks.read("crew", id).blocked_by for id in "23"] == [["1"], ["4"]]


def test_what_is_claimed_finished_or_given_up_is_left_alone(boardroom):
    plan(boardroom, "".join(f"- [ ] {name}\n" for name in "ABCDE"))
    board.claim(boardroom, "crew", "ann", "1")
    board.claim(boardroom, "crew", "bob", "2")
    board.complete(boardroom, "crew", "bob", "2")
    board.claim(boardroom, "crew", "bob", "3")
    board.fail(boardroom, "crew", "bob", "3", "no", final=True)
    board.cancel(boardroom, "crew", LEAD, "4", "no")
    before = files(boardroom)
    done = plan(boardroom, "".join(f"- [ ] {name} (priority: high)\n" for name in "ABCD") + "- [ ] E\n")
    why = {"1": "ann works on it", "2": "it is completed", "3": "it is failed", "4": "it is cancelled"}
    assert told(done) == became(kept=why, unchanged=["5"])
    assert done.kept[0].what == ["priority"]
    assert files(boardroom) == before


def test_a_box_that_was_ticked_since_completes_nothing(boardroom):
    plan(boardroom, "- [ ] A\n- [ ] B\n")
    board.claim(boardroom, "crew", "ann", "2")
    done = plan(boardroom, "- [x] A\n- [x] B\n- [x] C\n")
    assert set(done_kept := {one.id: one.why for one in done.kept}) == {"1", "2"}
    assert "ticked in the plan and open on the board" in done_kept["1"]
    assert [boardroom.tasks.read("crew", id).status for id in "123"] == ["pending", "in_progress", "completed"]


def test_what_is_done_stays_done_though_its_box_is_empty(boardroom):
    plan(boardroom, "- [x] A\n")
    assert told(plan(boardroom, "- [ ] A\n")) == became(unchanged=["1"])


def test_what_is_gone_from_the_plan_is_told_and_stays(boardroom):
    planning.add(boardroom, "crew", LEAD, [NewTask("by hand")])
    plan(boardroom, "- [ ] A\n- [ ] B\n- [ ] C\n")
    board.cancel(boardroom, "crew", LEAD, "4", "no")
    assert told(plan(boardroom, "- [ ] A\n")) == became(unchanged=["2"], missing=["3"])
    assert boardroom.tasks.read("crew", "3").status == "pending"


def test_what_claude_code_cleared_away_is_not_done_again(boardroom):
    plan(boardroom, "- [ ] A\n- [ ] B\n- [ ] C (after: A)\n")
    board.claim(boardroom, "crew", "ann", "1")
    board.complete(boardroom, "crew", "ann", "1")
    for number in (1, 2):
        boardroom.tasks.delete("crew", number)
    assert told(plan(boardroom, "- [ ] A\n- [ ] B\n- [ ] C (after: A)\n")) == became(added=["4"], unchanged=["1", "3"])


class TestMatching:
    def test_titles_of_another_file_are_other_tasks(self, boardroom):
        plan(boardroom, "- [ ] A\n")
        assert told(plan(boardroom, "- [ ] A\n", source="/w/other.md"))["added"] == ["2"]

    def test_an_id_of_another_file_is_another_task_unless_the_title_is_the_same(self, boardroom):
        plan(boardroom, "- [ ] A (id: 1)\n- [ ] B (id: 2)\n")
        done = plan(boardroom, "- [ ] Something else (id: 1)\n- [ ] b (id: 2)\n", source="/w/moved.md")
        assert told(done) == became(added=["3"], changed={"2": ["title", "file"]})

    def test_two_lines_of_the_same_title_are_two_tasks_in_their_order(self, boardroom):
        text = "- [ ] A\n  - [ ] Tests\n- [ ] B\n  - [ ] Tests\n"
        plan(boardroom, text)
        done = plan(boardroom, text.replace("Tests\n- [ ] B", "Tests (priority: high)\n- [ ] B"))
        assert told(done) == became(changed={"2": ["priority"]}, unchanged=["1", "3", "4"])
        assert told(plan(boardroom, text + "- [ ] Tests\n"))["added"] == ["5"]

    def test_a_line_whose_id_changed_is_another_task(self, boardroom):
        plan(boardroom, "- [ ] A (id: a)\n")
        assert told(plan(boardroom, "- [ ] A (id: b)\n")) == became(added=["2"], missing=["1"])

    def test_a_line_that_lost_its_id_keeps_its_task(self, boardroom):
        plan(boardroom, "- [ ] A (id: a)\n")
        assert told(plan(boardroom, "- [ ] A\n")) == became(unchanged=["1"])

    def test_a_text_without_a_file_is_known_by_ids_alone(self, boardroom):
        plan(boardroom, "- [ ] A (id: a)\n- [ ] B\n", source="")
        assert told(plan(boardroom, "- [ ] A2 (id: a)\n- [ ] B\n", source="")) == became(
            added=["3"], changed={"1": ["title"]}
        )

    def test_ten_thousand_lines_of_one_title_are_ten_thousand_tasks(self, boardroom):
        wishes = [NewTask("same", source=PLAN) for _ in range(2_000)]
        assert len(reimport(boardroom, "crew", LEAD, wishes, PLAN).added) == 2_000
        assert len(reimport(boardroom, "crew", LEAD, wishes, PLAN).unchanged) == 2_000


class TestWho:
    def test_a_member_changes_what_it_added_itself_and_nothing_else(self, boardroom):
        plan(boardroom, "- [ ] A\n", who="ann")
        plan(boardroom, "- [ ] A\n- [ ] B\n", who="bob")
        done = plan(boardroom, "- [ ] A (priority: high)\n- [ ] B (priority: high)\n", who="bob")
        assert told(done)["changed"] == {"2": ["priority"]}
        assert "ann added it" in done.kept[0].why
        assert told(plan(boardroom, "- [ ] A (priority: low)\n- [ ] B\n"))["changed"] == {
            "1": ["priority"],
            "2": ["priority"],
        }

    def test_who_only_says_that_they_are_the_lead_changes_nothing(self, boardroom, monkeypatch):
        plan(boardroom, "- [ ] A\n")

        def refuse(*_: object) -> bool:
            raise NotAllowed("you are bob")

        monkeypatch.setattr("atm.board.services.importing.is_boss", refuse)
        before = files(boardroom)
        wishes = [NewTask("A", priority="high", source=PLAN)]
        with pytest.raises(NotAllowed):
            reimport(boardroom, "crew", LEAD, wishes, PLAN)
        assert files(boardroom) == before


class TestCommands:
    def wish(self, *commands: str, allowed_by: str = "") -> list[NewTask]:
        checks = [check(COMMAND, command) for command in commands]
        return [NewTask("A", acceptance=checks, run=[check(RUN, "go")], commands_of=allowed_by, source=PLAN)]

    def whose(self, boardroom: FullBoardroom) -> list[tuple[str, str]]:
        task = boardroom.tasks.read("crew", "1")
        return [
            (str(one["command"]), written_by(boardroom, "crew", task, one)) for one in (*task.acceptance, *task.run)
        ]

    def test_a_yes_holds_for_the_commands_that_stay_and_for_no_other(self, boardroom):
        reimport(boardroom, "crew", LEAD, self.wish("a", "b", allowed_by=HUMAN), PLAN)
        done = reimport(boardroom, "crew", LEAD, self.wish("b", "c"), PLAN)
        assert self.whose(boardroom) == [("b", HUMAN), ("c", ""), ("go", HUMAN)]
        assert ([one.what for one in done.changed], len(done.news), done.to_allow) == ([["accept"]], 1, [])

    def test_a_yes_to_the_plan_marks_what_nobody_had_allowed(self, boardroom):
        reimport(boardroom, "crew", LEAD, self.wish("a"), PLAN)
        assert self.whose(boardroom) == [("a", ""), ("go", "")]
        wishes = self.wish("a", allowed_by=HUMAN)
        asked = rehearse_import(boardroom, "crew", LEAD, wishes, PLAN).to_allow
        assert asked == [{"subject": "A", "command": "a"}, {"subject": "A", "command": "go"}]
        reimport(boardroom, "crew", LEAD, wishes, PLAN)
        assert self.whose(boardroom) == [("a", HUMAN), ("go", HUMAN)]
        again = reimport(boardroom, "crew", LEAD, wishes, PLAN)
        assert (told(again), again.to_allow) == (became(unchanged=["1"]), [])

    def test_a_mark_that_somebody_forged_is_no_yes(self, boardroom):
        reimport(boardroom, "crew", LEAD, self.wish("a"), PLAN)
        data = files(boardroom)[1].replace(b'"command": "a"', b'"command": "a", "by": "user", "mark": "00"')
        boardroom.tasks.write_as_others_do("crew", 1, data)
        wishes = self.wish("a", allowed_by=HUMAN)
        assert len(rehearse_import(boardroom, "crew", LEAD, wishes, PLAN).to_allow) == 2


def test_a_circle_through_what_is_there_is_refused_and_nothing_is_written(boardroom):
    plan(boardroom, "- [ ] A (id: a)\n- [ ] B (id: b) (after: a)\n")
    before = files(boardroom)
    drafts = read_plan("- [ ] A (id: a) (after: c)\n- [ ] B (id: b) (after: a)\n- [ ] C (id: c) (after: b)", "markdown")
    for verb in (reimport, rehearse_import):
        with pytest.raises(DependencyCycle):
            verb(boardroom, "crew", LEAD, wishes_of(drafts, source=PLAN), PLAN)
    assert files(boardroom) == before


def test_hooks_are_asked_about_what_is_new_alone():
    boardroom = make_desk(hooks={"TaskCreated": ["check"]})
    reimport(boardroom, "crew", LEAD, [NewTask("A", source=PLAN)], PLAN)
    boardroom.programs.results["check"] = Ran(2, errors="no more tasks")  # type: ignore[attr-defined]
    urgent = NewTask("A", priority="high", source=PLAN)
    with pytest.raises(HookBlocked, match="no more tasks"):
        reimport(boardroom, "crew", LEAD, [urgent, NewTask("B", source=PLAN)], PLAN)
    assert boardroom.tasks.read("crew", "1").priority == "normal"
    assert told(reimport(boardroom, "crew", LEAD, [urgent], PLAN)) == became(changed={"1": ["priority"]})


def test_what_changed_while_hooks_were_asked_is_seen():
    boardroom = make_desk(hooks={"TaskCreated": ["check"]})
    reimport(boardroom, "crew", LEAD, [NewTask("A", source=PLAN)], PLAN)

    def claim_meanwhile(*_: Any, **__: Any) -> Ran:
        board.claim(boardroom, "crew", "ann", "1")
        return Ran(0)

    boardroom.programs.run = claim_meanwhile  # type: ignore[method-assign]
    done = reimport(boardroom, "crew", LEAD, [NewTask("A", priority="high", source=PLAN), NewTask("B")], PLAN)
    assert told(done) == became(added=["2"], kept={"1": "ann works on it"})


@pytest.mark.parametrize("seed", range(30))
def test_after_any_history_the_board_says_what_the_plan_says(seed):
    """Plans with ids, changed at random: after each the board has its edges, both sides of them, and no other."""
    boardroom, chance = make_desk(), random.Random(seed)
    for _ in range(4):
        count = chance.randrange(1, 8)
        order = chance.sample(range(10), count)
        wishes = [
            NewTask(
                f"title {chance.randrange(3)}",
                key=f"k{number}",
                depends_on=[f"k{other}" for other in order[:at] if chance.random() < 0.4],
                source=PLAN,
            )
            for at, number in enumerate(order)
        ]
        reimport(boardroom, "crew", LEAD, wishes, PLAN)
        found = boardroom.tasks.board("crew")
        ids = {card.key: card.id for card in found.cards.values()}
        assert len(ids) == len(found.cards)
        for wish in wishes:
            card = found.card(ids[wish.key])
            assert sorted(card.blocked_by) == sorted(ids[name] for name in wish.depends_on)
            assert card.subject == wish.subject
        for card in found.cards.values():
            assert all(card.id in found.card(id).blocks for id in card.blocked_by)
            assert all(card.id in found.card(id).blocked_by for id in card.blocks)


def test_what_is_completed_on_the_board_may_be_ticked_in_the_plan(boardroom):
    text = "- [ ] A\n- [ ] B\n  - [ ] Tests\n- [ ] C\n  - [ ] Tests\n- [ ] D\n"
    drafts = read_plan(text, "markdown")
    plan(boardroom, text)
    for id in ("1", "5"):
        board.claim(boardroom, "crew", "ann", id)
        board.complete(boardroom, "crew", "ann", id)
    board.cancel(boardroom, "crew", LEAD, "6", "no")
    done = done_drafts(boardroom.tasks.board("crew"), drafts, PLAN)
    assert done == [True, False, False, False, True, False]
    lines = [draft.line for draft, is_done in zip(drafts, done, strict=True) if is_done]
    assert ticked(text, lines) == "- [x] A\n- [ ] B\n  - [ ] Tests\n- [ ] C\n  - [x] Tests\n- [ ] D\n"
