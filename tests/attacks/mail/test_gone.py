"""
Who is removed meanwhile: mail that waits for them makes no inbox that nobody looks at, and whoever waits for mail in an
inbox that is gone is told so, instead of waiting in vain.
"""

from __future__ import annotations

import shutil

import pytest

from atm.ui.cli.main import main
from atm.wiring import events as wiring


def test_a_message_queued_for_a_member_who_was_removed_makes_no_inbox(atm, room):
    assert room.inboxes.owners("crew") == ["ann", "bob"]
    inbox = atm.inbox("ann")
    inbox.rename(inbox.with_suffix(".aside"))
    inbox.mkdir()  # nothing can be written there, not even by root
    assert atm("send", "ann", "hello", "--from", "bob", "--json").json["outcome"] == "queued"
    inbox.rmdir()
    inbox.with_suffix(".aside").rename(inbox)
    atm("teams", "remove-member", "crew", "ann", "--force")
    atm("spool", "retry", code=None)
    assert room.inboxes.owners("crew") == ["bob"]
    assert atm.pending == []
    (kept,) = (atm.home / ".config/atm/spool/failed").glob("*.json")
    assert "ann has left since" in kept.read_text()


def by_hand(crew):
    shutil.rmtree(crew.home / ".claude/teams/crew")


def with_everybody_else(crew):
    shutil.rmtree(crew.home / ".claude/teams")


def by_command(crew):
    crew("teams", "delete", "crew", "--yes", "--force")


def remove_ann(crew):
    crew("teams", "remove-member", "crew", "ann", "--force")


@pytest.fixture
def waits_while(atm, room, monkeypatch, capsys):
    """`atm read --wait` while something is done; the first moment for it is before the inbox is watched."""
    monkeypatch.setenv("ATM_HOME", str(atm.home))
    monkeypatch.setenv("ATM_DAEMON_AUTOSTART", "0")
    real = wiring.build_watch

    def wait(do, *words, is_watched):
        def build(paths):
            made = real(paths)
            pause = made.wait

            def first(seconds):
                monkeypatch.setattr(made, "wait", pause)
                if is_watched:
                    pause(0.6)
                do(atm)
                return pause(seconds)

            monkeypatch.setattr(made, "wait", first)
            return made

        monkeypatch.setattr(wiring, "build_watch", build)
        code = main(["read", "--as", "ann", "--team", "crew", "--wait", "50", *words])
        return code, *capsys.readouterr()

    return wait


@pytest.mark.parametrize("is_watched", [True, False])
@pytest.mark.parametrize("marking", [(), ("--no-mark",)])
@pytest.mark.parametrize("remove", [by_hand, with_everybody_else, by_command])
def test_whoever_waits_for_mail_of_a_team_that_is_removed_is_told_that_it_is_gone(
    waits_while, remove, marking, is_watched
):
    code, out, err = waits_while(remove, *marking, is_watched=is_watched)
    assert (code, out) == (1, "")
    assert "team 'crew' was removed while you waited" in err
    assert "permission" not in err


def test_whoever_waits_for_mail_of_a_member_that_is_removed_is_told_so(waits_while):
    code, _, err = waits_while(remove_ann, is_watched=True)
    assert code == 1
    assert "ann has left team 'crew' while you waited" in err
