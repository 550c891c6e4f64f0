"""What the kernel says about folders, on real ones."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atm.events.adapters.inotify import (
    EVENT,
    IN_CREATE,
    IN_DELETE_SELF,
    IN_IGNORED,
    IN_ISDIR,
    IN_Q_OVERFLOW,
    Changes,
    Inotify,
    is_available,
    ways_to,
)
from atm.files.adapters import exchange

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

NOBODY = 65534


@pytest.fixture
def notifier() -> Iterator[Inotify]:
    made = Inotify()
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path, notifier: Inotify) -> Path:
    """A watched folder with a file in it."""
    path = tmp_path / "inboxes"
    path.mkdir()
    (path / "ann.json").write_text("[]")
    assert notifier.add(str(path))
    return path


def names(changes: Changes) -> list[str]:
    return [name for _, name, _ in changes.paths]


@contextmanager
def somebody_without_power() -> Iterator[Path]:
    """A folder of somebody whom permissions stop, and us in their place: root would walk through them."""
    folder = Path(tempfile.mkdtemp(prefix="atm-"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        shutil.rmtree(folder, ignore_errors=True)


class TestFiles:
    def test_linux_has_it(self):
        assert is_available()

    def test_a_file_replaced_by_another_is_told(self, folder, notifier):
        (folder.parent / "new").write_text("[1]")
        os.replace(folder.parent / "new", folder / "ann.json")
        assert notifier.read().paths == [(str(folder), "ann.json", False)]

    def test_a_file_written_in_place_is_told_once(self, folder, notifier):
        (folder / "ann.json").write_text("[1]")
        assert notifier.read().paths == [(str(folder), "ann.json", False)]
        assert notifier.read().paths == []

    def test_two_files_that_change_places_are_both_told(self, folder, notifier):
        (folder / ".new").write_text("[1]")
        notifier.read()
        assert exchange.swap(str(folder / ".new"), str(folder / "ann.json"))
        assert set(names(notifier.read())) == {".new", "ann.json"}

    def test_a_second_name_for_a_file_is_told(self, folder, notifier):
        os.link(folder / "ann.json", folder / "bob.json")
        assert names(notifier.read()) == ["bob.json"]

    def test_a_file_that_goes_is_told(self, folder, notifier):
        (folder / "ann.json").unlink()
        assert names(notifier.read()) == ["ann.json"]

    def test_a_folder_is_told_as_a_folder(self, folder, notifier):
        (folder / "ann.json.lock").mkdir()
        assert notifier.read().paths == [(str(folder), "ann.json.lock", True)]

    def test_permission_that_is_given_is_told(self, folder, notifier):
        (folder / "ann.json").chmod(0o600)
        assert names(notifier.read()) == ["ann.json"]

    def test_whoever_reads_is_not_told(self, folder, notifier):
        (folder / "ann.json").read_text()
        assert notifier.read().paths == []

    def test_a_file_that_somebody_is_still_writing_is_marked(self, folder, notifier):
        with (folder / "ann.json").open("w") as file:
            changes = notifier.read()
            assert changes.unclosed == {(str(folder), "ann.json")}
            file.write("[1]")
        changes = notifier.read()
        assert (names(changes), changes.unclosed) == (["ann.json"], set())

    def test_a_name_that_is_no_text_survives(self, folder, notifier):
        odd = os.fsencode(folder) + b"/\xff\xfe.json"
        os.close(os.open(odd, os.O_CREAT | os.O_WRONLY))
        assert os.fsencode(names(notifier.read())[0]) == b"\xff\xfe.json"

    def test_on_the_way_only_names_matter(self, tmp_path, notifier):
        assert notifier.add(str(tmp_path), names_only=True)
        (tmp_path / "noise").write_text("1")
        notifier.read()
        (tmp_path / "noise").write_text("2")
        assert notifier.read().paths == []
        assert notifier.add(str(tmp_path))
        assert notifier.add(f"{tmp_path}/", names_only=True)  # somebody's way, and more than that to somebody else
        (tmp_path / "noise").write_text("3")
        assert names(notifier.read()) == ["noise", "noise"]


class TestFolders:
    def test_one_that_is_deleted_is_lost(self, folder, notifier):
        shutil.rmtree(folder)
        assert notifier.read().lost == {str(folder)}
        assert notifier.watch_of(str(folder)) is None

    def test_one_that_is_moved_is_lost_and_not_followed(self, folder, notifier, tmp_path):
        folder.rename(tmp_path / "elsewhere")
        assert notifier.read().lost == {str(folder)}
        (tmp_path / "elsewhere" / "ann.json").write_text("[1]")
        changes = notifier.read()
        assert (changes.paths, changes.lost) == ([], set())

    def test_one_that_was_replaced_has_another_watch(self, folder, notifier, tmp_path):
        before = notifier.watch_of(str(folder))
        assert notifier.add(str(folder))
        assert notifier.watch_of(str(folder)) == before
        folder.rename(tmp_path / "elsewhere")
        folder.mkdir()
        assert notifier.add(str(folder))
        assert notifier.watch_of(str(folder)) != before
        (tmp_path / "elsewhere" / "ann.json").write_text("[1]")
        (folder / "bob.json").write_text("[]")
        assert names(notifier.read()) == ["bob.json"]

    def test_what_is_no_folder_cannot_be_watched(self, folder, notifier, tmp_path):
        (tmp_path / "link").symlink_to(folder)
        for path in (folder / "ann.json", tmp_path / "link", tmp_path / "none", folder / "ann.json" / "x"):
            assert not notifier.add(str(path))
        assert not notifier.add(f"{folder}\0etc")
        assert not notifier.is_exhausted

    def test_a_link_can_be_followed_and_both_names_are_told(self, folder, notifier, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(folder)
        assert notifier.add(str(link), follow=True)
        (folder / "ann.json").write_text("[1]")
        assert set(notifier.read().paths) == {(str(folder), "ann.json", False), (str(link), "ann.json", False)}
        notifier.drop(str(link))
        (folder / "ann.json").write_text("[2]")
        assert notifier.read().paths == [(str(folder), "ann.json", False)]

    def test_one_that_was_dropped_is_silent(self, folder, notifier):
        (folder / "ann.json").write_text("[1]")
        notifier.drop(str(folder))
        notifier.drop(str(folder))
        changes = notifier.read()
        assert (changes.paths, changes.lost) == ([], set())

    def test_one_that_must_not_be_read_is_no_crash(self):
        with somebody_without_power() as home:
            shut = home / "shut"
            shut.mkdir(mode=0o000)
            notifier = Inotify()
            assert notifier.add(str(home))
            assert not notifier.add(str(shut))
            assert not notifier.is_exhausted
            shut.chmod(0o700)
            assert notifier.read().paths == [(str(home), "shut", True)]
            assert notifier.add(str(shut))
            notifier.close()


class Poor(Inotify):
    """The user's watches are used up."""

    def _system_add(self, folder: str, mask: int) -> int:  # noqa: ARG002
        return -errno.ENOSPC


