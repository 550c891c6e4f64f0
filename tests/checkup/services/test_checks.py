"""Checks: each is contained, each says how it stands, and only what a second look does not find was mended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from atm.checkup.ports import Belonging, DaemonSeen, HomeOwner, HomeTrial, RoomLeft
from atm.checkup.services.belongings import examine_kinds, examine_owners
from atm.checkup.services.findings import FAILED, NOTE, OK, PROBLEM, TROUBLE, WARNING, Check, Finding, name_causes
from atm.checkup.services.machine import examine_clock, examine_home, examine_room_left
from atm.checkup.services.surroundings import examine_daemon, examine_settings
from atm.core.errors import AtmError, UnreadableFile

NOON = 1_790_000_000.0
ANN = HomeOwner(1000, "ann")


class FewFiles:
    """As much of the files around as a check asks for."""

    def __init__(self, *belongings: Belonging, owner: HomeOwner = ANN, **facts: Any) -> None:
        self._belongings = belongings
        self._owner = owner
        self.facts = facts
        self.touched: list[str] = []

    def belongings(self, _: list[str]) -> Iterator[Belonging]:
        yield from self._belongings

    def home_owner(self) -> HomeOwner:
        return self._owner

    def roots(self) -> tuple[str, ...]:
        return ("/h/state", "/h/teams")

    def missing_home(self) -> str:
        return str(self.facts.get("missing", ""))

    def write_trials(self) -> list[HomeTrial]:
        return list(self.facts.get("trials", []))

    def room_left(self) -> list[RoomLeft]:
        return list(self.facts.get("room", []))

    def touch(self, path: str) -> None:
        self.touched.append(path)


def files_around(*belongings: Belonging, **facts: Any) -> Any:
    return FewFiles(*belongings, **facts)


def mine(path: str, **more: Any) -> Belonging:
    facts = {"kind": "file", "uid": 1000, "owner": "ann", "mtime": NOON, "is_usable": True, **more}
    return Belonging(path, **facts)


def roots(path: str, **more: Any) -> Belonging:
    return mine(path, **{"uid": 0, "owner": "root", "is_usable": False, **more})


def looked(look: Any) -> Check:
    check = Check("it")
    check.look(lambda: look)
    return check


class TestContainment:
    @pytest.mark.parametrize(
        "error",
        [UnreadableFile("/x is torn", path="/x"), PermissionError(13, "Permission denied", "/x"), ZeroDivisionError()],
        ids=lambda error: type(error).__name__,
    )
    def test_a_check_that_fails_is_a_finding_and_keeps_what_it_had_found(self, error):
        def look() -> Iterator[Finding]:
            yield Finding("early", NOTE, "found before", "true")
            raise error

        check = Check("spool")
        check.look(look)
        assert [one.code for one in check.findings] == ["early", "check-failed"]
        assert check.state == FAILED
        failed = check.findings[-1]
        assert failed.severity == PROBLEM
        assert failed.message.startswith("spool could not be checked: ")
        assert failed.command.startswith("ls -la /x" if failed.path else "ATM_DEBUG=1")

    def test_one_look_that_fails_does_not_keep_the_next_from_looking(self):
        check = Check("team crew")
        check.look(lambda: [str(1 // 0)])
        check.look(lambda: [Finding("later", NOTE, "found", "true")])
        assert [one.code for one in check.findings] == ["check-failed", "later"]

    def test_notes_are_no_trouble(self):
        assert looked([Finding("x", NOTE, "x", "true")]).state == OK
        assert looked([Finding("x", WARNING, "x", "true")]).state == TROUBLE

    def test_what_fails_because_of_another_finding_is_mended_as_that_one_is(self):
        cause = Finding("foreign-owner", PROBLEM, "x", "sudo chown -R ann: /h/a", covers=("/h/a",))
        inside = Finding("check-failed", PROBLEM, "x", "ls -la /h/a/b", "/h/a/b")
        beside = Finding("check-failed", PROBLEM, "x", "ls -la /h/ab", "/h/ab")
        name_causes([inside, beside, cause])
        assert inside.command == cause.command
        assert beside.command == "ls -la /h/ab"


class TestOwners:
    def test_what_is_ours_is_no_finding(self):
        check = looked(examine_owners(files_around(mine("/h/state/a"), mine("/h/state/b")), []))
        assert (check.state, check.detail) == (OK, "2 files and folders, all for ann to use")

    def test_a_file_that_root_left_is_named_with_the_command_that_gives_it_back(self):
        (found,) = looked(examine_owners(files_around(roots("/h/state/my lock")), [])).findings
        assert found.severity == PROBLEM
        assert found.message == (
            "1 file belongs to root, as after a command with sudo, and ann cannot use it: /h/state/my lock"
        )
        assert found.command == "sudo chown -R ann: '/h/state/my lock'"

    def test_many_are_one_finding_with_a_command_for_all_of_them(self):
        many = [roots(f"/h/state/locks/{number}") for number in range(20)]
        (found,) = looked(examine_owners(files_around(*many, mine("/h/state")), [])).findings
        assert found.message.startswith("20 files belong to root")
        assert found.command == "sudo find /h/state -user root -exec chown -h ann: {} +"

    def test_files_of_others_in_a_teams_folder_are_in_order_while_they_can_be_used(self):
        shared = {"is_shared": True, "uid": 7, "owner": "bob"}
        check = looked(examine_owners(files_around(mine("/h/teams/a", **shared)), []))
        assert check.findings == []
        check = looked(examine_owners(files_around(mine("/h/teams/a", **shared, is_usable=False)), []))
        assert [one.subject for one in check.findings] == ["bob"]

    def test_root_who_looks_after_ann_needs_no_sudo(self):
        owner = HomeOwner(1000, "ann", is_asking_as_root=True)
        (found,) = looked(examine_owners(files_around(roots("/h/state/x"), owner=owner), [])).findings
        assert found.command == "chown -R ann: /h/state/x"

    def test_a_folder_in_place_of_a_file_is_moved_away_by_its_command(self):
        (found,) = looked(examine_kinds(files_around(mine("/h/x", kind="folder", should_be="file")), [])).findings
        assert found.command == "mv /h/x /h/x.broken"


class TestMachine:
    def test_a_home_that_can_be_written_is_said_to_be(self):
        check = looked(examine_home(files_around(trials=[HomeTrial("/h")])))
        assert (check.state, check.detail) == (OK, "/h can be written")

    def test_a_home_that_does_not_exist_is_a_problem(self):
        (found,) = looked(examine_home(files_around(missing="/nowhere"))).findings
        assert (found.code, found.command) == ("no-home", "mkdir -p /nowhere")

    @pytest.mark.parametrize(
        ("why", "command"),
        [
            ("full", "df -h /h; df -i /h"),
            ("read-only", "findmnt -T /h"),
            ("foreign", "sudo chown ann: /h"),
            ("shut", "chmod u+rwx /h"),
            ("", "ls -ld /h"),
        ],
    )
    def test_each_reason_has_its_command(self, why, command):
        (found,) = looked(examine_home(files_around(trials=[HomeTrial("/h", "no", why, "ann")]))).findings
        assert (found.code, found.command) == ("cannot-write", command)

    @pytest.mark.parametrize(
        ("free", "inodes", "codes"),
        [
            (10**9, 10**6, []),
            (10**9, None, []),
            (10**6, 10**6, [("little-space", PROBLEM)]),
            (10**7, 10**6, [("little-space", WARNING)]),
            (10**9, 10, [("few-inodes", WARNING)]),
            (0, 0, [("little-space", PROBLEM), ("few-inodes", PROBLEM)]),
        ],
    )
    def test_little_room_is_a_warning_and_none_a_problem(self, free, inodes, codes):
        check = looked(examine_room_left(files_around(room=[RoomLeft("/h", free, inodes)])))
        assert [(one.code, one.severity) for one in check.findings] == codes

    def test_files_from_the_future_are_one_finding_that_can_be_mended(self):
        around = files_around(mine("/h/b", mtime=NOON + 3600), mine("/h/a", mtime=NOON + 7200), mine("/h/c"))
        (found,) = looked(examine_clock(around, [], NOON)).findings
        assert found.message.startswith("/h/a and 1 more was changed in the future")
        assert found.mend is not None
        found.mend()
        assert around.touched == ["/h/a", "/h/b"]

    def test_a_clock_that_was_never_set_is_a_problem(self):
        codes = [one.code for one in looked(examine_clock(files_around(), [], 86_400.0)).findings]
        assert codes == ["wrong-clock"]


class TestSurroundings:
    def test_no_daemon_is_no_finding(self):
        check = looked(examine_daemon(DaemonSeen(), "1.0"))
        assert (check.state, check.detail) == (OK, "does not run; it is started when something needs it")

    @pytest.mark.parametrize(
        ("seen", "codes"),
        [
            (DaemonSeen(7, True, "1.0"), []),
            (DaemonSeen(7, True, "0.9"), ["old-daemon"]),
            (DaemonSeen(7, False, "1.0", "/s"), ["silent-daemon"]),
            (DaemonSeen(7, True, "1.0", "/s", ("a.toml is torn",)), ["daemon-problem"]),
        ],
    )
    def test_a_daemon_that_runs_must_answer_and_be_of_this_version(self, seen, codes):
        assert [one.code for one in looked(examine_daemon(seen, "1.0")).findings] == codes

    def test_settings_that_cannot_be_read_are_a_finding_with_an_editor(self):
        error = AtmError("/h/config.toml is not a settings file: line 3", "mend that line", "/h/config.toml")
        (found,) = looked(examine_settings([], error)).findings
        assert found.command == "${EDITOR:-vi} /h/config.toml"
        assert "mend that line" in found.message
