"""Units: what systemd and launchd read out of them is what went in."""

from __future__ import annotations

import plistlib
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.optional import needs

from atm.core.errors import RequestError
from atm.daemon.formats.service_unit import (
    LABEL,
    MARK,
    is_ours,
    launchd_label,
    launchd_plist,
    systemd_name,
    systemd_unit,
)

RUN = ["-P", "-m", "atm", "daemon", "run"]
COMMAND = ["/usr/bin/python3", *RUN]

TEXTS = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/")
    | st.sampled_from(["%", "$", '"', "'", "\\", " ", "{", "}", "h", ";", "#", "=", "n"]),
    min_size=1,
    max_size=12,
)


def split(value):
    """
    Words as systemd.syntax(7) and systemd.unit(5) describe them, written from the manual: quotes around a whole word,
    C escapes, `%%` for `%`. A specifier or an escape that is not one of these would be a mistake of ours.
    """
    words = []
    for quoted, plain in re.findall(r'"((?:[^"\\]|\\.)*)"(?:\s+|$)|([^\s"\']\S*)(?:\s+|$)', value):
        word = re.sub(r'\\(["\\])', r"\1", quoted) if quoted else plain
        assert not re.search(r"%(?!%)", word.replace("%%", "")), word
        words.append(word.replace("%%", "%"))
    return words


def read(unit):
    """The values of a unit, by key."""
    values: dict[str, list[str]] = {}
    for line in unit.splitlines():
        key, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            values.setdefault(key, []).append(value)
    return values


def started(unit):
    """What systemd would run."""
    (line,) = read(unit)["ExecStart"]
    words = split(line)
    if words[0].startswith(":"):
        words[0] = words[0][1:]
    else:
        assert not any("$" in word for word in words)
    assert not any(c in "\"'\\" for c in words[0]), "systemd refuses such a program"
    return words[3:] if words[:3] == ["/bin/sh", "-c", 'exec "$0" "$@"'] else words


def test_a_plain_unit_reads_like_one():
    assert systemd_unit(COMMAND, {"ATM_HOME": "/srv/a", "XDG_CONFIG_HOME": "/srv/c"}).splitlines() == [
        MARK,
        "[Unit]",
        "Description=atm, the agent team manager",
        "",
        "[Service]",
        "Type=simple",
        "ExecStart=/usr/bin/python3 -P -m atm daemon run",
        "Environment=ATM_HOME=/srv/a",
        "Environment=XDG_CONFIG_HOME=/srv/c",
        "Restart=on-failure",
        "RestartSec=5",
        "TimeoutStopSec=15",
        "KillMode=process",
        "",
        "[Install]",
        "WantedBy=default.target",
    ]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/a b/python", '"/a b/python"'),
        ("/a%h/python", '"/a%%h/python"'),
        ("/a$HOME/python", '":/a$HOME/python"'),
        ('/a"b/python', ':/bin/sh -c "exec \\"$0\\" \\"$@\\"" "/a\\"b/python"'),
        ("/a'b/python", ':/bin/sh -c "exec \\"$0\\" \\"$@\\"" "/a\'b/python"'),
        ("/a\\b/python", ':/bin/sh -c "exec \\"$0\\" \\"$@\\"" "/a\\\\b/python"'),
        ("/ünï/python", '"/ünï/python"'),
    ],
)
def test_paths_with_signs_that_systemd_knows_are_escaped(path, line):
    unit = systemd_unit([path, *RUN], {})
    assert f"\nExecStart={line} -P -m atm daemon run\n" in unit
    assert started(unit) == [path, *RUN]


@given(TEXTS, TEXTS)
def test_whatever_a_folder_is_called_it_comes_out_as_it_went_in(name, home):
    unit = systemd_unit([f"/x/{name}/python", *RUN, home], {"ATM_HOME": f"/{home}"})
    assert started(unit) == [f"/x/{name}/python", *RUN, home]
    assert [split(value) for value in read(unit)["Environment"]] == [[f"ATM_HOME=/{home}"]]


@pytest.mark.parametrize("bad", ["a\nExecStart=/bin/evil", "a\rb", "a\0b", "a\x1bb", "a\x85b", "a\udc80b"])
def test_control_characters_are_refused_in_both_kinds(bad):
    for make in (
        lambda: systemd_unit([f"/{bad}/python"], {}),
        lambda: systemd_unit(COMMAND, {"ATM_HOME": bad}),
        lambda: launchd_plist("x", [bad], {}),
        lambda: launchd_plist("x", COMMAND, {"ATM_HOME": bad}),
    ):
        with pytest.raises(RequestError):
            make()


def test_a_unit_knows_its_own():
    assert is_ours(systemd_unit(COMMAND, {}))
    assert not is_ours("[Unit]\nDescription=Asynchronous Transfer Mode\n")


def test_every_home_has_a_name_of_its_own():
    assert systemd_name("") == "atm.service"
    assert launchd_label("") == LABEL
    names = {systemd_name(home) for home in ("", "/a", "/b", "/a/")}
    assert len(names) == 4
    assert all(re.fullmatch(r"atm(-[0-9a-f]{8})?\.service", name) for name in names)
    assert systemd_name("/a") == systemd_name("/a")
    assert launchd_label("/a").removeprefix(LABEL) == systemd_name("/a").removeprefix("atm").removesuffix(".service")


@given(TEXTS, TEXTS)
def test_a_property_list_says_what_went_in(name, home):
    made = plistlib.loads(launchd_plist("label", [f"/{name}/python", *RUN], {"ATM_HOME": home}).encode())
    assert made["Label"] == "label"
    assert made["ProgramArguments"] == [f"/{name}/python", *RUN]
    assert made["EnvironmentVariables"] == {"ATM_HOME": home}
    assert made["KeepAlive"] == {"SuccessfulExit": False}
    assert (made["RunAtLoad"], made["ThrottleInterval"], made["ExitTimeOut"]) == (True, 5, 15)


def test_a_property_list_without_variables_has_no_empty_table():
    assert "EnvironmentVariables" not in plistlib.loads(launchd_plist("x", COMMAND, {}).encode())


@needs("systemd-analyze")
@pytest.mark.parametrize("name", ["plain", "a b", "a%hb", "a$HOME", "a\"'\\b", "ünï;#", "end\\"])
def test_systemd_itself_finds_nothing_wrong(tmp_path, name):
    """It also looks for the program, so a path that is escaped wrongly does not pass."""
    folder = tmp_path / name
    folder.mkdir()
    (folder / "python").symlink_to(sys.executable)
    unit = tmp_path / "atm-test.service"
    unit.write_text(systemd_unit([str(folder / "python"), *RUN], {"ATM_HOME": str(folder)}))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
    )
    assert "atm-test" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
