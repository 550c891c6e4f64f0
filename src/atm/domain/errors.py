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
    │   ├── MemberInUse         removal would lose unread mail
    │   ├── TeamNotOurs         Claude Code owns this team's roster
    │   └── FileNotAllowed      a file reference that the settings do not permit
    └── DiskError               what we found on disk is not what it should be
        ├── UnreadableFile      not JSON, or not the shape that belongs there
        ├── OutsideLink         a link that leads out of the folder it stands in
        ├── FileBusy            somebody else held a lock for too long
        └── WriteRefused        permission, full disk, read-only: the system said no

Each carries what happened (`str(error)`), what to do next (`remedy`) and to which file (`path`), and
survives pickling. An expected "no" that a caller must decide upon is a value, not one of these.
"""

from __future__ import annotations


class AtmError(Exception):
    """The root: catch it and you have caught every error that atm raises on purpose."""

    code = "error"

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


class MemberInUse(RequestError):
    """Removing this member would take unread mail with it."""

    code = "member-in-use"


class TeamNotOurs(RequestError):
    """Claude Code owns the team and overwrites its roster; we only read it."""

    code = "team-not-ours"


class FileNotAllowed(RequestError):
    """The settings do not permit a reference to this file."""

    code = "file-not-allowed"


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
    """Somebody else held the lock for longer than we wait."""

    code = "file-busy"


class WriteRefused(DiskError):
    """The system refused to read or write: permission, full disk, read-only file system."""

    code = "write-refused"
