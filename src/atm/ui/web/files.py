"""The files of the page, read once: what is not in this list cannot be asked for."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

KINDS = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
}


class PageFile:
    """One file."""

    __slots__ = ("data", "kind", "tag")

    def __init__(self, data: bytes, kind: str) -> None:
        self.data, self.kind = data, kind
        self.tag = f'"{sha256(data).hexdigest()[:16]}"'


def page_files() -> dict[str, PageFile]:
    """By their paths below the page's folder."""
    found: dict[str, PageFile] = {}
    _collect(files("atm.ui.web") / "page", "", found)
    return found


def _collect(folder: Traversable, path: str, found: dict[str, PageFile]) -> None:
    for one in folder.iterdir():
        name = f"{path}{one.name}"
        kind = KINDS.get(one.name.rpartition(".")[2])
        if one.is_dir():
            _collect(one, f"{name}/", found)
        elif kind is not None:
            found[name] = PageFile(one.read_bytes(), kind)
