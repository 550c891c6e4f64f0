"""
What is mutated, and which part of the tests is asked about it: the tables of `make mutants`.

A module that moves has to be named anew here, and the run says so: a path that leads nowhere is an error.
"""

from __future__ import annotations

from pathlib import Path

SEED = 20
COUNT = 200

CARRIERS = {
    "board/rules/claims.py": "G5",
    "board/rules/reviews.py": "G5",
    "board/rules/tasks.py": "G3 G5",
    "mail/rules/inbox_merge.py": "G1 G2 G4",
    "mail/rules/quotas.py": "G1",
    "mail/rules/receipts.py": "G1",
    "mail/rules/lifetimes.py": "G1",
    "board/formats/board_index.py": "G3 G5",
    "board/formats/task.py": "G3 G5",
    "board/formats/task_history.py": "G3 G5",
    "files/formats/json_record.py": "G3",
    "mail/formats/inbox.py": "G1 G2 G3",
    "mail/formats/journal.py": "G3 G4",
    "mail/formats/large_inbox.py": "G1 G2",
    "mail/formats/spool_entry.py": "G1 G3",
    "board/services/boardroom.py": "G5",
    "board/services/new_tasks.py": "G3 G5",
    "board/services/planning.py": "G3 G5",
    "board/services/reviews.py": "G5",
    "board/services/working.py": "G5",
    "checkup/services/tidying.py": "G1",
    "mail/services/bookkeeping.py": "G1 G2",
    "mail/services/conversations.py": "G1 G2",
    "mail/services/posting.py": "G1 G2 G4",
    "mail/services/putting_back.py": "G1 G2 G4",
    "mail/services/reading.py": "G1 G2",
    "mail/services/retention.py": "G1 G2 G4",
    "mail/services/sending.py": "G1 G2 G4",
    "mail/services/spooling.py": "G1 G2 G4",
    "mail/services/surfacing.py": "G1 G2",
    "board/adapters/board_scan.py": "G3 G5",
    "board/adapters/task_batch.py": "G1 G3 G5",
    "board/adapters/task_catch_up.py": "G3 G5",
    "board/adapters/task_folder.py": "G3 G5",
    "board/adapters/task_hold.py": "G1 G3 G5",
    "board/adapters/task_rule.py": "G3 G5",
    "board/adapters/task_store.py": "G3 G5",
    "board/adapters/task_turn.py": "G1 G3 G5",
    "files/adapters/archive.py": "G1",
    "files/adapters/disk.py": "G1 G3",
    "files/adapters/exchange.py": "G1 G3",
    "files/adapters/locking.py": "G1 G3 G5",
    "files/adapters/remains/stale_locks.py": "G1 G3 G5",
    "files/adapters/turns.py": "G1 G3 G5",
    "files/adapters/numbered_log.py": "G3 G4",
    "files/adapters/rewriting.py": "G1 G2 G3",
    "files/adapters/shared_edit.py": "G1 G3",
    "files/adapters/whole_files.py": "G1 G3",
    "mail/adapters/inbox_edits.py": "G1 G2 G3 G4",
    "mail/adapters/inbox_store.py": "G1 G2 G3 G4",
    "mail/adapters/ledger.py": "G3 G4",
    "mail/adapters/spool.py": "G1 G2 G4",
    "mail/adapters/surfacing_notes.py": "G1 G2",
}
"""The modules under `src/atm` that carry guarantees, and which: no loss, no double, no damage, order, one claimant."""

