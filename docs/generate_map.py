"""Draws docs/map.svg from the imports: the rooms on their floors, how large they are, and which room uses which."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "atm"
PICTURE = ROOT / "docs" / "map.svg"

FLOORS = (
    ("ui",),
    ("teamd",),
    ("wiring",),
    ("testing",),
    ("snapshot",),
    ("runs", "checkup"),
    ("sessions", "merges", "daemon"),
    ("crew", "worksync"),
    ("roster", "events", "delivery", "approvals"),
    ("board", "setup", "config"),
    ("mail", "access"),
    ("team", "trust"),
    ("vendors",),
    ("files", "git", "plugins"),
    ("core",),
)
"""Highest first, as one looks at a house."""

KINDS = ("rules", "formats", "ports", "services", "adapters")
WIDE, HIGH, LEFT, TOP = 150, 46, 24, 44


def rooms() -> dict[str, Counter[str]]:
    """Modules of each room, by kind; empty for what has no kind."""
    found: dict[str, Counter[str]] = {room: Counter() for floor in FLOORS for room in floor}
    for path in SOURCE.rglob("*.py"):
        room, *inside = path.relative_to(SOURCE).with_suffix("").parts
        if path.name != "__init__.py" and room in found:
            found[room][inside[0] if inside and inside[0] in KINDS else ""] += 1
    return found


def arrows() -> Counter[tuple[str, str]]:
    """From room to room: how many modules import."""
    floor_of = {room: len(FLOORS) - at for at, floor in enumerate(FLOORS) for room in floor}
    found: Counter[tuple[str, str]] = Counter()
    for path in SOURCE.rglob("*.py"):
        here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if here in floor_of:
            used = {room for room in imported_rooms(path) if room != here and room in floor_of}
            assert all(floor_of[room] < floor_of[here] for room in used), f"{path}: an arrow up"
            found.update((here, room) for room in used)
    return found


def imported_rooms(path: Path) -> set[str]:
    names = {
        node.module
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("atm.")
    }
    return {str(name).split(".")[1] for name in names}


def render() -> str:
    """The picture: a row for each floor, a box for each room with what it has and what it uses."""
    width = LEFT * 2 + 4 * WIDE + 170
    height = TOP + HIGH * len(FLOORS) + 16
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        '<text x="24" y="26" font-size="15" font-weight="bold">A room for each topic: each uses rooms below it</text>',
    ]
    sizes, uses = rooms(), arrows()
    for y, floor in enumerate(FLOORS):
        top = TOP + HIGH * y
        lines.append(f'<line x1="16" y1="{top + HIGH - 2}" x2="{width - 16}" y2="{top + HIGH - 2}" stroke="#cbd5e1"/>')
        for x, room in enumerate(floor):
            lines += _room(LEFT + WIDE * x, top, room, sizes[room], sum(1 for above, _ in uses if above == room))
    return "\n".join([*lines, "</svg>", ""])


def _room(x: int, y: int, room: str, kinds: Counter[str], used: int) -> list[str]:
    modules = sum(kinds.values())
    shade = "#bfdbfe" if modules > 30 else "#dbeafe"
    told = f"{modules} modules" + (f", uses {used} rooms" if used else "")
    return [
        f'<rect x="{x + 2}" y="{y + 2}" width="{WIDE - 8}" height="{HIGH - 8}" rx="5" fill="{shade}"/>',
        f'<text x="{x + 10}" y="{y + 18}" font-weight="bold">{room}</text>',
        f'<text x="{x + 10}" y="{y + 33}" font-size="10" fill="#334155">{told}</text>',
    ]


if __name__ == "__main__":
    PICTURE.write_text(render())
