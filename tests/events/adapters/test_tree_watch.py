"""What a change of files is about, on real files: told by the kernel, or found by looking."""

from __future__ import annotations

import errno
import os
import random
import select
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.chaos import LONG

from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.working import claim
from atm.events.adapters.inotify import EVENT, IN_IGNORED, IN_Q_OVERFLOW, IN_UNMOUNT, Inotify, is_available
from atm.events.adapters.tree_watch import KINDS, RESCAN, TICK_NS, Touched, TreeWatch
from atm.events.rules import MESSAGE_WRITTEN, TEAM_CREATED, TEAM_GONE, TeamEvent
from atm.events.services import SETTLING, TeamEvents
from atm.files.adapters.machine import find_layout
from atm.files.formats.layout import Layout
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.ending import delete_team
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Member
from atm.testing import FakeClock, MemoryPrograms
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room

SOON = 30.0
NOBODY = 65534
CLAUDES = "session-1a2b3c4d"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, and folders that are moved while open")
linux_only = pytest.mark.skipif(not is_available(), reason="inotify is Linux's")


@pytest.fixture(params=[pytest.param("native", marks=linux_only), "looking"])
def is_native(request) -> bool:
    return bool(request.param == "native")


@pytest.fixture
def start(layout: Layout, home: Path, is_native: bool) -> Iterator[Callable[..., TreeWatch]]:
    """Starts a watch over the sandbox as it is; what is in it has been there for long."""
    started = []

    def begin(*settings: str, **more: object) -> TreeWatch:
        grow_old(home)
        started.append(TreeWatch(layout, settings, native=is_native, **more))  # type: ignore[arg-type]
        return started[-1]

    yield begin
    for watch in started:
        watch.close()


@pytest.fixture
def native(layout: Layout) -> Iterator[Callable[..., TreeWatch]]:
    """The same where only the kernel can be meant."""
    if not is_available():
        pytest.skip("inotify is Linux's")
    started = []

    def begin(**more: object) -> TreeWatch:
        started.append(TreeWatch(layout, **more))  # type: ignore[arg-type]
        return started[-1]

    yield begin
    for watch in started:
        watch.close()


def grow_old(home: Path) -> None:
    """Looking tells a file once more when its time stamp is no longer fresh; these are not."""
    for folder, _, files in os.walk(home):
        for name in files:
            os.utime(Path(folder) / name, (1e9, 1e9), follow_symlinks=False)


def let_stamps_age(home: Path) -> None:
    """Wait until whoever looks can tell every later change by its time stamp."""
    newest = max(
        os.lstat(Path(folder) / name).st_mtime_ns for folder, _, files in os.walk(home) for name in [*files, "."]
    )
    while time.time_ns() - newest <= TICK_NS:
        time.sleep(0.001)


def told(watch: TreeWatch, *wanted: Touched) -> list[Touched]:
    """Everything until all of these have been told."""
    found: list[Touched] = []
    end = time.monotonic() + SOON
    while not set(wanted) <= {*found}:
        assert time.monotonic() < end, f"{wanted} not in {found}"
        fd = watch.fileno()
        if watch.native and fd is not None:
            select.select([fd], [], [], 0.5)
        found += watch.collect()
    return found


def file(path: str, text: str = "[]") -> str:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).write_text(text)
    return path


def team(layout: Layout, name: str = "crew", *members: str) -> None:
    """As another program makes one."""
    for member in members or ("ann", "bob"):
        file(layout.inbox(name, member))
    file(layout.team_config(name), '{"members": []}')


def replace(path: str) -> None:
    file(f"{path}.tmp", "[1]")
    os.replace(f"{path}.tmp", path)


def write_in_place(path: str) -> None:
    file(path, "[12]")


def truncate_then_write(path: str) -> None:
    with open(path, "r+") as opened:
        opened.truncate()
        opened.flush()
        opened.write("[123]")


def link(path: str) -> None:
    os.unlink(path)
    folder, name = os.path.split(path)
    os.link(file(f"{folder}/.{name}.new", "[1234]"), path)
    os.unlink(f"{folder}/.{name}.new")


def vanish(path: str) -> None:
    os.unlink(path)


