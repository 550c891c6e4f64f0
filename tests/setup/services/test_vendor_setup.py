"""Setting up agent CLIs over real files: planned, done, checked, undone; and whatever may be in the way."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import pytest
from tests.chaos import kills
from tests.in_memory import in_memory

from atm.core.errors import AtmError, FileBusy, NoHome, OutsideLink, UnreadableFile, WriteRefused
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock, find_layout, host_name
from atm.files.ports.disk import Disk
from atm.setup.adapters.vendor_files import VendorFilesOnDisk
from atm.setup.services.planning import FileChange, SetupOrder, apply, check, detect, plan
from atm.testing import Crash, FaultyDisk, QuickDisk
from atm.vendors.known import hooks_of
from atm.vendors.server_entries import Identity
from atm.vendors.settings import HOOKS, KINDS, PROJECT, SERVER, USER, WITHOUT_SERVER, ConfigFile, Surroundings
from atm.vendors.settings_files import clients, files_of, settings_of, with_hooks_of_ours
from atm.vendors.settings_hooks import NAMED, hooks_in

CLIENTS, KNOWN = clients(), with_hooks_of_ours()
EVERYBODY = list(KNOWN)
MINE = '{\n    "model": "opus",\n    "hooks": {\n        "Stop": []\n    }\n}\n'


class World:
    """One home, one project, and `atm init` at work in them."""

    def __init__(self, folder: Path, disk: Disk | None = None) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        self.home.mkdir(exist_ok=True)
        self.project.mkdir(exist_ok=True)
        self.environment = {"HOME": str(self.home), "PATH": str(folder / "bin")}
        self.use(disk or QuickDisk())

    def use(self, disk: Disk) -> None:
        layout = find_layout({"ATM_HOME": str(self.home)})
        locks = Locks(disk, RealClock(), RealChance(), layout.locks, pid=os.getpid(), host=host_name())
        self.files = VendorFilesOnDisk(locks, layout, self.environment)

    def put_on_path(self, name: str) -> Path:
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    def write(self, path: str, text: str) -> Path:
        whole = self.home / path
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.write_bytes(text.encode())
        return whole

    def init(
        self, *vendors: str, scope: str = USER, remove: bool = False, kinds: tuple[str, ...] = KINDS
    ) -> list[FileChange]:
        return self.do(SetupOrder(kinds, remove), *vendors, scope=scope)

    def install(
        self, *clients: str, scope: str = USER, remove: bool = False, identity: Identity | None = None
    ) -> list[FileChange]:
        """`atm mcp install`."""
        return self.do(SetupOrder((SERVER,), remove, identity), *(clients or CLIENTS), scope=scope)

    def do(self, order: SetupOrder, *vendors: str, scope: str) -> list[FileChange]:
        changes = plan(self.files, vendors or EVERYBODY, scope, str(self.project), order)
        return apply(self.files, changes, order)

    def missing(
        self, *vendors: str, scope: str = USER, kinds: tuple[str, ...] = KINDS, identity: Identity | None = None
    ) -> list[FileChange]:
        order = SetupOrder(kinds, identity=identity)
        found = check(self.files, vendors or EVERYBODY, scope, str(self.project), order)
        return [change for change in found if not change.is_installed]

    def everything(self) -> dict[str, bytes | None]:
        """All files and folders but those of atm itself."""
        found = {}
        for root in (self.home, self.project):
            for path in sorted(root.rglob("*")):
                if ".local" not in path.relative_to(root).parts[:1]:
                    found[str(path.relative_to(self.folder))] = path.read_bytes() if path.is_file() else None
        return found


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    yield from in_memory(tmp_path)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("scope", [USER, PROJECT])
def test_what_is_set_up_is_there_and_goes_without_a_trace(world, scope):
    before = world.everything()
    assert {change.what for change in world.init(scope=scope)} == {"created"}
    assert world.missing(scope=scope) == []
    assert {change.what for change in world.init(scope=scope)} == {"unchanged"}
    assert {change.what for change in world.init(scope=scope, remove=True)} == {"removed"}
    assert world.everything() == before
    assert {change.what for change in world.init(scope=scope, remove=True)} == {"unchanged"}


def test_files_that_were_there_are_what_they_were(world):
    world.write(".claude/settings.json", MINE)
    world.write(".codex/hooks.json", "{}")
    world.write(".codex/config.toml", "[tui]\r\nx = 1\r\n")
    world.write(".gemini/settings.json", "\ufeff{}\n")
    world.write(".gemini/config/hooks.json", '{"lint": {"Stop": [{"command": "./lint.sh"}]}}')
    before = world.everything()
    world.init()
    assert world.missing() == []
    world.init(remove=True)
    after = world.everything()
    assert {path: data for path, data in after.items() if path in before} == before
    assert not [path for path, data in after.items() if data is not None and path not in before]


@pytest.mark.parametrize("text", ["", "\n", " \r\n", "\ufeff"])
def test_a_file_with_nothing_in_it_is_that_again(world, text):
    for path in (".claude/settings.json", ".codex/hooks.json", ".codex/config.toml", ".config/opencode/plugins/atm.js"):
        world.write(path, text)
    world.write(".gemini/config/hooks.json", text)
    before = world.everything()
    world.init("claude", "codex", "agy", "opencode")
    assert world.missing("claude", "codex", "agy", "opencode") == []
    world.init("claude", "codex", "agy", "opencode", remove=True)
    assert world.everything() == before


def test_a_file_that_we_made_stays_when_somebody_else_has_put_something_in(world):
    world.init("claude")
    path = world.home / ".claude/settings.json"
    path.write_text(path.read_text().replace('{\n  "hooks"', '{\n  "model": "opus",\n  "hooks"', 1))
    world.init("claude", remove=True)
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_a_file_that_somebody_made_in_the_place_of_ours_is_not_ours_to_delete(world):
    world.init("claude")
    path = world.write(".claude/settings.json", "{\n}\n")
    world.init("claude")
    world.init("claude", remove=True)
    assert path.read_text() == "{\n}\n"


def test_folders_go_only_if_we_made_them_and_nothing_is_in_them(world):
    world.init("opencode", scope=PROJECT)
    (world.project / ".opencode" / "notes.md").write_text("mine")
    world.init("opencode", scope=PROJECT, remove=True)
    assert (world.project / ".opencode" / "notes.md").exists()
    assert not (world.project / ".opencode" / "plugins").exists()


@pytest.mark.parametrize("order", [["gemini", "agy"], ["agy", "gemini"]])
@pytest.mark.parametrize("together", [True, False])
def test_a_folder_that_two_vendors_share_goes_with_the_last_of_them(world, order, together):
    before = world.everything()
    for vendor in order:
        world.init(vendor)
    world.init("gemini", "agy", remove=True) if together else world.init(order[0], remove=True)
    if not together:
        assert world.missing(order[1]) == []
        world.init(order[1], remove=True)
    assert world.everything() == before
    assert json.loads((world.home / ".local/state/atm/vendor-files.json").read_text()) == {}


def test_a_shared_folder_stays_if_somebody_else_keeps_something_in_it(world):
    world.init("agy")
    world.init("gemini")
    world.write(".gemini/oauth.json", "{}")
    world.init("gemini", "agy", remove=True)
    assert os.listdir(world.home / ".gemini") == ["oauth.json"]


def test_the_mode_of_a_file_stays(world):
    path = world.write(".claude/settings.json", MINE)
    path.chmod(0o640)
    world.init("claude")
    assert path.stat().st_mode & 0o777 == 0o640


# Where things are.


def root(vendor: str, around: Surroundings) -> str:
    return settings_of(vendor).root(around)


def test_every_vendor_has_its_places(world):
    where = world.files.places(str(world.project))
    home, project = str(world.home), str(world.project)
    assert [file.path for vendor in EVERYBODY for file in files_of(vendor, USER, where)] == [
        f"{home}/.claude/settings.json",
        f"{home}/.claude.json",
        f"{home}/.codex/hooks.json",
        f"{home}/.codex/config.toml",
        f"{home}/.gemini/settings.json",
        f"{home}/.gemini/config/hooks.json",
        f"{home}/.gemini/config/mcp_config.json",
        f"{home}/.config/opencode/plugins/atm.js",
        f"{home}/.config/opencode/opencode.json",
    ]
    assert [file.path for vendor in EVERYBODY for file in files_of(vendor, PROJECT, where)] == [
        f"{project}/.claude/settings.json",
        f"{project}/.mcp.json",
        f"{project}/.codex/hooks.json",
        f"{project}/.codex/config.toml",
        f"{project}/.gemini/settings.json",
        f"{project}/.agents/hooks.json",
        f"{project}/.agents/mcp_config.json",
        f"{project}/.opencode/plugins/atm.js",
        f"{project}/opencode.json",
    ]
    editors = [file.path for vendor in ("cursor", "vscode") for file in files_of(vendor, PROJECT, where)]
    assert editors == [f"{project}/.cursor/mcp.json", f"{project}/.vscode/mcp.json"]
    assert root("cursor", where) == f"{home}/.cursor"
    assert root("vscode", where).endswith("/Code/User")


def test_variables_of_the_vendors_move_their_files_and_a_sandbox_moves_all(world):
    moved = {"CODEX_HOME": "/c", "GEMINI_CLI_HOME": "/g", "XDG_CONFIG_HOME": "/x"}
    world.environment.update(moved)
    where = world.files.places("/p")
    assert [root(name, where) for name in ("codex", "gemini", "opencode")] == ["/c", "/g/.gemini", "/x/opencode"]
    assert (where.project, root("agy", where)) == ("/p", f"{world.home}/.gemini")
    world.environment["ATM_HOME"] = "/sandbox"
    where = world.files.places("/p")
    assert (root("codex", where), root("gemini", where)) == ("/sandbox/.codex", "/sandbox/.gemini")
    assert (root("agy", where), root("opencode", where)) == ("/sandbox/.gemini", "/sandbox/.config/opencode")
    assert files_of("claude", USER, where)[1].path == "/sandbox/.claude.json"


def test_claude_codes_variable_moves_the_file_that_it_keeps_beside_its_folder_into_it(world):
    assert files_of("claude", USER, world.files.places("/p"))[1].path == f"{world.home}/.claude.json"
    world.environment["CLAUDE_CONFIG_DIR"] = "/c"
    (_, state) = files_of("claude", USER, world.files.places("/p"))
    assert (state.path, state.is_private) == ("/c/.claude.json", True)


def test_without_a_home_there_is_no_place_for_a_users_settings_but_one_for_a_projects(world):
    del world.environment["HOME"]
    with pytest.raises(NoHome):
        plan(world.files, ["gemini"], USER, str(world.project))
    assert world.files.evidence(KNOWN["gemini"], world.files.places(".")) == ""
    world.init("gemini", scope=PROJECT)
    assert world.missing("gemini", scope=PROJECT) == []
    with pytest.raises(NoHome):
        files_of("codex", USER, Surroundings())
    with pytest.raises(NoHome):
        plan(world.files, ["agy"], USER, str(world.project))
    assert world.files.evidence(KNOWN["agy"], world.files.places(".")) == ""


def test_a_cli_is_found_by_its_program_or_by_its_folder(world):
    assert detect(world.files, str(world.project)) == {}
    codex = world.put_on_path("codex")
    world.write(".gemini/settings.json", "{}")
    assert detect(world.files, str(world.project)) == {"codex": str(codex), "gemini": str(world.home / ".gemini")}


def test_what_others_and_we_ourselves_keep_in_a_folder_is_no_sign_of_its_owner(world):
    world.write(".claude/teams/crew/config.json", "{}")
    world.write(".claude/tasks/crew/1.json", "{}")
    world.write(".gemini/antigravity/brain/x", "")
    world.write(".gemini/antigravity-ide/x", "")
    world.write(".gemini/config/hooks.json", "{}")
    assert detect(world.files, str(world.project)) == {}
    world.write(".claude/history.jsonl", "")
    assert list(detect(world.files, str(world.project))) == ["claude"]


def test_agy_is_found_by_its_program_or_by_the_folder_that_it_alone_has_and_is_not_taken_for_gemini(world):
    program = world.put_on_path("agy")
    assert detect(world.files, str(world.project)) == {"agy": str(program)}
    program.unlink()
    world.put_on_path("antigravity")
    assert detect(world.files, str(world.project)) == {}
    world.write(".gemini/antigravity-cli/cli.log", "")
    assert detect(world.files, str(world.project)) == {"agy": str(world.home / ".gemini")}


class BlindDisk(QuickDisk):
    """Folders into which we may not look."""

    __slots__ = ()

    def names(self, folder: str) -> list[str]:
        raise PermissionError(13, "Permission denied", folder)


def test_a_folder_into_which_we_may_not_look_speaks_for_its_owner_but_not_for_a_lodger(world):
    world.use(BlindDisk())
    assert set(detect(world.files, str(world.project))) == {"claude", "codex", "gemini", "opencode"}


def test_plain_atm_is_written_where_it_is_on_path_and_its_whole_path_where_it_is_not(world):
    (program,) = world.files.program()
    assert os.path.isabs(program)
    world.init("claude")
    world.put_on_path("atm")
    assert world.files.program() == ("atm",)
    stale, server = world.missing("claude")
    assert (stale.standing.state, stale.standing.outdated) == ("outdated", hooks_of("claude").entered)
    assert (server.standing.state, server.standing.outdated) == ("outdated", ("MCP server",))
    world.init("claude")
    text = (world.home / ".claude/settings.json").read_text()
    assert {hook.command.program for hook in hooks_in(text)} == {("atm",)}
    assert len(hooks_in(text)) == len(hooks_of("claude").entered)


# What is in the way.


def refusals(changes: list[FileChange]) -> dict[str, AtmError]:
    return {change.vendor: change.refusal for change in changes if change.refusal is not None}


def test_one_file_that_cannot_be_read_does_not_stop_the_others(world):
    path = world.write(".claude/settings.json", "{ // mine\n}")
    world.write(".codex/config.toml", "notify = [")
    found = refusals(world.init())
    assert set(found) == {"claude", "codex"}
    assert isinstance(found["claude"], UnreadableFile)
    assert str(path) in str(found["claude"])
    assert "comments" in str(found["claude"])
    assert path.read_text() == "{ // mine\n}"
    assert (world.home / ".gemini/settings.json").exists()
    assert {change.vendor for change in world.missing()} == {"claude", "codex"}


def test_somebody_elses_notify_stays_and_is_spoken_of(world):
    path = world.write(".codex/config.toml", 'notify = ["bell"]\n')
    world.init("codex", kinds=WITHOUT_SERVER)
    assert path.read_text() == 'notify = ["bell"]\n'
    assert world.missing("codex", kinds=WITHOUT_SERVER) == []
    notes = [note for change in plan(world.files, ["codex"], USER, ".") for note in change.notes]
    assert any("belongs to another program" in note for note in notes)


def test_what_keeps_hooks_from_running_or_runs_them_twice_is_spoken_of(world):
    world.write(".claude/settings.json", '{"disableAllHooks": true}')
    world.write(".codex/config.toml", "[[hooks.Stop]]\n")
    world.init()
    notes = "\n".join(note for change in plan(world.files, EVERYBODY, USER, ".") for note in change.notes)
    assert "disableAllHooks" in notes
    assert "hooks of its own" in notes
    planned = plan(world.files, EVERYBODY, PROJECT, str(world.project))
    twice = {change.path: any("run twice" in note for note in change.notes) for change in planned}
    assert twice == {change.path: change.file.kinds != (SERVER,) for change in planned}


def test_a_file_of_which_agy_would_read_nothing_is_left_alone_and_said_so(world):
    text = '{"PreInvocation": [{"hooks": []}]}'
    path = world.write(".gemini/config/hooks.json", text)
    found = refusals(world.init("agy"))["agy"]
    assert isinstance(found, UnreadableFile)
    assert "reads no hook" in str(found)
    assert path.read_text() == text
    assert [change.is_installed for change in world.missing("agy")] == [False]
    assert refusals(world.init("agy", remove=True)) == {}
    assert path.read_text() == text


def test_hooks_of_agy_that_are_switched_off_are_spoken_of(world):
    path = world.write(".gemini/config/hooks.json", '{"atm": {"enabled": false}}')
    world.init("agy")
    change, _ = plan(world.files, ["agy"], USER, str(world.project))
    assert change.notes == (f"atm.enabled in {path} keeps our hooks from running",)
    assert len(hooks_in(path.read_text(), NAMED)) == len(hooks_of("agy").entered)
    world.init("agy", remove=True)
    assert path.read_text() == '{"atm": {"enabled": false}}'


def test_a_plugin_that_is_not_ours_or_was_changed_by_hand_is_left_alone(world):
    path = world.write(".config/opencode/plugins/atm.js", "export default {}\n")
    assert "not a plugin that atm wrote" in str(refusals(world.init("opencode"))["opencode"])
    assert refusals(world.init("opencode", remove=True)) == {}
    path.unlink()
    world.init("opencode")
    path.write_text(path.read_text() + "// mine\n")
    for remove in (False, True):
        assert "by hand" in str(refusals(world.init("opencode", remove=remove))["opencode"])
    assert path.read_text().endswith("// mine\n")


def test_a_plugin_of_an_older_version_is_replaced(world):
    world.init("opencode")
    path = world.home / ".config/opencode/plugins/atm.js"
    world.put_on_path("atm")
    change, _ = world.init("opencode")
    assert (change.what, change.standing.state) == ("changed", "outdated")
    assert 'const ATM = ["atm"]' in path.read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_is_followed_and_stays_a_link(world):
    target = world.write("dotfiles/claude.json", MINE)
    link = world.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(target)
    world.init("claude")
    assert link.is_symlink()
    assert len(hooks_in(target.read_text())) == len(hooks_of("claude").entered)
    world.init("claude", remove=True)
    assert link.is_symlink()
    assert target.read_text() == MINE


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_that_leads_nowhere_yet_gets_its_file_and_loses_it_again(world):
    link = world.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(world.home / "dotfiles" / "claude.json")
    world.init("claude")
    assert world.missing("claude") == []
    assert link.is_symlink()
    world.init("claude", remove=True)
    assert link.is_symlink()
    assert not (world.home / "dotfiles").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("name", [".claude", ".claude/settings.json"])
def test_a_project_cannot_lead_us_out_of_it_by_a_link(world, name):
    outside = world.write("private/settings.json", "{}")
    link = world.project / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside if name.endswith(".json") else outside.parent)
    assert isinstance(refusals(world.init("claude", scope=PROJECT))["claude"], OutsideLink)
    assert outside.read_text() == "{}"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_to_itself_is_refused(world):
    link = world.home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(link)
    assert "claude" in refusals(world.init("claude"))


def test_a_folder_in_the_place_of_the_file_is_refused(world):
    (world.home / ".claude" / "settings.json").mkdir(parents=True)
    (world.home / ".codex").write_text("a file in the place of a folder")
    found = refusals(world.init("claude", "codex"))
    assert "is a folder" in str(found["claude"])
    assert isinstance(found["codex"], WriteRefused)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
def test_a_pipe_in_the_place_of_the_file_does_not_hold_us_up(world):
    (world.home / ".claude").mkdir()
    os.mkfifo(world.home / ".claude" / "settings.json")
    assert "not a plain file" in str(refusals(world.init("claude"))["claude"])


def test_a_file_that_is_read_only_stays_as_it_is_though_its_folder_is_not(world):
    path = world.write(".claude/settings.json", MINE)
    path.chmod(0o444)
    error = refusals(world.init("claude"))["claude"]
    assert isinstance(error, WriteRefused)
    assert "read-only" in str(error)
    assert path.read_text() == MINE
    assert [change.refusal for change in world.missing("claude")] == [None]


def test_a_file_beyond_all_measure_is_refused_unread(world):
    path = world.write(".claude/settings.json", "{}")
    os.truncate(path, 1 << 40)
    assert "too many" in str(refusals(world.init("claude"))["claude"])


def test_bytes_that_are_no_text_survive(world):
    path = world.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(b'{\n  "x": "\xff\xfe"\n}\n')
    world.init("claude")
    assert world.missing("claude") == []
    world.init("claude", remove=True)
    assert path.read_bytes() == b'{\n  "x": "\xff\xfe"\n}\n'


def test_notes_of_ours_that_cannot_be_read_cost_nobody_a_file(world):
    world.init("claude")
    (world.home / ".local/state/atm/vendor-files.json").write_text("torn")
    world.init("claude", remove=True)
    assert json.loads((world.home / ".claude/settings.json").read_text()) == {}


def test_a_plugin_that_came_with_the_repository_goes_as_a_whole(world):
    world.init("opencode", scope=PROJECT)
    (world.home / ".local/state/atm/vendor-files.json").unlink()
    change, _ = world.init("opencode", scope=PROJECT, remove=True)
    assert change.what == "removed"
    assert not (world.project / ".opencode/plugins/atm.js").exists()


# Others at the same time.


class BusyDisk(QuickDisk):
    """Somebody else writes the file just before our version is put in its place."""

    __slots__ = ("left", "path")

    def __init__(self, path: Path, times: int) -> None:
        super().__init__()
        self.path = path
        self.left = times

    def sync(self, fd: int) -> None:
        new = self.path.parent / f".{self.path.name}.new"
        if self.left and new.exists() and os.path.samestat(os.fstat(fd), os.lstat(new)):
            self.left -= 1
            self.path.write_text(json.dumps({"written": self.left}))
        super().sync(fd)


def test_what_the_owner_writes_meanwhile_is_kept(world):
    path = world.write(".claude/settings.json", MINE)
    world.use(BusyDisk(path, times=3))
    world.init("claude")
    assert world.missing("claude") == []
    assert json.loads(path.read_text())["written"] == 0


def test_an_owner_who_never_stops_writing_is_left_to_it(world):
    path = world.write(".claude/settings.json", MINE)
    world.use(BusyDisk(path, times=1000))
    assert isinstance(refusals(world.init("claude"))["claude"], FileBusy)
    assert "written" in path.read_text()


def killed_at_each_step(folder: Path, more_than: int = 10) -> Iterator[tuple[World, FaultyDisk]]:
    """A world and its disk for a run to its end, then for one that is killed at each of its steps, which are many."""
    counted = FaultyDisk(QuickDisk())
    for name, disk in chain([("whole", counted)], _disks_that_kill(counted)):
        (folder / name).mkdir()
        yield World(folder / name), disk
        assert disk.dead is (disk is not counted), f"{name}: not the steps that were counted"
        assert len(counted.steps) > more_than


def _disks_that_kill(counted: FaultyDisk) -> Iterator[tuple[str, FaultyDisk]]:
    for step in kills(counted.steps):
        yield str(step), FaultyDisk(QuickDisk(), stop_at=step)


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize(
    ("vendor", "name", "start"),
    [
        ("claude", ".claude/settings.json", None),
        ("claude", ".claude/settings.json", ""),
        ("claude", ".claude/settings.json", MINE),
        ("agy", ".gemini/config/hooks.json", None),
        ("agy", ".gemini/config/hooks.json", '{"lint": {"Stop": []}}'),
    ],
)
def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one_and_the_next_run_finishes(
    tmp_path, vendor, name, start, remove
):
    for world, disk in killed_at_each_step(tmp_path):
        if start is not None:
            world.write(name, start)
        untouched = world.everything()
        if remove:
            world.init(vendor)
        path = world.home / name
        old = path.read_bytes() if path.exists() else None
        world.use(disk)
        with suppress(Crash):
            world.init(vendor, remove=remove)
        world.use(QuickDisk())
        now = path.read_bytes() if path.exists() else None
        world.init(vendor, remove=remove)
        if disk.dead:
            assert now in (old, path.read_bytes() if path.exists() else None), disk.steps[-1]
        assert (world.missing(vendor) == []) is not remove
        world.init(vendor, remove=True)
        assert world.everything() == untouched, disk.steps[-1]


def test_a_kill_while_a_shared_folder_is_handed_on_costs_nothing(tmp_path):
    for world, disk in killed_at_each_step(tmp_path, more_than=5):
        untouched = world.everything()
        world.init("agy")
        world.init("gemini")
        world.use(disk)
        with suppress(Crash):
            world.init("agy", remove=True)
        world.use(QuickDisk())
        assert world.missing("gemini") == []
        world.init("agy", remove=True)
        world.init("gemini", remove=True)
        assert world.everything() == untouched, disk.steps[-1]


def test_a_full_disk_changes_nothing_and_says_so(world):
    path = world.write(".claude/settings.json", MINE)
    steps = FaultyDisk(QuickDisk())
    world.use(steps)
    plan(world.files, ["claude"], USER, ".")
    world.init("claude", remove=True)
    world.use(FaultyDisk(QuickDisk(), stop_at=_first_write(world), error=OSError(28, "No space left on device")))
    found = refusals(world.init("claude"))["claude"]
    assert isinstance(found, WriteRefused)
    assert "No space left" in str(found)
    assert path.read_text() == MINE
    assert [name for name in os.listdir(path.parent) if name.endswith(".new")] == []


def _first_write(world: World) -> int:
    """At which step a run of init first writes into a file."""
    disk = FaultyDisk(QuickDisk())
    world.use(disk)
    world.init("claude")
    world.use(QuickDisk())
    world.init("claude", remove=True)
    return disk.steps.index("write")


def test_a_port_is_what_the_adapter_does(world):
    """The adapter answers for a file that was never there."""
    file = ConfigFile(str(world.home / "none.json"), "claude", (HOOKS,))
    assert world.files.read(file) is None
    assert world.files.before(file) is None
    assert world.files.change(file, lambda text: text) == (None, None)
    world.files.forget(file)
    assert not (world.home / "none.json").exists()


# The MCP server.


SERVER_FILES = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "agy": ".gemini/config/mcp_config.json",
    "opencode": ".config/opencode/opencode.json",
    "cursor": ".cursor/mcp.json",
}
THEIRS = {
    "claude": '{\n  "numStartups": 7,\n  "projects": {\n    "/work": {"mcpServers": {}}\n  }\n}',
    "codex": '# mine\nmodel = "gpt-5"\r\n\r\n[mcp_servers.gh]\r\ncommand = "gh" # from brew\r\n',
    "gemini": '{\n\t// theme\n\t"ui": {"theme": "x"},\n}\n',
    "agy": '{"mcpServers": {"gh": {"command": "gh"}}}',
    "opencode": '{\r\n  "$schema": "https://opencode.ai/config.json", // yes\r\n  "mcp": {}\r\n}\r\n',
    "cursor": '\ufeff{ "mcpServers": { } }\n',
}


@pytest.mark.parametrize("scope", [USER, PROJECT])
def test_a_server_that_is_registered_is_there_and_goes_without_a_trace(world, scope):
    before = world.everything()
    assert {change.what for change in world.install(scope=scope)} == {"created"}
    assert world.missing(*CLIENTS, scope=scope, kinds=(SERVER,)) == []
    assert {change.what for change in world.install(scope=scope)} == {"unchanged"}
    assert {change.what for change in world.install(scope=scope, remove=True)} == {"removed"}
    assert world.everything() == before
    assert json.loads((world.home / ".local/state/atm/vendor-files.json").read_text()) == {}


@pytest.mark.parametrize("client", SERVER_FILES)
def test_a_file_of_somebody_else_is_what_it_was_comments_and_all(world, client):
    path = world.write(SERVER_FILES[client], THEIRS[client])
    (change,) = world.install(client)
    assert change.what == "changed"
    assert world.missing(client, kinds=(SERVER,)) == []
    world.install(client, remove=True)
    assert path.read_bytes() == THEIRS[client].encode()


@pytest.mark.parametrize("client", SERVER_FILES)
@pytest.mark.parametrize("text", ["", "\n", " \r\n", "\ufeff"])
def test_a_file_with_nothing_in_it_is_that_again_after_the_server_has_gone(world, client, text):
    world.write(SERVER_FILES[client], text)
    before = world.everything()
    world.install(client)
    assert world.missing(client, kinds=(SERVER,)) == []
    world.install(client, remove=True)
    assert world.everything() == before


@pytest.mark.parametrize("first", ["hooks", "server"])
@pytest.mark.parametrize("last", ["hooks", "server"])
@pytest.mark.parametrize("vendor", ["gemini", "codex"])
def test_hooks_and_server_in_one_file_come_and_go_in_any_order(world, vendor, first, last):
    before = world.everything()
    for what in sorted(("hooks", "server"), key=lambda what: what != first):
        world.install(vendor) if what == "server" else world.init(vendor, kinds=WITHOUT_SERVER)
    assert world.missing(vendor) == []
    for what in sorted(("hooks", "server"), key=lambda what: what == last):
        gone, left = ((SERVER,), WITHOUT_SERVER) if what == "server" else (WITHOUT_SERVER, (SERVER,))
        world.init(vendor, remove=True, kinds=gone)
        assert world.missing(vendor, kinds=gone) != []
        assert (world.missing(vendor, kinds=left) == []) is (what != last)
    assert world.everything() == before


def test_names_are_written_where_they_are_given_and_stay_where_they_are_not(world):
    bob, ann = Identity("crew", "bob", "teammate"), Identity(member="ann")
    path = world.project / ".mcp.json"

    def args() -> list[str]:
        return list(json.loads(path.read_text())["mcpServers"]["atm"]["args"])

    world.install("claude", scope=PROJECT, identity=bob)
    assert args() == ["mcp", "--team", "crew", "--as", "bob", "--role", "teammate"]
    world.init("claude", scope=PROJECT)
    world.install("claude", scope=PROJECT)
    assert args()[-1] == "teammate"
    assert world.missing("claude", scope=PROJECT) == []
    assert world.missing("claude", scope=PROJECT, kinds=(SERVER,), identity=bob) == []
    (other,) = world.missing("claude", scope=PROJECT, kinds=(SERVER,), identity=ann)
    assert other.standing.outdated == ("MCP server",)
    world.install("claude", scope=PROJECT, identity=ann)
    assert args() == ["mcp", "--as", "ann"]


@pytest.mark.parametrize("client", SERVER_FILES)
def test_somebody_elses_server_of_our_name_is_refused_by_install_and_spoken_of_by_init(world, client):
    entry = '[mcp_servers.atm]\ncommand = "teller"\n'
    if client != "codex":
        holder = {"opencode": "mcp"}.get(client, "mcpServers")
        entry = json.dumps({holder: {"atm": {"command": "teller", "args": ["--mcp"]}}})
    path = world.write(SERVER_FILES[client], entry)
    (change,) = world.install(client)
    assert change.refusal is not None
    assert (change.refusal.code, change.refusal.path) == ("bad-request", str(path))
    assert "called atm already" in str(change.refusal)
    assert path.read_text() == entry
    world.install(client, remove=True)
    assert path.read_text() == entry
    if client in KNOWN:
        changes = world.init(client)
        assert refusals(changes) == {}
        assert any("not ours" in note for change in changes for note in change.notes)
        assert [change.path for change in world.missing(client)] == [str(path)]
        assert "teller" in path.read_text()
        world.init(client, remove=True)
        assert path.read_text() == entry


def test_a_server_that_is_switched_off_is_spoken_of(world):
    world.write(".cursor/mcp.json", '{"mcpServers": {"atm": {"command": "atm", "args": ["mcp"], "disabled": true}}}')
    (change,) = world.install("cursor")
    assert any("switched off" in note for note in change.notes)


def test_opencode_has_one_file_of_two_names_and_ours_goes_where_theirs_is(world):
    theirs = '{\n  // mine\n  "model": "x",\n}\n'
    path = world.write(".config/opencode/opencode.jsonc", theirs)
    (change,) = world.install("opencode")
    assert change.path == str(path)
    assert world.missing("opencode", kinds=(SERVER,)) == []
    world.write(".config/opencode/opencode.json", "{}")
    assert world.missing("opencode", kinds=(SERVER,)) == []
    world.install("opencode", remove=True)
    assert path.read_text() == theirs
    (change,) = world.install("opencode")
    assert change.path.endswith("opencode.json")


def test_a_file_in_which_a_program_keeps_secrets_is_made_for_its_owner_alone(world):
    world.install("claude")
    path = world.home / ".claude.json"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    world.put_on_path("atm")
    world.install("claude")
    assert path.stat().st_mode & 0o777 == 0o640


BROKEN = {
    "claude": ["{ // mine\n}", "[]", "hello", '{"mcpServers": []}', '{"mcpServers": null}', '{"a": 1} x'],
    "codex": ["notify = [", 'mcp_servers = "x"\n', "mcp_servers = {}\n", "[[mcp_servers]]\n"],
    "gemini": ["{ // mine\n", "[]", '{"mcpServers": 5}'],
    "agy": ["{ // mine\n}", '{"mcpServers": "x"}'],
    "opencode": ["// mine\n", '{"mcp": []}', '{"mcp": {}'],
    "cursor": ["/*", '{"mcpServers": {},,}'],
}


@pytest.mark.parametrize(("client", "text"), [(client, text) for client, texts in BROKEN.items() for text in texts])
def test_a_file_that_we_do_not_understand_gets_no_server_and_stays(world, client, text):
    path = world.write(SERVER_FILES[client], text)
    (change,) = world.install(client)
    assert isinstance(change.refusal, UnreadableFile)
    assert str(path) in str(change.refusal)
    assert path.read_text() == text
    world.install(client, remove=True)
    assert path.read_text() == text


def test_a_read_only_file_gets_no_server(world):
    path = world.write(".cursor/mcp.json", "{}")
    path.chmod(0o444)
    assert isinstance(refusals(world.install("cursor"))["cursor"], WriteRefused)
    assert path.read_text() == "{}"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_servers_file_that_is_a_link_is_followed_at_home_and_kept_inside_a_project(world):
    target = world.write("dotfiles/mcp.json", "{}\n")
    link = world.home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(target)
    world.install("cursor")
    assert link.is_symlink()
    assert "atm" in target.read_text()
    world.install("cursor", remove=True)
    assert target.read_text() == "{}\n"
    (world.project / ".mcp.json").symlink_to(target)
    assert isinstance(refusals(world.install("claude", scope=PROJECT))["claude"], OutsideLink)
    assert target.read_text() == "{}\n"


def test_what_claude_code_writes_into_its_file_meanwhile_is_kept(world):
    path = world.write(".claude.json", THEIRS["claude"])
    world.use(BusyDisk(path, times=3))
    world.install("claude")
    assert world.missing("claude", kinds=(SERVER,)) == []
    assert json.loads(path.read_text())["written"] == 0


@pytest.mark.parametrize("remove", [False, True])
@pytest.mark.parametrize("start", [None, "", THEIRS["gemini"].replace("// theme", "")[:-4] + "\n}\n"])
def test_a_kill_while_hooks_and_server_are_entered_together_leaves_both_or_none(tmp_path, start, remove):
    for world, disk in killed_at_each_step(tmp_path):
        if start is not None:
            world.write(".gemini/settings.json", start)
        untouched = world.everything()
        if remove:
            world.init("gemini")
        world.use(disk)
        with suppress(Crash):
            world.init("gemini", remove=remove)
        world.use(QuickDisk())
        has = [world.missing("gemini", kinds=kinds) == [] for kinds in ((SERVER,), WITHOUT_SERVER)]
        assert has[0] is has[1]
        world.init("gemini", remove=remove)
        world.init("gemini", remove=True)
        assert world.everything() == untouched


def test_without_what_it_takes_to_serve_the_machine_says_so(world, monkeypatch):
    assert world.files.can_serve()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert not world.files.can_serve()
