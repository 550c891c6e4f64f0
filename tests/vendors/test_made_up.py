"""A vendor from another package, in one file, takes part wherever ours do."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.crew.conftest import NOTHING, Crew, crew  # noqa: F401 - a fixture
from tests.vendors import made_up

POLICY = """
[approvals]
default = "ask-human"
rules = [
    {decision = "allow", command = ["make test"]},
    {decision = "deny", command = ["touch denied*"]},
]
"""


@pytest.fixture
def acme(crew: Crew, tmp_path: Path) -> Iterator[Crew]:  # noqa: F811 - the fixture
    """Its package beside atm, its program on the PATH. Commands start anew: packages are looked through once."""
    packages, programs = tmp_path / "packages", tmp_path / "programs"
    told = packages / "acme_for_atm-1.0.dist-info"
    told.mkdir(parents=True)
    programs.mkdir()
    (packages / "acme_for_atm.py").write_text(Path(made_up.__file__).read_text())
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-for-atm\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[atm.vendors]\nacme = acme_for_atm:VENDOR\n")
    program = programs / "acme"
    program.write_text(made_up.PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    crew.atm.fresh = True
    path = f"{programs}{os.pathsep}{crew.atm.environment['PATH']}"
    crew.atm.environment |= {"PATH": path, "PYTHONPATH": str(packages)}
    yield crew
    crew("down", "--team", "crew", code=None)


def hook(acme: Crew, event: str, *, verb: str = "hook", **payload: Any) -> Any:
    given = {"cwd": str(acme.folder), "session_id": "talk-1", "hook_event_name": event, **payload}
    env = {"ATM_TEAM": "crew", "ATM_IDENTITY": "bob"}
    said = acme.atm(verb, "acme", event, stdin=json.dumps(given), env=env, code=None).out
    return json.loads(said) if said.strip() else None


def test_it_is_a_runtime_and_its_program_is_found(acme: Crew):
    (one,) = acme("runtimes", "check", "acme", "--json").json["runtimes"]
    assert (one["protocol"], one["version"], one["origin"]) == ("acp", "acme 1.2.3", "entry point atm.vendors")
    assert one["program"].endswith("/programs/acme")


def test_it_is_set_up_looked_at_and_taken_out_again_and_doctor_knows_it(acme: Crew):
    assert "Acme Agent wants to be restarted." in acme("init", "--vendor", "acme", "--yes").out
    settings = acme.atm.home / ".acme/settings.json"
    assert list(json.loads(settings.read_text())["hooks"]) == ["Begin", "Ask", "Did", "Rest", "Bye"]
    assert acme("init", "--vendor", "acme", "--check").code == 0
    assert "Acme Agent yes" in acme("doctor", code=None).out
    acme("init", "--vendor", "acme", "--remove", "--yes")
    assert not settings.exists()


def test_its_hooks_bring_mail_in_its_own_words(acme: Crew):
    acme("teams", "add-member", "crew", "bob")
    assert "bob" in hook(acme, "Begin")["hear"]
    acme("send", "bob", "look at the parser", "--team", "crew", "--as", "team-lead")
    assert "look at the parser" in hook(acme, "Did")["hear"]
    assert hook(acme, "Did") is None
    acme("send", "bob", "now", "--urgent", "--team", "crew", "--as", "team-lead")
    assert hook(acme, "Rest")["decision"] == "stay"


def test_its_calls_are_judged_by_the_field_that_it_executes(acme: Crew):
    acme("teams", "add-member", "crew", "bob")
    config = acme.atm.home / ".config/atm/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(POLICY)
    config.parent.chmod(0o700)
    may = {"verb": "permit", "tool_name": "Bash", "tool_use_id": "1"}
    assert hook(acme, "May", **may, tool_input={"line": "make test"})["verdict"] == "allow"
    denied = hook(acme, "May", **may, tool_input={"line": "touch denied.txt"})
    assert denied["verdict"] == "deny"
    assert "touch denied*" in denied["because"]


def test_it_is_started_told_by_mail_killed_and_goes_on_with_its_conversation(acme: Crew):
    acme("up", "acme:bob", "--prompt", "do: touch begun", "--team", "crew", "--yes")
    tree = Path(acme.record("bob").worktree)
    acme.eventually((tree / "begun").exists)
    acme("send", "bob", "do: touch by-mail", "--team", "crew", "--as", "team-lead")
    acme.eventually((tree / "by-mail").exists)
    session = acme.record("bob").session
    assert (acme.atm.home / ".acme/talks" / f"{session}.txt").exists()
    acme("kill", "bob", "--team", "crew")
    acme("spawn", "acme:bob", "--resume", session, "--prompt", "do: touch again", "--team", "crew")
    acme.eventually((Path(acme.record("bob").worktree) / "again").exists)
    acme("down", "--team", "crew")
    assert acme.left() == NOTHING


def test_a_run_works_off_a_plan_with_it(acme: Crew, tmp_path: Path):
    plan = tmp_path / "plan.md"
    plan.write_text("- [ ] Make a file\n  do: echo 1 > 1.txt\n")
    said = acme(
        "run", "--plan", str(plan), "--runtime", "acme", "--agents", "1", "--team", "crew", "--yes", "--json", code=None
    )
    report = json.loads(said.out.splitlines()[-1])
    assert report["outcome"] == "success", said.out[-3000:]
    acme.git("cat-file", "-e", "atm/result/crew:1.txt")
    assert acme.left() == NOTHING


def test_one_that_cannot_be_loaded_is_told_by_doctor_and_keeps_nobody_from_working(acme: Crew, tmp_path: Path):
    (tmp_path / "packages/acme_for_atm.py").write_text("raise RuntimeError('broken')\n")
    assert "the vendor acme of another package cannot be used" in acme("doctor", code=None).out
    assert acme("members", "--team", "crew").code == 0


def test_one_that_ends_the_program_or_takes_a_name_of_ours_is_passed_over(acme: Crew, tmp_path: Path):
    packages = tmp_path / "packages"
    (packages / "acme_for_atm.py").write_text("import sys\nsys.exit(3)\n")
    told = packages / "acme_for_atm-1.0.dist-info/entry_points.txt"
    told.write_text("[atm.vendors]\nacme = acme_for_atm:VENDOR\ncodex = acme_for_atm:VENDOR\n")
    said = acme("doctor", code=None).out
    assert "SystemExit: 3" in said
    assert "atm has a vendor of this name" in said
    assert acme("runtimes", "list", "--json").code == 0
