"""A plan from somewhere brings commands: a person at a terminal is shown them and asked, and nobody else is (D25)."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.attacks.test_commands import crew, plan_with, trap
from tests.cli.conftest import Terminal, on_terminal

__all__ = ["crew", "on_terminal", "trap"]

QUESTION = "May they run? [y/N] "


@pytest.fixture
def asked(on_terminal) -> Callable[..., tuple[str, int]]:
    """What a command shows at a terminal, and its exit code; to the question the answer is typed."""

    def run(answer: str, *words: str) -> tuple[str, int]:
        return finish(on_terminal(*words), answer)

    return run


def finish(terminal: Terminal, answer: str) -> tuple[str, int]:
    terminal.read_until(lambda text: QUESTION in text)
    if QUESTION in terminal.text:
        terminal.type(answer)
    terminal.read_until(lambda _: False)
    return terminal.text.replace("\r\n", "\n"), terminal.process.wait(60)


def completes(crew, trap: Path) -> bool:
    crew("tasks", "claim", "1", "--as", "bob")
    crew("tasks", "complete", "1", "--as", "bob", code=None)
    return trap.exists()


def test_a_yes_is_the_persons_own(crew, trap, asked):
    said, code = asked("y\n", "tasks", "import", plan_with(crew, trap))
    assert f"! harmless title: touch {trap}" in said.partition(QUESTION)[0]
    assert code == 0
    assert "will run when" in said
    assert completes(crew, trap)


@pytest.mark.parametrize("answer", ["n\n", "\n", "maybe\n", "\x04"], ids=repr)
def test_anything_else_is_a_no_and_the_tasks_come_without_them(crew, trap, asked, answer):
    said, code = asked(answer, "tasks", "import", plan_with(crew, trap))
    assert QUESTION in said
    assert code == 0
    assert "only after a person's yes" in said
    assert not completes(crew, trap)


def test_a_character_that_hides_something_is_spelled(crew, asked):
    path = crew.folder / "plan.md"
    path.write_text("- [ ] work (accept: true \u202e;evil)\n")
    said, _ = asked("n\n", "tasks", "import", str(path))
    assert "\\u202e" in said.partition(QUESTION)[0]


@pytest.mark.parametrize("words", [["--dry-run"], ["--json"], ["--allow-checks"]], ids=str)
def test_where_nothing_is_to_be_asked_nobody_is(crew, trap, asked, words):
    said, code = asked("y\n", "tasks", "import", plan_with(crew, trap), *words)
    assert (QUESTION in said, code) == (False, 0)


def test_a_plan_without_commands_asks_nothing(crew, asked):
    path = crew.folder / "plan.md"
    path.write_text("- [ ] work\n")
    assert QUESTION not in asked("y\n", "tasks", "import", str(path))[0]


def test_nobody_is_asked_about_a_plan_that_cannot_be_taken(crew, asked):
    path = crew.folder / "plan.md"
    path.write_text("- [ ] work (accept: true) (after: nothing of that name)\n")
    said, code = asked("y\n", "tasks", "import", str(path))
    assert (QUESTION in said, code) == (False, 1)


def test_without_a_terminal_a_yes_on_standard_input_is_none(crew, trap):
    done = crew("tasks", "import", plan_with(crew, trap), stdin="y\n")
    assert QUESTION not in done.err
    assert not completes(crew, trap)


def test_an_agent_is_not_asked_though_it_has_a_terminal(crew, trap):
    atm = f"{shlex.quote(sys.executable)} -m atm"
    script = f"{atm} tasks beat --team crew --as bob --pid $$\n{atm} tasks import --as bob {plan_with(crew, trap)}\n:"
    terminal = Terminal(["sh", "-c", script], crew.environment, crew.folder, 100)
    said, _ = finish(terminal, "y\n")
    terminal.close()
    assert "bob is there" in said
    assert QUESTION not in said
    assert not completes(crew, trap)


def test_a_plan_that_is_imported_again_asks_only_about_what_nobody_allowed(crew, trap, asked):
    plan = plan_with(crew, trap)
    assert QUESTION in asked("y\n", "tasks", "import", plan)[0]
    assert QUESTION not in asked("y\n", "tasks", "import", plan)[0]
    path = Path(plan) if Path(plan).is_absolute() else crew.folder / plan
    path.write_text(path.read_text() + "- [ ] another (accept: true)\n")
    said = asked("n\n", "tasks", "import", plan)[0].partition(QUESTION)[0]
    assert "! another: true" in said
    assert str(trap) not in said
    assert completes(crew, trap)


def test_a_command_that_changed_in_the_plan_has_nobodys_yes(crew, trap, asked):
    plan = plan_with(crew, trap)
    asked("y\n", "tasks", "import", plan)
    path = Path(plan) if Path(plan).is_absolute() else crew.folder / plan
    path.write_text(path.read_text().replace("touch ", "touch  "))
    assert "only after a person's yes" in crew("tasks", "import", plan).err
    assert not completes(crew, trap)


def test_what_was_refused_at_first_can_be_allowed_by_importing_again(crew, trap, asked):
    plan = plan_with(crew, trap)
    asked("n\n", "tasks", "import", plan)
    said, _ = asked("y\n", "tasks", "import", plan)
    assert f"touch {trap}" in said.partition(QUESTION)[0]
    assert completes(crew, trap)