WITHIN = (
    "contracts/test_*.py",
    "crash/test_board_*.py",
    "crash/test_every_step.py",
    "crash/test_surfacing_*.py",
    "board/rules/test_*.py",
    "mail/rules/test_*.py",
    "board/formats/test_*.py",
    "files/formats/test_*.py",
    "mail/formats/test_*.py",
    "files/test_corpus_round_trip.py",
    "merges/test_noted_once.py",
    "board/services/test_*.py",
    "checkup/services/test_*.py",
    "delivery/services/test_delivery.py",
    "delivery/services/test_idle_notices.py",
    "mail/services/test_*.py",
    "roster/services/test_restoring.py",
    "roster/services/test_team_*.py",
    "snapshot/services/test_*.py",
    "board/adapters/test_*.py",
    "files/adapters/test_*.py",
    "mail/adapters/test_*.py",
    "team/adapters/test_lead_away.py",
    "files/test_open_files.py",
    "files/test_whole_files.py",
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
        "files/formats/json_record.py",
        "RawObject._lead",
        'return self.text[start:end] or (" " if end < first_value else "") => '
        'return self.text[start:end] or (" " if end <= first_value else "")',
    ): "The first key stands between the two, so they are never the same place.",
    (
        "mail/formats/inbox.py",
        "unread_spans",
        "while at >= 0: => while at > 0:",
    ): "The file begins with a bracket, so nothing is found at its first byte.",
    (
        "mail/formats/journal.py",
        "_starts",
        "if len(ids) > MOST_SEARCHED: => if len(ids) >= MOST_SEARCHED:",
    ): "Both ways find the same lines, which a test says; at the edge they take the same time too.",
    (
        "mail/formats/journal.py",
        "_starts",
        "if len(ids) > MOST_SEARCHED: => if len(ids) <= MOST_SEARCHED:",
    ): "Both ways find the same lines, which a test says; they differ in the time that they take.",
    (
        "mail/formats/journal.py",
        "_row_in",
        'return body[at + len(_ROW) : -1] if at >= 0 and body.endswith("}") else encode(record["row"]) => '
        'return body[at + len(_ROW) : -1] if at > 0 and body.endswith("}") else encode(record["row"])',
    ): "The line is an object, so it does not begin with a comma.",
    (
        "mail/formats/journal.py",
        "_end_of_line",
        "return end if end >= 0 else len(data) => return end if end > 0 else len(data)",
    ): ("The line has an id in it, so it does not end where the file begins."),
    ("mail/formats/journal.py", "_lines_about", "while start < len(data): => while start <= len(data):"): (
        "Behind the last line there is one more, an empty one, in which no message is found."
    ),
    (
        "mail/formats/large_inbox.py",
        "_rank",
        "if any(data.find(mark, start, end) >= 0 for mark in _URGENT): => "
        "if any(data.find(mark, start, end) > 0 for mark in _URGENT):",
    ): "The file begins with a bracket, so no row begins at its first byte.",
    (
        "mail/formats/large_inbox.py",
        "_rank",
        "return 2 if any(data.find(mark, start, end) >= 0 for mark in _ASKING) else _ORDINARY => "
        "return 2 if any(data.find(mark, start, end) > 0 for mark in _ASKING) else _ORDINARY",
    ): "The file begins with a bracket, so no row begins at its first byte.",
    (
        "mail/formats/large_inbox.py",
        "_row_named",
        "while at >= 0: => while at > 0:",
    ): "The file begins with a bracket, so no id is found at its first byte.",
    (
        "mail/formats/large_inbox.py",
        "_row_named",
        "close = end if close < 0 else close => close = end if close <= 0 else close",
    ): "The next row begins behind the id, which is not at the first byte.",
    (
        "board/services/planning.py",
        "prepared",
        "names = {id: repr(wish.subject) for wish, id in zip(wishes, ids, strict=True)} => "
        "names = {id: repr(wish.subject) for wish, id in zip(wishes, ids, strict=False)}",
    ): "`meant_tasks` has compared the same lengths before.",
    (
        "board/services/planning.py",
        "prepared",
        "for wish, number in zip(wishes, numbers, strict=True) => "
        "for wish, number in zip(wishes, numbers, strict=False)",
    ): "`meant_tasks` has compared the same lengths before.",
    (
        "board/services/new_tasks.py",
        "meant_tasks",
        "for wish, id in zip(wishes, ids, strict=True): => for wish, id in zip(wishes, ids, strict=False):",
    ): "`_Names` has compared the same lengths before.",
    (
        "board/services/new_tasks.py",
        "wishes_of",
        "return [_wish(draft, own, allowed_by, source) for draft, own in zip(drafts, parts, strict=True)] => "
        "return [_wish(draft, own, allowed_by, source) for draft, own in zip(drafts, parts, strict=False)]",
    ): "The one is made of the other, a line above.",
    (
        "board/services/new_tasks.py",
        "_Names.knows",
        "return folded(name) in self.keys or folded(name) in self.titles => "
        "return folded(name) in self.keys and folded(name) in self.titles",
    ): "The board's names are made ready in vain then: those of the plan are asked before them.",
    (
        "board/services/new_tasks.py",
        "_Names.__init__",
        "for id, key, title in zip(ids, keys, titles, strict=True): => "
        "for id, key, title in zip(ids, keys, titles, strict=False):",
    ): "`meant_tasks` compares the same lengths after it.",
    (
        "mail/services/reading.py",
        "Filter.of",
        "return kept if self.limit is None else kept[len(kept) - self.limit :] if self.limit < len(kept) else kept => "
        "return kept if self.limit is None else kept[len(kept) - self.limit :] if self.limit <= len(kept) else kept",
    ): "With as many messages as the limit, the slice begins at 0 and holds them all.",
    ("mail/services/spooling.py", "_postpone", 'return "waiting" => return None'): (
        "`_drain`, which alone sees it, takes whatever is neither delivered nor failed for waiting."
    ),
    ("mail/services/spooling.py", "_postpone", 'return "waiting" => return None (place 2)'): (
        "`_drain`, which alone sees it, takes whatever is neither delivered nor failed for waiting."
    ),
    (
        "board/adapters/board_scan.py",
        "BoardScanner.scan",
        "and len(line) <= END => and len(line) < END",
    ): "A line that is not taken as it is goes the longer way, and is kept there if it is one of ours.",
    (
        "board/adapters/board_scan.py",
        "BoardScanner._remembered",
        "if len(self._indexes) >= MOST_INDEXES: => if len(self._indexes) > MOST_INDEXES:",
    ): "One more index is remembered.",
    (
        "board/adapters/board_scan.py",
        "BoardScanner._remembered",
        "self._indexes.pop(team, None) => pass",
    ): "What was read before still holds: the next look begins at its end again, and checks that this is there.",
    ("files/adapters/disk.py", "_copy_in_kernel", "while done < size: => while done <= size:"): (
        "Asked for nothing, the kernel copies nothing, and that ends the loop too."
    ),
    (
        "files/adapters/rewriting.py",
        "Rewriter.apply",
        "carried = carried or vanished > 0 => carried = carried or vanished >= 0",
    ): "The same rows are placed; only that all of them are read for it, which the line above has done anyway.",
    ("files/adapters/locking.py", "Locks.owner_of", 'return "unknown" => return None'): (
        "`may_break`, which alone sees it, asks for dead and for alive; everything else is judged by age."
    ),
    ("files/adapters/remains/stale_locks.py", "LockWatch.may_break", "return False => return True (place 3)"): (
        "What is neither a folder nor a file is left alone once more by `break_lock`, so it stays either way."
    ),
    (
        "mail/adapters/inbox_edits.py",
        "ClaimNamed.quick",
        "if self._rows.claimed is None and source.size > LARGE: => "
        "if self._rows.claimed is None and source.size >= LARGE:",
    ): "Both ways claim the same rows, which tests say; at the edge they take the same time too.",
    ("mail/adapters/inbox_edits.py", "Mark._marked", "if len(data) > LARGE: => if len(data) >= LARGE:"): (
        "Both ways mark the same rows, which tests say; at the edge they take the same time too."
    ),
    (
        "mail/adapters/inbox_store.py",
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
