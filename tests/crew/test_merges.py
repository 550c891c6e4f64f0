"""Finished work becomes one branch: runs and `atm merge` over real processes and git."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Terminal
from tests.crew.conftest import NOTHING, Crew
from tests.proving import proves

TARGET = "atm/result/crew"
APART = """\
- [ ] Make b (id: b) (run: echo b > b.txt) (accept: test -f b.txt)
- [ ] Make c (id: c) (run: echo c > c.txt)
- [ ] Join them (id: d) (depends: b, c) (run: cat b.txt c.txt > d.txt) (accept: grep -q c d.txt)
"""
TOGETHER = """\
- [ ] One way (id: one) (run: echo 1st > a.txt; touch {go}1; while [ ! -e {go}2 ]; do sleep 0.05; done)
- [ ] Another way (id: two) (run: echo 2nd > a.txt; touch {go}2; while [ ! -e {go}1 ]; do sleep 0.05; done)
"""
"""Two that begin at the same time, and write the same line."""


def run(crew: Crew, text: str, *words: str, code: int | None = 0) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Its events, and its last word."""
    plan = crew.folder.parent / "plan.md"
    plan.write_text(text.replace("{go}", str(crew.folder.parent / "go")))
    scripts = ("--runtime", "script", "--agents", "2", "--team", "crew")
    said = crew("run", "--plan", str(plan), *scripts, "--yes", "--json", *words, code=code)
    lines = [json.loads(line) for line in said.out.splitlines()]
    return lines[:-1], lines[-1] if lines else {}


def settings(crew: Crew, **values: str | float) -> None:
    path = Path(crew.layout.settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[merges]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))


def merge(crew: Crew, *words: str, code: int = 0) -> dict[str, Any]:
    said: dict[str, Any] = crew("merge", *words, "--team", "crew", "--json", code=code).json
    return said


def on_target(crew: Crew, name: str) -> str:
    return crew.git("show", f"{TARGET}:{name}")


def is_in(crew: Crew, commit: str, branch: str = TARGET) -> bool:
    return crew.git("merge-base", commit, branch) == commit


# Runs.


@proves(
    "R004-merge-and-conflicts-G2",
    "R004-merge-and-conflicts-G7",
    "R004-merge-and-conflicts-G7b",
    "R004-orchestration-O1",
    "R004-current-state-01",
)
@pytest.mark.parametrize("strategy", ["rebase", "merge", "squash"])
def test_a_run_ends_with_one_branch_that_has_everything(crew: Crew, strategy: str) -> None:
    head = crew.git("rev-parse", "HEAD")
    _, report = run(crew, APART, "--merge", strategy)
    assert (report["outcome"], report["merge"]) == ("success", strategy)
    assert [row["task"] for row in report["merged"]] == ["1", "2", "3"]
    assert all(is_in(crew, row["commit"]) for row in report["merged"])
    assert report["into"] == {"branch": TARGET, "head": crew.git("rev-parse", TARGET)}
    assert on_target(crew, "d.txt") == "b\nc"
    assert (crew.git("rev-parse", "HEAD"), crew.git("status", "--porcelain")) == (head, "")
    assert crew.left() == NOTHING


@proves("R004-current-state-06", "R004-defects-09e")
@proves("R004-merge-and-conflicts-G7c")
def test_all_can_be_merged_at_the_end(crew: Crew) -> None:
    events, report = run(crew, APART, "--merge-at", "end")
    kinds = [event["kind"] for event in events]
    assert report["outcome"] == "success"
    assert kinds.index("merge.merged") > max(at for at, kind in enumerate(kinds) if kind == "task.completed")
    assert on_target(crew, "d.txt") == "b\nc"


def test_with_none_nothing_is_merged(crew: Crew) -> None:
    _, report = run(crew, APART, "--merge", "none")
    assert (report["outcome"], report["merged"], report["into"]) == ("success", [], None)
    assert TARGET not in crew.git("branch", "--format=%(refname:short)").split()
    run(crew, APART, "--merge", "none", "--into", "x", code=1)


def test_the_branch_that_is_checked_out_can_be_named_and_its_files_move_with_it(crew: Crew) -> None:
    own = crew.git("symbolic-ref", "--short", "HEAD")
    _, report = run(crew, APART, "--into", own)
    assert report["outcome"] == "success"
    assert (crew.folder / "d.txt").read_text() == "b\nc\n"
    assert crew.git("status", "--porcelain") == ""


