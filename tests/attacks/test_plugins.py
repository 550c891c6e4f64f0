"""A repository that uses its trusted settings to look at teams which are not its own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.teamd.plugins.test_plugin_host import Stage
from tests.teamd.plugins.test_webhook import Server
from tests.trusting import trust

from atm.events.rules import MESSAGE_WRITTEN, PLUGIN_STATE, TeamEvent
from atm.roster.services.members import add_member, create_team, remove_member
from atm.team.rules.team import Member
from atm.teamd.plugins.discovery import Found

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="starts processes as POSIX does")


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def stage(layout, room, home) -> Stage:
    made = Stage(layout, room, home)
    made.found = [Found("webhook", "atm.teamd.plugins.bundled.webhook:Webhook")]
    return made


@pytest.fixture
def repo(stage, tmp_path) -> Path:
    """A repository on the daemon's list, at which team hired works and team secret does not."""
    folder: Path = tmp_path / "evil"
    (folder / ".git").mkdir(parents=True)
    path = Path(stage.layout.daemon_settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"repos = [{str(folder)!r}]\n")
    for team, cwd in (("hired", folder), ("secret", tmp_path / "home")):
        create_team(stage.room, team)
        add_member(stage.room, team, Member("ann", cwd=str(cwd)))
    return folder


def ask_for_webhook(stage: Stage, repo: Path, server: Server, more: str = "") -> None:
    """What a later commit of that repository says; and the user's yes, given in good faith."""
    where = f'url = "{server.url}"\nsecret = "x"\nmax_per_minute = 600000\n'
    (repo / ".atm.toml").write_text(f"[plugins.webhook]\nenabled = true\n{where}{more}")
    trust(Path(stage.environment["ATM_HOME"]), repo)


def mail_in(team: str, summary: str) -> TeamEvent:
    return TeamEvent(MESSAGE_WRITTEN, team, "ann", 1.0, {"from": "boss", "summary": summary})


def told(server: Server) -> list[tuple[str, object]]:
    return [(got.json["team"], got.json["detail"].get("summary")) for got in server.requests]


@pytest.mark.parametrize("more", ["", 'teams = ["secret", "hired"]\n', 'teams = ["*", "hired"]\n'])
def test_a_trusted_repositorys_webhook_gets_nothing_of_another_team(stage, repo, server, more):
    ask_for_webhook(stage, repo, server, more)

    async def play() -> None:
        async with stage.hosting() as host:
            await stage.until_state("webhook", "running", str(repo))
            host.publish(mail_in("secret", "the password is hunter2"))
            host.publish(TeamEvent(PLUGIN_STATE, "", "digest", 1.0, {"place": "machine", "summary": "/home/you/x"}))
            host.publish(mail_in("crew", "nobody said where crew works"))
            host.publish(mail_in("hired", "about this repository"))
            await stage.until(lambda: server.requests)

    asyncio.run(play())
    assert told(server) == [("hired", "about this repository")]


def test_it_hears_of_a_team_from_when_a_member_comes_until_it_leaves(stage, repo, server):
    ask_for_webhook(stage, repo, server)

    async def play() -> None:
        async with stage.hosting() as host:
            await stage.until_state("webhook", "running", str(repo))
            host.publish(mail_in("secret", "before"))
            host.publish(mail_in("hired", "one"))
            await stage.until(lambda: len(server.requests) == 1)
            add_member(stage.room, "secret", Member("bob", cwd=f"{repo}/src"))
            host.publish(mail_in("secret", "while bob works here"))
            await stage.until(lambda: len(server.requests) == 2)
            remove_member(stage.room, "secret", "bob", force=True)
            host.publish(mail_in("secret", "after"))
            host.publish(mail_in("hired", "two"))
            await stage.until(lambda: len(server.requests) == 3)

    asyncio.run(play())
    assert told(server) == [("hired", "one"), ("secret", "while bob works here"), ("hired", "two")]


def test_the_users_own_webhook_hears_of_all_teams_unless_they_name_some(stage, repo, server):
    where = f'url = "{server.url}"\nsecret = "x"\nmax_per_minute = 600000\n'

    async def play(more: str) -> None:
        stage.enable({"webhook": where + more})
        async with stage.hosting() as host:
            await stage.until_state("webhook", "running")
            server.requests.clear()
            for team in ("secret", "crew", "hired"):
                host.publish(mail_in(team, ""))
            await stage.until(lambda: ("hired", "") in told(server))

    asyncio.run(play(""))
    assert [team for team, _ in told(server)] == ["secret", "crew", "hired"]
    asyncio.run(play('teams = ["crew", "hired"]\n'))
    assert [team for team, _ in told(server)] == ["crew", "hired"]


def test_a_roster_that_names_the_plugins_own_member_does_not_let_it_in(stage, repo, server):
    ask_for_webhook(stage, repo, server)
    add_member(stage.room, "secret", Member("hook", cwd=str(repo), backend="plugin:webhook"))

    async def play() -> None:
        async with stage.hosting() as host:
            await stage.until_state("webhook", "running", str(repo))
            host.publish(mail_in("secret", "the password is hunter2"))
            host.publish(mail_in("hired", "one"))
            await stage.until(lambda: server.requests)

    asyncio.run(play())
    assert told(server) == [("hired", "one")]


# What the user is shown before and after.


def test_the_question_says_what_a_plugin_will_see(atm, repo, stage, server):
    ask_for_webhook(stage, repo, server, 'teams = ["hired"]\n')
    asks = {ask["key"]: ask for ask in atm("trust", str(repo), "--show", "--json").json["asks"]}
    assert asks["plugins.webhook.enabled"] == {
        "key": "plugins.webhook.enabled",
        "value": True,
        "class": "consent",
        "sees": f"it sees the teams of which somebody works in {repo} or a worktree of it, and no others; "
        "of these only: hired",
    }
    assert [key for key, ask in asks.items() if "sees" in ask] == ["plugins.webhook.enabled"]
    assert f"it sees the teams of which somebody works in {repo}" in atm("trust", str(repo), "--show").out


@pytest.mark.parametrize("line", ["enabled = false", "enabled.deep = true", "inner.enabled = true"])
def test_a_line_that_enables_nothing_sees_nothing(atm, repo, line):
    (repo / ".atm.toml").write_text(f"[plugins.webhook]\n{line}\n")
    assert all("sees" not in ask for ask in atm("trust", str(repo), "--show", "--json").json["asks"])


def test_lists_say_for_each_place_what_a_plugin_sees_there(atm, repo, stage, server):
    ask_for_webhook(stage, repo, server)
    stage.enable({"webhook": f"url = {json.dumps(server.url)}", "digest": 'teams = ["Secret", "nowhere"]'})
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    listed = {one["name"]: one["sees"] for one in atm("plugins", "list", "--json").json["plugins"]}
    assert listed["webhook"] == {"machine": "all teams", str(repo): ["hired"]}
    assert listed["digest"] == {"machine": ["secret"]}
    assert atm("plugins", "info", "webhook", "--json").json["sees"] == listed["webhook"]
    out = atm("plugins", "info", "webhook").out
    assert "enabled in machine, sees all teams" in out
    assert f"enabled in {repo}, sees hired" in out
    remove_member(stage.room, "hired", "ann", force=True)
    assert f"enabled in {repo}, sees no team yet" in atm("plugins", "info", "webhook").out
