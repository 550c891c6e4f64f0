"""The page and the table that a run of the lab leaves."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.lab import evidence, programs


def write(folder: Path, *results: dict[str, object]) -> None:
    usual = {"version": "1.2", "seconds": 1.5, "why": "", "outcome": "passed"}
    lines = [json.dumps({**usual, **one}) for one in results]
    (folder / evidence.RESULTS).write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(
        tmp_path,
        {"test": "test_mail_is_seen_once", "vendor": "claude"},
        {"test": "test_mail_is_seen_once", "vendor": "opencode", "outcome": "xfailed", "why": "it is deaf"},
        {"test": "test_it_is_woken", "vendor": "opencode", "outcome": "skipped", "why": "it is deaf"},
    )
    return tmp_path


def test_the_table_has_a_row_for_each_test_and_a_note_for_each_reason(folder):
    said = evidence.table(evidence.results_in(folder)).splitlines()
    assert said[0] == "| seen with the real program | Claude Code 1.2 | OpenCode 1.2 |"
    assert said[2] == "| mail is seen once | ✓ | ✗ (1) |"
    assert said[3] == "| it is woken |  | – (1) |"
    assert said[-1] == "1. it is deaf"


def test_a_case_that_fails_is_not_hidden_by_one_that_passes(tmp_path):
    write(
        tmp_path,
        {"test": "test_it_plans", "vendor": "codex", "case": "test_it_plans[a]", "outcome": "failed"},
        {"test": "test_it_plans", "vendor": "codex", "case": "test_it_plans[b]"},
    )
    assert evidence.table(evidence.results_in(tmp_path)).splitlines()[2] == "| it plans | ✗ |"


def test_a_case_that_was_run_again_is_what_it_was_at_last(tmp_path):
    again: dict[str, object] = {"test": "test_it_plans", "vendor": "codex", "case": "test_it_plans[a]"}
    write(tmp_path, {**again, "outcome": "failed"}, again)
    assert evidence.table(evidence.results_in(tmp_path)).splitlines()[2] == "| it plans | ✓ |"


def test_the_page_shows_what_each_model_saw_and_runs_nothing_of_it(folder):
    piece = {"role": "user", "text": "<script>alert(1)</script>"}
    request = {"at": 5.0, "dialect": "anthropic", "pieces": [piece], "answer": "says 'done'"}
    (folder / "test_mail.jsonl").write_text(json.dumps(request) + "\n")
    said = evidence.page(folder)
    assert "&lt;script&gt;alert(1)" in said
    assert "<script" not in said
    assert "mail is seen once" in said


def test_a_run_without_tests_is_said(tmp_path, capsys):
    assert evidence.main([str(tmp_path)]) == 1
    assert "no test of the lab ran" in capsys.readouterr().out


def test_the_docs_are_written_between_their_marks_and_for_pinned_versions_only(folder, tmp_path, monkeypatch, capsys):
    page = tmp_path / "vendors.md"
    page.write_text(f"before\n{evidence.BEGIN}\nold\n{evidence.END}\nafter\n")
    evidence.write_docs(evidence.results_in(folder), page)
    said = page.read_text()
    assert said.startswith(f"before\n{evidence.BEGIN}\n\n| seen with")
    assert said.endswith(f"{evidence.END}\nafter\n")
    assert "old" not in said
    monkeypatch.setattr(evidence, "DOCS", page)
    assert evidence.main([str(folder), "--docs"]) == 1
    assert "this run was not" in capsys.readouterr().out


def test_the_table_in_the_docs_is_about_the_pinned_versions():
    head = next(line for line in evidence.DOCS.read_text().splitlines() if line.startswith("| seen with"))
    assert re.findall(r"([A-Z][A-Za-z ]+) ([0-9][^ |]*)", head) in [
        [(name, programs.pinned(machine)[vendor].version) for vendor, name in evidence.NAMES.items()]
        for machine in (programs.MOST_MACHINES, "linux-aarch64")
    ]


def test_the_example_in_the_docs_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", evidence.DOCS.read_text(), re.DOTALL)
    exec(compile(code, str(evidence.DOCS), "exec"), {})
    assert capsys.readouterr().out.startswith("http://127.0.0.1:")
