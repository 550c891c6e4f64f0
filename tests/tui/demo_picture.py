"""
The moving picture of `make demo` in the README: a run that was recorded, line by line, drawn as one SVG.

`python -m tests.tui.demo_picture --record` runs the demo and keeps what it printed and when; without, the picture is
drawn from that. It moves by style sheets alone: no script, no font, nothing is loaded from anywhere, and whoever has
asked their system for less motion sees the end of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from xml.sax.saxutils import escape

from tests.tui.pictures import CELL, FOLDER, LEADING, MARGIN, NO_BREAK

RECORDING = FOLDER / "demo.jsonl"
COLUMNS, ROWS = 80, 24
LONGEST_PAUSE, HOLD = 0.9, 6.0
"""Seconds: nobody waits longer for a line than that; and so long the end is shown before it begins again."""

COLOURS = {
    "$": "#e8ece9",
    "✓": "#6fcf9f",
    "▲": "#ff9280",
    "⚔": "#f5b950",
    "✗": "#ff9280",
    "⇥": "#86b9f4",
    "◉": "#86b9f4",
}
PLAIN = "#b7c0bb"


def record() -> list[tuple[float, str]]:
    """One run without a terminal, each line with the second in which it came."""
    began, lines = time.monotonic(), []
    with subprocess.Popen([sys.executable, "-m", "atm", "demo"], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        for line in run.stdout:
            lines.append((round(time.monotonic() - began, 2), line.rstrip("\n")))
    assert run.returncode == 0, lines[-5:]
    return lines


def stored() -> list[tuple[float, str]]:
    rows = (json.loads(row) for row in RECORDING.read_text(encoding="utf-8").splitlines())
    return [(float(at), str(line)) for at, line in rows]


def draw(lines: list[tuple[float, str]]) -> str:
    shown = [(at, line[:COLUMNS]) for at, line in lines]
    times = _times([at for at, _ in shown])
    total = times[-1] + HOLD
    wide, high = COLUMNS * CELL + 2 * MARGIN, ROWS * LEADING + 2 * MARGIN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" role="img" aria-label="make demo">'
    font = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" xml:space="preserve"'
    rows = [_row(number, line) for number, (_, line) in enumerate(shown)]
    return "\n".join(
        [
            head,
            f"<style>{_style(times, total)}</style>",
            f'<clipPath id="w"><rect x="0" y="{MARGIN}" width="{wide:.0f}" height="{ROWS * LEADING}"/></clipPath>',
            f'<rect width="{wide:.0f}" height="{high}" rx="6" fill="#0e1211"/>',
            f'<g clip-path="url(#w)" {font}><g class="s">',
            *filter(None, rows),
            "</g></g>",
            "</svg>",
            "",
        ]
    )


def _times(stamps: list[float]) -> list[float]:
    """When each line comes in the picture: as it was, without the waiting."""
    found, now, before = [], 0.5, stamps[0]
    for at in stamps:
        now += min(at - before, LONGEST_PAUSE)
        before = at
        found.append(now)
    return found


def _style(times: list[float], total: float) -> str:
    """Lines appear, and all of them move up as a terminal scrolls. At rest it is the last screen."""
    up = max(0, len(times) - ROWS) * LEADING
    frames = ["0%{transform:translateY(0)}"]
    for number, at in enumerate(times):
        if number >= ROWS:
            frames.append(f"{100 * at / total:.2f}%{{transform:translateY(-{(number - ROWS + 1) * LEADING}px)}}")
    frames.append(f"100%{{transform:translateY(-{up}px)}}")
    lines = [f"@keyframes s{{{''.join(frames)}}}", f".s{{transform:translateY(-{up}px)}}"]
    lines.append("@media (prefers-reduced-motion:no-preference){")
    lines.append(f".s{{animation:s {total:.1f}s step-end infinite}}")
    for number, at in enumerate(times):
        part = 100 * at / total
        lines.append(f"@keyframes l{number}{{0%{{opacity:0}}{part:.2f}%,100%{{opacity:1}}}}")
        lines.append(f".l{number}{{animation:l{number} {total:.1f}s step-end infinite}}")
    return "".join([*lines, "}"])


def _row(number: int, line: str) -> str:
    said = line.strip()
    if not said:
        return ""
    start = len(line) - len(line.lstrip())
    colour = COLOURS.get(said[0], PLAIN)
    weight = ' font-weight="600"' if said[0] == "$" else ""
    place = f'x="{MARGIN + start * CELL:.1f}" y="{MARGIN + LEADING * (number + 0.75):.1f}"'
    return f'<text class="l{number}" {place} fill="{colour}"{weight}>{escape(said).replace("  ", NO_BREAK * 2)}</text>'


def main(words: list[str]) -> None:
    if "--record" in words:
        rows = [json.dumps([at, line], ensure_ascii=False) for at, line in record()]
        RECORDING.write_text("\n".join(rows) + "\n", encoding="utf-8")
    (FOLDER / "demo.svg").write_text(draw(stored()), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
