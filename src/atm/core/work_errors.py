"""Errors of whoever works: at the board, in sessions and runs, with agents, approvals and the daemon (see `errors`)."""

from __future__ import annotations

from atm.core.errors import DiskError, RequestError


class AlreadyAnswered(RequestError):
    """The message was acknowledged before; a second reply would reach the sender twice."""

    code = "already-answered"


class MemberInUse(RequestError):
    """Removing this member would take unread mail with it, or an agent that may be at work, or the lead."""

    code = "member-in-use"


class TeamInUse(RequestError):
    """Members are there, mail is unread or tasks are open: ending this team would cut members off."""

    code = "team-in-use"


class BadMove(RequestError):
    """The life of a team has no such step from where it stands."""

    code = "bad-move"


class NoSuchBackup(RequestError):
    """The team has no backup of that name, or none at all."""

    code = "no-such-backup"


class BadTask(RequestError):
    """A task that cannot be written as it was given."""

    code = "bad-task"


class NoSuchTask(RequestError):
    """The board has no task of that number, or not any more."""

    code = "no-such-task"


class DependencyCycle(RequestError):
    """Tasks that would wait for one another for ever. Nothing was written."""

    code = "dependency-cycle"


class NotClaimant(RequestError):
    """Only the current claimant may finish, fail or release a task."""

    code = "not-claimant"


class TaskClosed(RequestError):
    """The task is completed, failed or cancelled."""

    code = "task-closed"


class NotTrusted(RequestError):
    """What a repository, a plan or a task file asks for, to which no person has said yes (D25)."""

    code = "not-trusted"


class ForeignFile(RequestError):
    """The file, its folder or its repository belongs to another user, so it is not read."""

    code = "foreign-file"


class ReviewRefused(RequestError):
    """A review of one's own work, by a member who was not asked, or of something that is not in review."""

    code = "review-refused"


class PlanRefused(RequestError):
    """There is no approved plan, or no plan to decide about."""

    code = "plan-refused"


class ChecksFailed(RequestError):
    """The evidence that the task asks for is not there, so it is not completed."""

    code = "checks-failed"
    has_output = True


class HookBlocked(RequestError):
    """A hook of the user's said no."""

    code = "hook-blocked"
    has_output = True


class FileNotAllowed(RequestError):
    """The settings do not permit a reference to this file."""

    code = "file-not-allowed"


class DaemonRunning(RequestError):
    """A daemon serves this home already; a second one would do everything twice."""

    code = "daemon-running"


class RuntimeMissing(RequestError):
    """The program that an agent would be run with is not here, or cannot be used."""

    code = "runtime-missing"


class NoSuchAgent(RequestError):
    """No agent of that name was started by atm."""

    code = "no-such-agent"


class SpawnFailed(RequestError):
    """An agent could not be started. Nothing of it is left."""

    code = "spawn-failed"


class TeamStopped(RequestError):
    """A person stopped the team: nothing is started in it until a person does."""

    code = "team-stopped"


class RunActive(RequestError):
    """A run of this team is under way."""

    code = "run-active"


class RunDied(RequestError):
    """The last run of this team was killed, and the caller has not said what becomes of it."""

    code = "run-died"


class WrongRepository(RequestError):
    """The team belongs to another repository than the one that the command is run in."""

    code = "wrong-repository"


class NoSuchMerge(RequestError):
    """Nothing of that task waits to be merged."""

    code = "no-such-merge"


class NoSuchRun(RequestError):
    """No run of the team has that name, or several begin with it."""

    code = "no-such-run"


class LeadPresent(RequestError):
    """Another session leads the team, and was seen not long ago."""

    code = "lead-present"


class ApprovalClosed(RequestError):
    """It was answered already, or its time is over."""

    code = "approval-closed"


class NoSuchApproval(RequestError):
    """No request has that id."""

    code = "no-such-approval"


class TeamNotInitialized(RequestError):
    """It was made, and nobody has begun to work in it."""

    code = "team-not-initialized"


class ConsolidationRunning(RequestError):
    """Somebody who is there is bringing the team's work together."""

    code = "consolidation-running"


class GitTrouble(DiskError):
    """Git could not do what was needed."""

    code = "git-trouble"


class CommitGone(GitTrouble):
    """A commit of finished work was removed by git, after its branch and every copy of it were deleted."""

    code = "commit-gone"


def commit_gone(commit: str, repository: str) -> CommitGone:
    return CommitGone(
        f"commit {commit[:12] or '(none)'} is not in {repository} any more: no branch had it, and git removed it",
        "fetch it from a clone that has it, or leave its task out: atm merge skip ID --reason TEXT",
        repository,
    )


class DamagedBackup(DiskError):
    """A file of the backup is missing, changed, or named so that it could lead out of its folder."""

    code = "damaged-backup"


class DaemonTrouble(DiskError):
    """The daemon runs, but what it answered is no answer."""

    code = "daemon-trouble"
