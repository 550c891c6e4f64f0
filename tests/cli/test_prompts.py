"""A person at a terminal is asked for what is missing. Without a terminal nobody is."""

from __future__ import annotations

import pytest


def answered(terminal, *pairs: tuple[str, str]) -> str:
    for question, answer in pairs:
        terminal.read_until(lambda text, question=question: question in text)
        terminal.type(f"{answer}\n")
    return str(terminal.read_until(lambda _: False))


def test_who_and_what_are_asked_for(crew, on_terminal):
    shown = answered(on_terminal("send", "--from", "bob"), ("agent (", "ann"), ("message:", "is the parser done?"))
    assert "sent to ann@crew" in shown
    assert crew.rows("ann")[0]["text"] == "is the parser done?"


def test_an_answer_that_looks_like_an_option_is_a_text(crew, on_terminal):
    answered(on_terminal("tasks", "add"), ("subject (", "--json"))
    assert crew("tasks", "--json").json["tasks"][0]["subject"] == "--json"


def test_without_an_answer_it_is_the_error_that_it_always_was(crew, on_terminal):
    assert "<agent> is missing" in answered(on_terminal("send"), ("agent (", ""))


@pytest.mark.parametrize("words", [["send"], ["send", "ann"], ["tasks", "add"], ["teams", "delete", "crew"]])
def test_without_a_terminal_nobody_is_asked(crew, words):
    assert "fix: " in crew(*words, code=1).err


def test_a_program_at_a_terminal_is_not_asked_either(crew, seen):
    assert '"error"' in seen("send", "ann", "--json")


def test_a_yes_is_asked_for_where_a_flag_would_say_it(atm, on_terminal):
    atm("teams", "create", "crew")
    assert "crew" in answered(on_terminal("teams", "delete", "crew"), ("Do it now? [y/N]", "n"))
    assert (atm.home / ".claude/teams/crew").exists()
    assert "deleted team crew" in answered(on_terminal("teams", "delete", "crew"), ("Do it now? [y/N]", "y"))
    assert not (atm.home / ".claude/teams/crew").exists()


def test_who_only_wants_to_see_is_not_asked(crew, seen):
    crew.inbox("gone").write_text("[]")
    assert "Do it now?" not in seen("teams", "cleanup", "crew", "--dry-run")


def test_what_was_shown_is_done_after_a_yes(crew, on_terminal):
    crew.inbox("gone").write_text("[]")
    shown = answered(on_terminal("teams", "cleanup", "crew"), ("Do it now? [y/N]", "yes"))
    assert "removed" in shown
    assert not crew.inbox("gone").exists()


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CODEX_THREAD_ID", "ATM_GENERATION"])
def test_an_agent_whose_program_gives_it_a_terminal_is_not_asked(crew, seen, mark):
    assert "<agent> is missing" in seen("send", env={mark: "1"})
