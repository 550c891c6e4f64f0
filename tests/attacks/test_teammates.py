"""A hostile teammate: what one member tries on another's mail, work and standing (D26)."""

from __future__ import annotations

import json
import os

import pytest
from tests.attacks.shells import refused, under

from atm.domain.team.team import Member
from atm.services.roster.members import add_member, create_team


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

    def test_agents_that_share_a_process_are_told_apart_by_nothing_so_their_lead_leads(self, crew):
        self.plan_of_bob(crew)
        crew("tasks", "beat", "--as", "bob", "--pid", str(os.getpid()))
        crew("tasks", "beat", "--as", "ann", "--pid", str(os.getpid()))
        crew.fresh = True
        crew("tasks", "plan", "reject", "1", "--feedback", "no", "--as", "ann")


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
        crew("tasks", "review", "request", "1", "--reviewer", "dora", "--as", "bob", code=1)
        crew("tasks", "review", "request", "1", "--reviewer", "dora", "--as", "ann")

    def test_one_whom_a_teammate_named_may_be_changed(self, crew, room):
        add_member(room, "crew", Member("dora"))
        crew("tasks", "add", "work", "--reviewer", "cat", "--as", "bob")
        crew("tasks", "claim", "1", "--as", "bob")
        crew("tasks", "review", "request", "1", "--reviewer", "dora", "--as", "bob")

    def test_dependencies_of_others_tasks_are_dropped_by_their_owner_the_lead_or_a_person(self, crew):
        crew("tasks", "add", "first", "--as", "ann")
        crew("tasks", "add", "second", "--depends-on", "1", "--owner", "bob", "--as", "ann")
        done = crew("tasks", "depend", "2", "--off", "1", "--as", "cat", "--json", code=1)
        assert "not-allowed" in done.out + done.err
        crew("tasks", "depend", "2", "--off", "1", "--as", "bob")
