"""
What is mutated, and which part of the tests is asked about it: the tables of `make mutants`.

A module that moves has to be named anew here, and the run says so: a path that leads nowhere is an error.
"""

from __future__ import annotations

from pathlib import Path

SEED = 20
COUNT = 200

CARRIERS = {
    "domain/board/claims.py": "G5",
    "domain/mail/inbox_merge.py": "G1 G2 G4",
    "domain/mail/receipts.py": "G1",
    "domain/mail/retention.py": "G1",
    "domain/mail/retries.py": "G1",
    "domain/board/reviews.py": "G5",
    "domain/board/tasks.py": "G3 G5",
    "formats/board/board_index.py": "G3 G5",
    "formats/mail/inbox.py": "G1 G2 G3",
    "formats/mail/journal.py": "G3 G4",
    "formats/files/json_record.py": "G3",
    "formats/mail/spool_entry.py": "G1 G3",
    "formats/board/task.py": "G3 G5",
    "formats/board/task_history.py": "G3 G5",
    "services/board/working.py": "G5",
    "services/board/boardroom.py": "G5",
    "services/mail/conversations.py": "G1 G2",
    "services/mail/sending.py": "G1 G2 G4",
    "services/mail/retention.py": "G1 G2 G4",
    "services/board/planning.py": "G3 G5",
    "services/mail/reading.py": "G1 G2",
    "services/board/reviews.py": "G5",
    "services/mail/surfacing.py": "G1 G2",
    "services/checkup/tidying.py": "G1",
    "system/files/archive.py": "G1",
    "system/board/board_scan.py": "G3 G5",
    "system/files/disk.py": "G1 G3",
    "system/files/exchange.py": "G1 G3",
    "system/files/flock.py": "G1 G5",
    "system/files/folder_sync.py": "G1",
    "system/mail/inbox_edits.py": "G1 G2 G3 G4",
    "system/mail/inbox_store.py": "G1 G2 G3 G4",
    "system/mail/ledger.py": "G3 G4",
    "system/files/locking.py": "G1 G3 G5",
    "system/files/rewriting.py": "G1 G2 G3",
    "system/files/shared_edit.py": "G1 G3",
    "system/mail/spool.py": "G1 G2 G4",
    "system/mail/surfacing_notes.py": "G1 G2",
    "system/board/task_batch.py": "G1 G3 G5",
    "system/board/task_catch_up.py": "G3 G5",
    "system/board/task_rule.py": "G3 G5",
    "system/board/task_store.py": "G3 G5",
    "system/board/task_turn.py": "G1 G3 G5",
    "system/files/whole_files.py": "G1 G3",
}
"""The modules under `src/atm` that carry guarantees, and which: no loss, no double, no damage, order, one claimant."""

WITHIN = (
    "contracts/test_*.py",
    "crash/test_board_*.py",
    "crash/test_every_step.py",
    "crash/test_surfacing_*.py",
    "domain/test_claims.py",
    "domain/test_dependencies.py",
    "domain/test_inbox_merge.py",
    "domain/test_messages.py",
    "domain/test_plans.py",
    "domain/test_receipts.py",
    "domain/test_ret*.py",
    "domain/test_reviews.py",
    "domain/test_tasks.py",
    "formats/test_board_index.py",
    "formats/test_corpus_round_trip.py",
    "formats/test_inbox.py",
    "formats/test_journal.py",
    "formats/test_json_record.py",
    "formats/test_spool_entry.py",
    "formats/test_task*.py",
    "services/test_board*.py",
    "services/test_conversations.py",
    "services/test_delivery.py",
    "services/test_escalation.py",
    "services/test_hooks.py",
    "services/test_idle_notices.py",
    "services/test_mail.py",
    "services/test_planning.py",
    "services/test_restoring.py",
    "services/test_surfacing.py",
    "services/test_team_*.py",
    "services/test_upkeep.py",
    "system/test_beside_node.py",
    "system/test_board_scan.py",
    "system/test_locking*.py",
    "system/test_open_files.py",
    "system/test_platforms.py",
    "system/test_record_files.py",
    "system/test_rewriting*.py",
    "system/test_surroundings.py",
    "system/test_task_*.py",
    "system/test_whole_files.py",
)
"""Tests under `tests` that call the code. They are asked first."""

PROGRAMS = (
    "cli/test_ack.py",
    "cli/test_broadcast.py",
    "cli/test_read.py",
    "cli/test_receipts.py",
    "cli/test_request.py",
    "cli/test_send*.py",
    "cli/test_spool_life.py",
    "cli/test_tasks_*.py",
)
"""Tests under `tests` that run `atm` as a program, about mail and the board. Asked when the others saw nothing."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("system/files/locking.py", "_Watch.may_break", "return False => return True (place 3)"): (
        "What is neither a folder nor a file is left alone once more by `break_lock`, so it stays either way."
    ),
}
"""
Mutants that nobody can tell from the original, each with its reason: module, function, and the line before and after.

They are neither run nor counted. An entry that fits no mutant any more is an error, so that none outlives its reason.
"""


def carriers(source: Path) -> list[str]:
    """The modules of the table, each of which must be there."""
    gone = [name for name in CARRIERS if not (source / name).is_file()]
    if gone:
        raise FileNotFoundError(f"tests/mutants/targets.py names modules that are not in {source}: {', '.join(gone)}")
    return list(CARRIERS)


def relevant_tests(tests: Path) -> dict[str, bool]:
    """The part of the suite that is asked, as paths beside `tests`, and of each whether it calls the code."""
    found: dict[str, bool] = {}
    for is_within, patterns in ((True, WITHIN), (False, PROGRAMS)):
        for pattern in patterns:
            paths = [path.relative_to(tests).as_posix() for path in sorted(tests.glob(pattern))]
            if not paths:
                raise FileNotFoundError(f"tests/mutants/targets.py names {pattern}, which no test file fits")
            found |= {f"tests/{path}": is_within for path in paths}
    return found
