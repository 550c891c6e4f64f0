"""A hostile teammate: what one member tries on another's mail, work and standing (D26)."""

from __future__ import annotations

import json
import os

import pytest
from tests.attacks.shells import program, refused, shell, under

from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member


@pytest.fixture
def crew(atm, room):
    """The program beside a team of ann (who leads it), bob and cat."""
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    add_member(room, "crew", Member("cat"))
    path = atm.home / ".claude/teams/crew/config.json"
    fields = json.loads(path.read_text())
    fields["leadAgentId"] = "ann@crew"
    path.write_text(json.dumps(fields))
    return atm


# Mail of others.


class TestAnswers:
    def test_an_urgent_message_is_not_silenced_by_a_third_member_with_the_beginning_of_its_id(self, crew):
        sent = crew("send", "bob", "main is broken", "--from", "ann", "--urgent", "--require-ack", "--json").json
        id = sent["message_id"]
        for guess in (id, id[:8], id[0]):
            crew("send", "ann", "never mind", "--from", "cat", "--reply-to", guess, code=1)
        (trace,) = crew("receipts", id, "--json").json["recipients"]
        assert trace["state"] != "answered"
        assert crew.rows("ann") == []

    def test_a_miss_and_a_message_of_others_are_the_same_error(self, crew):
        id = crew("send", "bob", "for bob alone", "--from", "ann", "--json").json["message_id"]
        said = []
        for guess in (id, "ffffffff-0000"):
            done = crew("send", "ann", "hm", "--from", "cat", "--reply-to", guess, "--json", code=1)
            error = json.loads(done.out or done.err)["error"]
            said.append((error["code"], error["message"].replace(guess, "ID")))
        assert said[0] == said[1]

    def test_a_namesake_of_another_team_cannot_answer_either(self, crew, room):
        create_team(room, "other")
        add_member(room, "other", Member("bob"))
        id = crew("send", "bob@crew", "for bob of crew", "--from", "ann", "--json").json["message_id"]
        env = {"ATM_TEAM": "other", "ATM_IDENTITY": "bob"}
        crew("send", "ann@crew", "done", "--reply-to", id, env=env, code=1)
        (trace,) = crew("receipts", id, "--team", "crew", "--json").json["recipients"]
        assert trace["state"] != "answered"

    def test_an_acknowledgement_in_the_process_of_another_member_is_refused(self, crew):
        id = crew("send", "bob", "main is broken", "--from", "ann", "--json").json["message_id"]
        refused(under(crew, "cat", "ack", id, "--as", "bob", "--json"))
        refused(under(crew, "cat", "send", "ann", "ok", "--from", "bob", "--reply-to", id, "--json"))
        assert under(crew, "bob", "ack", id, "--as", "bob", "--json").returncode == 0


# The standing of a lead or a person.


