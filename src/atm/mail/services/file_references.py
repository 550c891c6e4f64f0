"""
File references: mail names files, it never carries their content (seed 001, 4.2 and 8.7).

Two questions. May the *sender* hand this file on? It must lie in the current repository, or the settings must
permit it. May the *recipient* read it where it lies? If not, a copy in the share folder is named instead, and the
message says so.
"""

from __future__ import annotations

from atm.core.work_errors import FileNotAllowed
from atm.mail.rules.file_access import is_inside, judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.ports.surroundings import Files
    from atm.mail.services.mailroom import Recipient


class References:
    """Makes the text that refers to a file."""

    def __init__(self, files: Files, root: str) -> None:
        self._files = files
        self._root = root

    def note_for(self, path: str, to: Recipient, *, added: str | None = None, copy: bool = True) -> str:
        """The lines that stand for the file in a message. Raises FileNotAllowed."""
        given, real = self._files.real_file(path)
        self._check_sender(given, real, added)
        root = self._destination(to)
        if judge(real, root, self._files.scopes(root, None)).permitted:
            return f"File reference: {real}"
        where = self._files.copy(real, to.team_name) if copy else self._files.share_folder(to.team_name)
        return (
            f"[atm] File path rewritten to a local share copy for destination access.\nOriginal: {real}\nCopy: {where}"
        )

    def _check_sender(self, given: str, real: str, added: str | None) -> None:
        root = self._files.root_of(self._root) or self._root
        scopes = self._files.scopes(root, added)
        verdict = judge(real, root, scopes)
        by_name = judge(given, root, scopes)  # a rule may name the link and not what it leads to
        if by_name.denied:
            verdict = by_name
        if verdict.permitted:
            return
        if verdict.denied:
            raise FileNotAllowed(
                f"{given} may not be handed on: {verdict.reason}", "ask for the rule to be changed", given
            )
        if given != real and (is_inside(given, root) or is_inside(given, self._root)):
            raise FileNotAllowed(
                f"{given} is a link that leads out of {root}, to {real}", "refer to a file inside", given
            )
        raise FileNotAllowed(
            f"{given} is {verdict.reason}",
            "move it into the repository, use --add-dir, or add its folder to permissions.additionalDirectories",
            given,
        )

    def _destination(self, to: Recipient) -> str:
        """The recipient's repository; where its folder is not known, it is taken to work in ours."""
        folder = to.member.cwd if to.member is not None else ""
        return (self._files.root_of(folder) if folder else None) or self._files.root_of(self._root) or self._root
