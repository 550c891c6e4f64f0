"""
Requests for approval on disk: implements `approvals.ports.Approvals`.

`{id}.json` is the request, written once; `{id}.answer`, `{id}.used` and `{id}.left` are created exclusively. The last
six letters of an id are of the call's digest, so that a call finds the requests about it by their names.

The audit decides whether an approval may be used, not the absence of a file: `audit.seal` shows whether lines of the
audit were removed. The lock on the seal is taken before the lock on the audit.
"""

from __future__ import annotations

from atm.approvals.formats.records import (
    decode_given,
    decode_mark,
    decode_request,
    encode_given,
    encode_mark,
    encode_request,
)
from atm.approvals.rules.requests import APPROVED, LEFT, SKEW, USED, audit_objection
from atm.core.errors import NoSuchTeam, UnreadableFile
from atm.files.adapters.numbered_log import NumberedLog
from atm.files.adapters.refusals import explained, in_team
from atm.files.adapters.team_data import TeamData
from atm.files.adapters.whole_files import read_whole, write_new, write_over
from atm.files.formats.json_record import NotJson, decode_object, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.approvals.formats.audit_seal import AuditSeal
    from atm.approvals.formats.records import AuditLine
    from atm.approvals.rules.requests import Approval, GivenAnswer
    from atm.core.plain import Record
    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk
    from atm.files.ports.records import TeamSecrets

SUFFIX, ANSWER, USED_MARK, LEFT_MARK = ".json", ".answer", ".used", ".left"
LARGEST = 4 << 20
OF_DIGEST = 6
"""Letters of a call's digest with which the id of a request about it ends."""