class TestFiles:
    @pytest.mark.parametrize("change", [replace, write_in_place, truncate_then_write, link, vanish])
    def test_every_way_to_change_an_inbox_is_told(self, start, layout, change):
        team(layout)
        watch = start()
        assert watch.collect() == []
        change(layout.inbox("crew", "ann"))
        assert set(told(watch, Touched("inbox", "crew", "ann"))) == {Touched("inbox", "crew", "ann")}

    def test_what_each_file_means(self, start, layout):
        team(layout)
        for name in (layout.endpoint("crew", "ann"), layout.heartbeat("crew", "ann"), f"{layout.tasks('crew')}/1.json"):
            file(name)
        file(f"{layout.our_data(CLAUDES)}/heartbeats/ann.json")
        file(f"{layout.spool_pending}/1.json")
        watch = start()
        changes = {
            layout.team_config("crew"): Touched("roster", "crew"),
            layout.completed_mark("crew"): Touched("roster", "crew"),
            layout.ledger("crew"): Touched("ledger", "crew"),
            layout.heartbeat("crew", "ann"): Touched("heartbeat", "crew", "ann"),
            layout.endpoint("crew", "ann"): Touched("endpoints", "crew", "ann"),
            f"{layout.tasks('crew')}/2.json": Touched("tasks", "crew"),
            f"{layout.tasks('crew')}/.highwatermark": Touched("tasks", "crew"),
            layout.ledger(CLAUDES): Touched("ledger", CLAUDES),
            layout.heartbeat(CLAUDES, "ann"): Touched("heartbeat", CLAUDES, "ann"),
            f"{layout.spool_pending}/2.json.trying": Touched("spool", "", "2.json.trying"),
            layout.settings: Touched("settings", "", layout.settings),
            layout.daemon_settings: Touched("settings", "", layout.daemon_settings),
            layout.trust: Touched("settings", "", layout.trust),
        }
        for path, meaning in changes.items():
            os.utime(file(path, "[1, 2]"), (1e9, 1e9))  # never fresh, or it is told once more with one of the next
            assert set(told(watch, meaning)) == {meaning}

    def test_locks_temporary_files_and_strangers_are_not_told(self, start, layout, home):
        team(layout)
        file(f"{layout.tasks('crew')}/1.json")
        file(f"{layout.spool_pending}/1.json")
        watch = start()
        inboxes, tasks = layout.inboxes("crew"), layout.tasks("crew")
        for path in (
            *(f"{inboxes}/.ann.json.atm-1-1", f"{inboxes}/ann.json.tmp", f"{inboxes}/ann.lock", f"{inboxes}/notes.txt"),
            *(f"{inboxes}/ann.json.lock", f"{tasks}/.lock", f"{tasks}/x.json", f"{tasks}/01.json", f"{inboxes}/..json"),
            *(f"{layout.team('crew')}/notes.json", f"{layout.teams}/stray.json", f"{layout.spool_pending}/.1.json.new"),
            *(f"{layout.claude_root}/history.jsonl", f"{layout.config_root}/other.toml", f"{home}/noise"),
        ):
            file(path, "[1]")
        for folder in (f"{inboxes}/bob.json.lock", f"{inboxes}/cleo.json", f"{tasks}/.lock.lock", f"{layout.teams}/.x"):
            os.makedirs(folder, exist_ok=True)
        os.makedirs(f"{layout.claude_root}/projects")
        shutil.rmtree(f"{layout.teams}/.x")
        assert watch.collect() == []

    def test_an_inbox_that_somebody_is_still_writing_is_told_when_it_says_something(self, native, layout):
        team(layout)
        watch = native()
        with open(layout.inbox("crew", "ann"), "w") as opened:
            assert watch.collect() == []
            opened.write("[1]")
            opened.flush()
            assert watch.collect() == [Touched("inbox", "crew", "ann")]
        assert watch.collect() == [Touched("inbox", "crew", "ann")]

    def test_an_inbox_that_was_made_empty_is_told(self, native, layout):
        team(layout)
        watch = native()
        file(layout.inbox("crew", "ann"), "")
        assert watch.collect() == [Touched("inbox", "crew", "ann")]

    def test_thousands_of_changes_are_few_words(self, start, layout):
        team(layout)
        watch = start()
        for number in range(5000):
            fd = os.open(layout.inbox("crew", "ann"), os.O_WRONLY)
            os.write(fd, b"%04d" % number)
            os.close(fd)
        found = told(watch, Touched("inbox", "crew", "ann"))
        assert set(found) == {Touched("inbox", "crew", "ann")}

    def test_settings_of_repositories_are_told(self, start, tmp_path):
        repo, alone = tmp_path / "repo", tmp_path / "own.toml"
        (repo / "src").mkdir(parents=True)
        watch = start(str(repo), str(alone))
        (repo / "pyproject.toml").write_text("1")
        (repo / "src" / ".atm.toml").write_text("1")
        assert watch.collect() == []
        for path in (repo / ".atm.toml", repo / ".atm" / "config.toml", alone):
            told(watch, Touched("settings", "", file(str(path), "x = 1")))

    def test_other_repositories_can_be_named_later(self, start, layout, tmp_path):
        watch = start(str(tmp_path / "one"))
        file(str(tmp_path / "one" / ".atm" / "config.toml"))
        file(str(tmp_path / "two" / ".atm" / "config.toml"))
        grow_old(tmp_path)
        told(watch, Touched("settings", "", str(tmp_path / "one" / ".atm" / "config.toml")))
        watch.watch_settings_of([str(tmp_path / "one")])
        assert watch.collect() == []
        watch.watch_settings_of([str(tmp_path / "two")])
        watch.collect()
        file(str(tmp_path / "one" / ".atm.toml"))
        wanted = Touched("settings", "", file(str(tmp_path / "two" / ".atm" / "config.toml"), "changed = 1"))
        assert {one.name for one in told(watch, wanted)} == {wanted.name}
        team(layout)
        told(watch, Touched("teams", "crew"))


