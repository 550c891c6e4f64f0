"""What `atm doctor` finds about the machine: can the home be written, is there room, does the clock tell the time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from atm.checkup.rules import NONE, OLDEST_NOW, PLENTY, in_words, is_from_the_future, judge_bytes, judge_inodes
from atm.checkup.services.findings import FIX, PROBLEM, WARNING, Finding, owner_word
from atm.core.plain import counted
from atm.core.untrusted_text import shell_word
from atm.files.formats.times import to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.checkup.ports import FilesAround, HomeTrial, RoomLeft

BLOCKED = {"full": "df -h {0}; df -i {0}", "read-only": "findmnt -T {0}", "shut": "chmod u+rwx {0}"}
"""What to look at, or to do, by the reason why nothing can be written."""


def examine_home(around: FilesAround) -> Iterator[Finding | str]:
    """Try to write where everything is kept."""
    missing = around.missing_home()
    if missing:
        what = f"{missing} does not exist, so there is no mail; is HOME or ATM_HOME what you mean?"
        yield Finding("no-home", PROBLEM, what, f"mkdir -p {shell_word(missing)}", missing)
        return
    trials = around.write_trials()
    for trial in trials:
        if trial.problem:
            yield _unwritable(trial)
    if trials and not any(trial.problem for trial in trials):
        yield f"{trials[0].path} can be written"


def _unwritable(trial: HomeTrial) -> Finding:
    word = shell_word(trial.path)
    command = BLOCKED.get(trial.why, "ls -ld {0}").format(word)
    if trial.why == "foreign":
        command = f"sudo chown {owner_word(trial.owner)} {word}"
    what = f"{trial.path} cannot be written ({trial.problem}), so nothing new is kept there"
    return Finding("cannot-write", PROBLEM, what, command, trial.path)


def examine_room_left(around: FilesAround) -> Iterator[Finding | str]:
    """Free bytes and free inodes, of each file system that we use."""
    found = around.room_left()
    for room in found:
        yield from _room(room)
    if found:
        inodes = [room.inodes for room in found if room.inodes is not None]
        files = f", room for {counted(min(inodes), 'file')}" if inodes else ""
        yield f"{in_words(min(room.free for room in found))} free{files}"


def _room(room: RoomLeft) -> Iterator[Finding]:
    word, size, files = shell_word(room.path), judge_bytes(room.free), judge_inodes(room.inodes)
    if size != PLENTY:
        what = f"the disk of {room.path} has {in_words(room.free)} left; mail that does not fit is refused"
        command = f"df -h {word}; atm cleanup --yes"
        yield Finding("little-space", PROBLEM if size == NONE else WARNING, what, command, room.path)
    if files != PLENTY:
        what = f"the disk of {room.path} has room for {counted(room.inodes or 0, 'more file')}, whatever their size"
        yield Finding("few-inodes", PROBLEM if files == NONE else WARNING, what, f"df -i {word}", room.path)


def examine_clock(around: FilesAround, teams: list[str], now: float) -> Iterator[Finding | str]:
    """Files from the future tell of a clock that was set back: ages, and what counts as left behind, are wrong then."""
    if now < OLDEST_NOW:
        what = f"the clock says {to_iso(now)}, so new mail is older than all that is there"
        yield Finding("wrong-clock", PROBLEM, what, "date", subject="clock")
    ahead = sorted(one.path for one in around.belongings(teams) if is_from_the_future(one.mtime, now))
    if ahead:
        more = f" and {len(ahead) - 1} more" if len(ahead) > 1 else ""
        what = f"{ahead[0]}{more} was changed in the future: the clock was set back, or another machine's is ahead"
        touch = partial(_touch, around, ahead)
        yield Finding("future-files", WARNING, what, FIX, ahead[0], touch, subject="future")
    yield to_iso(now)


def _touch(around: FilesAround, paths: list[str]) -> None:
    for path in paths:
        around.touch(path)
