"""One contract for all ways of watching, and telling rows apart by id."""

from __future__ import annotations

import errno
import os
import sys
import threading
import time

import pytest
from tests.proving import proves

from atm.events.adapters import watching
from atm.events.adapters.inotify import is_available
from atm.events.adapters.watching import InotifyWatch, NativeWatch, PollingWatch
from atm.mail.services.following import Follower
from atm.testing import make_message

SOON = 30.0


@pytest.fixture(params=[PollingWatch, InotifyWatch, NativeWatch])
def watch_kind(request):
    if request.param is InotifyWatch and not is_available():
        pytest.skip("this system has no inotify")
    if request.param is NativeWatch:
        pytest.importorskip("watchfiles")
    return request.param


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "ann.json"
    file.write_text("[1, 2, 3]")
    return file


def shrink(path):
    path.write_text("[]")


def replace(path):
    other = path.with_suffix(".new")
    other.write_text("[1, 2, 4]")
    os.replace(other, path)


def vanish(path):
    path.unlink()


@pytest.mark.parametrize("change", [shrink, replace, vanish])
def test_a_change_during_the_wait_ends_it(watch_kind, path, change):
    with watch_kind([str(path)]) as watch:
        assert watch.wait(0) is False
        threading.Timer(0.2, change, [path]).start()
        started = time.monotonic()
        assert watch.wait(SOON) is True
        assert time.monotonic() - started < SOON


def test_a_change_before_the_wait_is_not_missed(watch_kind, path):
    with watch_kind([str(path)]) as watch:
        replace(path)
        assert watch.wait(SOON) is True


def test_a_file_that_appears_is_a_change(watch_kind, tmp_path):
    with watch_kind([str(tmp_path / "new.json")]) as watch:
        threading.Timer(0.2, (tmp_path / "new.json").write_text, ["[]"]).start()
        assert watch.wait(SOON) is True


def test_nothing_happens_and_the_wait_ends(watch_kind, path):
    with watch_kind([str(path)]) as watch:
        assert watch.wait(0.3) is False


def test_a_folder_that_does_not_exist_can_be_watched(watch_kind, tmp_path):
    with watch_kind([str(tmp_path / "none" / "x.json")]) as watch:
        assert watch.wait(0.2) is False


@proves("R000-lock-27")
@pytest.mark.skipif(not is_available(), reason="this system has no inotify")
def test_inotify_is_used_where_it_can_be_had(path):
    with watching.watch([str(path)]) as watch:
        assert isinstance(watch, InotifyWatch)


@pytest.fixture
def no_inotify(monkeypatch):
    def refused():
        raise OSError(errno.EMFILE, "too many")

    monkeypatch.setattr(watching, "Inotify", refused)


@proves("R000-lock-27")
def test_elsewhere_or_when_they_are_used_up_native_events_are_used(no_inotify, path):
    pytest.importorskip("watchfiles")
    assert isinstance(watching.watch([str(path)]), NativeWatch)


@proves("R000-lock-27")
def test_without_the_extra_it_polls_there(no_inotify, monkeypatch, path):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    kind = type(watching.watch([str(path)]))
    assert kind is PollingWatch


@pytest.mark.skipif(not is_available(), reason="this system has no inotify")
def test_a_folder_that_comes_later_is_watched_too_and_files_written_in_place_are_heard_of(tmp_path):
    folder = tmp_path / "later"
    with InotifyWatch([str(folder), str(folder / "x.json")]) as watch:
        folder.mkdir()
        assert watch.wait(SOON) is True
        (folder / "1.json").write_text("{}")
        assert watch.wait(SOON) is True
        assert watch.wait(0.2) is False  # by now it is watched
        with (folder / "1.json").open("r+") as file:
            file.write("[]")
        assert watch.wait(SOON) is True, "though the folder's own stamp stays"


@pytest.mark.skipif(not is_available(), reason="this system has no inotify")
def test_a_file_that_comes_into_a_watched_folder_ends_the_wait_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(watching, "FLOOR", SOON)  # without news nobody would look before that
    with InotifyWatch([str(tmp_path)]) as watch:
        threading.Timer(0.2, (tmp_path / "1.json").write_text, ["{}"]).start()
        started = time.monotonic()
        assert watch.wait(SOON) is True
        assert time.monotonic() - started < SOON / 2


def rows(*ids):
    return [make_message(id) for id in ids]


def ids(messages):
    return [message.id for message in messages]


def test_what_is_there_at_first_is_not_new():
    assert Follower().new_rows(rows("a", "b")) == []


def test_new_rows_are_told_once_whatever_the_positions_do():
    follower = Follower()
    follower.new_rows(rows("a", "b", "c"))
    assert ids(follower.new_rows(rows("c", "d"))) == ["d"]  # the file shrank: positions say nothing
    assert ids(follower.new_rows([])) == []  # everything was consumed
    assert ids(follower.new_rows(rows("d", "a", "e"))) == ["e"]  # rows that come back are not new


def test_two_rows_of_the_same_millisecond_are_two_rows():
    follower = Follower()
    follower.new_rows([])
    assert ids(follower.new_rows(rows("x", "y"))) == ["x", "y"]
