"""Plugins see the teams that they were enabled for: two teams, two repositories, and rosters that change meanwhile."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.teamd.plugins.test_plugin_host import Stage
from tests.trusting import trust

from atm.core.errors import NoSuchTeam
from atm.events.rules import PLUGIN_STATE, SETTINGS_RELOADED, TEAM_GONE, TeamEvent
from atm.roster.services.members import add_member, create_team, remove_member, update_member
from atm.setup.rules.context import RepoContext
from atm.team.rules.team import Member
from atm.teamd.plugins.api import Cancel, Capability, PluginContext, PluginError, PluginMetadata
from atm.teamd.plugins.bundled.digest import Digest
from atm.teamd.plugins.kit import PluginHarness
from atm.teamd.plugins.sight import REMEMBERED_FOR, Fence, Workplaces, scope_of
from atm.testing import FakeClock, memory_room

REPO = RepoContext("api", "/memory/api", None, None)


# The fence over rosters.


@pytest.fixture
def rosters():
    """Team crew, with ann; whoever works where is said by the test."""
    room = memory_room()
    create_team(room, "crew")
    return room


def fence(room, repo: Path | str | None, **config: object) -> Fence:
    assert isinstance(room.clock, FakeClock)
    scope = scope_of("webhook", str(repo) if repo is not None else None, config)
    return Fence(scope, Workplaces(room.rosters, room.clock.monotonic))


def test_a_link_to_the_repository_or_of_it_leads_to_the_same_place(rosters, tmp_path):
    (tmp_path / "repo/src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "repo")
    add_member(rosters, "crew", Member("ann", cwd=f"{tmp_path}/link/src"))
    assert fence(rosters, tmp_path / "repo").sees("crew")
    assert fence(rosters, tmp_path / "link").sees("Crew")


def test_a_link_out_of_the_repository_leads_out(rosters, tmp_path):
    (tmp_path / "repo").mkdir()
    (tmp_path / "else").mkdir()
    (tmp_path / "repo/link").symlink_to(tmp_path / "else")
    add_member(rosters, "crew", Member("ann", cwd=f"{tmp_path}/repo/link"))
    assert not fence(rosters, tmp_path / "repo").sees("crew")


@pytest.mark.parametrize("cwd", ["", ".", "src", "~", "/no/such/folder", "/odd\0path"])
def test_a_working_folder_that_says_nothing_lets_nobody_in(rosters, tmp_path, monkeypatch, cwd):
    monkeypatch.chdir(tmp_path)
    add_member(rosters, "crew", Member("ann", cwd=cwd))
    assert not fence(rosters, tmp_path).sees("crew")


def test_what_a_folder_is_is_looked_at_again_after_a_while(rosters, tmp_path):
    (tmp_path / "repo").mkdir()
    add_member(rosters, "crew", Member("ann", cwd=f"{tmp_path}/later"))
    seen = fence(rosters, tmp_path / "repo")
    assert not seen.sees("crew")
    (tmp_path / "later").symlink_to(tmp_path / "repo")
    rosters.clock.pass_time(REMEMBERED_FOR + 1)
    assert seen.sees("crew")


def test_a_team_that_is_not_there_is_seen_by_no_repository(rosters, tmp_path):
    assert not fence(rosters, tmp_path).sees("nowhere")
    assert not fence(rosters, tmp_path).sees("../crew")
    assert fence(rosters, None).sees("nowhere")  # whoever asks for it is told that it is not there


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture
def repo(tmp_path) -> Path:
    folder: Path = tmp_path / "api"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_a_member_in_a_worktree_of_the_repository_works_in_it(rosters, repo, tmp_path):
    git(repo, "worktree", "add", "-q", str(tmp_path / "fix"))
    (tmp_path / "fix/src").mkdir()
    add_member(rosters, "crew", Member("ann", cwd=f"{tmp_path}/fix/src"))
    assert fence(rosters, repo).sees("crew")
    assert not fence(rosters, tmp_path / "other").sees("crew")


def test_a_repository_cannot_claim_the_folder_of_others_as_its_worktree(rosters, repo, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    notes = repo / ".git/worktrees/other"
    notes.mkdir(parents=True)
    (notes / "gitdir").write_text(f"{other}/.git\n")
    (notes / "commondir").write_text("../..\n")
    add_member(rosters, "crew", Member("ann", cwd=str(other)))
    assert not fence(rosters, repo).sees("crew")


def test_a_folder_cannot_pass_for_a_worktree_that_the_repository_does_not_know(rosters, repo, tmp_path):
    git(repo, "worktree", "add", "-q", str(tmp_path / "fix"))
    false = tmp_path / "false"
    false.mkdir()
    (false / ".git").write_text((tmp_path / "fix/.git").read_text())
    add_member(rosters, "crew", Member("ann", cwd=str(false)))
    assert not fence(rosters, repo).sees("crew")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_the_place_of_a_file_of_git_holds_nobody_up(rosters, tmp_path):
    folder = tmp_path / "trap"
    folder.mkdir()
    os.mkfifo(folder / ".git")
    add_member(rosters, "crew", Member("ann", cwd=str(folder)))
    assert not fence(rosters, tmp_path / "api").sees("crew")


# What a plugin can ask through its context.


class Curious:
    """Hands its context to the test."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def metadata(self) -> PluginMetadata:
        return PluginMetadata("curious", "1", "asks", tuple(Capability))

    async def init(self, ctx: PluginContext) -> None:
        self.ctx = ctx

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        async for event in ctx.events:
            self.heard.append(event.team)
        await cancel.wait()

    async def shutdown(self) -> None:
        return


