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
    "domain/board/reviews.py": "G5",
    "domain/board/tasks.py": "G3 G5",
    "domain/mail/inbox_merge.py": "G1 G2 G4",
    "domain/mail/quotas.py": "G1",
    "domain/mail/receipts.py": "G1",
    "domain/mail/lifetimes.py": "G1",
    "formats/board/board_index.py": "G3 G5",
    "formats/board/task.py": "G3 G5",
    "formats/board/task_history.py": "G3 G5",
    "formats/files/json_record.py": "G3",
    "formats/mail/inbox.py": "G1 G2 G3",
    "formats/mail/journal.py": "G3 G4",
    "formats/mail/large_inbox.py": "G1 G2",
    "formats/mail/spool_entry.py": "G1 G3",
    "services/board/boardroom.py": "G5",
    "services/board/new_tasks.py": "G3 G5",
    "services/board/planning.py": "G3 G5",
    "services/board/reviews.py": "G5",
    "services/board/working.py": "G5",
    "services/checkup/tidying.py": "G1",
    "services/mail/bookkeeping.py": "G1 G2",
    "services/mail/conversations.py": "G1 G2",
    "services/mail/posting.py": "G1 G2 G4",
    "services/mail/putting_back.py": "G1 G2 G4",
    "services/mail/reading.py": "G1 G2",
    "services/mail/retention.py": "G1 G2 G4",
    "services/mail/sending.py": "G1 G2 G4",
    "services/mail/spooling.py": "G1 G2 G4",
    "services/mail/surfacing.py": "G1 G2",
    "system/board/board_scan.py": "G3 G5",
    "system/board/task_batch.py": "G1 G3 G5",
    "system/board/task_catch_up.py": "G3 G5",
    "system/board/task_folder.py": "G3 G5",
    "system/board/task_hold.py": "G1 G3 G5",
    "system/board/task_rule.py": "G3 G5",
    "system/board/task_store.py": "G3 G5",
    "system/board/task_turn.py": "G1 G3 G5",
    "system/files/archive.py": "G1",
    "system/files/disk.py": "G1 G3",
    "system/files/exchange.py": "G1 G3",
    "system/files/locking.py": "G1 G3 G5",
    "system/files/remains/stale_locks.py": "G1 G3 G5",
    "system/files/turns.py": "G1 G3 G5",
    "system/files/numbered_log.py": "G3 G4",
    "system/files/rewriting.py": "G1 G2 G3",
    "system/files/shared_edit.py": "G1 G3",
    "system/files/whole_files.py": "G1 G3",
    "system/mail/inbox_edits.py": "G1 G2 G3 G4",
    "system/mail/inbox_store.py": "G1 G2 G3 G4",
    "system/mail/ledger.py": "G3 G4",
    "system/mail/spool.py": "G1 G2 G4",
    "system/mail/surfacing_notes.py": "G1 G2",
}
"""The modules under `src/atm` that carry guarantees, and which: no loss, no double, no damage, order, one claimant."""

WITHIN = (
    "contracts/test_*.py",
    "crash/test_board_*.py",
    "crash/test_every_step.py",
    "crash/test_surfacing_*.py",
    "domain/board/test_*.py",
    "domain/mail/test_*.py",
    "formats/board/test_*.py",
    "formats/files/test_*.py",
    "formats/mail/test_*.py",
    "formats/test_corpus_round_trip.py",
    "merges/test_noted_once.py",
    "services/board/test_*.py",
    "services/checkup/test_*.py",
    "services/delivery/test_delivery.py",
    "services/delivery/test_idle_notices.py",
    "services/mail/test_*.py",
    "services/roster/test_restoring.py",
    "services/roster/test_team_*.py",
    "services/snapshot/test_*.py",
    "system/board/test_*.py",
    "system/files/test_*.py",
    "system/mail/test_*.py",
    "system/team/test_lead_away.py",
    "system/test_open_files.py",
    "system/test_whole_files.py",
)
"""Tests under `tests` that call the code. They are asked first."""

