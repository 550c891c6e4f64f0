"""
How much is tried: what a change could break in every run, and all of it in `make chaos`.

A disk can refuse at every step, and in several ways. The way matters in a handful of places, which have a table of
their own in `tests/files/adapters/test_refusals.py`; everywhere else only the step does. So the ways take turns: every
step that changes something is refused once, of those that only look every third (`LOOKING`), and every call (`write`,
`sync`, `rename`, ...) is refused in every way as soon as that happens four times. `make chaos` goes round once for each
way, with every step, and so tries all pairs.

A process can be killed at every step too, and most steps only look: what it leaves then is what it would have left a
step before (`kills`).
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONG = os.environ.get("ATM_CHAOS") == "long"

WAYS = ("ENOSPC", "EACCES", "EROFS", "EIO")
ROUNDS = range(len(WAYS)) if LONG else range(1)
"""For `parametrize`: in each round every step is refused in another way."""


SPARSE = {
    "test_a_kill_at_any_step_leaves_a_change_done_or_undone": 5,
    "test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one_and_the_next_run_finishes": 3,
    "test_a_number_that_no_task_has_is_an_error_with_a_way_out": 8,
    "test_a_plugin_that_fails_is_told_apart_and_in_the_end_left_alone": 5,
    "test_a_team_whose_files_are_broken_costs_nobody_else_anything": 5,
    "test_an_answer_that_is_none_puts_nothing_into_the_session": 3,
    "test_an_error_at_any_step_is_a_clear_refusal_or_success_and_nothing_half_made": 5,
    "test_an_error_at_any_step_is_done_or_a_clear_refusal": 2,
    "test_an_error_at_any_step_is_no_traceback_no_lie_and_no_second_nudge": 3,
    "test_an_inbox_of_brackets_keeps_nobody_for_long": 2,
    "test_everybody_else_is_served_too": 3,
    "test_killed_at_a_step_of_draining_the_spool_it_delivers_everything_once_and_in_order": 2,
    "test_killed_at_a_step_of_pasting_mail_it_is_submitted_once": 3,
    "test_killed_at_a_step_of_putting_rows_back_it_puts_each_back_once": 2,
    "test_killed_at_a_step_of_waking_an_agent_its_hook_shows_the_mail_once": 2,
    "test_killed_at_any_step_everybody_is_told_once": 2,
    "test_killed_at_any_step_there_is_one_nudge_and_no_lost_report": 3,
    "test_mail_that_a_server_in_this_process_did_not_hand_over_is_given_back": 3,
    "test_mail_that_nobody_could_hear_stays_unread": 5,
    "test_no_field_of_any_file_reaches_a_model_raw_in_any_answer": 4,
    "test_no_mode_is_made_worse_for_its_owner": 2,
    "test_no_pattern_makes_it_look_at_a_folder_again_and_again": 4,
    "test_no_single_switch_carries_it_all": 3,
    "test_refused_before_anything_is_written": 3,
    "test_sends_beside_a_rival_end_in_time_and_neither_loses_a_row": 3,
    "test_text_that_is_more_than_text_is_refused": 3,
    "test_whatever_the_umask_all_of_ours_is_private_and_nothing_shared_is_wider_than_documented": 2,
    "test_with_a_folder_of_roots_doctor_looks_at_everything_else_and_names_it": 2,
    "test_whoever_is_killed_at_any_step_loses_nothing": 5,
    "test_each_finding_has_a_command_that_mends_it": 3,
    "test_a_hostile_text_is_finished_in_the_time_that_its_length_deserves": 4,
    "test_an_inbox_of_another_shape_is_never_repaired_and_loses_nothing": 2,
    "test_no_checklist_takes_long": 3,
    "test_a_lock_that_somebody_left_long_ago_is_taken_over": 3,
    "test_a_command_ends_with_a_code_and_what_it_said": 2,
    "test_mail_that_stuck_in_a_full_pipe_is_given_back": 3,
    "test_mail_that_came_after_the_kill_comes_after_the_mail_before_it": 2,
    "test_killed_anywhere_while_it_starts_an_agent_the_next_command_leaves_nothing_half_made": 3,
    "test_a_change_that_was_begun_is_finished_and_reported": 2,
    "test_a_daemon_starts_although_settings_are_wrong_and_says_so": 2,
    "test_a_payload_of_garbage_is_no_error": 4,
    "test_a_real_kill_signal_at_any_step_leaves_a_change_done_or_undone": 3,
    "test_a_real_signal_leaves_the_same": 3,
    "test_an_inbox_that_is_too_large_is_told_and_logged_and_urgent_mail_shown_once": 3,
    "test_an_interrupted_run_ends_its_agents_and_can_go_on": 2,
    "test_killed_once_more_at_any_step_while_finishing_what_a_killed_process_began": 2,
    "test_one_that_is_half_gone_can_be_removed_and_what_was_in_it_is_saved": 3,
    "test_or_made_anew": 3,
    "test_a_daemon_brings_back_what_a_rival_drops_of_its_own_without_any_command": 2,
    "test_the_command_after_a_kill_beside_a_rival_is_not_slow": 2,
}
"""Dear tests of which every so manieth case is tried in every run, and all of them in `make chaos`."""


LOOKING = frozenset(
    {
        *("look", "look_open", "real_path", "names", "versions", "open_read", "is_written", "read_at", "close"),
        *("sync", "sync_folder"),
    }
)
"""Steps that change nothing on the disk: a process killed after one of them leaves what it would have left before."""

EVERY_LOOK = 1 if LONG else 3


def kills(steps: Sequence[str]) -> list[int]:
    """
    The steps at which a kill can leave something else than a kill at another one: right after and right before each
    change. Between two changes the disk stays as it is; what the process says there, to an agent or its caller, it has
    not said at the first of these steps, and has said at the last. A write that is stopped has written half.
    """
    return [
        step
        for step, name in enumerate(steps)
        if LONG or step == 0 or name not in LOOKING or steps[step - 1] not in LOOKING
    ]


def examples(usual: int) -> int:
    """So many generated cases; ten times as many in `make chaos`, where they are new ones each time."""
    return usual * 10 if LONG else usual


@dataclass(frozen=True)
class Refusal:
    """What the disk says at one step."""

    step: int
    call: str
    way: str

    def __str__(self) -> str:
        return f"{self.way} at step {self.step} ({self.call})"

    @property
    def error(self) -> OSError:
        return an_error(self.way)


def an_error(way: str) -> OSError:
    number = getattr(errno, way)
    return OSError(number, os.strerror(number))


def refusals(steps: Sequence[str], turn: int = 0) -> Iterator[Refusal]:
    """
    Each change refused once, and each third look. Where there are several scenarios, each should begin with another
    turn: then they refuse other looks, too.

    Counted for each call by itself: a loop of four calls would else be refused in the same four ways for ever.
    """
    made, looks = Counter[str](), turn
    for step, call in enumerate(steps):
        looks += call in LOOKING
        if call in LOOKING and looks % EVERY_LOOK:
            continue
        yield Refusal(step, call, WAYS[(turn + made[call]) % len(WAYS)])
        made[call] += 1
