"""
Requests for approval on disk: implements `ports.approvals.Approvals`.

`{id}.json` is the request, written once; `{id}.answer`, `{id}.used` and `{id}.left` are made by whoever is first. The
last six letters of an id are of the call's digest, so that a call finds the requests about it by their names.
"""

from __future__ import annotations

from atm.domain.approvals.requests import APPROVED
from atm.domain.errors import NoSuchTeam
from atm.formats.approvals.records import (
    decode_given,
    decode_mark,
    decode_request,
    encode_given,
    encode_mark,
    encode_request,
)
from atm.formats.files.json_record import NotJson, decode_object, to_text
from atm.system.files.numbered_log import NumberedLog
from atm.system.files.refusals import explained, in_team
from atm.system.files.team_data import TeamData
from atm.system.files.whole_files import read_whole, write_new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.domain.approvals.requests import Approval, GivenAnswer
    from atm.domain.plain import Record
    from atm.formats.approvals.records import AuditLine
    from atm.formats.files.layout import Layout
    from atm.ports.files.disk import Disk
    from atm.ports.files.records import TeamSecrets
    from atm.system.files.locking import Locks

SUFFIX, ANSWER, USED, LEFT = ".json", ".answer", ".used", ".left"
LARGEST = 4 << 20
OF_DIGEST = 6
"""Letters of a call's digest with which the id of a request about it ends."""


class ApprovalFiles:
    """Private files in a private folder of the team's."""

    def __init__(self, disk: Disk, locks: Locks, layout: Layout, secrets: TeamSecrets) -> None:
        self._disk = disk
        self._layout = layout
        self._secrets = secrets
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

    def use(self, approval: Approval, at: float, call_id: str) -> bool:
        return self._mark(approval, USED, encode_mark(at, call_id))

    def leave(self, approval: Approval, at: float) -> None:
        self._mark(approval, LEFT, encode_mark(at, ""))

    def remove(self, approval: Approval) -> None:
        """The request last: what is left of a removal that was cut off is still what it was."""
        path = self._path(approval.team, approval.id).removesuffix(SUFFIX)
        with explained(path):
            for suffix in (LEFT, USED, ANSWER, SUFFIX):
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
        path = f"{self._layout.approvals(team)}/audit.jsonl"
        with in_team(path):
            self._places.check(team, path)
            self._places.prepare(team, path)
            self._log.append_to(path, lines)

    def audit(self, team: str) -> list[Record]:
        path = f"{self._layout.approvals(team)}/audit.jsonl"
        with explained(path):
            try:
                lines = read_whole(self._disk, path).split(b"\n")
            except FileNotFoundError:
                return []
        found: list[Record] = []
        for line in lines:
            try:
                found.append(decode_object(to_text(line)))
            except NotJson:
                continue  # torn by a crash, or none of ours
        return found

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
        used, left = self._content(f"{stem}{USED}"), self._content(f"{stem}{LEFT}")
        if used is not None:
            approval.used_at, approval.used_by = decode_mark(used)
        if left is not None:
            approval.left_at = decode_mark(left)[0]
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