def curious(play: Any, **more: Any) -> None:
    async def run() -> None:
        plugin = Curious()
        async with PluginHarness(plugin, **more) as kit:
            create_team(kit.room, "other")
            add_member(kit.room, "other", Member("eve", cwd="/memory/else"))
            await play(kit, plugin.ctx, plugin.heard)

    asyncio.run(run())


ASKS = {
    "members": lambda ctx: ctx.roster.members("other"),
    "add": lambda ctx: ctx.roster.add("other", "spy"),
    "remove": lambda ctx: ctx.roster.remove("other", "eve"),
    "unread": lambda ctx: ctx.mail.unread("other", "eve"),
    "overview": lambda ctx: ctx.mail.overview("other"),
    "send": lambda ctx: ctx.mail.send("eve", "other", "hello"),
    "in another case": lambda ctx: ctx.mail.overview("OTHER"),
    "no such team": lambda ctx: ctx.mail.overview("nowhere"),
    "sender": lambda ctx: ctx.mail.send("ann", "crew", "hello", sender="eve@other"),
    "stranger": lambda ctx: ctx.mail.send("ann", "crew", "hello", sender="zoe@other"),
}


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("more", [{"repo": REPO}, {"config": {"teams": ["crew"]}}], ids=["repository", "narrowed"])
def test_a_team_that_is_not_its_own_is_refused_whatever_it_asks(ask, more):
    async def play(kit: PluginHarness, ctx: PluginContext, _: list[str]) -> None:
        with pytest.raises(PluginError, match="may not"):
            await ASKS[ask](ctx)
        assert kit.unread("eve", "other") == []
        assert kit.members == []

    curious(play, **more)


def test_its_own_team_is_open_to_a_plugin_of_a_repository():
    async def play(kit: PluginHarness, ctx: PluginContext, heard: list[str]) -> None:
        assert await ctx.roster.teams() == ["crew"]
        assert await ctx.roster.members("CREW") == ["ann", "bob"]
        assert (await ctx.mail.overview("crew")).team == "crew"
        await ctx.mail.send("ann", "crew", "hello")
        assert kit.unread("ann") == ["hello"]
        assert await ctx.roster.add("crew", "phone")
        for team in ("other", "crew"):
            kit.emit(TeamEvent("task.created", team, "1", 1.0))
        await kit.until(lambda: heard)
        assert heard == ["crew"]

    curious(play, repo=REPO)


def test_a_plugin_of_the_machine_is_told_what_is_not_there_and_sees_everything_else():
    async def play(_: PluginHarness, ctx: PluginContext, __: list[str]) -> None:
        assert await ctx.roster.teams() == ["crew", "other"]
        assert await ctx.roster.members("other") == ["eve"]
        with pytest.raises(NoSuchTeam):
            await ctx.mail.overview("nowhere")

    curious(play)


def test_the_member_it_plays_does_not_let_it_in_and_may_be_taken_away_when_it_is_out():
    async def play(kit: PluginHarness, ctx: PluginContext, _: list[str]) -> None:
        await ctx.roster.add("crew", "phone")
        update_member(kit.room, "crew", "phone", {"cwd": REPO.path})
        kit.write("phone", "for the phone")
        for name in ("ann", "bob"):
            remove_member(kit.room, "crew", name, force=True)
        assert await ctx.roster.teams() == []
        with pytest.raises(PluginError):
            await ctx.mail.unread("crew", "phone")
        taking = asyncio.ensure_future(anext(ctx.mail.outgoing()))
        await kit.until(lambda: any("cannot be read" in line.text for line in kit.logs))
        assert not taking.done()
        taking.cancel()
        assert await ctx.roster.remove("crew", "phone")
        assert kit.members == []

    curious(play, repo=REPO)