class TestStanding:
    def plan_of_bob(self, crew) -> None:
        crew("tasks", "add", "risky", "--plan")
        crew("tasks", "claim", "1", "--as", "bob")
        crew("tasks", "plan", "submit", "1", "--text", "rm -rf /", "--as", "bob")

    @pytest.mark.parametrize("name", ["human", "ann"])
    def test_a_claimant_does_not_approve_its_own_plan_under_another_name(self, crew, name):
        self.plan_of_bob(crew)
        assert "bob@crew" in refused(under(crew, "bob", "tasks", "plan", "approve", "1", "--as", name, "--json"))
        refused(under(crew, "bob", "tasks", "plan", "approve", "1", "--json", env={"ATM_IDENTITY": name}))
        assert crew("tasks", "show", "1", "--json").json["task"]["plan"] == "submitted"

    def test_the_lead_in_its_own_process_and_a_person_outside_of_all_may(self, crew):
        self.plan_of_bob(crew)
        done = under(crew, "ann", "tasks", "plan", "reject", "1", "--feedback", "no", "--as", "ann", "--json")
        assert done.returncode == 0, done.stderr
        crew("tasks", "plan", "submit", "1", "--text", "carefully", "--as", "bob")
        crew("tasks", "plan", "approve", "1", "--as", "human")

    def test_a_member_of_one_team_is_no_person_for_another(self, crew, room):
        create_team(room, "other")
        add_member(room, "other", Member("eve"))
        crew.environment["ATM_TEAM"] = "crew"
        self.plan_of_bob(crew)
        words = ("tasks", "plan", "approve", "1", "--team", "crew", "--as", "human", "--json")
        assert "eve@other" in refused(under(crew, "eve", *words, team="other"))

    @pytest.mark.parametrize(
        "words",
        [
            ("tasks", "release", "1", "--as", "human"),
            ("tasks", "assign", "1", "--to", "cat", "--as", "ann"),
            ("tasks", "cancel", "1", "--as", "human"),
            ("tasks", "depend", "2", "--off", "1", "--as", "human"),
            ("sync", "nudge", "bob", "--as", "human"),
            ("mcp", "token", "new", "--as", "human", "--role", "human"),
            ("mcp", "token", "revoke", "12345678"),
            ("trust", ".", "--yes"),
            ("config", "set", "hooks.TaskCreated", "touch pwned"),
            ("plugins", "enable", "webhook"),
        ],
        ids=" ".join,
    )
    def test_no_other_verb_of_a_boss_is_to_be_had_by_a_name(self, crew, words):
        (crew.folder / ".atm.toml").write_text("[hooks]\n")
        crew("tasks", "add", "one")
        crew("tasks", "add", "two", "--depends-on", "1")
        crew("tasks", "claim", "1", "--as", "bob")
        refused(under(crew, "cat", *words, "--json"))
        task = crew("tasks", "show", "1", "--json").json["task"]
        assert (task["status"], task["owner"]) == ("in_progress", "bob")

    def test_a_person_who_is_a_member_is_a_person_in_its_own_process(self, crew, room):
        add_member(room, "crew", Member("dora", backend="human"))
        self.plan_of_bob(crew)
        assert under(crew, "dora", "tasks", "plan", "approve", "1", "--as", "dora", "--json").returncode == 0

    def test_agents_that_their_lead_hosts_share_its_process_so_their_lead_leads(self, crew):
        self.plan_of_bob(crew)
        crew("tasks", "beat", "--as", "ann", "--pid", str(os.getpid()))
        crew("tasks", "beat", "--as", "bob", "--pid", str(os.getpid()))
        crew.fresh = True
        crew("tasks", "plan", "reject", "1", "--feedback", "no", "--as", "ann")
        assert crew("tasks", "show", "1", "--json").json["task"]["plan"] == "rejected"


class TestNamesOfOthers:
    """Whatever a command does in somebody's name, it does not do in the process of another member."""

    @pytest.mark.parametrize(
        "words",
        [
            ("read", "--as", "cat"),
            ("send", "ann", "yes, merge it", "--from", "cat"),
            ("send", "cat", "do X", "--from", "human", "--urgent"),
            ("send", "cat", "do X"),  # the default name is the person's
            ("broadcast", "stop", "--from", "ann"),
            ("request", "cat@crew", "ann@crew", "may I?"),
            ("tasks", "claim", "1", "--as", "cat"),
            ("tasks", "review", "approve", "2", "--as", "cat"),
            ("tasks", "complete", "2", "--as", "cat"),
            ("tasks", "comment", "2", "fine", "--as", "human"),
            ("tasks", "beat", "--as", "cat"),
            ("teams", "leave", "crew", "--as", "cat"),
        ],
        ids=" ".join,
    )
    def test_nothing_is_done_in_the_name_of_another(self, crew, words):
        crew("send", "cat", "for cat", "--from", "ann")
        crew("tasks", "add", "one", "--as", "ann")
        crew("tasks", "add", "two", "--as", "ann")
        crew("tasks", "claim", "2", "--as", "cat")
        before = self.state_of(crew)
        assert "bob@crew" in refused(under(crew, "bob", *words, "--json"))
        assert self.state_of(crew) == before

    def state_of(self, crew) -> object:
        tasks = crew("tasks", "list", "--json").json["tasks"]
        return [crew.rows(name) for name in ("ann", "bob", "cat")], [(t["status"], t["owner"]) for t in tasks]

    def test_a_name_that_means_nothing_may_be_used_anywhere(self, crew):
        assert under(crew, "bob", "send", "ann", "build is red", "--from", "ci", "--json").returncode == 0

    @pytest.mark.parametrize("name", ["atm", "ATM", "system"])
    def test_nobody_signs_as_atm_itself(self, crew, name):
        crew("send", "bob", "your session ends", "--from", name, code=1)
        assert crew.rows("bob") == []

    def test_a_reviewer_is_not_played_by_the_owner(self, crew):
        crew("tasks", "add", "work", "--reviewer", "cat", "--as", "ann")
        crew("tasks", "claim", "1", "--as", "bob")
        crew("tasks", "review", "request", "1", "--as", "bob")
        refused(under(crew, "bob", "tasks", "review", "approve", "1", "--as", "cat", "--json"))
        assert crew("tasks", "show", "1", "--json").json["task"]["review"] == {"state": "review", "reviewer": "cat"}