def test_and_only_if_it_is_clean(crew: Crew) -> None:
    own = crew.git("symbolic-ref", "--short", "HEAD")
    (crew.folder / "a.txt").write_text("mine\n")
    head = crew.git("rev-parse", "HEAD")
    _, said = run(crew, APART, "--into", own, code=1)
    assert "not committed" in said["error"]["message"]
    assert ((crew.folder / "a.txt").read_text(), crew.git("rev-parse", "HEAD")) == ("mine\n", head)
    assert crew.left() == NOTHING


def test_tasks_that_name_the_same_file_follow_each_other_and_the_second_begins_with_the_first(crew: Crew) -> None:
    text = "- [ ] One (run: echo 1 >> a.txt) (files: a.txt)\n- [ ] Two (run: echo 2 >> a.txt) (files: a.txt)\n"
    _, report = run(crew, text)
    assert report["outcome"] == "success"
    assert on_target(crew, "a.txt").split("\n")[-2:] == ["1", "2"]
    assert not any(row["resolved"] for row in report["merged"])


# Conflicts.


@proves("R004-merge-and-conflicts-G6", "R004-merge-and-conflicts-G6b")
def test_a_conflict_that_nobody_resolves_is_told_with_names_and_holds_up_nobody(crew: Crew) -> None:
    crew("teams", "add-member", "crew", "team-lead")
    events, report = run(crew, TOGETHER + "- [ ] Apart (id: x) (run: echo x > x.txt)\n", code=2)
    (left,) = report["conflicts"]
    assert report["outcome"] == "partial"
    assert (left["files"], len(report["merged"]), report["tasks"]["needs_human"]) == (["a.txt"], 2, [left["task"]])
    assert {left["task"], *left["with"]} == {"1", "2"}
    assert is_in(crew, crew.git("rev-parse", left["branch"]), left["salvage"])
    assert "merge.conflict_detected" in [event["kind"] for event in events]
    text = Path(report["report"]).read_text()
    assert all(word in text for word in ("a.txt", left["agent"], "One way", "Another way", "atm merge"))
    told = crew("read", "--as", "team-lead", "--team", "crew", "--all", "--json").out
    assert f"#{left['task']} could not be merged" in told
    assert crew.left() == NOTHING


def test_a_command_resolves_it_and_what_is_resolved_once_is_remembered(crew: Crew) -> None:
    calls = crew.folder.parent / "calls"
    settings(crew, resolve_command=f"printf 'one\\ntwo\\n' > a.txt; echo 'LOST: nothing'; echo x >> {calls}")
    _, report = run(crew, TOGETHER)
    first, second = sorted(report["merged"], key=lambda row: bool(row["resolved"]))
    assert (first["resolved"], second["resolved"]) == (False, True)
    assert (on_target(crew, "a.txt"), report["lost"]) == ("one\ntwo", [])
    assert not (crew.folder / ".git" / "rr-cache").exists()
    assert crew.left() == NOTHING
    crew.git("update-ref", f"refs/heads/{TARGET}", first["commit"])
    Path(crew.layout.merges("crew")).unlink()
    assert [item["status"] for item in merge(crew, "work")["items"]] == ["merged", "merged"]
    assert (on_target(crew, "a.txt"), calls.read_text()) == ("one\ntwo", "x\n")


def test_while_somebody_resolves_it_others_are_merged(crew: Crew) -> None:
    """The command ends when the third task is on the target, which begins only after the conflict was found."""
    waits = f"until git cat-file -e {TARGET}:x.txt 2>/dev/null; do sleep 0.05; done"
    settings(crew, resolve_command=f"touch {crew.folder.parent}/asked; {waits}; echo both > a.txt")
    late = f"- [ ] Late (run: until test -e {crew.folder.parent}/asked; do sleep 0.05; done; echo x > x.txt)\n"
    _, report = run(crew, TOGETHER + late)
    assert (report["outcome"], on_target(crew, "a.txt"), on_target(crew, "x.txt")) == ("success", "both", "x")


def test_what_does_not_make_it_is_written_down(crew: Crew) -> None:
    settings(crew, resolve_command="git checkout -q --ours a.txt && git add a.txt && echo 'LOST: the other way'")
    _, report = run(crew, TOGETHER)
    (row,) = report["lost"]
    assert row["what"][0] == "the other way"
    assert "a.txt" in row["what"][1]
    item = merge(crew, "show", row["task"])["item"]
    assert (item["status"], item["lost"]) == ("merged", row["what"])
    assert is_in(crew, item["head"], item["salvage"])
    assert "the other way" in Path(report["report"]).read_text()
    assert "Lost: the other way" in crew.git("log", "-1", "--format=%B", item["commit"])


