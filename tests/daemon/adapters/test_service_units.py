"""Installing the daemon as a service, beside programs that behave as `systemctl` and `launchctl` do."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import stat
import subprocess
import sys

import pytest

from atm.core.errors import NoHome, OutsideLink, RequestError, WriteRefused
from atm.daemon.adapters.service_units import find_units
from atm.wiring.daemon import build_units

pytestmark = pytest.mark.skipif(os.name == "nt", reason="neither manager exists there")

SYSTEMCTL = """
import json, os, sys
words = sys.argv[1:]
home = os.environ["HOME"]
with open(home + "/calls", "a") as file:
    file.write(json.dumps(words) + "\\n")
if os.path.exists(home + "/no-bus"):
    sys.exit("Failed to connect to bus: No medium found")
if os.path.exists(home + "/hangs"):
    import time
    time.sleep(60)
assert words.pop(0) == "--user", words
folder = os.environ.get("XDG_CONFIG_HOME", home + "/.config") + "/systemd/user"
verb, name = words[0], words[-1]
link = folder + "/default.target.wants/" + name
if verb == "enable":
    if not os.path.exists(folder + "/" + name):
        sys.exit("Failed to enable unit: Unit file " + name + " does not exist.")
    os.makedirs(os.path.dirname(link), exist_ok=True)
    if not os.path.islink(link):
        os.symlink(folder + "/" + name, link)
elif verb == "disable":
    if not os.path.exists(folder + "/" + name):
        sys.exit("Failed to disable unit: Unit file " + name + " does not exist.")
    os.unlink(link)
elif verb not in ("daemon-reload", "try-restart", "stop"):
    sys.exit("Unknown command verb " + verb)
"""

LAUNCHCTL = """
import json, os, plistlib, sys
words = sys.argv[1:]
home = os.environ["HOME"]
with open(home + "/calls", "a") as file:
    file.write(json.dumps(words) + "\\n")
loaded = home + "/loaded/"
os.makedirs(loaded, exist_ok=True)
domain = "gui/" + str(os.getuid())
if os.path.exists(home + "/no-bus"):
    sys.exit("Could not find domain for " + domain)
verb = words[0]
if verb == "bootstrap":
    assert words[1] == domain, words
    label = plistlib.load(open(words[2], "rb"))["Label"]
    if os.path.exists(loaded + label) or os.path.exists(home + "/leaving"):
        if os.path.exists(home + "/leaving"):
            os.unlink(home + "/leaving")
        sys.stderr.write("Bootstrap failed: 5: Input/output error")
        sys.exit(5)
    open(loaded + label, "w").close()
elif verb in ("bootout", "print"):
    label = words[1].removeprefix(domain + "/")
    if not os.path.exists(loaded + label):
        sys.stderr.write("Could not find service")
        sys.exit(113)
    if verb == "bootout":
        os.unlink(loaded + label)
        open(home + "/leaving", "w").close()
elif verb != "enable":
    sys.exit("Unrecognized subcommand: " + verb)
