"""`processes/{pid}`: whose a process is."""

from __future__ import annotations

from atm.files.formats.json_record import decode_object, encode, to_bytes, to_text
from atm.team.rules.agent_processes import ProcessOwner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain


def encode_process(began: str, boot: str, owners: list[ProcessOwner]) -> bytes:
    said: list[Plain] = [{"team": one.team, "member": one.member, "joinedAt": one.joined_at} for one in owners]
    return to_bytes(encode({"began": began, "boot": boot, "owners": said}) + "\n")


def decode_process(data: bytes) -> tuple[str, str, list[ProcessOwner]]:
    """When it began, in which start of the machine, and whose it is. Raises NotJson."""
    fields = decode_object(to_text(data))
    said = fields.get("owners")
    owners = [_owner(one) for one in said if isinstance(one, dict)] if isinstance(said, list) else []
    return str(fields.get("began") or ""), str(fields.get("boot") or ""), owners


def _owner(fields: dict[str, Plain]) -> ProcessOwner:
    at = fields.get("joinedAt")
    is_time = isinstance(at, int | float) and not isinstance(at, bool)
    return ProcessOwner(str(fields.get("team") or ""), str(fields.get("member") or ""), at if is_time else None)  # type: ignore[arg-type]
