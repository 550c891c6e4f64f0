"""What Claude Code's settings say about reading files, as far as mail asks."""

from __future__ import annotations

from atm.files.formats.json_record import decode_object, to_text
from atm.trust.rules import HARMLESS, NEEDS_CONSENT, Ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

FOLDERS = "additionalDirectories"

REPO_PERMISSIONS = (".claude/settings.local.json", ".claude/settings.json")
"""Where a repository has them, the stronger one first."""


def strings_in(value: Plain) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def permission_asks(content: bytes) -> list[Ask]:
    """What a repository's file permits needs consent; what it denies, or asks about, does not. Raises NotJson."""
    permissions = decode_object(to_text(content)).get("permissions")
    if not isinstance(permissions, dict):
        return []
    kinds = {"allow": NEEDS_CONSENT, FOLDERS: NEEDS_CONSENT, "ask": HARMLESS, "deny": HARMLESS}
    return [Ask(f"permissions.{key}", value, kinds[key]) for key, value in permissions.items() if key in kinds]
