"""What killed processes leave is looked at once: what counts as the same, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.crash import conftest
from tests.crash.conftest import Left

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
NOTE = '{{"id": "{id}", "at": "{at}", "pid": {pid}, "to": "ann"}}\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "inboxes").mkdir(parents=True)
    (home / "inboxes" / "ann.json").write_text(NOTE.format(id=ID, at="2026-01-01T10:00:00.000Z", pid=12345))
    return home


@pytest.fixture
def left(home: Path, monkeypatch: pytest.MonkeyPatch) -> Left:
    """Has seen the home once."""
    monkeypatch.setattr(conftest, "LONG", False)
    left = Left()
    assert left.is_new(home)
    return left


def test_the_same_again_is_not_new(left, home):
    assert not left.is_new(home)


def test_another_id_another_time_and_another_process_are_the_same_again(left, home):
    other = NOTE.format(id="7c9e6679-7425-40de-944b-e07fc1f90ae7", at="2026-01-01T10:00:01.500Z", pid=54321)
    (home / "inboxes" / "ann.json").write_text(other)
    assert not left.is_new(home)


@pytest.mark.parametrize(
    "change",
    [
        lambda home: (home / "inboxes" / "ann.json").write_text("{"),
        lambda home: (home / "inboxes" / "ann.json").write_text(NOTE.format(id=ID, at="never", pid=12345)),
        lambda home: (home / "inboxes" / "ann.json").unlink(),
        lambda home: (home / "inboxes" / "ann.json").chmod(0o400),
        lambda home: (home / "inboxes" / "ann.json").rename(home / "inboxes" / ".ann.json.new"),
        lambda home: (home / "inboxes" / "ann.json.lock").mkdir(),
        lambda home: (home / "inboxes" / "bob.json").write_text(""),
    ],
    ids=["torn", "other words", "gone", "another mode", "another name", "a folder more", "a file more"],
)
def test_anything_else_is_new(left, home, change):
    change(home)
    assert left.is_new(home)


def test_the_same_files_after_other_words_are_new(left, home):
    assert left.is_new(home, "refused")
    assert not left.is_new(home, "refused")
    assert left.is_new(home, "done")


def test_in_the_long_campaign_everything_is_looked_at(left, home, monkeypatch):
    monkeypatch.setattr(conftest, "LONG", True)
    assert left.is_new(home)
