"""Claude Code's settings files and the files people refer to: implements `ports.surroundings.Files`."""

from __future__ import annotations

import os
import sys

from atm.core.errors import UnreadableFile, WriteRefused
from atm.core.work_errors import FileNotAllowed
from atm.files.adapters.disk import make_private, open_private
from atm.files.formats.json_record import NotJson, decode_object, to_text
from atm.mail.formats.permissions import FOLDERS, strings_in
from atm.mail.rules.file_access import AccessRule, Scope, parse_rule
from atm.trust.adapters import read_repo_file
from atm.trust.rules import NONE, TRUSTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain
    from atm.files.formats.layout import Layout

MANAGED = {
    "linux": "/etc/claude-code/managed-settings.json",
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "win32": "C:/Program Files/ClaudeCode/managed-settings.json",
}
MOST_COPIES = 10_000


class SettingsAndFiles:
    """Reads rules in Claude Code's order: managed, flags, local, project, user."""

    def __init__(
        self, layout: Layout, environment: Mapping[str, str], *, share: str = "", managed: str | None = None
    ) -> None:
        self._layout = layout
        self._home = (environment.get("HOME") or environment.get("USERPROFILE") or "/").replace(os.sep, "/")
        self._share = share
        self._managed = MANAGED.get(sys.platform, "") if managed is None else managed

    def real_file(self, path: str) -> tuple[str, str]:
        if not path.isprintable():
            raise FileNotAllowed("the path contains a control character", "rename the file: the message must name it")
        given = os.path.abspath(path).replace(os.sep, "/")
        real = os.path.realpath(path).replace(os.sep, "/")
        if not os.path.exists(real):
            raise FileNotAllowed(f"{given} does not exist", "check the path", given)
        if not os.path.isfile(real):
            raise FileNotAllowed(f"{given} is not a file", "refer to a single file", given)
        return given, real

    def root_of(self, folder: str) -> str | None:
        real = os.path.realpath(os.path.expanduser(folder)).replace(os.sep, "/")
        if not os.path.isdir(real):
            return None
        at = real
        while True:
            if os.path.exists(f"{at}/.git"):
                return at
            parent = at.rpartition("/")[0]
            if not parent or parent == at:
                return real
            at = parent

    def scopes(self, root: str, added: str | None) -> list[Scope]:
        user = f"{self._layout.claude_root}/settings.json"
        flags = Scope("flags", folders=(self._real(added),) if added else ())
        files = (
            (f"{root}/.claude/settings.local.json", root),
            (f"{root}/.claude/settings.json", root),
            (user, self._layout.claude_root),
        )
        return [
            self._scope(self._managed, "/", root),
            flags,
            *(self._scope(path, base, root, needs_consent=base == root) for path, base in files),
        ]

    def _real(self, folder: str) -> str:
        return os.path.realpath(os.path.expanduser(folder)).replace(os.sep, "/")

    def _scope(self, path: str, settings_root: str, root: str, *, needs_consent: bool = False) -> Scope:
        settings, counts = self._read_repos(path) if needs_consent else (_read_settings(path), True)
        permissions = settings.get("permissions")
        if not isinstance(permissions, dict):
            return Scope(path)

        def rules(key: str) -> tuple[AccessRule, ...]:
            found = (
                parse_rule(text, path, settings_root=settings_root, working_folder=root, home=self._home)
                for text in strings_in(permissions.get(key))
            )
            return tuple(rule for rule in found if rule is not None)

        if not counts:
            return Scope(path, rules("deny"))
        folders = tuple(self._real(os.path.join(root, f)) for f in strings_in(permissions.get(FOLDERS)))
        only_managed = path == self._managed and settings.get("allowManagedPermissionRulesOnly") is True
        return Scope(path, rules("deny"), rules("allow"), folders, only_managed)

    def _read_repos(self, path: str) -> tuple[dict[str, Plain], bool]:
        """A repository's file: what it denies counts; what it permits only with the user's yes (D25)."""
        try:
            found = read_repo_file(self._layout, path)
            fields = decode_object(to_text(found.content)) if found.content else {}
        except (FileNotFoundError, NotADirectoryError):
            return {}, False
        except (OSError, NotJson) as error:
            raise UnreadableFile(f"{path} cannot be read: {error}", "mend the settings file", path) from None
        if found.state == NONE:
            raise UnreadableFile(f"{path} cannot be read: it is too large", "mend the settings file", path)
        return fields, found.state == TRUSTED

    def share_folder(self, team: str) -> str:
        return f"{self._share.rstrip('/')}/{team}" if self._share else self._layout.share(team)

    def copy(self, path: str, team: str) -> str:
        """Exclusive creation decides about the name, so two senders never share one."""
        folder = self.share_folder(team)
        stem, suffix = os.path.splitext(os.path.basename(path))
        try:
            make_private(folder, self._layout.private_roots)
            for number in range(1, MOST_COPIES):
                target = f"{folder}/{stem}{suffix}" if number == 1 else f"{folder}/{stem}-{number}{suffix}"
                if _copied(path, target):
                    return target
        except OSError as error:
            raise WriteRefused(
                f"{folder}: {error.strerror or error}", "check permissions and free space", folder
            ) from error
        raise WriteRefused(f"{folder} holds too many copies of {stem}{suffix}", "remove old ones", folder)


def _copied(source: str, target: str) -> bool:
    from shutil import copyfileobj

    try:
        fd = open_private(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return False
    with os.fdopen(fd, "wb") as out, open(source, "rb") as file:
        copyfileobj(file, out)
        out.flush()
        os.fsync(out.fileno())
    return True


def _read_settings(path: str) -> dict[str, Plain]:
    """Settings that cannot be read permit nothing: the reference is refused until they can (G8)."""
    try:
        with open(path, "rb") as file:
            return decode_object(to_text(file.read()))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, NotJson) as error:
        raise UnreadableFile(f"{path} cannot be read: {error}", "mend the settings file", path) from None