class TestLimits:
    def test_watches_that_are_used_up_are_a_value(self, tmp_path):
        notifier = Poor()
        assert not notifier.add(str(tmp_path))
        assert notifier.is_exhausted
        notifier.close()

    def test_a_full_queue_is_told(self, notifier):
        changes = Changes()
        notifier.digest(EVENT.pack(-1, IN_Q_OVERFLOW, 0, 0), changes)
        assert changes.overflowed

    def test_a_queue_that_is_really_full_is_told(self, folder, notifier):
        limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        if limit > 20_000:
            pytest.skip("that would take too long here")
        for _ in range(limit // 2 + 1):
            os.rename(folder / "ann.json", folder / "b")
            os.rename(folder / "b", folder / "ann.json")
        assert notifier.read().overflowed
        (folder / "ann.json").write_text("[1]")
        changes = notifier.read()
        assert (names(changes), changes.overflowed) == (["ann.json"], False)

    def test_one_call_ends_also_in_a_storm(self):
        class Storm(Inotify):
            def _take(self) -> bytes:
                return EVENT.pack(1, IN_CREATE, 0, 0)

        storm = Storm()
        assert storm.read().paths == []
        storm.close()

    def test_news_of_a_watch_that_was_given_up_is_nobodys(self, notifier):
        changes = Changes()
        notifier.digest(EVENT.pack(77, IN_DELETE_SELF, 0, 0) + EVENT.pack(77, IN_IGNORED, 0, 0), changes)
        assert changes.lost == set()

    @settings(deadline=None)
    @given(data=st.binary(max_size=200))
    def test_whatever_is_read_is_no_crash_and_concerns_nothing_that_is_watched(self, data):
        notifier, changes = Inotify(), Changes()
        notifier.digest(data, changes)
        notifier.close()
        assert (changes.paths, changes.lost) == ([], set())

    @settings(deadline=None)
    @given(entries=st.lists(st.tuples(st.sampled_from(["a.json", "b", "ü"]), st.booleans()), max_size=8))
    def test_every_event_of_a_batch_is_entered(self, tmp_path_factory, entries):
        notifier = Inotify()
        folder = str(tmp_path_factory.getbasetemp())
        assert notifier.add(folder)
        watch, data = notifier.watch_of(folder), b""
        for name, is_folder in entries:
            padded = name.encode().ljust(16, b"\0")
            data += EVENT.pack(watch, IN_CREATE | (IN_ISDIR if is_folder else 0), 0, 16) + padded
        changes = Changes()
        notifier.digest(data, changes)
        assert changes.paths == [(folder, name, is_folder) for name, is_folder in dict.fromkeys(entries)]
        notifier.close()

    def test_after_the_end_everything_is_quiet(self, folder, notifier):
        notifier.close()
        notifier.close()
        assert not notifier.add(str(folder))
        assert notifier.read().paths == []

    def test_programs_that_we_start_do_not_inherit_it(self, notifier):
        assert not os.get_inheritable(notifier.fd)
        assert not os.get_blocking(notifier.fd)


class TestWays:
    def test_the_last_step_decides(self, tmp_path):
        (tmp_path / "a" / "b").mkdir(parents=True)
        assert ways_to([str(tmp_path / "a" / "b")]) == {f"{tmp_path}/a/": {"b"}}

    def test_or_the_first_that_is_missing(self, tmp_path):
        assert ways_to([str(tmp_path / "a" / "b")]) == {f"{tmp_path}/": {"a"}}

    def test_and_every_link(self, tmp_path):
        (tmp_path / "link").symlink_to(tmp_path / "real")
        assert ways_to([str(tmp_path / "link" / "teams")])[f"{tmp_path}/"] == {"link", "real"}
        (tmp_path / "real").mkdir()
        found = ways_to([str(tmp_path / "link" / "teams")])
        assert found == {f"{tmp_path}/": {"link"}, f"{tmp_path}/link/": {"teams"}, f"{tmp_path}/real/": {"teams"}}

    def test_links_in_a_circle_end(self, tmp_path):
        (tmp_path / "a").symlink_to(tmp_path / "b")
        (tmp_path / "b").symlink_to(tmp_path / "a")
        assert "a" in ways_to([str(tmp_path / "a" / "teams")])[f"{tmp_path}/"]