class ApprovalFiles:
    """Private files in a private folder of the team's."""

    def __init__(self, disk: Disk, locks: Locks, layout: Layout, secrets: TeamSecrets) -> None:
        self._disk = disk
        self._layout = layout
        self._secrets = secrets
        self._locks = locks
        self._places = TeamData(disk, layout)
        self._log = NumberedLog(disk, locks, layout)

    def create(self, approval: Approval) -> bool:
        path = self._path(approval.team, approval.id)
        with in_team(path):
            self._places.check(approval.team, path)
            self._places.prepare(approval.team, path)
            return self._made(path, encode_request(approval, self._secrets.secret(approval.team)))

    def read(self, team: str, id: str) -> Approval | None:
        path = self._path(team, id)
        with explained(path):
            try:
                self._places.check(team, path)
                return self._read(team, id)
            except (FileNotFoundError, NotADirectoryError, NoSuchTeam):
                return None

    def all(self, team: str) -> list[Approval]:
        found = [self.read(team, id) for id in self._ids(team)]
        return sorted((one for one in found if one is not None), key=lambda one: (one.asked_at, one.id))

    def like(self, team: str, digest: str) -> list[Approval]:
        alike = [self.read(team, id) for id in self._ids(team) if id.endswith(digest[:OF_DIGEST])]
        found = [one for one in alike if one is not None and one.digest == digest and not one.problem]
        return sorted(found, key=lambda one: -one.asked_at)

    def answer(self, approval: Approval, answer: GivenAnswer) -> bool:
        said = encode_given(approval, answer, self._secrets.secret(approval.team))
        return self._mark(approval, ANSWER, said)

    def seal(self, team: str, now: float) -> None:
        path = self._seal_path(team)
        with in_team(path):
            self._places.check(team, path)
            self._places.prepare(team, path)
            with self._locks.private(path):
                audit, seal = self._audit_bytes(team), self._read_seal(team)
                if seal is None or seal.since > now + SKEW or not seal.fits(audit):
                    self._write_seal(team, audit, now)

    def events(self, approval: Approval) -> list[str] | None:
        with explained(self._audit_path(approval.team)):
            return self._events(approval, self._read_seal(approval.team))

    def use(self, approval: Approval, at: float, call_id: str, line: AuditLine) -> bool:
        team = approval.team
        path, secret = self._seal_path(team), self._secrets.secret(team)
        with in_team(path), self._locks.private(path):
            self._places.check(team, path)
            seal = self._read_seal(team)
            events = self._events(approval, seal)
            if seal is None or events is None or audit_objection(events, APPROVED):
                return False
            if not self._mark(approval, USED_MARK, encode_mark(approval, USED, at, call_id, secret)):
                return False
            self._log.append_to(self._audit_path(team), [line])
            self._write_seal(team, self._audit_bytes(team), seal.since)
            return True

    def leave(self, approval: Approval, at: float) -> None:
        secret = self._secrets.secret(approval.team)
        self._mark(approval, LEFT_MARK, encode_mark(approval, LEFT, at, "", secret))

    def remove(self, approval: Approval) -> None:
        """The request last: what is left of a removal that was cut off is still what it was."""
        path = self._path(approval.team, approval.id).removesuffix(SUFFIX)
        with explained(path):
            for suffix in (LEFT_MARK, USED_MARK, ANSWER, SUFFIX):
                if self._disk.look(f"{path}{suffix}") is not None:
                    self._disk.remove(f"{path}{suffix}")

    def version(self, team: str) -> object:
        folder = self._layout.approvals(team)
        with explained(folder):
            found = self._disk.look(folder)
        return None if found is None else found.signature

    def news(self, team: str, id: str) -> object:
        path = self._path(team, id).removesuffix(SUFFIX) + ANSWER
        with explained(path):
            return self._disk.look(path) is not None

    def note(self, team: str, lines: Sequence[AuditLine]) -> None:
        path = self._audit_path(team)
        with in_team(path):
            self._places.check(team, path)
            self._places.prepare(team, path)
            self._log.append_to(path, lines)

    def audit(self, team: str) -> list[Record]:
        path = self._audit_path(team)
        with explained(path):
            lines = self._audit_bytes(team).split(b"\n")
        found: list[Record] = []
        for line in lines:
            try:
                found.append(decode_object(to_text(line)))
            except NotJson:
                continue  # torn by a crash, or none of ours
        return found

    # The audit.

    def _audit_path(self, team: str) -> str:
        return f"{self._layout.approvals(team)}/audit.jsonl"

    def _seal_path(self, team: str) -> str:
        return f"{self._layout.approvals(team)}/audit.seal"

    def _audit_bytes(self, team: str) -> bytes:
        """All of it; empty if there is none yet."""
        path = self._audit_path(team)
        found = self._disk.look(path)
        if found is None:
            return b""
        if found.kind != "file":
            raise UnreadableFile(f"{path} is not a file", "look at it, and remove it", path)
        return read_whole(self._disk, path)

    def _events(self, approval: Approval, seal: AuditSeal | None) -> list[str] | None:
        from atm.approvals.formats.audit_seal import events_in  # here: a call that a rule decides reads no audit

        if seal is None or approval.asked_at < seal.since:
            return None
        audit = self._audit_bytes(approval.team)
        return events_in(audit, approval.id) if seal.fits(audit) else None

    def _read_seal(self, team: str) -> AuditSeal | None:
        from atm.approvals.formats.audit_seal import decode_seal

        data = self._content(self._seal_path(team))
        return decode_seal(data, team, self._secrets.secret(team)) if data else None

    def _write_seal(self, team: str, audit: bytes, since: float) -> None:
        from atm.approvals.formats.audit_seal import encode_seal, sealed

        content = encode_seal(sealed(audit, since), team, self._secrets.secret(team))
        write_over(self._disk, self._seal_path(team), content)

    # Files.

    def _path(self, team: str, id: str) -> str:
        return f"{self._layout.approvals(team)}/{id}{SUFFIX}"

    def _ids(self, team: str) -> list[str]:
        folder = self._layout.approvals(team)
        with explained(folder):
            names = self._disk.names(folder)
        return [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX) and not name.startswith(".")]

    def _made(self, path: str, data: bytes) -> bool:
        try:
            write_new(self._disk, path, data)
        except FileExistsError:
            return False
        return True

    def _mark(self, approval: Approval, suffix: str, data: bytes) -> bool:
        path = self._path(approval.team, approval.id).removesuffix(SUFFIX) + suffix
        with in_team(path):
            self._places.check(approval.team, path)
            return self._made(path, data)

    def _content(self, path: str) -> bytes | None:
        """None if nothing lies there. What is no file, or too large to be one of ours, is an answer to nothing."""
        found = self._disk.look(path)
        if found is None:
            return None
        return read_whole(self._disk, path) if found.kind == "file" and found.size <= LARGEST else b""

    def _read(self, team: str, id: str) -> Approval | None:
        path = self._path(team, id)
        data = self._content(path)
        if data is None:
            return None
        secret, stem = self._secrets.secret(team), path.removesuffix(SUFFIX)
        try:
            approval = decode_request(data, id, team, secret)
        except NotJson:
            return None
        self._read_answer(approval, self._content(f"{stem}{ANSWER}"), secret)
        used, left = self._content(f"{stem}{USED_MARK}"), self._content(f"{stem}{LEFT_MARK}")
        if used is not None:
            approval.used_at, approval.used_by = decode_mark(used, approval, USED, secret)
        if left is not None:
            approval.left_at = decode_mark(left, approval, LEFT, secret)[0]
        return approval

    def _read_answer(self, approval: Approval, data: bytes | None, secret: bytes) -> None:
        if data is None:
            return
        try:
            approval.answer = decode_given(data, approval, secret)
        except NotJson as error:
            approval.problem = f"{error}: it counts for nothing"
        if approval.problem and approval.answer is not None and approval.answer.state == APPROVED:
            approval.answer = None