# By hand.


@pytest.fixture
def flagged(crew: Crew) -> str:
    _, report = run(crew, TOGETHER, code=2)
    task: str = report["conflicts"][0]["task"]
    return task


def test_the_queue_says_how_everything_stands(crew: Crew, flagged: str) -> None:
    said = merge(crew, "queue")
    assert said["target"] == {"branch": TARGET, "head": crew.git("rev-parse", TARGET), "strategy": "rebase"}
    states = {item["task"]: (item["status"], item["needs_human"]) for item in said["items"]}
    assert states[flagged] == ("conflict_detected", True)
    item = merge(crew, "show", flagged)["item"]
    assert (item["conflict"]["files"], item["attempts"]) == (["a.txt"], 1)
    assert item["conflict"]["with"][0]["subject"] in ("One way", "Another way")
    shown = crew("merge", "--team", "crew").out
    assert "in conflict" in shown
    assert "a.txt" in crew("merge", "show", flagged, "--diff", "--team", "crew").out


def test_a_person_resolves_it_in_a_worktree_of_their_own(crew: Crew, flagged: str) -> None:
    said = merge(crew, "resolve", flagged)
    place = Path(said["folder"])
    assert (said["open"], "<<<<<<<" in (place / "a.txt").read_text()) == (["a.txt"], True)
    assert merge(crew, "resolve", flagged, "--done", code=2)["open"] == ["a.txt"]
    (place / "a.txt").write_text("one and two\n")
    assert merge(crew, "resolve", flagged)["folder"] == str(place)  # as the person left it
    done = merge(crew, "resolve", flagged, "--done")["item"]
    assert (done["status"], on_target(crew, "a.txt")) == ("merged", "one and two")
    assert is_in(crew, done["commit"])
    assert not place.exists()
    assert merge(crew, "retry", flagged, code=1)["error"]["code"] == "no-such-merge"


def test_what_a_person_began_and_left_is_saved(crew: Crew, flagged: str) -> None:
    place = Path(merge(crew, "resolve", flagged)["folder"])
    (place / "a.txt").write_text("half a thought\n")
    item = merge(crew, "resolve", flagged, "--abort")["item"]
    assert (item["status"], item["needs_human"], place.exists()) == ("conflict_detected", True, False)
    kept = crew("salvage", "list", "--team", "crew", "--json").json["items"]
    assert any("half a thought" in crew("salvage", "show", one["id"]).out for one in kept)


def test_a_target_that_moves_while_a_person_resolves_is_merged_onto_and_not_over(crew: Crew, flagged: str) -> None:
    place = Path(merge(crew, "resolve", flagged)["folder"])
    (place / "a.txt").write_text("both\n")
    other = crew.git("commit-tree", f"{TARGET}^{{tree}}", "-p", TARGET, "-m", "somebody else was here")
    crew.git("update-ref", f"refs/heads/{TARGET}", other)
    assert merge(crew, "resolve", flagged, "--done")["item"]["status"] == "merged"
    assert is_in(crew, other)
    assert on_target(crew, "a.txt") == "both"


def test_one_that_is_tried_again_conflicts_again_and_one_that_is_left_out_is_kept(crew: Crew, flagged: str) -> None:
    assert merge(crew, "retry", flagged, code=2)["item"]["status"] == "conflict_detected"
    item = merge(crew, "skip", flagged, "--reason", "not needed")["item"]
    assert (item["skipped"], item["needs_human"], item["reason"]) == (True, False, "not needed")
    assert is_in(crew, item["head"], item["salvage"])
    assert merge(crew, "work")["items"]


def test_who_asks_for_what_is_not_there_is_told(crew: Crew, flagged: str) -> None:
    for words in (("show", "99"), ("retry", "99"), ("resolve", flagged, "--done"), ("resolve", flagged, "--abort")):
        assert merge(crew, *words, code=1)["error"]["code"] == "no-such-merge"
    crew("teams", "create", "other")
    assert crew("merge", "queue", "--team", "other", "--json", code=3).json["items"] == []


