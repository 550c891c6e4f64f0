"""
Lines that nobody wrote: whatever is composed, what is allowed changes nothing outside and runs what a rule names.

`ATM_SEED=7` makes the lines of that seed; without it they are the same in every run, and new ones in `make chaos`.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.approvals.generated import Composer, Line, smaller
from tests.approvals.judging import Judge, as_in_the_hook, cases_of, policies_of, read_corpus
from tests.approvals.properties import broken
from tests.approvals.sandbox import Attempt, run_lines, skip_without_sandbox
from tests.approvals.world import World, build_world
from tests.chaos import LONG
from tests.optional import is_here

CORPUS = read_corpus()
POLICIES = policies_of(CORPUS)
PARTS, COUNT = (20, 500) if LONG else (4, 50)
"""10,000 lines in `make chaos`, 200 otherwise; each part has a seed of its own."""

LEAST_ALLOWED = 0.15
"""Of the lines: a generator of which everything is asked for proves nothing."""

SHELLS = ("bash", "dash", "zsh", "fish")
MOST_SHRINKING = 12


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build_world(tmp_path_factory.mktemp("generated") / "world")


@pytest.fixture(scope="module")
def is_allowed(world: World, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Line], bool]:
    homes = tmp_path_factory.mktemp("policies")
    judges: dict[str, Judge] = {}
    for name, policy in POLICIES.items():
        judges[name] = Judge(homes / name, policy["text"], policy.get("role", ""))

    def decide(line: Line) -> bool:
        with as_in_the_hook(world.home):
            return judges[line.policy].decide(line.text, str(world.worktree)).decision == "allow"

    return decide


def seed_of(part: int) -> int:
    said = os.environ.get("ATM_SEED")
    if said:
        return int(said) + part
    return random.SystemRandom().randrange(10**9) if LONG else part


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(PARTS))
def test_a_generated_line_that_is_allowed_does_no_harm(
    world: World, is_allowed: Callable[[Line], bool], part: int, tmp_path: Path
) -> None:
    skip_without_sandbox("bash")
    seed = seed_of(part)
    print(f"seed {seed}")
    lines = Composer(seed, [*cases_of(CORPUS)]).lines(COUNT)
    allowed = [line for line in lines if is_allowed(line)]
    print(f"{len(allowed)} of {len(lines)} lines are allowed")
    wrong = harm_of(world, allowed)
    if wrong:
        shown = [
            f"{line.policy}: {shrunk(world, is_allowed, line)!r}\n    from {line.text!r}\n    {why}"
            for line, why in wrong[:5]
        ]
        again = f"{'ATM_CHAOS=long ' if LONG else ''}ATM_SEED={seed - part}, part {part}"
        pytest.fail(f"{len(wrong)} lines of {len(allowed)} that are allowed, with {again}:\n" + "\n".join(shown))
    assert len(allowed) >= LEAST_ALLOWED * len(lines)


def harm_of(world: World, lines: list[Line]) -> list[tuple[Line, str]]:
    """Which of them do harm in any shell, and what."""
    shells = [shell for shell in SHELLS if is_here(shell)]
    attempts = [(line, Attempt(line.text, shell)) for line in lines for shell in shells]
    runs = run_lines(world, [attempt for _, attempt in attempts])
    found: dict[Line, str] = {}
    for (line, attempt), run in zip(attempts, runs, strict=True):
        harm = broken(run, POLICIES[line.policy])
        if harm and line not in found:
            found[line] = f"{attempt.shell}: {', '.join(harm)[:300]}"
    return [*found.items()]


def shrunk(world: World, is_allowed: Callable[[Line], bool], line: Line) -> str:
    """A shorter line that does harm and is allowed as well."""
    for _ in range(MOST_SHRINKING):
        shorter = [one for text in smaller(line.text) if is_allowed(one := Line(text, line.policy))]
        harmful = harm_of(world, shorter[:40])
        if not harmful:
            break
        line = min((one for one, _ in harmful), key=lambda one: len(one.text))
    return line.text


def test_the_same_seed_makes_the_same_lines() -> None:
    cases = [*cases_of(CORPUS)]
    assert Composer(7, cases).lines(50) == Composer(7, cases).lines(50)
    assert Composer(7, cases).lines(50) != Composer(8, cases).lines(50)


def test_lines_are_composed_of_everything_that_a_shell_has() -> None:
    text = "\n".join(line.text for line in Composer(1, [*cases_of(CORPUS)]).lines(2000))
    for part in (
        "timeout 5",
        "sh -c '",
        "$(",
        "> /out/x",
        "cd x",
        "| ",
        "BASH_ENV",
        "always",
        "-*",
        "; and",
        "\\",
        "li1",
        "--ou",
    ):
        assert part in text, part
