"""`{member}_checkpoint.json`: what a teammate's work was when it was last looked at, for whoever goes on with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.files.formats.json_record import decode_object, encode, to_bytes, to_text
from atm.team.formats.lead_fields import milliseconds, seconds_in, text_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

LONGEST_OUTPUT = 2000


@dataclass(slots=True, kw_only=True)
class MemberCheckpoint:
    """Of one member and its task."""

    member: str
    task: str = ""
    at: float = 0.0
    worktree: str = ""
    branch: str = ""
    salvage: str = ""
    """The ref under which the changes are saved; empty if there are none that are not committed."""
    files: list[str] = field(default_factory=list)
    command: str = ""
    """The last check, how it ended, and the end of what it said."""
    code: int | None = None
    output: str = ""
    good: str = ""
    """The last commit whose checks passed."""
    inherited_from: str = ""

    @property
    def how_it_ended(self) -> str:
        """The check that failed last, in words; empty if none did."""
        if not self.command or self.code == 0:
            return ""
        return "did not end" if self.code is None else f"ended with {self.code}"


def encode_member(said: MemberCheckpoint) -> bytes:
    check: dict[str, Plain] | None = None
    if said.command:
        check = {"command": said.command, "exit_code": said.code, "output": said.output[-LONGEST_OUTPUT:]}
    fields: dict[str, Plain] = {
        "teammate_id": said.member,
        "task": said.task or None,
        "updated_utc_ms": milliseconds(said.at),
        "worktree": said.worktree or None,
        "branch": said.branch or None,
        "file_edits": {"salvage_ref": said.salvage or None, "files": [*said.files]},
        "compile_state": check,
        "last_good_state": {"commit": said.good} if said.good else None,
    }
    if said.inherited_from:
        fields["inherited_from"] = said.inherited_from
    return to_bytes(encode(fields) + "\n")


def decode_member(data: bytes) -> MemberCheckpoint:
    """Raises NotJson."""
    fields = decode_object(to_text(data))
    edits, check, good = (_part(fields, key) for key in ("file_edits", "compile_state", "last_good_state"))
    files, code = edits.get("files"), check.get("exit_code")
    return MemberCheckpoint(
        member=text_in(fields, "teammate_id"),
        task=text_in(fields, "task"),
        at=seconds_in(fields, "updated_utc_ms") or 0.0,
        worktree=text_in(fields, "worktree"),
        branch=text_in(fields, "branch"),
        salvage=text_in(edits, "salvage_ref"),
        files=[one for one in files if isinstance(one, str)] if isinstance(files, list) else [],
        command=text_in(check, "command"),
        code=code if isinstance(code, int) else None,
        output=text_in(check, "output"),
        good=text_in(good, "commit"),
        inherited_from=text_in(fields, "inherited_from"),
    )


def _part(fields: dict[str, Plain], key: str) -> dict[str, Plain]:
    found = fields.get(key)
    return found if isinstance(found, dict) else {}
