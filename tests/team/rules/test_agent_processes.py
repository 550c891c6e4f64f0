from __future__ import annotations

import pytest

from atm.team.rules.agent_processes import ProcessOwner, is_started_by, may_join, nearest_agent, program_in
from atm.team.rules.team import Member, Team


@pytest.fixture
def crew() -> Team:
    return Team(name="crew", members=[Member("ann"), Member("bob"), Member("cat")], lead="ann")


def owner(member: str, team: str = "crew") -> ProcessOwner:
    return ProcessOwner(team, member, None)


class TestWhoMayJoin:
    def test_a_process_that_is_nobodys_may_become_anybodys(self, crew):
        assert may_join([], crew, "bob")

    def test_and_stays_that_members(self, crew):
        assert may_join([owner("bob")], crew, "BOB")

    @pytest.mark.parametrize("other", ["cat", "ann", "human"])
    def test_nobody_else_is_let_into_it(self, crew, other):
        assert not may_join([owner("bob")], crew, other)

    def test_the_lead_may_host_its_teammates_and_start_them(self, crew):
        assert may_join([owner("ann")], crew, "bob")
        assert may_join([owner("bob"), owner("ann")], crew, "bob")

    def test_the_lead_of_another_team_may_not(self, crew):
        assert not may_join([owner("ann", "other")], crew, "bob")


class TestTheAgentThatStartedSomething:
    def test_it_is_the_nearest_that_is_no_shell(self):
        assert nearest_agent([(9, "sh"), (8, "timeout"), (7, "claude"), (6, "bash"), (5, "node")]) == 7

    @pytest.mark.parametrize("program", ["python3", "tmux: server", "code", "sshd", ""])
    def test_what_is_no_agent_is_not_taken_for_one(self, program):
        assert nearest_agent([(9, "sh"), (8, program), (7, "claude")]) is None

    def test_one_that_only_forked_stands_for_its_parent(self):
        assert nearest_agent([(9, "sh"), (8, "claude\0-p"), (7, "claude\0-p"), (6, "bash")]) == 7

    def test_an_agent_that_another_started_is_itself(self):
        assert nearest_agent([(9, "/bin/sh\0-c\0atm"), (8, "claude\0-p"), (7, "claude\0--lead"), (6, "bash")]) == 8

    @pytest.mark.parametrize(("command", "name"), [("/usr/bin/node\0x.js", "node"), ("-zsh", "zsh"), ("", "")])
    def test_a_program_has_a_short_name(self, command, name):
        assert program_in(command) == name

    def test_the_first_process_of_a_machine_is_nobodys(self):
        assert nearest_agent([(9, "bash"), (1, "node")]) is None
        assert nearest_agent([]) is None


@pytest.mark.parametrize(
    ("commands", "is_hosted"),
    [
        pytest.param([(9, "sh\0-c"), (8, "claude\0-p"), (7, "python\0-m")], True, id="its own program"),
        pytest.param([(9, "sh\0-c"), (8, "codex"), (6, "node\0codex"), (7, "python")], True, id="with a wrapper"),
        pytest.param([(9, "sh"), (8, "gemini"), (5, "bash\0-c"), (4, "claude"), (7, "python")], False, id="a child's"),
        pytest.param([(9, "sh"), (8, "claude"), (1, "init")], False, id="without that host"),
        pytest.param([(9, "sh"), (7, "python")], False, id="no program at all"),
    ],
)
def test_a_host_knows_the_program_that_it_started_and_none_that_this_one_started(commands, is_hosted):
    assert is_started_by(7, commands) == is_hosted


def test_the_first_process_of_a_machine_hosts_nobody():
    assert not is_started_by(1, [(9, "gemini"), (8, "make"), (1, "init")])
