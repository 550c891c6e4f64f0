"""Every line of the corpus is decided as it says, and what is allowed does no harm in real shells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.approvals import sandbox
from tests.approvals.judging import Case, Judge, Verdict, as_in_the_hook, cases_of, policies_of, read_corpus
from tests.approvals.properties import broken
from tests.approvals.sandbox import Attempt, run_lines, skip_without_sandbox
from tests.approvals.world import World, build_world

CORPUS = read_corpus()
POLICIES = policies_of(CORPUS)
CASES = [*cases_of(CORPUS)]
CLASSES = [*dict.fromkeys((case.policy, case.why) for case in CASES)]
SHELLS = ("bash", "dash", "zsh", "fish")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build_world(tmp_path_factory.mktemp("lines") / "world")


@pytest.fixture(scope="module")
def verdicts(world: World, tmp_path_factory: pytest.TempPathFactory) -> dict[Case, Verdict]:
    homes = tmp_path_factory.mktemp("policies")
    with as_in_the_hook(world.home):
        judges = {name: judge_of(homes, name) for name in POLICIES}
        return {case: judges[case.policy].decide(case.line, world.folder(case.folder)) for case in CASES}


def judge_of(homes: Path, name: str) -> Judge:
    return Judge(homes / name, POLICIES[name]["text"], POLICIES[name].get("role", ""))


@pytest.mark.parametrize(("policy", "why"), CLASSES)
def test_lines_of_a_class_are_decided_as_the_corpus_says(verdicts: dict[Case, Verdict], policy: str, why: str) -> None:
    wrong = [
        f"{verdict.decision}, not {case.expected}: {case.name} ({case.does or verdict.reason})"
        for case, verdict in verdicts.items()
        if (case.policy, case.why) == (policy, why) and not verdict.meets(case.expected)
    ]
    assert not wrong, f"{len(wrong)} lines of: {why}\n" + "\n".join(wrong)


def test_the_corpus_has_all_shells_and_policies_and_says_what_each_line_would_do() -> None:
    assert {shell for case in CASES for shell in case.shells} == {*SHELLS}
    assert {case.policy for case in CASES} == {*POLICIES}
    assert not [case.name for case in CASES if not case.does and case.expected != "allow"]
    assert len({(case.line, case.policy, case.folder, case.shells) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("shell", SHELLS)
def test_an_allowed_line_changes_nothing_outside_and_runs_no_program_that_no_rule_names(
    world: World, verdicts: dict[Case, Verdict], shell: str
) -> None:
    skip_without_sandbox(shell)
    allowed = [case for case, verdict in verdicts.items() if verdict.decision == "allow" and shell in case.shells]
    runs = run_lines(world, [Attempt(case.line, shell, case.folder) for case in allowed])
    wrong = [
        f"{case.name} in {shell}: {', '.join(found)}"
        for case, run in zip(allowed, runs, strict=True)
        if (found := broken(run, POLICIES[case.policy]))
    ]
    assert not wrong, f"{len(wrong)} of {len(allowed)} allowed lines\n" + "\n".join(wrong)
    assert len(allowed) > 50


# The sandbox itself.

HARMFUL = {
    "touch /out/ran": "changed /out/ran",
    "echo x > ~/.bashrc": "changed {home}/.bashrc",
    "echo x > li1": "changed /out/target",
    "touch ../x": "changed {root}/x",
    "echo x > /etc/cron.d/x": "changed /etc/cron.d/x",
    "./evil.sh": "changed /out/marks",
    "cd x && git status": "changed /out/marks",
    "cd nested && git status": "changed /out/marks",
    "git -C ../h-diff diff HEAD~1": "changed /out/marks",
    "git -C ../h-filter status; git -C ../h-filter diff": "changed /out/marks",
    "git -C ../h-textconv diff HEAD~1": "changed /out/marks",
    "git -C ../h-include status": "changed /out/marks",
    "git grep -e needle -*": "changed /out/marks",
    "git grep -nO'sh evil.sh #' needle": "changed /out/marks",
    "ls; cat README.md": "ran cat README.md",
    "ls; sh -c 'exec /usr/bin/true'": "ran /usr/bin/true",
}
"""Lines, and what has to be noticed."""


def test_the_sandbox_notices_what_a_line_changes_and_runs(world: World) -> None:
    skip_without_sandbox("dash")
    runs = run_lines(world, [Attempt(line, "dash") for line in HARMFUL])
    for run, noticed in zip(runs, HARMFUL.values(), strict=True):
        expected = noticed.format(home=world.home, root=world.root)
        assert expected in broken(run, POLICIES["sensible"]), run


def test_each_line_begins_in_the_same_world(world: World) -> None:
    skip_without_sandbox("dash")
    worse = ["rm -rf .git src", "rm -rf ~ /out/target", "mkdir /new ../new; touch /tmp/new", "sleep 100 & sleep 100"]
    looks = "ls -d .git src/app.py ~/.bashrc /out/target && ! ls -d /new ../new /tmp/new && git status"
    runs = run_lines(world, [Attempt(line, "dash") for one in worse for line in (one, looks)])
    assert [len(run.started) for run in runs if run.line == looks] == [4] * len(worse)  # dash, ls, ls, git
    assert runs[-2].is_late


def test_without_a_sandbox_nothing_runs(world: World, no_sandbox: None) -> None:
    assert sandbox.why_not()
    with pytest.raises(AssertionError, match="needs"):
        run_lines(world, [Attempt("ls", "dash")])


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PATH", "/nowhere")
    _forget()
    yield
    _forget()


def _forget() -> None:
    kept: list[Any] = [sandbox.why_not, sandbox._way]
    for one in kept:
        one.cache_clear()


def test_the_network_is_away_and_programs_are_read_only(world: World) -> None:
    skip_without_sandbox("dash")
    lines = ["touch /usr/bin/x || touch /out/a", "cat /proc/net/route /proc/net/dev | grep -q eth || touch /out/b"]
    first, second = run_lines(world, [Attempt(line, "dash") for line in lines])
    assert "/out/a" in first.changed
    assert "/out/b" in second.changed