def test_a_digest_of_a_repository_tells_its_own_team_and_says_once_a_period_what_it_may_not(tmp_path):
    async def play() -> None:
        config = {"every": "1h", "teams": ["crew", "other"], "to": "ann"}
        async with PluginHarness(Digest(), config=config, repo=REPO, temp_dir=str(tmp_path)) as kit:
            create_team(kit.room, "other")
            add_member(kit.room, "other", Member("ann", cwd="/memory/else"))
            await kit.pausing()
            for _ in range(3):
                await kit.pass_time(1300)
                await kit.pausing()
            assert {sent.team for sent in kit.sent} == {"crew"}
            assert kit.unread("ann", "other") == []
            assert sum("may not see team 'other'" in line.text for line in kit.logs) == len(kit.sent)

    asyncio.run(play())


# The real host.


class TwoTeams:
    """Teams crew and other, each at work in a repository of its own; a listener in crew's."""

    def __init__(self, stage: Stage, tmp_path: Path) -> None:
        self.stage = stage
        self.repos = [tmp_path / "ours", tmp_path / "theirs"]
        for repo in self.repos:
            (repo / ".git").mkdir(parents=True)
        create_team(stage.room, "ours")
        create_team(stage.room, "theirs")
        add_member(stage.room, "ours", Member("ann", cwd=str(self.repos[0])))
        add_member(stage.room, "theirs", Member("eve", cwd=str(self.repos[1])))

    @property
    def place(self) -> str:
        return str(self.repos[0])

    def enable(self, plugin: str, more: str = "") -> None:
        """In the first repository, whose settings the user has said yes to."""
        (self.repos[0] / ".atm.toml").write_text(f"[plugins.{plugin}]\nenabled = true\n{more}\n")
        trust(Path(self.stage.environment["ATM_HOME"]), self.repos[0])
        path = Path(self.stage.layout.daemon_settings)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"repos = [{', '.join(repr(str(repo)) for repo in self.repos)}]\n")

    def heard(self, plugin: str) -> list[str]:
        return [text for text in self.stage.texts(plugin) if text.startswith("heard")]

    async def tell(self, plugin: str, *teams: str) -> list[str]:
        """An event of each team; what was heard when the last, of a team that it surely hears, has come."""
        before = len(self.heard(plugin))
        for team in teams:
            self.stage.host.publish(TeamEvent("task.created", team, "1", 1.0))
        await self.stage.until(lambda: f"heard task.created of {teams[-1]}" in self.heard(plugin)[before:])
        return [text.rpartition(" ")[2] for text in self.heard(plugin)[before:]]


@pytest.fixture
def two(layout, room, home, tmp_path):
    if sys.platform == "win32":
        pytest.skip("starts processes as POSIX does")
    return TwoTeams(Stage(layout, room, home), tmp_path)


def test_a_repositorys_plugin_hears_of_its_own_team_and_of_others_while_a_member_works_there(two):
    stage = two.stage
    stage.offer("good:Reader")
    two.enable("reader")

    async def play() -> None:
        async with stage.hosting():
            await stage.until_state("reader", "running", two.place)
            assert await two.tell("reader", "theirs", "crew", "ours") == ["ours"]
            add_member(stage.room, "theirs", Member("zoe", cwd=f"{two.repos[0]}/src"))
            assert await two.tell("reader", "crew", "ours", "theirs") == ["ours", "theirs"]
            remove_member(stage.room, "theirs", "zoe", force=True)
            assert await two.tell("reader", "theirs", "ours") == ["ours"]

    asyncio.run(play())
    sees = [fields["sees"] for *_, fields in stage.lines if "sees" in fields]
    assert (sees[0], sees[-1]) == ("ours", "ours")
    assert "ours, theirs" in sees


