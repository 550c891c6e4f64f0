"""Every setting: its kind, its default and what it is for. The reference page is checked against this table."""

from __future__ import annotations

from atm.mail.rules.messages import DEFAULT_CALL_TO_ACTION
from atm.mail.rules.quotas import MOST_BYTES, MOST_ROWS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.settings_text import Value

TEXT, WHOLE, NUMBER, YES_NO, TEXTS = "text", "whole number", "number", "true or false", "text or a list of texts"
RULES = "list of tables"

KNOWN: dict[str, tuple[str, Value | None, str]] = {
    "core.default_team": (TEXT, None, "the team that commands mean when none is named"),
    "core.identity": (TEXT, "human", "who sends, and whose inbox `atm read` shows"),
    "messaging.offline_action": (TEXT, DEFAULT_CALL_TO_ACTION, 'tag for recipients who are away; "" for none'),
    "messaging.share_dir": (TEXT, "", "where copies of shared files go, instead of ~/.config/atm/share"),
    "messaging.max_retries": (WHOLE, 10, "tries after which a waiting message is given up and kept"),
    "messaging.max_unread_rows": (WHOLE, MOST_ROWS, "unread messages of one sender with one recipient; 0 for no limit"),
    "messaging.max_unread_bytes": (WHOLE, MOST_BYTES, "bytes of them; 0 for no limit"),
    "display.format": (TEXT, "text", "text or json"),
    "display.color": (YES_NO, True, "colour on terminals"),
    "display.timestamps": (TEXT, "relative", "relative, absolute or iso8601"),
    "hooks.TaskCreated": (TEXTS, "", "commands asked before a task is created; exit code 2 refuses it"),
    "hooks.TaskCompleted": (TEXTS, "", "commands asked before a task is completed; exit code 2 refuses it"),
    "hooks.TeammateIdle": (TEXTS, "", "commands told once when a member finds nothing to claim"),
    "hooks.seconds": (NUMBER, 60, "seconds after which a hook is stopped and passed over"),
    "board.check_seconds": (NUMBER, 600, "seconds that one acceptance check may take"),
    "board.max_retries": (WHOLE, 2, "retries of a failed task, unless the task says otherwise"),
    "board.remind_minutes": (NUMBER, 30, "minutes after which a task that waits for a word is told of; 0 for never"),
    "board.stall_minutes": (NUMBER, 30, "minutes without progress after which a task's owner is asked; 0 for never"),
    "worksync.quiet_seconds": (NUMBER, 90, "quiet seconds after a change before a member's agenda is looked at"),
    "worksync.observe_minutes": (NUMBER, 60, "minutes for which a team is observed before anybody is nudged"),
    "worksync.least_looks": (WHOLE, 20, "looks at a team's members before anybody is nudged"),
    "delivery.stop_on": (TEXT, "urgent", "unread mail that keeps an agent from ending its turn: urgent, any or never"),
    "delivery.tmux": (YES_NO, True, "may the daemon paste into an agent's terminal where there is no better way"),
    "delivery.ack_minutes": (NUMBER, 15, "minutes after which a missing acknowledgement is told to the lead"),
    "daemon.autostart": (YES_NO, True, "start the daemon when a command needs it"),
    "daemon.telemetry": (TEXT, "", "address of an OpenTelemetry collector, http://localhost:4318; empty for none"),
    "crew.start_seconds": (NUMBER, 30, "seconds within which an agent that is started must be there"),
    "crew.shutdown_seconds": (NUMBER, 60, "seconds of silence after which an agent that was asked to end is killed"),
    "crew.finish_minutes": (NUMBER, 30, "minutes that an agent gets to finish its task when it is asked to end"),
    "crew.gone_seconds": (NUMBER, 5, "seconds within which nothing of a killed agent may be left"),
    "crew.task_minutes": (NUMBER, 60, "minutes that one attempt by a script agent may take; 0 for no limit"),
    "crew.lease_minutes": (NUMBER, 10, "minutes after which the ports of an agent that is not heard of are free"),
    "crew.first_port": (WHOLE, 20000, "where the ports of agents begin"),
    "crew.ports_each": (WHOLE, 20, "ports that each agent has, from ATM_PORT_BASE on"),
    "crew.setup": (TEXT, "", "a command that is run in every new worktree before the work begins"),
    "crew.accept_edits": (YES_NO, True, "may agents edit files in their own worktree without being asked"),
    "crew.require_tools": (TEXTS, "", "what an agent's program must have before it is started: hooks, mcp"),
    "crew.delegate": (YES_NO, False, "does a lead only coordinate: no edits, no commands of its own"),
    "approvals.default": (TEXT, "ask-human", "what becomes of calls that no rule is about"),
    "approvals.rules": (RULES, [], "rules, each a table: decision, and tool, command, path, branch or operation"),
    "approvals.expire_minutes": (NUMBER, 30, "minutes after which a request that nobody answered is denied"),
    "approvals.valid_minutes": (NUMBER, 10, "minutes within which a yes must be used, and for which a no holds"),
    "approvals.hook_seconds": (NUMBER, 20, "seconds that a call waits for an answer before it is denied for now"),
    "approvals.popup": (YES_NO, True, "may the daemon show a request to you in a window of tmux"),
    "approvals.defer": (YES_NO, False, "may Claude Code end and wait for an answer, to be resumed with it"),
    "runs.max_minutes": (NUMBER, 480, "minutes that a run may last; 0 for no limit"),
    "runs.max_turns": (WHOLE, 0, "turns of all agents of a run; 0 for no limit"),
    "runs.max_tokens": (WHOLE, 0, "tokens of a run, where its runtimes tell them; 0 for no limit"),
    "runs.max_cost": (NUMBER, 0, "cost of a run, where its runtimes tell it; 0 for no limit"),
    "runs.agent_minutes": (NUMBER, 0, "minutes that one agent may work in a run; 0 for no limit"),
    "runs.agent_turns": (WHOLE, 0, "turns of one agent in a run; 0 for no limit"),
    "runs.agent_tokens": (WHOLE, 0, "tokens of one agent in a run; 0 for no limit"),
    "runs.agent_cost": (NUMBER, 0, "cost of one agent in a run; 0 for no limit"),
    "runs.task_minutes": (NUMBER, 120, "minutes that a task of a run may take, all attempts together; 0 for no limit"),
    "runs.task_turns": (WHOLE, 60, "turns that a task of a run may take, all attempts together; 0 for no limit"),
    "runs.task_tokens": (WHOLE, 0, "tokens of one task, all attempts together; 0 for no limit"),
    "runs.task_cost": (NUMBER, 0, "cost of one task, all attempts together; 0 for no limit"),
    "runs.restarts": (WHOLE, 2, "how often an agent that died is started again"),
    "runs.stuck_factor": (NUMBER, 2, "an agent silent for so many times the usual time of a task is asked"),
    "runs.stuck_minutes": (NUMBER, 10, "the same in minutes, before three tasks are finished"),
    "runs.stuck_least_seconds": (NUMBER, 300, "nobody is asked sooner than that"),
    "runs.answer_seconds": (NUMBER, 60, "seconds after which an agent that does not answer is ended"),
    "runs.human_minutes": (NUMBER, 30, "minutes that a run waits when nothing can go on without a person"),
    "merges.strategy": (TEXT, "rebase", "how finished work is merged: rebase, merge, squash, or none"),
    "merges.at": (TEXT, "task", "when a run merges: after each task, or all at the end"),
    "merges.at_once": (WHOLE, 1, "how many tasks are merged together before the checks run; a red batch is halved"),
    "merges.check": (TEXT, "", "a command that must succeed after every merge, beside the checks of the tasks"),
    "merges.resolver": (TEXT, "", "the runtime that resolves conflicts (default: one of the run's); none: nobody"),
    "merges.resolve_command": (TEXT, "", "a command that resolves conflicts, in a worktree with git's conflict marks"),
    "merges.resolve_minutes": (NUMBER, 20, "minutes for that"),
    "merges.sends_back": (WHOLE, 2, "how often a task that is red together with others is opened again"),
    "merges.radar_seconds": (NUMBER, 15, "seconds between looks at what agents change at once; 0: none"),
    "runs.overlap": (YES_NO, False, "may tasks that name the same files be worked on at once"),
    "sessions.lead_away_minutes": (NUMBER, 5, "minutes of a lead's silence after which mail of its teammates waits"),
    "sessions.takeover_minutes": (NUMBER, 30, "minutes of a lead's silence after which another session may take over"),
    "sessions.zombie_minutes": (NUMBER, 30, "minutes that agents wait for a lead before they are shut down"),
    "sessions.zombie_idle_minutes": (NUMBER, 10, "minutes that an idle agent keeps its task while the lead is away"),
    "sessions.blocked_minutes": (NUMBER, 10, "minutes that a task waits for the word of a lead who is away"),
    "sessions.checkpoint_seconds": (NUMBER, 30, "seconds between two checkpoints of a team"),
    "sessions.git_seconds": (NUMBER, 30, "seconds between two checkpoints in git"),
    "sessions.undelivered_minutes": (NUMBER, 5, "minutes that a message may lie unseen before an agent that is there"),
    "sessions.restart_minutes": (NUMBER, 5, "minutes that an agent that died in the middle of a task is waited for"),
    "sessions.confirm_minutes": (NUMBER, 5, "minutes that members have to look at their changes"),
    "sessions.keep_commits": (WHOLE, 200, "checkpoints that are kept in git"),
    "sessions.checks": (TEXTS, "", "commands that must pass before a team's work is committed"),
    "retention.keep_read": (WHOLE, 500, "read messages that are always kept"),
    "retention.keep_days": (NUMBER, 7, "days for which read messages are always kept"),
    "retention.keep_idle": (WHOLE, 10, "read idle notices that are kept for each sender"),
    "retention.compact_above": (WHOLE, 1000, "rows above which a send cleans the inbox up"),
    "retention.claude_inboxes": (YES_NO, False, "also clean up inboxes that Claude Code reads itself"),
}
"""Every key: its kind, its default and what it is for. The reference page is checked against this table."""

CHOICES = {
    "approvals.default": ("allow", "ask-lead", "ask-human", "deny"),
    "delivery.stop_on": ("urgent", "any", "never"),
    "merges.at": ("task", "end"),
    "merges.strategy": ("rebase", "merge", "squash", "none"),
    "display.format": ("text", "json"),
    "display.timestamps": ("relative", "absolute", "iso8601"),
}
NAMES = {"core.default_team": "team", "core.identity": "member"}
"""Values that become part of a path."""

LIMITS = ("messaging.max_unread_rows", "messaging.max_unread_bytes")
"""
What bounds whoever runs a command. The user's own file sets the most; a repository's file, and one that `ATM_CONFIG`
names, can only lower it: whoever floods a teammate could write either.
"""

POLICY = ("approvals.default", "approvals.rules")
"""What adds up: the user's own file decides; the others can only narrow it, and need no consent for that."""