def test_an_agent_may_not_merge(crew: Crew, flagged: str) -> None:
    crew("teams", "add-member", "crew", "bob")
    crew("tasks", "beat", "--as", "bob", "--pid", str(os.getpid()), "--team", "crew")
    for words in (("retry", flagged), ("skip", flagged, "--reason", "x"), ("resolve", flagged), ("work",)):
        assert merge(crew, *words, code=1)["error"]["code"] == "not-allowed"


def test_a_queue_that_somebody_else_wrote_moves_no_branch(crew: Crew, flagged: str) -> None:
    path, own = Path(crew.layout.merges("crew")), crew.git("rev-parse", "HEAD")
    path.write_text(path.read_text().replace(TARGET, crew.git("symbolic-ref", "--short", "HEAD")))
    assert merge(crew, "retry", flagged, code=1)["error"]["code"] == "not-trusted"
    assert crew.git("rev-parse", "HEAD") == own
    path.unlink()
    assert {item["task"] for item in merge(crew, "queue")["items"]} == {"1", "2"}


def test_in_another_repository_nothing_is_begun(crew: Crew, flagged: str, tmp_path: Path) -> None:
    Path(crew.layout.merges("crew")).unlink()
    other = tmp_path / "other"
    other.mkdir()
    for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "x")):
        crew.git("-C", str(other), *words)
    said = crew.atm("merge", "work", "--team", "crew", "--json", cwd=other, code=1).json
    assert said["error"]["code"] == "wrong-repository"
    assert not Path(crew.layout.merges("crew")).exists()
    assert merge(crew, "retry", flagged, code=2)["item"]["status"] == "conflict_detected"


def test_what_somebody_took_off_the_target_is_merged_again(crew: Crew) -> None:
    run(crew, APART)
    crew.git("update-ref", "-d", f"refs/heads/{TARGET}")
    items = merge(crew, "work")["items"]
    assert [item["status"] for item in items] == ["merged"] * 3
    assert all(is_in(crew, item["commit"]) for item in items)
    assert on_target(crew, "d.txt") == "b\nc"


def test_work_that_is_gone_is_told_once_and_holds_nobody_up(crew: Crew) -> None:
    crew("teams", "add-member", "crew", "team-lead")
    _, report = run(crew, APART, "--merge", "none")
    task = Path(crew.layout.tasks("crew")) / "1.json"
    task.write_text(task.read_text().replace(report["branches"][0]["commit"], "1" * 40))
    items = {item["task"]: item for item in merge(crew, "work", code=2)["items"]}
    assert (items["1"]["status"], items["1"]["needs_human"], items["2"]["status"]) == ("failed", True, "merged")
    assert "git removed it" in items["1"]["reason"]
    merge(crew, "work", code=2)
    told = crew("read", "--as", "team-lead", "--team", "crew", "--all", "--json").json["messages"]
    assert [message["summary"] for message in told].count("#1 could not be merged") == 1


# Checks.


RED = """\
- [ ] Say old (id: old) (run: echo old > word.txt; touch {go}1; while [ ! -e {go}2 ]; do sleep 0.05; done)
- [ ] Ask for new (id: new) (run: echo new > wanted.txt; touch {go}2; while [ ! -e {go}1 ]; do sleep 0.05; done)
"""
CHECK = "[ ! -e word.txt ] || [ ! -e wanted.txt ] || cmp word.txt wanted.txt"


def test_what_is_right_alone_and_wrong_together_goes_back_and_then_to_a_person(crew: Crew) -> None:
    settings(crew, check=CHECK, at_once=4, sends_back=1)
    events, report = run(crew, RED + "- [ ] Apart (id: x) (run: echo x > x.txt)\n", code=2)
    (left,) = report["conflicts"]
    assert [event["subject"] for event in events if event["kind"] == "task.reopened"] == [left["task"]]
    assert (left["status"], len(report["merged"])) == ("failed", 2)
    item = merge(crew, "show", left["task"])["item"]
    assert [(check["ok"], check["code"]) for check in item["checks"]] == [(False, 1)]
    assert "differ" in item["checks"][0]["output"]
    assert (item["sent_back"], item["needs_human"]) == (1, True)
    assert is_in(crew, item["head"], item["salvage"])
    assert crew.left() == NOTHING


def test_a_target_that_was_red_before_is_nobodys_fault(crew: Crew) -> None:
    settings(crew, check="false")
    _, report = run(crew, "- [ ] Make b (run: echo b > b.txt)\n", code=2)
    assert report["tasks"]["completed"] == ["1"]
    assert "without it too" in report["conflicts"][0]["reason"]


