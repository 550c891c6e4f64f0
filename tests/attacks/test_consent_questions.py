"""What is shown to whoever is asked for consent is what will be read, all of it, or there is no question (D25)."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.conftest import Atm

from atm.config import load
from atm.core.errors import BadSetting
from atm.files.formats.json_record import NotJson, decode_object, to_text
from atm.files.formats.layout import REPO_FILES
from atm.files.formats.settings_text import NotSettings, read_settings
from atm.mail.adapters.shared_files import SettingsAndFiles
from atm.mail.formats.permissions import REPO_PERMISSIONS, permission_asks
from atm.trust.adapters import LARGEST
from atm.trust.rules import Ask
from atm.ui.cli.setup.trust import _words
from atm.wiring.trust import Examined, change_with_consent, examine, give_consent

HOOK = '[hooks]\nTaskCreated = "touch pwned"\n'


@pytest.fixture
def repo(atm: Atm, room) -> Atm:
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    (atm.folder / ".git").mkdir()
    return atm


def asked_for(repo: Atm, name: str = ".atm.toml") -> dict[str, object]:
    shown = repo("trust", "--show", str(repo.folder / name), "--json").json
    return {one["key"]: one["value"] for one in shown["asks"]}


# The place decides who reads a file, never its name.


@pytest.mark.parametrize("target", ["x.json", "settings.json", ".claude/settings.json", "x", "x.toml.json", "a/b.json"])
@pytest.mark.parametrize("name", REPO_FILES)
def test_a_link_to_whatever_name_is_shown_as_it_will_be_read(repo, layout, name, target):
    real, link = repo.folder / target, repo.folder / name
    for path in (real, link):
        path.parent.mkdir(parents=True, exist_ok=True)
    real.write_text(HOOK)
    link.symlink_to(real)
    assert asked_for(repo, name) == {"hooks.TaskCreated": "touch pwned"}
    assert load(layout, {}, str(repo.folder), {}).repo.ignored == asked_for(repo, name)


@pytest.mark.parametrize("name", REPO_PERMISSIONS)
@pytest.mark.parametrize("target", ["x.toml", ".atm.toml", "x"])
def test_so_is_one_from_the_place_of_permissions(repo, name, target):
    real, link = repo.folder / target, repo.folder / name
    link.parent.mkdir()
    real.write_text(json.dumps({"permissions": {"additionalDirectories": ["~/.ssh"]}}))
    link.symlink_to(real)
    assert asked_for(repo, name) == {"permissions.additionalDirectories": ["~/.ssh"]}


def test_the_places_of_permissions_are_those_that_mail_reads(repo, layout):
    files = SettingsAndFiles(layout, {"HOME": str(repo.home)}, managed="")
    read = [scope.name for scope in files.scopes(str(repo.folder), None)]
    assert {f"{repo.folder}/{name}" for name in REPO_PERMISSIONS} == {
        path for path in read if path.startswith(str(repo.folder))
    }


@pytest.mark.parametrize("name", ["x.json", "x.toml", "settings.json", "sub/atm.toml", ".claude/other.json"])
def test_to_a_file_that_nobody_reads_there_is_no_yes(repo, name):
    path = repo.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    done = repo("trust", str(path), "--yes", "--json", code=1)
    assert done.json["error"]["code"] == "bad-setting"
    assert not (repo.home / ".config/atm/trust.json").exists()


@given(st.binary(max_size=60) | st.text(alphabet='{}[]"=:,.#\n\ufeff aA1', max_size=40).map(str.encode))
@example(b"{}")
@example(b'{"permissions": {"allow": ["Read"]}}')
@example(HOOK.encode())
@example(b"")
@example(b"#{}")
def test_no_content_says_something_to_both_readers(content):
    """Consent is to a content at a real path. One that could be read in two ways would need to say in which."""
    assert readers_of(content) in ([], ["permissions"], ["settings"])


@pytest.mark.parametrize(("content", "readers"), [(b"{}", ["permissions"]), (b"", ["settings"]), (b"{", [])])
def test_some_contents_say_something_to_one_of_them(content, readers):
    assert readers_of(content) == readers


def readers_of(content: bytes) -> list[str]:
    found = []
    for name, read in (("permissions", decode_object), ("settings", read_settings)):
        try:
            read(to_text(content))
        except (NotJson, NotSettings):
            continue
        found.append(name)
    return found


# What cannot be shown.


BROKEN = {
    "not json": b"[hooks]\nTaskCreated = 'touch pwned'\n",
    "two values": b'{} {"permissions": {"allow": ["Read"]}}',
    "a list": b'[{"permissions": {"allow": ["Read"]}}]',
    "cut off": b'{"permissions": {"allow": ["Read"',
    "nothing": b"",
    "too large": b'{"permissions": {"allow": ["Read"]}}' + b" " * LARGEST,
}
BROKEN_SETTINGS = {
    "json": b'{"hooks": {"TaskCreated": "touch pwned"}}',
    "not utf-8": b'[hooks]\nTaskCreated = "touch pwned\xff"\n',
    "a mark of bytes": b"\xef\xbb\xbf" + HOOK.encode(),
    "utf-16": HOOK.encode("utf-16"),
    "a key twice": HOOK.encode() + b'TaskCreated = "true"\n',
    "a section twice": HOOK.encode() + b'[display]\n[hooks]\nTaskCreated = "true"\n',
    "a dotted twin": HOOK.encode() + b'[hooks.TaskCreated]\nx = "true"\n',
    "a nul": HOOK.encode() + b"\0",
    "too large": HOOK.encode() + b"#" * LARGEST,
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((".claude/settings.json", content) for content in BROKEN.values()),
        *((".atm.toml", content) for content in BROKEN_SETTINGS.values()),
    ],
    ids=[*BROKEN, *BROKEN_SETTINGS],
)
def test_what_cannot_be_read_is_told_and_takes_no_yes(repo, layout, name, content):
    path = repo.folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    for words in (["--show"], ["--yes"], []):
        done = repo("trust", str(path), *words, "--json", code=1)
        assert done.json["error"]["code"] == "bad-setting"
        assert path.name in done.json["error"]["message"]
    with pytest.raises(BadSetting):
        give_consent(layout, examine(layout, str(path)))
    assert not (repo.home / ".config/atm/trust.json").exists()


@pytest.mark.parametrize("target", ["x.json", "x"])
def test_changing_a_file_of_theirs_by_a_command_trusts_nothing_that_was_not_shown(repo, layout, target):
    (repo.folder / target).write_text(HOOK)
    (repo.folder / ".atm.toml").symlink_to(target)
    more = '\n[display]\nformat = "json"\n'
    change_with_consent(layout, str(repo.folder / ".atm.toml"), lambda text: text + more, by_person=True)
    assert load(layout, {}, str(repo.folder), {}).texts("hooks.TaskCreated") == []


# What is shown.


@pytest.mark.parametrize(
    "hidden",
    [
        "\u200b",
        "\u200d",
        "\ufe0f",
        "\u202e",
        "\u00ad",
        "\u3164",
        "\U000e0041",
        "\u034f",
        "\u2028",
        "\x1b[8m",
        "\n",
        "\x07",
    ],
)
@pytest.mark.parametrize("where", ["value", "list", "key"])
def test_a_character_that_does_not_show_itself_is_spelled(hidden, where):
    odd = f"make{hidden}check"
    ask = {
        "value": Ask("hooks.TaskCreated", odd, "consent"),
        "list": Ask("hooks.TaskCreated", [odd], "consent"),
        "key": Ask(f"aliases.{odd}", "x", "consent"),
    }[where]
    plain = {
        "value": Ask("hooks.TaskCreated", "makecheck", "consent"),
        "list": Ask("hooks.TaskCreated", ["makecheck"], "consent"),
        "key": Ask("aliases.makecheck", "x", "consent"),
    }[where]
    shown = _words(examined(ask))
    assert shown != _words(examined(plain))
    assert "\\" in shown
    assert not any(hidden in line for line in shown.split("\n"))


def examined(*asks: Ask) -> Examined:
    found = Examined("/r", None, list(asks), "/r/.atm.toml")
    found.state, found.file = "untrusted", "/r/.atm.toml"
    return found


def test_what_runs_something_stands_next_to_the_question():
    many = [Ask(f"aliases.a{n}", "x", "consent") for n in range(1000)]
    hook, plugin = Ask("hooks.TaskCreated", "evil", "consent"), Ask("plugins.webhook.enabled", True, "consent")
    lines = _words(examined(hook, plugin, *many, Ask("display.color", True, "harmless"))).split("\n")
    assert [line.split()[1] for line in lines[-3:-1]] == ["hooks.TaskCreated", "plugins.webhook.enabled"]


def test_a_file_that_asks_for_nothing_says_so(repo):
    (repo.folder / ".atm.toml").write_text("")
    assert "asks for nothing" in repo("trust", "--show").out


def test_every_permission_that_counts_is_asked_about():
    said = {"permissions": {"allow": ["Read(~/**)"], "additionalDirectories": ["/"], "deny": [], "ask": []}}
    asks = {one.key: one.kind for one in permission_asks(json.dumps(said).encode())}
    assert asks == {
        "permissions.allow": "consent",
        "permissions.additionalDirectories": "consent",
        "permissions.deny": "harmless",
        "permissions.ask": "harmless",
    }


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of Unix")
def test_at_a_terminal_the_question_shows_what_a_link_hides(repo):
    (repo.folder / "x.json").write_text(HOOK)
    (repo.folder / ".atm.toml").symlink_to("x.json")
    shown = at_a_terminal(repo, "tasks", "add", "work", answer="n\n")
    assert "hooks.TaskCreated = touch pwned" in shown
    assert not (repo.folder / "pwned").exists()


def at_a_terminal(repo: Atm, *words: str, answer: str) -> str:
    """What a person sees who types this answer."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "atm", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=repo.environment,
        cwd=repo.folder,
        start_new_session=True,
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    shown, end = b"", time.monotonic() + 60
    while time.monotonic() < end and select.select([ours], [], [], 60)[0]:
        try:
            data = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
    process.wait(60)
    os.close(ours)
    return shown.decode("utf-8", "replace")