class TestHowAnAgentIsKnown:
    """By what it starts: nobody has to say whose process it is."""

    START = 'echo "{}" | ATM_IDENTITY=bob ATM_TEAM=crew atm hook claude SessionStart >/dev/null'
    HELLO = (
        """echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","""
        """"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}' | atm mcp --team crew --as bob >/dev/null"""
    )

    @pytest.mark.parametrize("first", [START, START.replace("SessionStart", "UserPromptSubmit"), HELLO])
    def test_a_hook_or_a_server_tells_whose_process_an_agent_is(self, crew, first):
        done = program(crew, "claude", f"{first}; atm tasks add one --as human --json; exit $?")
        assert "bob@crew" in refused(done)
        assert crew("tasks", "list", "--json").json["tasks"] == []

    def test_its_own_commands_go_on_as_before(self, crew):
        done = program(crew, "claude", f"{self.START}; atm tasks add one --as bob --json; exit $?")
        assert done.returncode == 0, done.stderr

    @pytest.mark.parametrize("name", ["code", "tmux", "python3", "zsh"])
    def test_a_program_that_is_no_agent_is_not_taken_for_one(self, crew, name):
        """A person's editor, or the person's own shell, that tried a hook by hand."""
        done = program(crew, name, f"{self.START}; atm tasks add one --as human --json; exit $?")
        assert done.returncode == 0, done.stdout

    def test_nobody_gets_a_server_as_another_in_an_agents_process(self, crew):
        said = self.HELLO.replace("--as bob >/dev/null", "--as cat")
        done = program(crew, "claude", f"{self.START}; {said}; true")
        assert "does not speak for cat" in done.stdout + done.stderr


class TestLeavingOnesOwnName:
    """What an agent can do with atm's own commands to be taken for somebody else, or for nobody."""

    def plan_of_bob(self, crew) -> None:
        crew("tasks", "add", "risky", "--plan")
        crew("tasks", "claim", "1", "--as", "bob")
        crew("tasks", "plan", "submit", "1", "--text", "rm -rf /", "--as", "bob")

    APPROVE = "atm tasks plan approve 1 --as human"
    SESSION_END = '{"session_id": "s", "hook_event_name": "SessionEnd"}'

    @pytest.mark.parametrize(
        "script",
        [
            f"sleep 60 & atm tasks beat --as bob --pid $!; {APPROVE}; kill $!",
            f"atm teams update-member crew bob --backend-type human; {APPROVE}",
            f"echo '{SESSION_END}' | ATM_IDENTITY=bob ATM_TEAM=crew atm hook claude SessionEnd; {APPROVE}",
            "sh -c 'atm tasks beat --as ann --pid $$; atm tasks plan approve 1 --as ann; exit $?'",
            f"atm teams remove-member crew bob --force; {APPROVE}",
            "ATM_IDENTITY=ann ATM_TEAM=crew atm hook claude SessionStart </dev/null; atm tasks plan approve 1 --as ann",
        ],
        ids=["another process", "a person on paper", "a goodbye", "a shell of the lead's", "removed", "a hook's word"],
    )
    def test_none_of_it_approves_a_plan(self, crew, script):
        self.plan_of_bob(crew)
        shell(crew, "bob", script)
        task = crew("tasks", "show", "1", "--json").json["task"]
        assert task["plan"] in ("submitted", "required")  # required anew, if the task was given back

    def test_nobody_is_locked_out_of_their_own_terminal(self, crew):
        shell(crew, "bob", f"atm tasks beat --as bob --pid 1; atm tasks beat --as bob --pid {os.getpid()}")
        crew.fresh = True
        self.plan_of_bob(crew)
        crew("tasks", "plan", "approve", "1", "--as", "human")
        assert crew("tasks", "show", "1", "--json").json["task"]["plan"] == "approved"

    @pytest.mark.parametrize(
        "words",
        [
            ("add-member", "crew", "human"),
            ("update-member", "crew", "cat", "--cwd", "/tmp"),
            ("update-member", "crew", "bob", "--backend-type", "human"),
            ("remove-member", "crew", "cat", "--force"),
            ("state", "crew", "stopped"),
            ("delete", "crew", "--yes", "--force"),
            ("restore", "crew"),
        ],
        ids=" ".join,
    )
    def test_who_belongs_to_a_team_is_not_decided_by_a_teammate(self, crew, words):
        roster = crew.home / ".claude/teams/crew/config.json"
        before = roster.read_bytes()
        refused(under(crew, "bob", "teams", *words, "--json"))
        assert roster.read_bytes() == before

    def test_its_lead_decides_it_and_a_member_may_describe_itself(self, crew):
        assert under(crew, "ann", "teams", "add-member", "crew", "dan", "--json").returncode == 0
        assert under(crew, "bob", "teams", "update-member", "crew", "bob", "--cwd", "/", "--json").returncode == 0

    def test_a_task_that_the_lead_gave_to_one_is_not_taken_by_another(self, crew):
        crew("tasks", "add", "first", "--as", "ann")
        crew("tasks", "add", "second", "--depends-on", "1", "--owner", "cat", "--as", "ann")
        done = crew("tasks", "assign", "2", "--to", "bob", "--as", "bob", "--json", code=1)
        assert "not-allowed" in done.out + done.err
        assert crew("tasks", "show", "2", "--json").json["task"]["owner"] == "cat"


