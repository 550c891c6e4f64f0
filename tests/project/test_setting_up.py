"""`make demo` in a new clone says which step runs and for how long, on a terminal and elsewhere."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def set_up():
    spec = importlib.util.spec_from_file_location("set_up", REPOSITORY / "requirements/set_up.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_step(set_up, text, **more):
    return set_up.Step("try it", [sys.executable, "-c", text], **more)


def test_the_makefile_runs_it():
    text = (REPOSITORY / "Makefile").read_text()
    assert "requirements/set_up.py $(VENV) requirements/dev.txt" in text


def test_each_step_is_numbered_and_says_how_long_it_took(set_up):
    out = io.StringIO()
    assert set_up.perform(2, python_step(set_up, "print('x')"), set_up.Display(out, 4))
    begun, ended = out.getvalue().splitlines()
    assert begun == "  2/4 try it ..."
    assert ended.startswith("  2/4 try it  ")
    assert ended.endswith(" s, done")


def test_a_long_step_is_told_of_between(set_up, monkeypatch):
    monkeypatch.setattr(set_up, "PLAIN_SECONDS", 0.0)
    monkeypatch.setattr(set_up, "REDRAW_SECONDS", 0.01)
    out = io.StringIO()
    words = "Collecting a\nProcessing /w/b.whl\nIgnoring c: markers\nInstalling collected packages: a"
    step = python_step(set_up, f"print({words!r}, flush=True)", packages=4)
    assert set_up.perform(1, step, set_up.Display(out, 1))
    assert "1 of 4 packages fetched" in out.getvalue()
    assert "2 of 3 packages fetched" in out.getvalue()
    assert out.getvalue().splitlines()[-1].startswith("  1/1 try it  2 packages fetched  ")


def test_a_step_that_fails_shows_what_its_program_printed(set_up):
    out = io.StringIO()
    step = python_step(set_up, "import sys; print('no wheel of x', file=sys.stderr); sys.exit(3)")
    assert not set_up.perform(1, step, set_up.Display(out, 1))
    assert "exit code 3" in out.getvalue()
    assert "    no wheel of x" in out.getvalue()


def test_an_optional_step_may_fail(set_up):
    assert set_up.perform(
        1, python_step(set_up, "raise SystemExit(1)", is_optional=True), set_up.Display(io.StringIO(), 1)
    )


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal of its own")
def test_on_a_terminal_one_line_is_redrawn(set_up, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w") as out:
        display = set_up.Display(out, 4)
        display.show(1, "install tools", "9 of 68 packages fetched", 12)
        display.show(1, "install tools", "", 13, is_over=True)
        shown = ""
        while "\n" not in shown:  # the system hands over what was written in pieces
            shown += os.read(ours, 1000).decode()
    os.close(ours)
    assert shown.count("\n") == 1
    assert shown.startswith("\r  1/4 install tools  9 of 68 packages fetched  12 s ...\r  1/4 install tools  13 s ")


def test_the_environment_is_made_only_where_there_is_none(set_up, tmp_path):
    requirements = tmp_path / "dev.txt"
    requirements.write_text("a==1 \\\n    --hash=sha256:0\nb-c==2\n")
    first = set_up.steps(tmp_path / "v", requirements)
    assert [step.packages for step in first] == [0, 2, 0, 0]
    python = tmp_path / "v/bin/python"
    python.parent.mkdir(parents=True)
    python.touch(mode=0o755)
    assert [step.title for step in set_up.steps(tmp_path / "v", requirements)] == [step.title for step in first[1:]]
