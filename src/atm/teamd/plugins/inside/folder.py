"""The folder in which a plugin keeps what it wants to keep."""

from __future__ import annotations

import os

from atm.core.errors import OutsideLink
from atm.files.adapters.disk import make_private, open_private
from atm.files.formats.layout import Layout


class Folder:
    """
    Where a plugin keeps things: `<repo>/temp/atm/<plugin>` in a repository, a folder of ours elsewhere.

    A repository may be a stranger's work: if its `temp` is a link that leads out of it, nothing is written there (G11).
    """

    def __init__(self, path: str, inside: str | None) -> None:
        self._path = path
        self._inside = inside

    def made(self) -> str:
        make_private(self._path) if self._inside is None else self._make_inside(self._inside)
        return self._path

    def _make_inside(self, repo: str) -> None:
        real, root = os.path.realpath(self._path), os.path.realpath(repo)
        if os.path.commonpath([real, root]) != root:
            raise OutsideLink(f"{self._path} leads out of {repo}, to {real}", "remove the link", self._path)
        make_private(self._path)
        ignore = os.path.join(os.path.dirname(self._path), ".gitignore")
        try:
            with open(ignore, "x", encoding="utf-8", opener=open_private) as file:
                file.write("*\n")
        except OSError:
            return  # it is there already, or the repository has to ignore the folder itself


def folder_of(layout: Layout, plugin: str, repo: str | None) -> Folder:
    """The folder of one instance."""
    return Folder(layout.plugin_data(plugin), None) if repo is None else Folder(f"{repo}/temp/atm/{plugin}", repo)
