"""How a run looks: lines, the picture, what people are asked for, the report."""

from __future__ import annotations

from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import COMPLETED, IN_PROGRESS, Card
from atm.runs.formats.report_text import report_text, seconds_in_words
from atm.runs.rules import memory as kinds
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.orders import AgentSeat, RunOrder
from atm.runs.rules.view import AgentView, RunView, TaskFacts
from atm.ui.cli.arguments import parse
from atm.ui.cli.catalog import load
from atm.ui.views.fitting import cut
from atm.ui.views.runs import event_line, for_people, progress
from atm.ui.views.style import width_of

ORDER = RunOrder(run="r", team="crew", folder="/r", seats=[AgentSeat(name=f"a{n}", runtime="claude") for n in (1, 2)])


def plain(text: str, *_: str) -> str:
    return text


def view(*cards: Card, **facts: object) -> RunView:
    agent = AgentView(name="a1", generation=1, state="working", is_alive=True, task="2")
    return RunView(
        now=10.0,
        board=Board({card.number: card for card in cards}),
        agents={"a1": agent},
        facts={},
        **facts,  # type: ignore[arg-type]
    )


CARDS = (
    Card(1, "Lexer", status=COMPLETED),
    Card(2, "日本語のドキュメント " * 9, status=IN_PROGRESS, owner="a1", claim_id="c"),
    Card(3, "Parser", blocked_by=["2"]),
)


def test_every_line_of_the_picture_fits_whatever_stands_in_titles():
    for width in (40, 80, 200):
        lines = progress(ORDER, RunMemory(), view(*CARDS), plain, width, 20.0)
        assert max(width_of(line) for line in lines) <= max(width, 70)
    assert "■◉◌" in lines[1]
    assert "1 of 3 done" in lines[1]


def test_the_picture_has_what_an_agent_at_work_said_last_and_what_is_merged_just_now():
    memory = RunMemory()
    memory.take(RunEvent("merge.merging", "1", 1.0))
    for width in (40, 80):
        lines = progress(
            ORDER, memory, view(*CARDS), plain, width, 20.0, {"a1": "12 of 40 passed \x1b[2J世" * 9, "a2": "x"}
        )
        assert lines[3].startswith("   └ 12 of 40 passed ␛[2J")
        assert (lines[5], len(lines)) == (" ⇥ merging #1 Lexer", 6)
        assert max(width_of(line) for line in lines) <= width


def test_every_kind_of_event_can_be_told_and_escapes_do_not_get_through():
    hostile = "\x1b[2J\x07evil"
    for kind in kinds.KINDS:
        event = RunEvent(kind, hostile, 1.0, text=hostile, why=hostile, task="1", pid=1)
        assert "\x1b" not in (event_line(event, {"1": hostile}) or ("",))[0]


def test_what_only_a_person_can_do_comes_with_a_command_that_parses():
    cards = (
        Card(1, "A", status=IN_PROGRESS, owner="a1", claim_id="c", plan="submitted"),
        Card(2, "B", status=IN_PROGRESS, owner="a2", claim_id="d", needs="lead"),
        Card(3, "C"),
    )
    found = view(*cards, approvals={"abcdef0123": ("a1", "waiting")})
    found.facts = {"3": TaskFacts(untrusted="rm x")}
    memory = RunMemory()
    memory.take(RunEvent(kinds.REFUSED, "3", 1.0, why="nobody has allowed `rm x`"))
    said = for_people(ORDER, memory, found)
    assert len(said) == 4
    commands = [part.strip() for line in said for part in line.split(";") if "atm " in part]
    assert len(commands) == 6
    for command in commands:
        words = command[command.index("atm ") :].split()[1:]
        parse(load(words[0])[0], words[1:])


def test_what_is_too_long_is_cut_by_columns():
    assert cut("日本語", 4) == "日…"
    assert cut("abc", 3) == "abc"


def test_times_are_told_as_people_say_them():
    assert [seconds_in_words(s) for s in (0.42, 89, 600, 7_200)] == ["0.4 s", "89.0 s", "10 min", "2.0 h"]


def test_a_report_says_unknown_for_what_is_not_known():
    facts: dict[str, object] = {
        "run": "r",
        "team": "t",
        "outcome": "partial",
        "why": None,
        "seconds": 1.0,
        "goal": "a | b",
        "branches": [],
        "failures": [{"task": "1", "subject": "x|y", "state": "failed", "why": "no\nway"}],
        "tasks": {"needs_human": []},
        "agents": [{"name": "a1", "seconds": 1.0, "turns": 0, "restarts": 0}],
        "tokens": None,
        "cost": None,
        "overhead": {"seconds": 0.1, "tokens_injected": None},
        "approvals": {"asked": 0},
    }
    text = report_text(facts)  # type: ignore[arg-type]
    assert "Tokens: unknown; cost: unknown" in text
    assert r"x\|y" in text
    assert all(line.count(" | ") <= 5 for line in text.splitlines())


def test_the_line_of_an_agent_says_how_long_it_works_its_limit_and_its_silence_in_80_columns():
    seen = view(*CARDS)
    seen.agents["a1"].task_since, seen.agents["a1"].output_at = 280.0, 520.0
    for limit, said in (
        (3600.0, "12 min of 1h, no output for 8 min: "),
        (0.0, "12 min, no limit, no output for 8 min: "),
    ):
        seen.agents["a1"].task_limit = limit
        line = progress(ORDER, RunMemory(), seen, plain, 80, 1000.0)[2]
        assert f"#2 {said}日本" in line
        assert width_of(line) <= 80
    assert "#2 日本" in progress(ORDER, RunMemory(), seen, plain, 80, 285.0)[2]