def test_the_machines_plugin_hears_of_all_teams_and_teams_in_its_section_narrow_it(two):
    stage = two.stage
    stage.offer("good:Reader")
    stage.enable({"reader": ""})

    async def play() -> None:
        async with stage.hosting() as host:
            await stage.until_state("reader", "running")
            assert await two.tell("reader", "crew", "theirs", "ours") == ["crew", "theirs", "ours"]
            stage.enable({"reader": 'teams = ["theirs", "crew"]'})
            await host.reload(stage.places())
            await stage.until_state("reader", "running")
            assert await two.tell("reader", "ours", "theirs") == ["theirs"]

    asyncio.run(play())
    assert [fields["sees"] for *_, fields in stage.lines if "sees" in fields][-1] == "crew, theirs"


def test_teams_in_a_repositorys_section_narrow_it_and_do_not_widen_it(two):
    stage = two.stage
    add_member(stage.room, "crew", Member("zoe", cwd=two.place))
    stage.offer("good:Reader")
    two.enable("reader", 'teams = ["theirs", "ours"]')

    async def play() -> None:
        async with stage.hosting():
            await stage.until_state("reader", "running", two.place)
            assert await two.tell("reader", "theirs", "crew", "ours") == ["ours"]

    asyncio.run(play())


def test_whoever_saw_a_team_hears_that_it_is_gone_and_nobody_else(two):
    stage = two.stage
    stage.offer("good:Reader")
    two.enable("reader")

    async def play() -> None:
        async with stage.hosting() as host:
            await stage.until_state("reader", "running", two.place)
            for team in ("theirs", "ours"):
                Path(stage.layout.team_config(team)).unlink()
                host.publish(TeamEvent(TEAM_GONE, team, team, 1.0))
                host.publish(TeamEvent("task.gone", team, "1", 1.0))
            await stage.until(lambda: two.heard("reader"))

    asyncio.run(play())
    assert two.heard("reader") == ["heard team.gone of ours"]


def test_a_roster_that_cannot_be_read_is_nobodys(two):
    stage = two.stage
    stage.offer("good:Reader")
    two.enable("reader")
    add_member(stage.room, "theirs", Member("zoe", cwd=two.place))

    async def play() -> None:
        async with stage.hosting():
            await stage.until_state("reader", "running", two.place)
            Path(stage.layout.team_config("theirs")).write_text("{ torn")
            assert await two.tell("reader", "theirs", "ours") == ["ours"]

    asyncio.run(play())


def test_of_the_machines_own_events_a_repository_hears_those_about_its_place(two):
    stage = two.stage
    stage.offer("good:Reader")
    two.enable("reader")

    async def play() -> None:
        async with stage.hosting() as host:
            await stage.until_state("reader", "running", two.place)
            host.publish(TeamEvent(SETTINGS_RELOADED, "", "settings", 1.0))
            for place in ("machine", str(two.repos[1]), two.place):
                host.publish(TeamEvent(PLUGIN_STATE, "", "digest", 1.0, {"place": place, "error": "secret"}))
            await two.tell("reader", "ours")

    asyncio.run(play())
    assert two.heard("reader") == ["heard plugin.state of ", "heard task.created of ours"]


def test_the_host_decides_also_for_a_plugin_that_forgets_the_fence_in_its_own_process(two):
    stage = two.stage
    create_team(stage.room, "other")
    stage.offer("stubborn:LooksOverTheFence")
    two.enable("looksoverthefence")

    async def play() -> None:
        async with stage.hosting():
            await stage.until_state("looksoverthefence", "running", two.place)
            await stage.until(lambda: any("refused" in text for text in stage.texts("looksoverthefence")))
            assert await two.tell("looksoverthefence", "other", "ours") == ["ours"]
            assert stage.state("looksoverthefence", two.place)["members"] == []

    asyncio.run(play())
    assert any("may not see team 'other'" in text for text in stage.texts("looksoverthefence"))
    assert stage.room.rosters.load("other").names == []


def test_a_storm_of_events_is_told_in_order_and_what_is_too_much_is_counted(two):
    stage = two.stage
    stage.offer("good:Listener")
    two.enable("listener")

    async def play() -> None:
        async with stage.hosting() as host:
            await stage.until_state("listener", "running", two.place)
            for number in range(3000):
                host.publish(TeamEvent("task.created", "theirs" if number % 3 else "ours", str(number), 1.0))
            await stage.until(lambda: any(fields.get("subject") == "2997" for *_, fields in stage.lines))
            assert stage.state("listener", two.place)["dropped"] == 2000

    asyncio.run(play())
    heard = [int(fields["subject"]) for *_, fields in stage.lines if str(fields.get("subject", "")).isdecimal()]
    assert heard == [number for number in range(2000, 3000) if number % 3 == 0]
    assert [fields["count"] for *_, fields in stage.lines if fields.get("count")] == [2000]