PROGRAMS = (
    "attacks/test_teammates.py",
    "cli/mail/test_ack.py",
    "cli/mail/test_broadcast.py",
    "cli/mail/test_cleanup.py",
    "cli/mail/test_cross_team.py",
    "cli/mail/test_inbox.py",
    "cli/mail/test_read.py",
    "cli/mail/test_receipts.py",
    "cli/mail/test_request.py",
    "cli/mail/test_send*.py",
    "cli/mail/test_spool_life.py",
    "cli/board/test_tasks_*.py",
    "cli/test_bad_input.py",
    "cli/test_checkup.py",
)
"""Tests under `tests` that run `atm` as a program, about mail and the board. Asked when the others saw nothing."""

EQUIVALENT: dict[tuple[str, str, str], str] = {
    (
        "formats/files/json_record.py",
        "RawObject._lead",
        'return self.text[start:end] or (" " if end < first_value else "") => '
        'return self.text[start:end] or (" " if end <= first_value else "")',
    ): "The first key stands between the two, so they are never the same place.",
    (
        "formats/mail/inbox.py",
        "unread_spans",
        "while at >= 0: => while at > 0:",
    ): "The file begins with a bracket, so nothing is found at its first byte.",
    (
        "formats/mail/journal.py",
        "_starts",
        "if len(ids) > MOST_SEARCHED: => if len(ids) >= MOST_SEARCHED:",
    ): "Both ways find the same lines, which a test says; at the edge they take the same time too.",
    (
        "formats/mail/journal.py",
        "_starts",
        "if len(ids) > MOST_SEARCHED: => if len(ids) <= MOST_SEARCHED:",
    ): "Both ways find the same lines, which a test says; they differ in the time that they take.",
    (
        "formats/mail/journal.py",
        "_row_in",
        'return body[at + len(_ROW) : -1] if at >= 0 and body.endswith("}") else encode(record["row"]) => '
        'return body[at + len(_ROW) : -1] if at > 0 and body.endswith("}") else encode(record["row"])',
    ): "The line is an object, so it does not begin with a comma.",
    (
        "formats/mail/journal.py",
        "_end_of_line",
        "return end if end >= 0 else len(data) => return end if end > 0 else len(data)",
    ): ("The line has an id in it, so it does not end where the file begins."),
    ("formats/mail/journal.py", "_lines_about", "while start < len(data): => while start <= len(data):"): (
        "Behind the last line there is one more, an empty one, in which no message is found."
    ),
    (
        "formats/mail/large_inbox.py",
        "_rank",
        "if any(data.find(mark, start, end) >= 0 for mark in _URGENT): => "
        "if any(data.find(mark, start, end) > 0 for mark in _URGENT):",
    ): "The file begins with a bracket, so no row begins at its first byte.",
    (
        "formats/mail/large_inbox.py",
        "_rank",
        "return 2 if any(data.find(mark, start, end) >= 0 for mark in _ASKING) else _ORDINARY => "
        "return 2 if any(data.find(mark, start, end) > 0 for mark in _ASKING) else _ORDINARY",
    ): "The file begins with a bracket, so no row begins at its first byte.",
    (
        "formats/mail/large_inbox.py",
        "_row_named",
        "while at >= 0: => while at > 0:",
    ): "The file begins with a bracket, so no id is found at its first byte.",
    (
        "formats/mail/large_inbox.py",
        "_row_named",
        "close = end if close < 0 else close => close = end if close <= 0 else close",
    ): "The next row begins behind the id, which is not at the first byte.",
    (
        "services/board/planning.py",
        "prepared",
        "names = {id: repr(wish.subject) for wish, id in zip(wishes, ids, strict=True)} => "
        "names = {id: repr(wish.subject) for wish, id in zip(wishes, ids, strict=False)}",
    ): "`meant_tasks` has compared the same lengths before.",
    (
        "services/board/planning.py",
        "prepared",
        "for wish, number in zip(wishes, numbers, strict=True) => "
        "for wish, number in zip(wishes, numbers, strict=False)",
    ): "`meant_tasks` has compared the same lengths before.",
    (
        "services/board/new_tasks.py",
        "meant_tasks",
        "for wish, id in zip(wishes, ids, strict=True): => for wish, id in zip(wishes, ids, strict=False):",
    ): "`_Names` has compared the same lengths before.",
    (
        "services/board/new_tasks.py",
        "wishes_of",
        "return [_wish(draft, own, allowed_by, source) for draft, own in zip(drafts, parts, strict=True)] => "
        "return [_wish(draft, own, allowed_by, source) for draft, own in zip(drafts, parts, strict=False)]",
    ): "The one is made of the other, a line above.",
    (
        "services/board/new_tasks.py",
        "_Names.knows",
        "return folded(name) in self.keys or folded(name) in self.titles => "
        "return folded(name) in self.keys and folded(name) in self.titles",
    ): "The board's names are made ready in vain then: those of the plan are asked before them.",
    (
        "services/board/new_tasks.py",
        "_Names.__init__",
        "for id, key, title in zip(ids, keys, titles, strict=True): => "
        "for id, key, title in zip(ids, keys, titles, strict=False):",
    ): "`meant_tasks` compares the same lengths after it.",
    (
        "services/mail/reading.py",
        "Filter.of",
        "return kept if self.limit is None else kept[len(kept) - self.limit :] if self.limit < len(kept) else kept => "
        "return kept if self.limit is None else kept[len(kept) - self.limit :] if self.limit <= len(kept) else kept",
    ): "With as many messages as the limit, the slice begins at 0 and holds them all.",
    ("services/mail/spooling.py", "_postpone", 'return "waiting" => return None'): (
        "`_drain`, which alone sees it, takes whatever is neither delivered nor failed for waiting."
    ),
    ("services/mail/spooling.py", "_postpone", 'return "waiting" => return None (place 2)'): (
        "`_drain`, which alone sees it, takes whatever is neither delivered nor failed for waiting."
    ),
    (
        "system/board/board_scan.py",
        "BoardScanner.scan",
        "and len(line) <= END => and len(line) < END",
    ): "A line that is not taken as it is goes the longer way, and is kept there if it is one of ours.",
    (
        "system/board/board_scan.py",
        "BoardScanner._remembered",
        "if len(self._indexes) >= MOST_INDEXES: => if len(self._indexes) > MOST_INDEXES:",
    ): "One more index is remembered.",
    (
        "system/board/board_scan.py",
        "BoardScanner._remembered",
        "self._indexes.pop(team, None) => pass",
    ): "What was read before still holds: the next look begins at its end again, and checks that this is there.",
    ("system/files/disk.py", "_copy_in_kernel", "while done < size: => while done <= size:"): (
        "Asked for nothing, the kernel copies nothing, and that ends the loop too."
    ),
    (
        "system/files/rewriting.py",
        "Rewriter.apply",
        "carried = carried or vanished > 0 => carried = carried or vanished >= 0",
    ): "The same rows are placed; only that all of them are read for it, which the line above has done anyway.",
    ("system/files/locking.py", "Locks.owner_of", 'return "unknown" => return None'): (
        "`may_break`, which alone sees it, asks for dead and for alive; everything else is judged by age."
    ),
    ("system/files/remains/stale_locks.py", "LockWatch.may_break", "return False => return True (place 3)"): (
        "What is neither a folder nor a file is left alone once more by `break_lock`, so it stays either way."
    ),
    (
        "system/mail/inbox_edits.py",
        "ClaimNamed.quick",
        "if self._rows.claimed is None and source.size > LARGE: => "
        "if self._rows.claimed is None and source.size >= LARGE:",
    ): "Both ways claim the same rows, which tests say; at the edge they take the same time too.",
    ("system/mail/inbox_edits.py", "Mark._marked", "if len(data) > LARGE: => if len(data) >= LARGE:"): (
        "Both ways mark the same rows, which tests say; at the edge they take the same time too."
    ),
    (
        "system/mail/inbox_store.py",
        "InboxStore._absent",
        "if not absent or version.size <= RECENT_TAIL: => if not absent or version.size < RECENT_TAIL:",
    ): "An inbox of that size is its own tail: what is not in the one is not in the other.",
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
