"""Draws docs/map.svg from the imports: which topics stand on which floor, and who leans on whom."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "atm"
PICTURE = ROOT / "docs" / "map.svg"

FLOORS = ("domain", "formats", "ports", "services", "system", "wiring", "testing", "teamd", "ui/cli", "ui/mcp")
TOPICS = (
    *("files", "team", "mail", "board", "approvals", "events", "delivery", "roster", "worksync", "access", "setup"),
    *("crew", "merges", "sessions", "runs", "checkup", "plugins", "daemon"),
)
COLUMN, ROW, LEFT, TOP = 74, 34, 96, 58


def place_of(path: Path) -> tuple[str, str] | None:
    """The floor and the topic of a module."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    floor, rest = ("/".join(parts[:2]), parts[2:]) if parts[0] == "ui" else (parts[0], parts[1:])
    topic = rest[0] if rest and rest[0] in TOPICS else ""
    return (floor, topic) if floor in FLOORS and topic else None


def counts() -> Counter[tuple[str, str]]:
    """Modules in each room."""
    places = (place_of(path) for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    return Counter(place for place in places if place is not None)


def arrows() -> Counter[tuple[str, str]]:
    """From topic to topic, on the floors from domain to system: how many modules import."""
    found: Counter[tuple[str, str]] = Counter()
    for path in SOURCE.rglob("*.py"):
        here = place_of(path)
        if here is None or FLOORS.index(here[0]) > FLOORS.index("system"):
            continue
        there = {topic for topic in imported_topics(path) if topic != here[1]}
        found.update((here[1], topic) for topic in there)
    return found


def imported_topics(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("atm."):
            for name in (str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)):
                parts = name.split(".")[1:]
                if len(parts) > 1 and parts[0] in FLOORS and parts[1] in TOPICS:
                    found.add(parts[1])
    return found


def render() -> str:
    """The picture: a row for each floor, a column for each topic, and below them who leans on whom."""
    width = LEFT + COLUMN * len(TOPICS) + 16
    floor_end = TOP + ROW * len(FLOORS)
    height = floor_end + 250
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        '<text x="16" y="24" font-size="15" font-weight="bold">The same rooms on every floor</text>',
    ]
    rooms = counts()
    for x, topic in enumerate(TOPICS):
        middle = LEFT + COLUMN * x + COLUMN // 2
        lines.append(f'<text x="{middle}" y="{TOP - 8}" text-anchor="middle" font-weight="bold">{topic}</text>')
    for y, floor in enumerate(FLOORS):
        top = TOP + ROW * y
        lines.append(f'<text x="16" y="{top + 21}">{floor}</text>')
        for x, topic in enumerate(TOPICS):
            lines += _room(LEFT + COLUMN * x, top, rooms[floor, topic])
    lines += _arrows(floor_end)
    return "\n".join([*lines, "</svg>", ""])


def _room(x: int, y: int, modules: int) -> list[str]:
    if not modules:
        return []
    shade = "#dbeafe" if modules < 6 else "#bfdbfe"
    return [
        f'<rect x="{x + 3}" y="{y + 3}" width="{COLUMN - 6}" height="{ROW - 6}" rx="5" fill="{shade}"/>',
        f'<text x="{x + COLUMN // 2}" y="{y + 21}" text-anchor="middle">{modules}</text>',
    ]


def _arrows(top: int) -> list[str]:
    """Arcs from whoever leans to whom it leans on. All of them go to the left: no arrow up."""
    lines = [f'<text x="16" y="{top + 24}">leans on</text>']
    for (above, below), modules in sorted(arrows().items()):
        start, end = (LEFT + COLUMN * TOPICS.index(topic) + COLUMN // 2 for topic in (above, below))
        assert end < start, f"{above} imports {below}: an arrow up"
        depth = top + 14 + min(210, abs(start - end) // 3)
        width = 1 + min(3, modules // 15)
        lines.append(
            f'<path d="M {start} {top + 6} Q {(start + end) // 2} {depth} {end} {top + 6}" fill="none" '
            f'stroke="#1d4ed8" stroke-opacity="0.35" stroke-width="{width}"/>'
        )
        lines.append(f'<circle cx="{end}" cy="{top + 6}" r="2.5" fill="#1d4ed8"/>')
    return lines


if __name__ == "__main__":
    PICTURE.write_text(render())
