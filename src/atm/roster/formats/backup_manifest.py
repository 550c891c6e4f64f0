"""
`manifest.json` of a backup: which files belong to it, how large they are, and their checksums.

The manifest is what makes a folder a backup. Names in it are judged before a reader follows them: one that could lead
out of the folder makes the whole backup unusable (G11).
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, indent, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

VERSION = 1
NAME = "manifest.json"
CONFIG, STATE, LEDGER, HISTORY, MARK = "config.json", "state.json", "mailbox.log", "tasks.jsonl", "COMPLETED"
TEAM, TASKS, INBOXES = "team/", "tasks/", "team/inboxes/"
"""The two halves of a backup: the team's folder and its task list."""

HIGH_WATER = ".highwatermark"
LONGEST_PATH = 1024


class Listed:
    """One file of a backup."""

    __slots__ = ("path", "sha256", "size")

    def __init__(self, path: str, size: int, sha256: str) -> None:
        self.path = path
        self.size = size
        self.sha256 = sha256


class Manifest:
    """What a backup holds."""

    __slots__ = ("at", "files", "team")

    def __init__(self, team: str, at: str, files: list[Listed]) -> None:
        self.team = team
        self.at = at
        self.files = files

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)


def encode_manifest(manifest: Manifest) -> bytes:
    files: list[Plain] = [{"path": f.path, "size": f.size, "sha256": f.sha256} for f in manifest.files]
    record: dict[str, Plain] = {"version": VERSION, "team": manifest.team, "at": manifest.at, "files": files}
    return to_bytes(indent(record) + "\n")


def decode_manifest(data: bytes) -> Manifest:
    """Read it. Raises NotJson if it is no manifest, or if a name in it is not safe."""
    fields = decode_object(to_text(data))
    listed, team = fields.get("files"), fields.get("team")
    if fields.get("version") != VERSION:
        raise NotJson(f"its version is {fields.get('version')!r}, and we know {VERSION}")
    if not isinstance(listed, list) or not isinstance(team, str):
        raise NotJson("it lists no files")
    files = [_listed(entry) for entry in listed]
    folded = [file.path.casefold() for file in files]
    if len(set(folded)) != len(folded):
        raise NotJson("it lists a file twice")
    return Manifest(team, str(fields.get("at") or ""), files)


def _listed(entry: Plain) -> Listed:
    if not isinstance(entry, dict):
        raise NotJson("an entry is not an object")
    path, size, sum = entry.get("path"), entry.get("size"), entry.get("sha256")
    if not isinstance(path, str) or not isinstance(size, int) or not isinstance(sum, str):
        raise NotJson("an entry has no path, size or sha256")
    if not is_safe_path(path):
        raise NotJson(f"{path[:80]!r} could lead out of the backup")
    return Listed(path, size, sum)


def is_safe_path(path: str) -> bool:
    """`team/…` or `tasks/…`, plain names all the way down: no way up, no way out."""
    if not path.startswith((TEAM, TASKS)) or len(path) > LONGEST_PATH or not path.isprintable():
        return False
    if "\\" in path or ":" in path:
        return False
    return all(part not in ("", ".", "..") for part in path.split("/"))