# Kills.


def checking(crew: Crew) -> tuple[subprocess.Popen[bytes], Path]:
    """A run whose first merge is being checked, until a file is there."""
    mark, go = crew.folder.parent / "checking", crew.folder.parent / "enough"
    settings(crew, check=f"touch {mark}; while [ ! -e {go} ]; do sleep 0.05; done")
    plan = crew.folder.parent / "plan.md"
    plan.write_text(APART)
    words = ("run", "--plan", str(plan), "--runtime", "script", "--agents", "2", "--team", "crew", "--yes", "--json")
    started = crew.atm.start(*words)
    crew.eventually(mark.exists)
    return started, go


@pytest.mark.parametrize("who", ["the merging process", "the run", "the run, by Ctrl-C"])
def test_whoever_is_killed_while_it_merges_everything_ends_well(crew: Crew, who: str) -> None:
    started, go = checking(crew)
    if who == "the run":
        started.kill()
        started.communicate()
    elif who == "the run, by Ctrl-C":
        started.send_signal(signal.SIGINT)
        assert json.loads(started.communicate()[0].decode().splitlines()[-1])["outcome"] == "stopped"
        assert (crew.left()["processes"], _merging(crew)) == ([], [])
    for pid in _merging(crew):
        os.kill(pid, signal.SIGKILL)
    go.touch()
    said = (
        crew("run", "--resume", "--team", "crew", "--json").out
        if who != "the merging process"
        else started.communicate()[0].decode()
    )
    report = json.loads(said.splitlines()[-1])
    assert report["outcome"] == "success"
    assert on_target(crew, "d.txt") == "b\nc"
    assert all(is_in(crew, row["commit"]) for row in report["merged"])
    subjects = crew.git("log", "--format=%s", TARGET).split("\n")
    assert len(subjects) == len({*subjects})
    assert crew.left() == NOTHING


def test_of_two_who_merge_at_once_one_is_told_to_wait(crew: Crew) -> None:
    started, go = checking(crew)
    assert merge(crew, "work", code=1)["error"]["code"] == "file-busy"
    go.touch()
    started.communicate()
    assert merge(crew, "work")["items"][0]["status"] == "merged"


def test_a_run_that_goes_on_waits_for_whoever_merges_still_for_the_one_that_was_killed(crew: Crew) -> None:
    started, go = checking(crew)
    started.kill()
    started.communicate()
    assert _merging(crew)
    resumed = crew.atm.start("run", "--resume", "--team", "crew", "--json")
    events = Path(crew.layout.runs("crew"))
    crew.eventually(lambda: "run.resumed" in "".join(path.read_text() for path in events.glob("*/events.jsonl")))
    go.touch()
    report = json.loads(resumed.communicate()[0].decode().splitlines()[-1])
    assert (report["outcome"], on_target(crew, "d.txt")) == ("success", "b\nc")
    assert (crew.left(), _merging(crew)) == (NOTHING, [])