class TestTeams:
    def test_a_new_team_is_told_with_all_that_is_in_it(self, start, layout):
        os.makedirs(layout.teams)
        watch = start()
        team(layout)
        file(layout.ledger("crew"))
        wanted = [Touched("teams", "crew"), Touched("roster", "crew"), Touched("inbox", "crew", "ann")]
        found = told(watch, *wanted, Touched("inbox", "crew", "bob"), Touched("ledger", "crew"))
        assert found[0] == Touched("teams", "crew")

    def test_what_comes_into_a_new_team_later_is_told_too(self, start, layout):
        os.makedirs(layout.teams)
        watch = start()
        os.makedirs(layout.team("crew"))
        told(watch, Touched("teams", "crew"))
        file(layout.inbox("crew", "ann"))
        told(watch, Touched("inbox", "crew", "ann"))
        replace(layout.inbox("crew", "ann"))
        told(watch, Touched("inbox", "crew", "ann"))
        file(f"{layout.tasks('crew')}/1.json")
        told(watch, Touched("tasks", "crew"))

    def test_a_deleted_team_is_told(self, start, layout):
        team(layout)
        team(layout, "other")
        watch = start()
        shutil.rmtree(layout.team("crew"))
        found = told(watch, Touched("teams", "crew"))
        assert {one.team for one in found} == {"crew"}

    def test_a_team_that_is_moved_away_is_told_and_not_followed(self, native, layout, tmp_path):
        team(layout)
        notifier = Inotify()
        watch = native(notifier=notifier)
        os.rename(layout.team("crew"), tmp_path / "elsewhere")
        assert watch.collect() == [Touched("teams", "crew"), Touched("rescan", "crew")]
        assert notifier.watch_of(layout.inboxes("crew")) is None
        (tmp_path / "elsewhere" / "inboxes" / "ann.json").write_text("[1]")
        shutil.rmtree(tmp_path / "elsewhere")
        assert watch.collect() == []

    def test_a_team_that_is_made_again_is_watched_again(self, start, layout):
        team(layout)
        watch = start()
        for _ in range(3):
            shutil.rmtree(layout.team("crew"))
            team(layout)
            # Whoever looks may find a folder of the same number, with other files in it.
            told(watch, *([Touched("teams", "crew")] if watch.native else [Touched("inbox", "crew", "ann")]))
            replace(layout.inbox("crew", "ann"))
            told(watch, Touched("inbox", "crew", "ann"))

    def test_a_team_whose_folder_is_exchanged_is_looked_at_again(self, start, layout, tmp_path):
        team(layout)
        watch = start()
        os.rename(layout.team("crew"), tmp_path / "old")
        team(layout, "next", "cleo")
        os.rename(layout.team("next"), layout.team("crew"))
        told(watch, Touched("teams", "crew"))
        replace(layout.inbox("crew", "cleo"))
        told(watch, Touched("inbox", "crew", "cleo"))
        (tmp_path / "old" / "inboxes" / "ann.json").write_text("[1]")
        assert Touched("inbox", "crew", "ann") not in watch.collect()

    def test_inboxes_that_are_exchanged_are_looked_at_again(self, native, layout, tmp_path):
        team(layout)
        watch = native()
        os.rename(layout.inboxes("crew"), tmp_path / "old")
        file(layout.inbox("crew", "cleo"))
        assert Touched("rescan", "crew") in watch.collect()
        replace(layout.inbox("crew", "cleo"))
        assert watch.collect() == [Touched("inbox", "crew", "cleo")]

    def test_a_deleted_list_is_told(self, start, layout):
        file(f"{layout.tasks('crew')}/1.json")
        watch = start()
        shutil.rmtree(layout.tasks("crew"))
        assert set(told(watch, Touched("tasks", "crew"))) == {Touched("tasks", "crew")}

    def test_somebody_inside_a_deleted_folder_hides_nothing(self, native, layout):
        """Its inode lives on as long as it is open, and so does the watch on it."""
        team(layout)
        watch = native()
        held = os.open(layout.inboxes("crew"), os.O_RDONLY)
        shutil.rmtree(layout.team("crew"))
        team(layout)
        told(watch, Touched("teams", "crew"))
        replace(layout.inbox("crew", "ann"))
        told(watch, Touched("inbox", "crew", "ann"))
        os.close(held)

    @linux_only  # other systems refuse some of these themselves
    def test_names_that_nobody_can_have_are_passed_over(self, start, layout):
        os.makedirs(layout.teams)
        watch = start()
        for name in ("crew.lock", " x", "a:b", "x\ny", ".hidden", "a\\b", "e\udcff"):
            os.makedirs(os.fsencode(f"{layout.teams}/{name}/inboxes"))
        watch.collect()
        for name in ("\x1b[2J.json", "..json", ".json", "a:b.json", "ü.json"):
            file(layout.inboxes("crew") + f"/{name}")
        found = told(watch, Touched("inbox", "crew", "ü"))
        assert {one.name for one in found if one.kind == "inbox"} == {"ü"}

    @pytest.mark.campaign
    def test_many_teams_of_twenty_are_watched(self, start, layout):
        """A hundred, in `make chaos`."""
        count = 100 if LONG else 15
        for number in range(count):
            team(layout, f"team{number}", *(f"m{member}" for member in range(20)))
        watch = start()
        assert watch.native == (watch.fileno() is not None)
        for number in (0, count // 2, count - 1):
            replace(layout.inbox(f"team{number}", "m19"))
            told(watch, Touched("inbox", f"team{number}", "m19"))


class TestRoots:
    def test_roots_that_come_later_are_picked_up(self, start, layout, home):
        watch = start()
        assert watch.collect() == []
        team(layout)
        told(watch, Touched("inbox", "crew", "ann"), Touched("teams", "crew"))
        wanted = Touched("spool", "", "1.json")
        file(f"{layout.spool_pending}/1.json")
        told(watch, wanted)
        told(watch, Touched("settings", "", file(layout.settings)))
        file(layout.ledger(CLAUDES))
        told(watch, Touched("ledger", CLAUDES))
        file(f"{layout.tasks('crew')}/1.json")
        told(watch, Touched("tasks", "crew"))
        let_stamps_age(home)
        watch.collect()
        replace(layout.inbox("crew", "ann"))
        assert set(told(watch, Touched("inbox", "crew", "ann"))) == {Touched("inbox", "crew", "ann")}

    def test_step_by_step_too(self, start, layout):
        watch = start()
        steps = layout.team("crew").split("/")
        for end in range(2, len(steps) + 1):
            os.makedirs("/".join(steps[:end]), exist_ok=True)
            watch.collect()
        file(layout.inbox("crew", "ann"))
        told(watch, Touched("inbox", "crew", "ann"))

    def test_noise_beside_a_root_that_is_missing_is_not_told(self, start, home):
        watch = start()
        for number in range(50):
            (home / f"noise{number}").write_text("x")
            (home / f"folder{number}").mkdir()
        assert watch.collect() == []

    def test_roots_that_go_and_come_back(self, start, layout, tmp_path):
        team(layout)
        watch = start()
        os.rename(layout.claude_root, tmp_path / "away")
        assert watch.collect() != []
        team(layout)
        told(watch, Touched("teams", "crew"))
        replace(layout.inbox("crew", "ann"))
        told(watch, Touched("inbox", "crew", "ann"))

    def test_a_root_behind_a_link(self, start, layout, tmp_path):
        (tmp_path / "real").mkdir()
        os.symlink(tmp_path / "real", layout.claude_root)
        team(layout)
        grow_old(tmp_path / "real")
        watch = start()
        replace(layout.inbox("crew", "ann"))
        assert set(told(watch, Touched("inbox", "crew", "ann"))) == {Touched("inbox", "crew", "ann")}
        (tmp_path / "other").mkdir()
        os.symlink(tmp_path / "other", tmp_path / "link")
        os.replace(tmp_path / "link", layout.claude_root)  # now it leads elsewhere
        assert watch.collect() != []
        team(layout)
        watch.collect()
        replace(layout.inbox("crew", "bob"))
        told(watch, Touched("inbox", "crew", "bob"))

    def test_a_link_that_leads_nowhere_yet(self, start, layout, tmp_path):
        os.symlink(tmp_path / "later", layout.claude_root)
        watch = start()
        (tmp_path / "later").mkdir()
        watch.collect()
        team(layout)
        told(watch, Touched("teams", "crew"))

    def test_links_below_a_root_are_not_followed(self, start, layout, tmp_path):
        (tmp_path / "outside" / "inboxes").mkdir(parents=True)
        os.makedirs(layout.teams)
        watch = start()
        os.symlink(tmp_path / "outside", layout.team("crew"))
        file(str(tmp_path / "outside" / "inboxes" / "ann.json"))
        assert watch.collect() == []

    def test_a_team_that_becomes_a_link_is_not_followed(self, start, layout, tmp_path):
        team(layout)
        watch = start()
        os.rename(layout.team("crew"), tmp_path / "outside")
        os.symlink(tmp_path / "outside", layout.team("crew"))
        assert Touched("teams", "crew") in watch.collect()
        file(layout.inbox("crew", "ann"), "[1]")
        assert watch.collect() == []

    def test_a_root_that_comes_while_we_look_for_it_is_not_missed(self, native, layout):
        class Late(Inotify):
            def _system_add(self, folder: str, mask: int) -> int:
                os.makedirs(layout.claude_root, exist_ok=True)
                return super()._system_add(folder, mask)

        watch = native(notifier=Late())
        team(layout)
        told(watch, Touched("teams", "crew"))

    def test_what_is_no_longer_on_the_way_wakes_nobody(self, native, layout, home):
        (home / "noise").write_text("1")
        watch = native()
        (home / "noise").write_text("2")
        assert is_quiet(watch)  # on the way only names matter
        for root in (layout.teams, layout.task_lists, layout.spool_pending, f"{layout.state_root}/teams"):
            os.makedirs(root)
        watch.collect()
        watch.collect()  # the kernel confirms what was given up
        (home / "more noise").write_text("1")
        assert is_quiet(watch)

    def test_links_in_a_circle_end(self, start, layout):
        os.symlink(layout.claude_root, layout.claude_root)
        watch = start()
        assert watch.collect() == []
        os.unlink(layout.claude_root)
        team(layout)
        told(watch, Touched("teams", "crew"))

    def test_a_file_where_a_root_should_be(self, start, layout):
        file(layout.teams, "not a folder")
        watch = start()
        os.unlink(layout.teams)
        team(layout)
        told(watch, Touched("teams", "crew"))

    def test_settings_folders_may_hold_the_roots(self, start, layout, home):
        team(layout)
        watch = start(str(home))
        replace(layout.inbox("crew", "ann"))
        told(watch, Touched("inbox", "crew", "ann"))
        watch.watch_settings_of([])
        watch.collect()
        replace(layout.inbox("crew", "ann"))
        told(watch, Touched("inbox", "crew", "ann"))

    def test_a_config_folder_that_is_replaced_is_another(self, start, layout, tmp_path):
        file(layout.settings)
        watch = start()
        os.rename(layout.config_root, tmp_path / "old")
        file(layout.settings, "new = 1")
        file(f"{layout.spool_pending}/1.json")
        told(watch, Touched("spool", "", "1.json"))
        file(layout.settings, "newer = 12")
        told(watch, Touched("settings", "", layout.settings))


class Flooded(Inotify):
    """What the kernel said is lost at the next read, and this is all that is left."""

    injected = b""

    def _take(self) -> bytes:
        data = super()._take()
        injected, self.injected = self.injected, b""
        return injected or data


class Poor(Inotify):
    """Has only so many watches."""

    left = 0

    def _system_add(self, folder: str, mask: int) -> int:
        watch = super()._system_add(folder, mask)
        if watch >= 0 and watch not in self._folders:
            if self.left <= 0:
                self._remove(self.fd, watch)
                return -errno.ENOSPC
            self.left -= 1
        return watch


@linux_only
class TestLimits:
    def test_a_full_queue_means_look_at_everything(self, native, layout):
        team(layout)
        flooded = Flooded()
        watch = native(notifier=flooded)
        team(layout, "new")
        shutil.rmtree(layout.team("crew"))
        team(layout)
        flooded.injected = EVENT.pack(-1, IN_Q_OVERFLOW, 0, 0)
        assert watch.collect() == [RESCAN]
        assert watch.collect() == []
        for name in ("crew", "new"):
            replace(layout.inbox(name, "ann"))
            assert watch.collect() == [Touched("inbox", name, "ann")]

    def test_what_went_while_the_queue_was_full_is_watched_no_longer(self, native, layout, tmp_path):
        team(layout)
        flooded = Flooded()
        watch = native(notifier=flooded)
        os.rename(layout.team("crew"), tmp_path / "away")
        flooded.injected = EVENT.pack(-1, IN_Q_OVERFLOW, 0, 0)
        watch.collect()
        (tmp_path / "away" / "inboxes" / "ann.json").write_text("[1]")
        assert watch.collect() == []
        assert flooded.watch_of(layout.inboxes("crew")) is None

    @pytest.mark.parametrize("left", range(5))
    def test_without_watches_it_looks_for_itself(self, native, layout, left):
        team(layout)
        poor = Poor()
        poor.left = left
        watch = native(notifier=poor)
        assert not watch.native
        replace(layout.inbox("crew", "ann"))
        told(watch, Touched("inbox", "crew", "ann"))
        poor.left = 100
        watch.collect()
        assert watch.native
        replace(layout.inbox("crew", "bob"))
        assert watch.collect() == [Touched("inbox", "crew", "bob")]

    def test_watches_that_are_used_up_later_are_noticed_at_once(self, native, layout, home):
        team(layout)
        poor = Poor()
        poor.left = 100
        watch = native(notifier=poor)
        assert watch.native
        poor.left = 1
        team(layout, "new")
        assert watch.collect() == [RESCAN]
        assert not watch.native
        let_stamps_age(home)
        watch.collect()
        for _ in range(3):
            assert watch.collect() == []
        replace(layout.inbox("new", "ann"))
        told(watch, Touched("inbox", "new", "ann"))
        shutil.rmtree(layout.team("new"))
        told(watch, Touched("teams", "new"))

    def test_each_time_they_are_used_up_everything_is_looked_at(self, native, layout):
        poor = Poor()
        poor.left = 100
        watch = native(notifier=poor)
        for name in ("one", "two"):
            poor.left = 1
            team(layout, name)
            assert watch.collect() == [RESCAN]
            poor.left = 100
            watch.collect()
            assert watch.native

    def test_a_file_system_that_is_taken_away_is_a_loss(self, native, layout):
        team(layout)
        flooded = Flooded()
        watch = native(notifier=flooded)
        watched = flooded.watch_of(layout.inboxes("crew"))
        flooded.injected = EVENT.pack(watched, IN_UNMOUNT, 0, 0) + EVENT.pack(watched, IN_IGNORED, 0, 0)
        assert watch.collect() == [Touched("rescan", "crew")]
        replace(layout.inbox("crew", "ann"))
        assert watch.collect() == [Touched("inbox", "crew", "ann")]

    def test_a_second_change_within_a_time_stamp_is_told_when_the_stamp_has_aged(self, layout, home, monkeypatch):
        team(layout)
        grow_old(home)
        path = layout.inbox("crew", "ann")
        watch = TreeWatch(layout, native=False)
        stamp = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: stamp + 1)  # however slow this machine is
        os.utime(file(path, "[1]"), ns=(stamp, stamp))
        assert watch.collect() == [Touched("inbox", "crew", "ann")]
        os.utime(file(path, "[2]"), ns=(stamp, stamp))
        assert watch.collect() == []
        monkeypatch.setattr(time, "time_ns", lambda: stamp + TICK_NS)
        assert watch.collect() == [Touched("inbox", "crew", "ann")]
        assert watch.collect() == []

    def test_a_system_without_it_looks(self, layout, monkeypatch):
        monkeypatch.setattr(sys, "platform", "darwin")
        team(layout)
        watch = TreeWatch(layout)
        assert (watch.native, watch.fileno()) == (False, None)
        replace(layout.inbox("crew", "ann"))
        told(watch, Touched("inbox", "crew", "ann"))

    def test_folders_that_must_not_be_read_cost_nothing_until_they_may(self):
        home = tempfile.mkdtemp(prefix="atm-")
        layout = find_layout({"ATM_HOME": home})
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(home, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            team(layout)
            team(layout, "shut")
            os.chmod(layout.team("shut"), 0o000)
            watch = TreeWatch(layout)
            assert watch.native
            replace(layout.inbox("crew", "ann"))
            told(watch, Touched("inbox", "crew", "ann"))
            os.chmod(layout.team("shut"), 0o700)
            told(watch, Touched("teams", "shut"), Touched("inbox", "shut", "ann"))
            os.chmod(layout.teams, 0o000)
            assert watch.collect() == [RESCAN]
            os.chmod(layout.teams, 0o700)
            told(watch, Touched("teams", "crew"))
            replace(layout.inbox("crew", "ann"))
            told(watch, Touched("inbox", "crew", "ann"))
            watch.close()
        finally:
            if is_root:
                os.seteuid(0)
            shutil.rmtree(home, ignore_errors=True)

    def test_after_the_end_everything_is_quiet(self, start, layout):
        team(layout)
        watch = start()
        watch.close()
        watch.close()
        replace(layout.inbox("crew", "ann"))
        assert watch.fileno() is None
        assert watch.collect() == []

    def test_nothing_wakes_it_while_nothing_happens(self, native, layout):
        team(layout)
        watch = native()
        replace(layout.inbox("crew", "ann"))
        watch.collect()
        assert is_quiet(watch)


def is_quiet(watch: TreeWatch) -> bool:
    fd = watch.fileno()
    assert fd is not None
    return select.select([fd], [], [], 0)[0] == []


def follow(events: TeamEvents, touched: list[Touched]) -> list[TeamEvent]:
    """What the daemon does with what it is told."""
    found: list[TeamEvent] = []
    for one in touched:
        if one.kind == "rescan":
            found += events.everything(one.team or None)
        elif one.kind == "teams":
            found += events.teams()
        elif one.kind == "inbox":
            found += events.inbox(one.team, one.name)
        elif one.kind in ("roster", "tasks"):
            found += getattr(events, one.kind)(one.team)
    return found


def kinds(events: list[TeamEvent]) -> list[str]:
    return [event.kind for event in events]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(time.time())


@pytest.fixture
def events(room: Teamroom, layout: Layout, clock: FakeClock) -> TeamEvents:
    return TeamEvents(build_room(layout, clock=clock), build_tasks(layout, clock=clock))


class TestWithEvents:
    def test_a_message_from_the_file_to_the_event(self, room, events, start):
        watch = start()
        events.prime()
        sent = send(room, "crew", "ann", Draft(sender="bob", text="hello"))
        found = follow(events, told(watch, Touched("inbox", "crew", "ann")))
        assert [(event.kind, event.subject, event.detail["id"]) for event in found] == [
            (MESSAGE_WRITTEN, "ann", sent.message_id)
        ]

    def test_a_team_that_is_deleted_file_by_file_is_one_event(self, room, events, native, layout):
        for _ in range(20):
            send(room, "crew", "ann", Draft(sender="bob", text="hello"))
        watch = native()
        events.prime()
        paths = [layout.inbox("crew", "ann"), layout.inbox("crew", "bob"), layout.inboxes("crew"), layout.team("crew")]
        found = []
        for path in paths:
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
            found += follow(events, watch.collect())
        assert kinds(found) == [TEAM_GONE]
        assert events.unsettled == []

    def test_so_is_one_that_we_delete_and_one_that_is_made_tells_all(self, room, events, start):
        watch = start()
        events.prime()
        delete_team(room, "crew", force=True)
        assert kinds(follow(events, told(watch, Touched("teams", "crew")))) == [TEAM_GONE]
        create_team(room, "next")
        add_member(room, "next", Member("ann"))
        send(room, "next", "ann", Draft(sender="bob", text="hello"))
        found = follow(events, told(watch, Touched("teams", "next")))
        assert {TEAM_CREATED, MESSAGE_WRITTEN} <= {*kinds(found)}

    @pytest.mark.parametrize("seed", range(6))
    def test_after_any_storm_a_look_at_everything_finds_nothing_new(
        self, room, events, start, layout, home, clock, seed
    ):
        """Every change was told: whatever was done, and whenever it was collected."""
        watch = start()
        events.prime()
        dice = random.Random(seed)
        storm = Storm(room, layout, dice)
        for _ in range(60):
            storm.blow()
            if dice.random() < 0.5:
                follow(events, watch.collect())
        let_stamps_age(home)
        follow(events, watch.collect())
        follow(events, watch.collect())
        clock.pass_time(SETTLING)
        for name in events.unsettled:
            events.everything(name)
        assert events.everything() == []
        assert events.problems == []

    def test_two_writers_at_once_are_both_heard(self, events, start, layout):
        watch = start()
        events.prime()

        def write(agent: str) -> None:
            mine = build_room(layout)
            for _ in range(15):
                send(mine, "crew", agent, Draft(sender="x", text="hello"))

        writers = [threading.Thread(target=write, args=[agent]) for agent in ("ann", "bob")]
        for writer in writers:
            writer.start()
        found: list[TeamEvent] = []
        end = time.monotonic() + 30
        while kinds(found).count(MESSAGE_WRITTEN) < 30:
            assert time.monotonic() < end
            found += follow(events, watch.collect())
        for writer in writers:
            writer.join()
        assert len({event.detail["id"] for event in found if event.kind == MESSAGE_WRITTEN}) == 30


class Storm:
    """Programs of all kinds at work in the same folders."""

    def __init__(self, room: Teamroom, layout: Layout, dice: random.Random) -> None:
        self.room, self.layout, self.dice = room, layout, dice
        self.boardroom = FullBoardroom(room=room, tasks=build_tasks(layout), programs=MemoryPrograms)
        self.count = 0

    def blow(self) -> None:
        self.count += 1
        verbs = [self.send, self.write_in_place, self.consume, self.add_task, self.claim, self.new_team]
        self.dice.choice([*verbs, *verbs, self.delete, self.move_and_restore, self.remove_inbox])()

    def team(self) -> str | None:
        names = self.room.rosters.teams()
        return self.dice.choice(names) if names else None

    def send(self) -> None:
        name = self.team()
        members = self.room.rosters.load(name).names if name else []
        if name and members:
            send(self.room, name, self.dice.choice(members), Draft(sender="x", text=f"text {self.count}"))

    def write_in_place(self) -> None:
        if name := self.team():
            row = f'{{"from": "x", "text": "t", "timestamp": "", "msg_id": "m{self.count}", "read": false}}'
            file(self.layout.inbox(name, "cleo"), f"[{row}]")

    def consume(self) -> None:
        if name := self.team():
            file(self.layout.inbox(name, "ann"), "[]")

    def add_task(self) -> None:
        if name := self.team():
            add(self.boardroom, name, "human", [NewTask(f"subject {self.count}")])

    def claim(self) -> None:
        if (name := self.team()) and self.room.rosters.load(name).member("ann"):
            claim(self.boardroom, name, "ann")

    def new_team(self) -> None:
        team(self.layout, f"team{self.dice.randrange(3)}")

    def delete(self) -> None:
        if name := self.team():
            shutil.rmtree(self.layout.team(name))
            shutil.rmtree(self.layout.tasks(name), ignore_errors=True)

    def remove_inbox(self) -> None:
        if name := self.team():
            Path(self.layout.inbox(name, "ann")).unlink(missing_ok=True)

    def move_and_restore(self) -> None:
        if name := self.team():
            os.rename(self.layout.team(name), f"{self.layout.claude_root}/aside{self.count}")
            team(self.layout, name)
            if self.dice.random() < 0.5:
                shutil.rmtree(self.layout.team(name))
                os.rename(f"{self.layout.claude_root}/aside{self.count}", self.layout.team(name))


def test_the_kinds_are_in_the_order_in_which_they_help():
    assert KINDS.index("teams") < KINDS.index("rescan") < KINDS.index("roster") < KINDS.index("inbox")
