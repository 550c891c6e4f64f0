"""One contract, two implementations: what changed in a folder, as the kernel says it and as one sees it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from atm.events.adapters import folder_news as real
from atm.events.adapters.folder_news import InotifyNews
from atm.files.ports.folder_news import FolderNews
from atm.testing import LookingNews

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of changes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "list"
    made.mkdir()
    return made


@pytest.fixture(params=["looking", pytest.param("inotify", marks=linux)])
def news(request) -> Iterator[FolderNews]:
    if request.param == "looking":
        yield LookingNews()
    else:
        made = InotifyNews()
        yield made
        made.close()


def told(news: FolderNews, folder: Path) -> set[str]:
    changed = news.changed(str(folder))
    assert changed is not None
    return changed


def test_nothing_is_known_at_first(news, folder):
    (folder / "1.json").write_text("one")
    assert news.changed(str(folder)) is None
    assert told(news, folder) == set()


def test_each_change_is_told_once(news, folder):
    news.changed(str(folder))
    (folder / "1.json").write_text("one")
    assert "1.json" in told(news, folder)
    assert told(news, folder) == set()


def test_writing_in_place_renaming_and_removing_are_changes(news, folder):
    for name in ("1.json", "2.json", "3.json"):
        (folder / name).write_text("one")
    news.changed(str(folder))
    with (folder / "1.json").open("r+b") as file:
        os.write(file.fileno(), b"ONE")
        assert "1.json" in told(news, folder)  # although nobody closed it
    (folder / "new").write_text("two")
    os.replace(folder / "new", folder / "2.json")
    assert "2.json" in told(news, folder)
    (folder / "3.json").unlink()
    assert "3.json" in told(news, folder)
    (folder / "7.json.lock").mkdir()
    assert "7.json.lock" in told(news, folder)


def test_what_another_process_did_before_we_asked_is_told(news, folder):
    news.changed(str(folder))
    for number in range(20):
        subprocess.run(["cp", "/dev/null", folder / f"{number}.json"], check=True)
        assert f"{number}.json" in told(news, folder)


def test_a_folder_that_is_gone_is_not_known_and_neither_is_the_next_at_its_place(news, folder):
    news.changed(str(folder))
    shutil.rmtree(folder)
    assert news.changed(str(folder)) is None
    folder.mkdir()
    assert news.changed(str(folder)) is None
    (folder / "1.json").write_text("one")
    assert "1.json" in told(news, folder)


def test_folders_do_not_hear_of_one_another(news, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for one in (folder, other):
        news.changed(str(one))
    (other / "1.json").write_text("one")
    assert told(news, folder) == set()
    assert "1.json" in told(news, other)


# The real one alone.


@linux
class TestInotifyNews:
    @pytest.fixture
    def news(self) -> Iterator[InotifyNews]:
        made = InotifyNews()
        yield made
        made.close()

    def test_another_folder_moved_to_its_place_is_not_known(self, news, folder, tmp_path):
        news.changed(str(folder))
        (tmp_path / "next").mkdir()
        folder.rename(tmp_path / "former")
        (tmp_path / "next").rename(folder)
        assert news.changed(str(folder)) is None
        assert news.changed(str(folder)) == set()

    def test_a_link_is_never_known(self, news, folder, tmp_path):
        (tmp_path / "link").symlink_to(folder)
        assert [news.changed(str(tmp_path / "link")) for _ in range(3)] == [None] * 3

    def test_on_a_network_file_system_nothing_is_known(self, news, folder, monkeypatch):
        monkeypatch.setattr(real, "_kind_of", lambda _: "nfs4")
        assert [news.changed(str(folder)) for _ in range(3)] == [None] * 3

    def test_where_there_are_no_watches_nothing_is_known(self, folder, monkeypatch):
        def refuse() -> None:
            raise OSError("used up")

        monkeypatch.setattr(real, "Inotify", refuse)
        assert [InotifyNews().changed(str(folder)) for _ in range(2)] == [None] * 2

    def test_after_more_news_than_one_wants_to_hear_everything_is_looked_at(self, news, folder, monkeypatch):
        monkeypatch.setattr(real, "MOST_NAMES", 10)
        news.changed(str(folder))
        for number in range(11):
            (folder / str(number)).touch()
        assert news.changed(str(folder)) is None
        assert news.changed(str(folder)) == set()

    def test_when_the_kernel_has_forgotten_some_everything_is_looked_at(self, news, folder):
        news.changed(str(folder))
        limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
        if limit > 100_000:
            pytest.skip(f"the kernel keeps {limit} events here")
        for number in range(limit // 2 + 100):
            name = folder / str(number % 2)
            name.touch()
            name.unlink()
        assert news.changed(str(folder)) is None

    def test_threads_hear_everything_between_them(self, news, folder):
        news.changed(str(folder))
        heard: set[str] = set()

        def ask() -> None:
            for _ in range(200):
                heard.update(news.changed(str(folder)) or ())

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(200):
            (folder / str(number)).touch()
        for thread in threads:
            thread.join()
        heard.update(news.changed(str(folder)) or ())
        assert len(heard) == 200

    def test_a_closed_one_knows_nothing(self, news, folder):
        news.changed(str(folder))
        news.close()
        assert news.changed(str(folder)) is None
