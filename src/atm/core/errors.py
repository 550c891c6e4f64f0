"""
Every error that a user can meet, in one tree. Here are those that any command can meet, and in `work_errors` those of
the board, sessions, crew, runs, merges, approvals and the daemon: a class costs time, and `atm send` needs few.

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
    │   ├── RunDied             the last run was killed, and the caller has not said what becomes of it
    │   ├── WrongRepository     the team belongs to another repository than this one
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
        │   └── CommitGone      git removed a commit of finished work
        │   └── CommitGone      a commit of finished work that git removed
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


class InboxFull(RequestError):
    """The recipient has not read what this sender sent before, and no more of it is taken."""

    code = "inbox-full"


class TeamNotOurs(RequestError):
    """Claude Code owns the team and overwrites its roster; we only read it."""

    code = "team-not-ours"


class TeamCompleted(RequestError):
    """The team is complete: everything in it can be read, nothing can be changed."""

    code = "team-completed"


class NotAllowed(RequestError):
    """That is for the lead or a human."""

    code = "not-allowed"


class DiskError(AtmError):
    """What we found on disk is not what it should be."""

    code = "disk"


class UnreadableFile(DiskError):
    """Not JSON, or JSON of another shape. Never repaired by guessing."""

    code = "unreadable-file"


class OutsideLink(DiskError):
    """A symbolic link that leads out of the folder it stands in."""

    code = "outside-link"


class FileBusy(DiskError):
    """Another process held the lock for longer than we wait."""

    code = "file-busy"


class WriteRefused(DiskError):
    """The system refused to read or write: permission, full disk, read-only file system."""

    code = "write-refused"