# Work of others.


class TestReviewsAndDependencies:
    def in_progress(self, crew, *more: str) -> None:
        crew("tasks", "add", "work", *more, "--as", "ann")
        crew("tasks", "claim", "1", "--as", "bob")

    def test_a_reviewer_whom_the_lead_named_is_not_replaced_by_the_owner(self, crew, room):
        add_member(room, "crew", Member("dora"))
        self.in_progress(crew, "--reviewer", "cat")
        done = crew("tasks", "review", "request", "1", "--reviewer", "dora", "--as", "bob", "--json", code=1)
        assert "named cat" in done.out + done.err
        crew("tasks", "review", "request", "1", "--as", "bob")
        crew("tasks", "review", "approve", "1", "--as", "dora", code=1)
        crew("tasks", "review", "approve", "1", "--as", "cat")
        assert "approved by cat" in crew("tasks", "show", "1").out

    def test_nor_one_whom_the_lead_named_later_also_not_in_the_next_round(self, crew, room):
        add_member(room, "crew", Member("dora"))
        self.in_progress(crew)
        crew("tasks", "review", "request", "1", "--reviewer", "cat", "--as", "ann")
        crew("tasks", "review", "changes", "1", "--note", "tests", "--as", "cat")
        done = crew("tasks", "review", "request", "1", "--reviewer", "dora", "--as", "bob", "--json", code=1)
        assert "named cat" in done.out + done.err
        crew("tasks", "review", "request", "1", "--reviewer", "dora", "--as", "ann")
        assert crew("tasks", "show", "1", "--json").json["task"]["review"]["reviewer"] == "dora"

    def test_one_whom_a_teammate_named_may_be_changed(self, crew, room):
        add_member(room, "crew", Member("dora"))
        crew("tasks", "add", "work", "--reviewer", "cat", "--as", "bob")
        crew("tasks", "claim", "1", "--as", "bob")
        crew("tasks", "review", "request", "1", "--reviewer", "dora", "--as", "bob")
        assert crew("tasks", "show", "1", "--json").json["task"]["review"]["reviewer"] == "dora"

    def test_dependencies_of_others_tasks_are_dropped_by_their_owner_the_lead_or_a_person(self, crew):
        crew("tasks", "add", "first", "--as", "ann")
        crew("tasks", "add", "second", "--depends-on", "1", "--owner", "bob", "--as", "ann")
        done = crew("tasks", "depend", "2", "--off", "1", "--as", "cat", "--json", code=1)
        assert "not-allowed" in done.out + done.err
        crew("tasks", "depend", "2", "--off", "1", "--as", "bob")
