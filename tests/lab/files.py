"""
Which files and settings the vendors' programs keep in a home, and the shape of each: what a newer version changes there
is told after a run, as it is for what hooks are told.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from tests.lab.shapes import Shape, merged, shape, unnamed

CORPUS = Path(__file__).parents[1] / "corpus" / "recorded_files"
NAMES = "names of its files"

OURS = ("teams/crew", "tasks/crew", "skills/.system", "snapshot", "node_modules")
"""Below a program's folders: what atm made there, and what a program brings and nobody reads."""


class Kept(NamedTuple):
    """Where one program keeps its things."""

    folders: tuple[str, ...]
    """Whose names are looked at, so many levels deep."""
    levels: int
    files: Mapping[str, int]
    """Patterns of the files whose inside is looked at, and how deep."""


KEPT = {
    "claude": Kept(
        (".claude",),
        3,
        {
            ".claude.json": 1,
            ".claude/settings.json": 2,
            ".claude/sessions/*.json": 2,
            ".claude/teams/session-*/config.json": 3,
            ".claude/teams/session-*/inboxes/*.json": 2,
            ".claude/tasks/session-*/[0-9]*.json": 2,
            ".claude/projects/*/*.jsonl": 1,
        },
    ),
    "codex": Kept(
        (".codex",),
        2,
        {
            ".codex/config.toml": 2,
            ".codex/hooks.json": 2,
            ".codex/sessions/*/*/*/rollout-*.jsonl": 1,
        },
    ),
    "gemini": Kept(
        (".gemini",),
        3,
        {
            ".gemini/settings.json": 2,
            ".gemini/projects.json": 1,
            ".gemini/tmp/*/chats/session-*.json*": 1,
        },
    ),
    "opencode": Kept(
        (".config/opencode", ".local/share/opencode", ".local/state/opencode"),
        2,
        {
            ".config/opencode/opencode.json": 2,
            ".local/share/opencode/opencode.db": 1,
        },
    ),
}


def shapes_in_home(home: Path, vendor: str) -> dict[str, Shape]:
    """Of each kind of file that is there now."""
    kept = KEPT[vendor]
    names = [name for folder in kept.folders for name in _names(home, home / folder, kept.levels)]
    found = {NAMES: {name: "folder" if name.endswith("/") else "file" for name in names}}
    for pattern, depth in kept.files.items():
        shapes = [one for path in sorted(home.glob(pattern)) for one in _shapes_of(path, depth)]
        if shapes:
            found[pattern] = merged(shapes)
    return found


def _names(home: Path, folder: Path, levels: int) -> Iterator[str]:
    """As a star where another home has another name; a folder is told by its last slash."""
    with contextlib.suppress(OSError):
        for entry in sorted(os.scandir(folder), key=lambda one: one.name):
            path = Path(entry.path)
            if any(str(path).endswith(ours) for ours in OURS):
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            slug = str(home).replace("/", "-").replace("_", "-")  # Claude Code's name for a project's folder
            parts = str(path.relative_to(home)).replace(slug, "*").split("/")
            yield "/".join(unnamed(part) for part in parts) + "/" * is_folder
            if is_folder and levels > 1:
                yield from _names(home, path, levels - 1)


def _shapes_of(path: Path, depth: int) -> Iterator[Shape]:
    """One for each thing that a file holds: itself, its rows, or its lines. Nothing if it is caught in the middle."""
    with contextlib.suppress(OSError, ValueError, sqlite3.Error):
        if path.suffix == ".db":
            yield _tables(path)
        elif path.suffix == ".toml":
            yield shape(tomllib.loads(path.read_text()), depth)
        elif path.suffix == ".jsonl":
            yield _lines(path, depth)
        else:
            value = json.loads(path.read_bytes())
            yield from (shape(one, depth) for one in (value if isinstance(value, list) else [value]))


def _lines(path: Path, depth: int) -> Shape:
    """The lines of each type are of one kind; which types there are depends on what has happened."""
    found: dict[str, list[Shape]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            value: Any = json.loads(line)
            if isinstance(value, dict):
                name = ".".join(one["type"] for one in (value, value.get("payload")) if _is_typed(one))
                found.setdefault(name, []).append(shape(value, depth, name or "line"))
    return {field: f"{kind.removesuffix('?')}?" for rows in found.values() for field, kind in merged(rows).items()}


def _is_typed(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def _tables(path: Path) -> Shape:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=1)) as base:
        names = [str(row[0]) for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = ((name, row) for name in names for row in base.execute(f"PRAGMA table_info('{name}')"))
        return {f"{name}.{row[1]}": str(row[2]) for name, row in rows}


def keep(found: Mapping[str, Shape], vendor: str, version: str, folder: Path) -> None:
    """Write down what a home held, for `tests.lab.drift`. Each time is a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"vendor": vendor, "version": version, "files": found}
    number = len(os.listdir(folder))
    with (folder / f"{vendor}-{os.getpid()}-{number}.json").open("x", encoding="utf-8") as file:
        json.dump(facts, file)


class Recorded(NamedTuple):
    """What one or several homes of a vendor held."""

    versions: tuple[str, ...]
    files: dict[str, Shape]


def recorded_in(folder: Path) -> dict[str, Recorded]:
    """For each vendor; a kind of file that is not in every home is there sometimes, with all its fields."""
    said = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    found = {}
    for vendor in KEPT:
        homes = [one for one in said if one["vendor"] == vendor]
        kinds = sorted({kind for one in homes for kind in one["files"]})
        files = {kind: merged(one["files"][kind] for one in homes if kind in one["files"]) for kind in kinds}
        if homes:
            found[vendor] = Recorded(tuple(sorted({str(one["version"]) for one in homes})), files)
    return found


def record(folder: Path, corpus: Path = CORPUS) -> None:
    """Make what a run found the recorded one."""
    corpus.mkdir(parents=True, exist_ok=True)
    for vendor, found in recorded_in(folder).items():
        facts = {"vendor": vendor, "version": " ".join(found.versions), "files": found.files}
        (corpus / f"{vendor}.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
