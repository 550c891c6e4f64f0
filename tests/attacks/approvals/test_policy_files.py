"""A policy that is a link, or that another user can change, denies everything to agents, and says what to do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="owners, modes and links as POSIX has them")
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives a file to another user"
)

POLICY = '[approvals]\ndefault = "ask-human"\n[[approvals.rules]]\ndecision = "allow"\ncommand = "echo *"\n'
NARROWER = '[[approvals.rules]]\ndecision = "deny"\ncommand = "rm *"\n'
BOB = {"ATM_IDENTITY": "bob", "ATM_TEAM": "crew"}
STRANGER = 54321


@pytest.fixture
def crew(atm, room):
    atm.environment["ATM_DAEMON_AUTOSTART"] = "0"
    own(atm).parent.mkdir(parents=True, exist_ok=True)
    own(atm).write_text(POLICY)
    own(atm).chmod(0o600)
    (atm.folder / ".git").mkdir(exist_ok=True)
    return atm


def own(atm) -> Path:
    return Path(atm.home / ".config/atm/config.toml")


def judged(crew, command: str = "echo x", env: dict[str, str] | None = None, **more: str) -> tuple[str, str]:
    said = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "session_id": "s", "tool_use_id": "c"}
    given = {**said, "cwd": str(crew.folder), "tool_input": {"command": command}}
    variables = {**(BOB if env is None else env), **more}
    done = crew("permit", "claude", "PreToolUse", stdin=json.dumps(given), env=variables)
    if not done.out:
        return "", ""
    inner = json.loads(done.out)["hookSpecificOutput"]
    return inner["permissionDecision"], inner["permissionDecisionReason"]


def make_link(path: Path) -> None:
    target = path.with_name("elsewhere.toml")
    os.rename(path, target)
    path.symlink_to(target)


def make_dangling(path: Path) -> None:
    make_link(path)
    path.with_name("elsewhere.toml").unlink()


def let_the_group_write(path: Path) -> None:
    path.chmod(0o620)


def let_everybody_write(path: Path) -> None:
    path.chmod(0o606)


def give_away(path: Path) -> None:
    os.chown(path, STRANGER, STRANGER)


DAMAGES = [
    pytest.param(make_link, "is a link, and a policy must be a file", id="link"),
    pytest.param(make_dangling, "link to a file that does not exist", id="dangling"),
    pytest.param(let_the_group_write, "chmod go-w", id="group"),
    pytest.param(let_everybody_write, "chmod go-w", id="everybody"),
    pytest.param(give_away, f"another user ({STRANGER})", id="foreign", marks=needs_root),
]


def test_a_policy_in_a_file_of_its_own_counts(crew):
    assert judged(crew)[0] == "allow"


@pytest.mark.parametrize(("damage", "word"), DAMAGES)
def test_in_the_users_own_file(crew, damage, word):
    damage(own(crew))
    decision, why = judged(crew)
    assert decision == "deny"
    assert word in why
    assert str(own(crew)) in why


@pytest.mark.parametrize(("damage", "word"), DAMAGES)
def test_in_the_file_that_atm_config_names(crew, damage, word, tmp_path):
    file = tmp_path / "more.toml"
    file.write_text(NARROWER)
    file.chmod(0o600)
    assert judged(crew, ATM_CONFIG=str(file))[0] == "allow"
    damage(file)
    decision, why = judged(crew, ATM_CONFIG=str(file))
    assert decision == "deny"
    assert str(file) in why


@pytest.mark.parametrize("name", [".atm.toml", ".atm/config.toml"])
@pytest.mark.parametrize(("damage", "word"), DAMAGES)
def test_in_a_repositorys_file(crew, name, damage, word):
    file = crew.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(NARROWER)
    file.chmod(0o644)
    assert judged(crew)[0] == "allow"
    damage(file)
    decision, why = judged(crew)
    assert decision == "deny"
    assert word in why


def test_in_a_file_further_up_in_the_repository(crew):
    root = crew.folder / ".atm.toml"
    root.write_text(NARROWER)
    root.chmod(0o644)
    below = crew.folder / "src"
    below.mkdir()
    (below / ".atm.toml").write_text("[display]\ncolor = false\n")
    crew.folder = below
    assert judged(crew)[0] == "allow"
    root.chmod(0o666)
    assert judged(crew)[0] == "deny"
    make_dangling(root)
    assert judged(crew)[0] == "deny"


def test_where_the_folder_of_the_settings_is_a_link_or_can_be_changed_by_every_user(crew):
    folder = own(crew).parent
    folder.chmod(0o777)
    decision, why = judged(crew)
    assert decision == "deny"
    assert "chmod o-w" in why
    folder.chmod(0o700)
    os.rename(folder, folder.with_name("dotfiles"))
    folder.symlink_to(folder.with_name("dotfiles"))
    decision, why = judged(crew)
    assert decision == "deny"
    assert "is a link" in why
    os.rename(folder.with_name("dotfiles"), folder.with_name("gone"))
    assert judged(crew)[0] == "deny"


# What goes on.


@pytest.mark.parametrize("damage", [make_link, let_the_group_write])
def test_settings_without_a_policy_may_be_a_link_and_deny_nothing(crew, damage):
    own(crew).write_text('[display]\ncolor = false\n[core]\ndefault_team = "crew"\n')
    damage(own(crew))
    assert judged(crew)[0] == ""
    assert crew("config", "list").code == 0
    assert "unsafe-policy" not in crew("doctor", code=None).out


@pytest.mark.parametrize("damage", [make_link, make_dangling, let_the_group_write])
def test_everything_but_approvals_goes_on(crew, damage):
    damage(own(crew))
    crew("send", "bob", "hello", "--from", "ann")
    assert [row["text"] for row in crew.rows("bob")] == ["hello"]


def test_people_stay_bound_by_deny_rules_alone(crew):
    own(crew).write_text(POLICY + NARROWER)
    make_link(own(crew))
    assert judged(crew, "echo x", env={})[0] == ""
    assert judged(crew, "rm x", env={})[0] == "deny"


@pytest.mark.parametrize(("damage", "word"), DAMAGES)
def test_explain_and_doctor_say_it(crew, damage, word):
    damage(own(crew))
    (layer,) = crew("approvals", "policy", "explain", "--json").json["layers"]
    assert word in layer["unreadable"]
    found = crew("doctor", "--json", code=None).json["findings"]
    (finding,) = [one for one in found if one["code"] == "unsafe-policy"]
    assert finding["path"] == str(own(crew))
