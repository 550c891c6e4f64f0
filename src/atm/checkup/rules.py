"""The rules of the check-up: how much room is little, which modes are right, what a list of paths comes down to."""

from __future__ import annotations

PLENTY, LITTLE, NONE = "plenty", "little", "none"

LEAST_BYTES, FEW_BYTES = 1 << 20, 100 << 20
"""Below the first nothing can be relied on: an inbox is written as a whole beside the old one."""

FEW_INODES = 1000

AHEAD = 60.0
"""Seconds by which a file may be from the future: clocks of two machines that share a disk differ a little."""

OLDEST_NOW = 1_704_067_200.0
"""2024: a clock that says less was never set."""


def judge_bytes(free: int) -> str:
    return NONE if free < LEAST_BYTES else LITTLE if free < FEW_BYTES else PLENTY


def judge_inodes(free: int | None) -> str:
    """Some file systems have as many as they need, and do not count them."""
    if free is None:
        return PLENTY
    return NONE if free == 0 else LITTLE if free < FEW_INODES else PLENTY


def is_from_the_future(mtime: float, now: float) -> bool:
    return mtime > now + AHEAD


def private_mode(mode: int, kind: str) -> int:
    """
    What the mode of something that is ours alone should be: nothing for others, and for us never less than before.

    A folder without x, or a file that its owner cannot read, is as good as gone.
    """
    return mode & 0o700 | (0o700 if kind == "folder" else 0o600)


def tops(paths: list[str]) -> list[str]:
    """Those that lie in none of the others: a folder stands for what is in it."""
    kept: list[str] = []
    for path in sorted(paths, key=lambda path: path.split("/")):
        if not kept or not path.startswith(f"{kept[-1]}/"):
            kept.append(path)
    return kept


def root_of(path: str, roots: tuple[str, ...]) -> str:
    """Which of these folders it lies in; itself if in none."""
    return next((root for root in roots if path == root or path.startswith(f"{root}/")), path)


def in_words(size: float) -> str:
    """Bytes for people."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit in ("bytes", "kB") else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
