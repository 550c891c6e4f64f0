"""What the demo proves when it is over, from files and git alone: nothing of it is taken from what was shown."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass

from atm.ui.demo.board_proof import prove
from atm.ui.demo.run_repository import TEAM
from atm.ui.demo.run_sandbox import SECONDS, DemoTrouble
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.core.plain import Plain
    from atm.ui.demo.run_sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence, whether it is so, and how that is known."""

    text: str
    is_so: bool
    how: str


def proofs(sandbox: Sandbox, report: dict[str, Plain], pids: Iterable[int]) -> list[Claim]:
    found, into = report.get("merged"), report.get("into")
    merged = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    branch = str(into.get("branch")) if isinstance(into, dict) else ""
    return [
        _once(sandbox),
        _on_one_branch(sandbox, merged, branch),
        _tests_pass(sandbox, branch),
        _untouched(sandbox),
        _nothing_left(sandbox, pids),
    ]


def _once(sandbox: Sandbox) -> Claim:
    tasks = build_tasks(sandbox.layout)
    board = tasks.board(TEAM)
    proof = prove(tasks.past(TEAM)[0], {card.id: board.blockers(card) for card in board.cards.values()})
    total = len(board.cards)
    is_so = proof.completed == proof.created == total and not proof.violations
    how = "; ".join(proof.violations) or f"{proof.completed} of {total}, says the history"
    return Claim("every task was completed exactly once", is_so, how)


def _on_one_branch(sandbox: Sandbox, merged: list[dict[str, Plain]], branch: str) -> Claim:
    found = 0
    for row in merged:
        try:
            sandbox.git("merge-base", "--is-ancestor", str(row.get("commit")), f"refs/heads/{branch}")
            found += 1
        except DemoTrouble:
            continue
    total = len(build_tasks(sandbox.layout).board(TEAM).cards)
    return Claim("all of it is on one branch", found == total, f"{found} of {total}, says git")


def _untouched(sandbox: Sandbox) -> Claim:
    """The user's own branch and files are as they were."""
    changes, commits = sandbox.git("status", "--porcelain"), sandbox.git("rev-list", "--count", "main").strip()
    is_so = not changes and commits == "1"
    return Claim("your own branch and files are as before", is_so, "says git status")


def _tests_pass(sandbox: Sandbox, branch: str) -> Claim:
    """An archive of a branch has only what was committed."""
    text = "the tests pass there"
    try:
        sandbox.git("archive", "--format=tar", "-o", f"{sandbox.folder}/result.tar", branch)
        shutil.unpack_archive(f"{sandbox.folder}/result.tar", f"{sandbox.folder}/result")
    except (DemoTrouble, OSError, shutil.ReadError) as error:
        return Claim(text, False, str(error))
    ran = subprocess.run(
        [f"{sandbox.folder}/bin/python", "-m", "unittest"],
        cwd=f"{sandbox.folder}/result",
        env=sandbox.environment,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    said = ran.stderr.decode(errors="replace")
    count = re.search(r"Ran ([0-9]+) tests?", said)
    return Claim(text, ran.returncode == 0, f"{count[1] if count else 'no'} tests on {branch}")


def _nothing_left(sandbox: Sandbox, pids: Iterable[int]) -> Claim:
    presence = build_room(sandbox.layout).presence
    alive = [pid for pid in pids if presence.process_runs(pid)]
    worktrees = sandbox.git("worktree", "list", "--porcelain").count("worktree ") - 1
    how = f"{len(alive)} processes, {worktrees} worktrees" if alive or worktrees else "no process, no worktree"
    return Claim("nothing is left", not alive and not worktrees, how)