def _merging(crew: Crew) -> list[int]:
    """Processes that work off a queue of this home."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0") if name.isdecimal() else []
            home = (
                f"ATM_HOME={crew.atm.home}".encode() in Path(f"/proc/{name}/environ").read_bytes() if words else False
            )
        except OSError:
            continue
        if home and b"merge" in words and b"work" in words:
            found.append(int(name))
    return found


# The radar.


def test_who_changes_the_same_lines_is_told_early_and_once(crew: Crew) -> None:
    settings(crew, radar_seconds=0.2)
    gate = crew.folder.parent / "gate"
    text = "".join(
        f"- [ ] Way {n} (run: echo {n} > a.txt; while [ ! -e {gate} ]; do sleep 0.05; done)\n" for n in ("1st", "2nd")
    )
    plan = crew.folder.parent / "plan.md"
    plan.write_text(text)
    words = ("run", "--plan", str(plan), "--runtime", "script", "--agents", "2", "--team", "crew", "--yes", "--json")
    started = crew.atm.start(*words)
    crew.eventually(lambda: crew("merge", "radar", "--team", "crew", code=None).code == 2)
    seen = merge(crew, "radar", code=2)
    assert seen["collisions"][0] == {
        "tasks": ["1", "2"],
        "agents": ["a1", "a2"],
        "files": ["a.txt"],
        "conflicts": ["a.txt"],
        "lines": {"a.txt": [[1, 1]]},
    }
    assert seen["owners"] == {"a.txt": ["a1", "a2"]}

    def told(who: str) -> int:
        return crew("read", "--as", who, "--team", "crew", "--all", "--json", code=None).out.count(
            "change the same lines:"
        )

    crew.eventually(lambda: told("a1") and told("a2"))
    figures = crew("snapshot", "--team", "crew", "--json").json
    gate.touch()
    out = started.communicate()[0].decode()
    assert '"conflicts": ["a.txt"]' in json.dumps(figures)
    assert out.count('"run.collision"') == 1
    assert (told("a1"), told("a2")) == (1, 1)


def test_whoever_waits_at_a_terminal_sees_the_check_that_runs(crew: Crew) -> None:
    settings(crew, check="false")
    run(crew, "- [ ] Make b (run: echo b > b.txt)\n", code=2)
    go = crew.folder.parent / "go"
    settings(crew, check=f"echo 3 of 7 tests; until test -e {go}; do sleep 0.05; done")
    environment = {**crew.atm.environment, "TERM": "xterm-256color"}
    terminal = Terminal(crew.atm.command("merge", "retry", "1", "--team", "crew"), environment, crew.folder, 80)
    try:
        terminal.read_until(lambda text: "merging #1  1 s\r\n  $ echo 3 of 7" in text and "\n  3 of 7 tests" in text)
        go.touch()
        terminal.read_until(lambda _: False)
    finally:
        go.touch()
        assert terminal.close() == 0
    taken_back, _, left = terminal.text.rpartition("\x1b[2A\r\x1b[J")
    assert ("merging #1" in taken_back, "merging #1" in left, "merged" in left) == (True, False, True)


def test_a_run_at_a_terminal_shows_what_an_agent_at_work_said_last(crew: Crew) -> None:
    go, plan = crew.folder.parent / "go", crew.folder.parent / "plan.md"
    plan.write_text(
        f"- [ ] Make b (run: echo b > b.txt) (accept: echo 3 of 7; until test -e {go}; do sleep 0.05; done)"
    )
    words = ("run", "--plan", str(plan), "--runtime", "script", "--team", "crew", "--yes")
    environment = {**crew.atm.environment, "TERM": "xterm-256color"}
    terminal = Terminal(crew.atm.command(*words), environment, crew.folder, 80)
    try:
        terminal.read_until(lambda text: "   └ 3 of 7" in text)
    finally:
        go.touch()
        terminal.read_until(lambda _: False)
        assert terminal.close() == 0
    assert "success" in terminal.text


def test_work_that_git_removed_is_named_in_plain_words_and_can_be_left_out(crew: Crew) -> None:
    """A user deletes all branches of the work, and `git gc --prune=now` removes the commits."""
    run(crew, APART, "--merge", "none")
    for ref in crew.git("for-each-ref", "--format=%(refname)", "refs/heads/atm", "refs/atm").split():
        crew.git("update-ref", "-d", ref)
    crew.git("reflog", "expire", "--expire=now", "--all")
    crew.git("gc", "-q", "--prune=now")
    for words, code in ((("work",), 1), (("retry", "1"), 1), (("resolve", "1"), 1)):
        said = crew("merge", *words, "--team", "crew", "--json", code=code)
        assert said.json["error"]["code"] == "commit-gone", said.out
        assert "git removed it" in said.json["error"]["message"]
        assert "atm merge skip" in said.json["error"]["remedy"]
    assert "Traceback" not in crew("merge", "radar", "--team", "crew", code=None).err
    assert merge(crew, "skip", "1", "--reason", "git removed it")["item"]["skipped"]


def test_a_target_that_git_removed_with_all_that_was_merged_is_told_of_in_words(crew: Crew, flagged: str) -> None:
    """The user deletes the result too: what was merged already is gone, and so is what the rest began from."""
    for ref in crew.git("for-each-ref", "--format=%(refname)", "refs/heads/atm", "refs/atm").split():
        crew.git("update-ref", "-d", ref)
    crew.git("reflog", "expire", "--expire=now", "--all")
    crew.git("gc", "-q", "--prune=now")
    for words in (("work",), ("retry", flagged)):
        said = crew("merge", *words, "--team", "crew", "--json", code=None)
        error = json.loads(said.out.splitlines()[-1])["error"]
        assert error["code"] == "commit-gone", error
        assert "atm merge skip" in error["remedy"]
    assert merge(crew, "skip", flagged, "--reason", "git removed it")["item"]["skipped"]
