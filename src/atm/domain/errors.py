"""
Every error that a user can meet, in one tree.

    AtmError
    ├── RequestError            you asked for something that cannot be
    │   ├── UsageError          a flag or an argument is missing, unknown or contradictory
    │   ├── BadName             a team, member or path component that we will not touch
    │   ├── BadMessage          blank, too large, NUL inside, or a forged protocol message
    │   ├── BadSetting          an unknown or ill-typed setting
    │   ├── NoHome              no folder to work in
    │   ├── NoSuchTeam
    │   ├── NoSuchMember
    │   ├── NoSuchMessage
    │   ├── AlreadyAnswered
    │   ├── InboxFull           the recipient has not read what this sender sent before
    │   ├── MemberInUse         it has unread mail, may be at work, or leads the team
    │   ├── TeamInUse           the same of a whole team
    │   ├── TeamNotOurs         Claude Code owns this team's roster
    │   ├── TeamCompleted       the team is done: it can be looked at, not changed
    │   ├── BadMove             a step that the life of a team does not have
    │   ├── NoSuchBackup
    │   ├── BadTask             a task, plan or check that cannot be
    │   ├── NoSuchTask
    │   ├── DependencyCycle     tasks that would wait for one another for ever
    │   ├── NotClaimant         only whoever works on a task may do that
    │   ├── TaskClosed          it is finished, failed or cancelled
    │   ├── NotAllowed          that is for the lead or a human
    │   ├── NotTrusted          no person has said yes to it
    │   ├── ForeignFile         it belongs to another user
    │   ├── ReviewRefused       own work, wrong reviewer, or no review to speak of
    │   ├── PlanRefused         no approved plan; no answer means no
    │   ├── ChecksFailed        what the task declared as proof is not there
    │   ├── HookBlocked         a hook said no, with a reason
    │   ├── DaemonRunning       one daemon for each home
    │   ├── FileNotAllowed      a file reference that the settings do not permit
    │   ├── RuntimeMissing      what an agent would be run with is not here
    │   ├── NoSuchAgent         atm has started none of that name
    │   ├── SpawnFailed         an agent did not come up, and nothing of it is left
    │   ├── TeamStopped         a person stopped the team
    │   ├── RunActive           a loop looks after this team already
    │   ├── NoSuchMerge
    │   ├── NoSuchRun
    │   ├── LeadPresent         another session leads the team, and was seen a moment ago
    │   ├── ApprovalClosed      it was answered already, or its time is over
    │   ├── NoSuchApproval
    │   ├── TeamNotInitialized  it was made, and nobody has begun to work
    │   └── ConsolidationRunning  somebody is bringing the team's work together
    └── DiskError               what we found on disk is not what it should be
        ├── UnreadableFile      not JSON, or not the shape that belongs there
        ├── DamagedBackup       a backup that is not what its manifest says
        ├── OutsideLink         a link that leads out of the folder it stands in
        ├── GitTrouble          git could not do what was needed
        ├── DaemonTrouble       the daemon refused, or answered with something else
        ├── FileBusy            another process held a lock for too long
        └── WriteRefused        permission, full disk, read-only: the system said no

Each carries what happened (`str(error)`), what to do next (`remedy`) and to which file (`path`), and
survives pickling. An expected "no" that a caller must decide upon is a value, not one of these.
"""

from __future__ import annotations


class AtmError(Exception):
    """The root: catch it and you have caught every error that atm raises on purpose."""

    code = "error"
    exit_code = 1
    """Of a command that ends with it."""
    has_output = False
    """Does it carry what a program said, line by line?"""

    def __init__(self, what: str, remedy: str = "", path: str = "") -> None:
        super().__init__(what, remedy, path)
        self.what = what
        self.remedy = remedy
        self.path = path

    def __str__(self) -> str:
        return self.what


class RequestError(AtmError):
    """You asked for something that cannot be."""

    code = "bad-request"


class UsageError(RequestError):
    """A flag or an argument is missing, unknown or contradicts another."""

    code = "usage"
    missing = ""
    """In words, the argument that a person could be asked for."""


class BadName(RequestError):
    """A name that could escape its folder, or that Claude Code could not use."""

    code = "bad-name"


class BadMessage(RequestError):
    """A text that cannot be sent as it is."""

    code = "bad-message"


class BadSetting(RequestError):
    """An unknown key, or a value of the wrong kind, in a settings file or a flag."""

    code = "bad-setting"


class NoHome(RequestError):
    """There is no folder to keep anything in."""

    code = "no-home"


class NoSuchTeam(RequestError):
    """No such team on this machine, or it vanished while we worked."""

    code = "no-such-team"


class NoSuchMember(RequestError):
    """The team has no member of that name."""

    code = "no-such-member"


class NoSuchMessage(RequestError):
    """No message has that id, or several begin with it."""

    code = "no-such-message"


class AlreadyAnswered(RequestError):
    """The message was acknowledged before; a second reply would reach the sender twice."""

    code = "already-answered"


class InboxFull(RequestError):
    """The recipient has not read what this sender sent before, and no more of it is taken."""

    code = "inbox-full"


class MemberInUse(RequestError):
    """Removing this member would take unread mail with it, or an agent that may be at work, or the lead."""

    code = "member-in-use"


class TeamInUse(RequestError):
    """Members are there, mail is unread or tasks are open: ending this team would cut members off."""

    code = "team-in-use"


class TeamNotOurs(RequestError):
    """Claude Code owns the team and overwrites its roster; we only read it."""

    code = "team-not-ours"


class TeamCompleted(RequestError):
    """The team is complete: everything in it can be read, nothing can be changed."""

    code = "team-completed"


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


class NotAllowed(RequestError):
    """That is for the lead or a human."""

    code = "not-allowed"


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


class DiskError(AtmError):
    """What we found on disk is not what it should be."""

    code = "disk"


class GitTrouble(DiskError):
    """Git could not do what was needed."""

    code = "git-trouble"


class UnreadableFile(DiskError):
    """Not JSON, or JSON of another shape. Never repaired by guessing."""

    code = "unreadable-file"


class DamagedBackup(DiskError):
    """A file of the backup is missing, changed, or named so that it could lead out of its folder."""

    code = "damaged-backup"


class OutsideLink(DiskError):
    """A symbolic link that leads out of the folder it stands in."""

    code = "outside-link"


class DaemonTrouble(DiskError):
    """The daemon runs, but what it answered is no answer."""

    code = "daemon-trouble"


class FileBusy(DiskError):
    """Another process held the lock for longer than we wait."""

    code = "file-busy"


class WriteRefused(DiskError):
    """The system refused to read or write: permission, full disk, read-only file system."""

    code = "write-refused"
