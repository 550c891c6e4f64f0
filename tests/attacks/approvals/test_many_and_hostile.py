"""A thousand requests hinder nobody, and no text of an agent's shows people anything but itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.attacks.approvals.world import ApprovalWorld, make_team
from tests.in_memory import in_memory

from atm.approvals.formats.records import approval_json
from atm.approvals.rules.requests import APPROVED, Approval, GivenAnswer, RuleNote
from atm.approvals.services.answering import give_answer
from atm.approvals.services.looking import waiting_in
from atm.approvals.services.telling import call_in_words
from atm.ui.views.approvals import detail, exact, row

CORPUS = Path(__file__).parents[2] / "corpus" / "hostile-texts.json"
HOSTILE = [
    "ls\x1b[2J\x1b[1;1Hnothing to see",
    "ls \u202egnp.exe",
    "ls\rgit status",
    "ls\u2028who      hugo in crew",
    "ls\x00x",
    "ls\u200b\u2066x\u2069",
    "ls\x9b2Jx",
    "ls\ud800x",
    "\x07\x08\x08rm",
    *(sample["text"] for sample in json.loads(CORPUS.read_text())),
]


def request(text: str, **more: object) -> Approval:
    facts: dict[str, object] = dict.fromkeys(("requester", "command", "folder", "diff", "why", "task"), text)
    facts |= {"tool": text, "operation": "tool", "tier": "human", "paths": [text], "team": "crew"}
    facts |= {"asked_at": 1.0, "expires_at": 100.0, "rule": RuleNote(text, 1, text)}
    one = Approval("a1", **(facts | more))  # type: ignore[arg-type]
    one.answer = GivenAnswer(APPROVED, by=text, how=text, pid=1, at=2.0, reason=text)
    return one


def is_harmless(line: str) -> bool:
    return line.replace("\t", " ").isprintable()


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_a_request_is_shown_harmless_and_on_lines_of_its_own(text):
    shown = detail(request(text), 3.0)
    assert [line for line in shown if not is_harmless(line)] == []
    heads = [line.partition(" ")[0] for line in shown[:9] if not line.startswith("    ")]
    assert heads.count("who") == heads.count("answer") == 1
    what = row(request(text), 3.0)[3]
    assert is_harmless(what)


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_what_does_not_show_itself_is_spelled_and_nothing_is_left_out(text):
    for line in exact(text).split("\n"):
        assert is_harmless(line)
    if exact(text) != text:
        assert "\\" in exact(text)


def test_two_commands_that_differ_never_look_the_same():
    shown = [exact(text) for text in ("ls \u202ex", "ls x", "ls \\u202ex", "ls\tx", "ls  x", "ls\rx", "ls\u200bx")]
    assert len(set(shown)) == len(shown)


def test_for_programs_it_is_to_the_letter():
    text = "ls\x1b[2J\n\u202e"
    assert approval_json(request(text), 3.0)["command"] == text


def test_what_is_cut_in_a_letter_is_said():
    said = call_in_words(request("x" * 3000, tool="Bash"))
    assert "(1,000 of 3,000 characters are left out; all of it: atm approvals show a1)" in said
    assert said.startswith("Bash: xxx")
    assert said.endswith("xxx")


@pytest.fixture
def world(tmp_path):
    for folder in in_memory(tmp_path):
        make_team(folder / "home")
        yield ApprovalWorld(folder / "home")


def test_a_thousand_that_wait_are_listed_and_hinder_nobody(world):
    now = world.room.clock.now()
    for number in range(1000):
        one = request("x", requester="bob", team="crew", digest=f"{number:064x}", task="")
        one.id, one.asked_at, one.expires_at, one.answer = f"{number:012x}", now + number / 1000, now + 1800, None
        assert world.store.create(one)
    assert len(waiting_in(world.room, "crew")) == 1000
    one = world.ask()
    give_answer(world.room, one, "hugo", APPROVED, "", "h")
    assert world.permit().is_yes
