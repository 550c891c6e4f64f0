"""`repository` in `state.json`: the repository that a team is bound to. Null in a team that a person made by hand."""

from __future__ import annotations

from atm.files.formats.json_record import RawObject, decode_object, encode, to_bytes, to_text
from atm.team.rules.repositories import RepositoryBinding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

KEY = "repository"
LONGEST_PATH = 4096
LARGEST_NUMBER = 2**64
COMMIT_LENGTHS = (40, 64)
HEX = frozenset("0123456789abcdef")


def decode_repository(data: bytes) -> RepositoryBinding | None:
    """None where there is none, or none that makes sense: agents can write the file too. Raises NotJson."""
    found = decode_object(to_text(data)).get(KEY)
    if not isinstance(found, dict):
        return None
    path, device, inode = found.get("common_dir"), _number(found.get("device")), _number(found.get("inode"))
    if not isinstance(path, str) or device is None or inode is None:
        return None
    is_path = path.startswith("/") or path[1:2] == ":"
    if not is_path or "\0" in path or len(path) > LONGEST_PATH or "/../" in f"{path}/":
        return None
    root, head = _commit(found.get("root_commit")), _commit(found.get("head_commit"))
    return RepositoryBinding(path, device, inode, root, head)


def is_unbound_by_hand(data: bytes) -> bool:
    """Did a person make the team, so that it may work in several repositories? Raises NotJson."""
    fields = decode_object(to_text(data))
    return KEY in fields and fields[KEY] is None


def is_strange(data: bytes) -> bool:
    """Is there a binding that makes no sense? Raises NotJson."""
    found = decode_object(to_text(data)).get(KEY)
    return found is not None and decode_repository(data) is None


def repository_fields(binding: RepositoryBinding) -> dict[str, Plain]:
    return {
        "common_dir": binding.common_dir,
        "device": binding.device,
        "inode": binding.inode,
        "root_commit": binding.root_commit,
        "head_commit": binding.head_commit,
    }


def with_repository(data: bytes, binding: RepositoryBinding) -> bytes:
    """The file with this binding. Everything else stays as it is."""
    return to_bytes(RawObject(to_text(data)).with_raw(KEY, encode(repository_fields(binding))).text)


def _number(value: Plain) -> int | None:
    is_one = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_NUMBER
    return value if is_one and isinstance(value, int) else None


def _commit(value: Plain) -> str | None:
    is_one = isinstance(value, str) and len(value) in COMMIT_LENGTHS and HEX.issuperset(value)
    return value if is_one and isinstance(value, str) else None