"""


@pytest.fixture
def bin(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(tmp_path, bin):
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "PATH": str(bin)}


def provide(bin, name, body):
    path = bin / name
    path.write_text(f"#!{sys.executable} -I\n{body}")
    path.chmod(0o755)


def calls(environment):
    path = f"{environment['HOME']}/calls"
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [" ".join(json.loads(line)) for line in file]


def mark(environment, name):
    open(f"{environment['HOME']}/{name}", "w").close()


def contents(path):
    with open(path) as file:
        return file.read()


class TestSystemd:
    @pytest.fixture
    def units(self, environment, bin):
        provide(bin, "systemctl", SYSTEMCTL)
        return find_units(environment, "linux")

    def test_installing_writes_the_unit_and_starts_it(self, units, environment):
        result = units.install()
        assert (result.change, result.done, result.problem, result.hint) == ("new", True, "", "")
        assert result.name == "atm.service"
        assert result.path == f"{environment['HOME']}/.config/systemd/user/atm.service"
        assert f"ExecStart={sys.executable} -P -m atm daemon run\n" in contents(result.path)
        assert calls(environment) == ["--user daemon-reload", "--user enable --now atm.service"]

    def test_no_other_user_may_write_what_the_system_will_start(self, units):
        former = os.umask(0)
        try:
            path = units.install().path
        finally:
            os.umask(former)
        assert os.stat(path).st_mode & 0o777 == 0o644
        assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o755

    def test_the_command_is_this_very_program(self, units):
        line = next(line for line in units.text().splitlines() if line.startswith("ExecStart="))
        words = shlex.split(line.removeprefix("ExecStart="))
        done = subprocess.run([*words[:-2], "--version"], capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.startswith("atm ")

    def test_installing_again_changes_nothing(self, units):
        first = units.install()
        before = os.stat(first.path)
        second = units.install()
        assert (second.change, second.done) == ("unchanged", True)
        assert (os.stat(first.path).st_mtime_ns, os.stat(first.path).st_ino) == (before.st_mtime_ns, before.st_ino)

    def test_a_unit_that_has_changed_is_updated_and_restarted(self, units, environment):
        path = units.install().path
        with open(path, "a") as file:
            file.write("# of an older atm\n")
        result = units.install()
        assert result.change == "updated"
        assert contents(path) == units.text()
        assert calls(environment)[-1] == "--user try-restart atm.service"

    def test_only_what_says_where_files_and_programs_lie_is_in_its_environment(self, environment):
        more = {"ATM_HOME": "/srv/a b", "CLAUDE_CONFIG_DIR": "/c", "XDG_STATE_HOME": "/s", "XDG_SESSION_ID": "3"}
        text = find_units({**environment, **more, "SECRET_TOKEN": "x", "XDG_DATA_HOME": ""}, "linux").text()
        lines = [line for line in text.splitlines() if line.startswith("Environment=")]
        assert [line for line in lines if not line.startswith("Environment=PATH=")] == [
            'Environment="ATM_HOME=/srv/a b"',
            "Environment=CLAUDE_CONFIG_DIR=/c",
            "Environment=XDG_STATE_HOME=/s",
        ]

    def test_the_unit_lies_where_xdg_says(self, bin, environment, tmp_path):
        provide(bin, "systemctl", SYSTEMCTL)
        elsewhere = {**environment, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
        result = find_units(elsewhere, "linux").install()
        assert result.path == f"{tmp_path}/xdg/systemd/user/atm.service"
        assert result.done

    def test_two_sandboxes_do_not_meet(self, units, environment):
        one, two = (find_units({**environment, "ATM_HOME": home}, "linux") for home in ("/srv/a", "/srv/b"))
        assert len({units.install().path, one.install().path, two.install().path}) == 3
        one.uninstall()
        assert os.path.exists(units.path)
        assert os.path.exists(two.path)
        assert "Environment=ATM_HOME=/srv/b\n" in contents(two.path)

    def test_a_relative_home_is_the_same_as_its_absolute_path(self, environment, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        relative, absolute = (
            find_units({**environment, "ATM_HOME": h}, "linux") for h in ("box", str(tmp_path / "box"))
        )
        assert (relative.name, relative.text()) == (absolute.name, absolute.text())

    def test_without_systemctl_the_unit_stays_and_the_user_is_told(self, environment):
        result = find_units(environment, "linux").install()
        assert (result.change, result.done) == ("new", False)
        assert result.problem.startswith("there is no systemctl here, so nothing starts it by itself")
        assert result.hint == ""
        assert os.path.exists(result.path)

    def test_a_manager_that_cannot_be_reached_is_told_too(self, units, environment):
        mark(environment, "no-bus")
        result = units.install()
        assert not result.done
        assert "Failed to connect to bus" in result.problem
        assert os.path.exists(result.path)
        os.unlink(f"{environment['HOME']}/no-bus")
        assert units.install().done

    def test_the_hint_is_a_command_that_works(self, units, environment):
        mark(environment, "no-bus")
        hint = units.install().hint
        os.unlink(f"{environment['HOME']}/no-bus")
        subprocess.run(["/bin/sh", "-c", hint], env=environment, check=True, timeout=60)
        assert os.path.islink(f"{os.path.dirname(units.path)}/default.target.wants/atm.service")

    def test_a_manager_that_hangs_is_given_up(self, units, environment, monkeypatch):
        mark(environment, "hangs")
        monkeypatch.setattr("atm.daemon.adapters.service_units.MANAGER_SECONDS", 0.5)
        result = units.install()
        assert not result.done
        assert "timed out" in result.problem

    def test_a_manager_that_cannot_be_started_is_survived(self, environment, bin):
        (bin / "systemctl").write_text("no program at all")
        (bin / "systemctl").chmod(0o755)
        result = find_units(environment, "linux").install()
        assert not result.done
        assert result.problem

    def test_uninstalling_stops_it_and_takes_it_away(self, units, environment):
        units.install()
        result = units.uninstall()
        assert (result.change, result.done, result.hint) == ("removed", True, "")
        assert not os.path.lexists(units.path)
        assert calls(environment)[-2:] == ["--user disable --now atm.service", "--user daemon-reload"]

    def test_nothing_installed_is_an_answer(self, units, environment):
        result = units.uninstall()
        assert (result.change, result.done, result.problem) == ("absent", True, "")
        assert calls(environment) == []

    def test_uninstalling_without_a_manager_leaves_no_link_behind(self, units, environment):
        units.install()
        mark(environment, "no-bus")
        result = units.uninstall()
        assert (result.change, result.done) == ("removed", False)
        assert result.hint == "systemctl --user stop atm.service && systemctl --user daemon-reload"
        assert os.listdir(f"{os.path.dirname(units.path)}/default.target.wants") == []

    def test_a_unit_of_somebody_else_is_left_alone(self, units):
        os.makedirs(os.path.dirname(units.path))
        with open(units.path, "w") as file:
            file.write("[Unit]\nDescription=Asynchronous Transfer Mode\n")
        for act in (units.install, units.uninstall):
            with pytest.raises(WriteRefused, match="was not written by atm"):
                act()
        assert "Asynchronous" in contents(units.path)

    def test_a_link_is_left_alone(self, units):
        """`systemctl mask` makes one to /dev/null."""
        os.makedirs(os.path.dirname(units.path))
        os.symlink("/dev/null", units.path)
        for act in (units.install, units.uninstall):
            with pytest.raises(OutsideLink):
                act()
        assert os.readlink(units.path) == "/dev/null"

    def test_a_folder_that_cannot_be_made_is_explained(self, units, environment):
        with open(f"{environment['HOME']}/.config", "w") as file:
            file.write("a file in its place")
        with pytest.raises(WriteRefused):
            units.install()

    def test_no_half_file_stays_behind(self, units):
        folder = os.path.dirname(units.path)
        os.makedirs(units.path)  # a folder in the unit's place
        with pytest.raises(WriteRefused):
            units.install()
        assert os.listdir(folder) == ["atm.service"]

    def test_a_path_that_no_unit_can_hold_is_refused_before_anything_is_written(self, environment):
        units = find_units({**environment, "ATM_HOME": "/srv/a\nb"}, "linux")
        with pytest.raises(RequestError):
            units.install()
        assert not os.path.exists(units.path)


class TestLaunchd:
    @pytest.fixture
    def units(self, environment, bin, monkeypatch):
        provide(bin, "launchctl", LAUNCHCTL)
        monkeypatch.setattr("atm.daemon.adapters.service_units.BOOTSTRAP_PAUSE", 0.01)
        return find_units(environment, "darwin")

    def test_installing_writes_the_property_list_and_loads_it(self, units, environment):
        result = units.install()
        domain = f"gui/{os.getuid()}"
        assert (result.change, result.done, result.hint) == ("new", True, "")
        assert result.path == f"{environment['HOME']}/Library/LaunchAgents/{result.name}.plist"
        with open(result.path, "rb") as file:
            made = plistlib.load(file)
        assert made["Label"] == result.name
        assert made["ProgramArguments"] == [sys.executable, "-P", "-m", "atm", "daemon", "run"]
        assert calls(environment)[1:] == [f"enable {domain}/{result.name}", f"bootstrap {domain} {result.path}"]

    def test_installing_again_changes_nothing(self, units, environment):
        units.install()
        before = calls(environment)
        assert (units.install().change, units.install().done) == ("unchanged", True)
        assert [call.split()[0] for call in calls(environment)[len(before) :]] == ["print", "print"]

    def test_a_changed_one_is_unloaded_first_and_loaded_once_launchd_lets_go(self, units, environment):
        path = units.install().path
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.replace("Background", "Adaptive"))
        result = units.install()
        assert (result.change, result.done) == ("updated", True)
        verbs = [call.split()[0] for call in calls(environment)]
        assert verbs[-4:] == ["bootout", "enable", "bootstrap", "bootstrap"]

    def test_each_home_has_its_own(self, units, environment):
        other = find_units({**environment, "ATM_HOME": "/srv/a"}, "darwin")
        assert other.name.startswith(f"{units.name}-")
        assert units.install().done
        assert other.install().done
        other.uninstall()
        assert os.path.exists(units.path)

    def test_without_launchctl_the_file_stays_and_the_user_is_told(self, environment):
        units = find_units(environment, "darwin")
        result = units.install()
        assert not result.done
        assert result.problem.startswith("there is no launchctl here, so nothing starts it by itself")
        assert result.hint == ""
        assert os.path.exists(units.path)
        assert units.uninstall().hint == ""
        assert not os.path.exists(units.path)

    def test_a_domain_that_is_not_there_is_told(self, units, environment):
        mark(environment, "no-bus")
        result = units.install()
        assert not result.done
        assert "Could not find domain" in result.problem

    def test_uninstalling_unloads_it_and_takes_it_away(self, units, environment):
        units.install()
        result = units.uninstall()
        assert (result.change, result.done) == ("removed", True)
        assert not os.path.exists(units.path)
        assert os.listdir(f"{environment['HOME']}/loaded") == []
        assert units.uninstall().change == "absent"

    def test_one_that_is_not_loaded_is_only_removed(self, units, environment):
        units.install()
        for name in os.listdir(f"{environment['HOME']}/loaded"):
            os.unlink(f"{environment['HOME']}/loaded/{name}")
        assert units.uninstall().done
        assert "bootout" not in [call.split()[0] for call in calls(environment)]


def test_without_a_home_there_is_no_unit():
    for platform in ("linux", "darwin"):
        with pytest.raises(NoHome):
            find_units({}, platform)


def test_windows_is_told_what_to_do_instead(environment):
    with pytest.raises(RequestError, match="no service manager"):
        find_units(environment, "win32")


def test_results_are_plain_data_too(environment):
    fields = find_units(environment, "linux").uninstall().fields()
    assert set(fields) == {"name", "path", "change", "done", "problem", "hint"}
    json.dumps(fields)


def test_the_unit_is_readable_for_its_manager(environment):
    path = build_units(environment).install().path if sys.platform != "darwin" else ""
    if path:
        assert stat.S_IMODE(os.stat(path).st_mode) & 0o400
