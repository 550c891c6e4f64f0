"""
The pictures of the screen in the docs: `make pictures`. Drawn from the same lines as the screen itself.

Text stays text, so that it can be searched and read aloud; no font and nothing else is loaded from anywhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

from tests.tui.lantern import lantern
from tests.tui.test_frame import full, in_view

from atm.ui.faces.view_names import AGENT, APPROVALS, BOARD, MAIL, OVERVIEW
from atm.ui.tui.frame import draw
from atm.ui.tui.lines import BOLD, CHOSEN, DIM, Line
from atm.ui.tui.model import Model
from atm.ui.views.style import width_of
from atm.ui.views.team.signs import BROKEN, MOVING, PROVEN, YOU

FOLDER = Path(__file__).parents[2] / "docs/pictures"
CELL, LEADING, MARGIN = 8.4, 18, 14
NO_BREAK = chr(0xA0)
"""Several spaces in a row stay several."""
COLOURS = {DIM: "#8f9a94", YOU: "#f5b950", BROKEN: "#ff9280", MOVING: "#86b9f4", PROVEN: "#6fcf9f"}
OUTPUT = """● I will check the SARIF schema again before I write the exporter.

  Read src/lantern/report.py (212 lines)
  Bash python -m pytest tests/test_report.py -q
  │ FAILED tests/test_report.py::test_sarif_columns_count_from_one
  │ 1 failed, 18 passed in 3.42s"""


def pictures() -> dict[str, str]:
    """By name."""
    said = "Did you see the note about columns? #12 and #14 wait for #7."
    shown: dict[str, tuple[Model, int, int]] = {
        "top-overview": (in_view(OVERVIEW, full(lantern(), OUTPUT)), 120, 30),
        "top-board": (in_view(BOARD, lantern()), 80, 24),
        "top-columns": (in_view(BOARD, lantern(), 1), 120, 30),
        "top-agent": (in_view(AGENT, full(lantern(), OUTPUT)), 80, 24),
        "top-mail": (in_view(MAIL, full(lantern(), said)), 80, 24),
        "top-approvals": (in_view(APPROVALS, lantern()), 80, 24),
        "top-small": (lantern(), 40, 10),
    }
    with _in_utc():
        return {name: picture(name, draw(model, *size).lines, *size) for name, (model, *size) in shown.items()}


@contextmanager
def _in_utc() -> Iterator[None]:
    """Times of day are those of the machine; the pictures are the same on every one."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)
        time.tzset()


def picture(name: str, lines: list[Line], columns: int, height: int) -> str:
    wide, high = columns * CELL + 2 * MARGIN, height * LEADING + 2 * MARGIN
    rows = [_row(line, MARGIN + LEADING * (at + 0.75)) for at, line in enumerate(lines)]
    style = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#e8ece9" xml:space="preserve"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high}" role="img" aria-label="{name}">'
    ground = f'<rect width="{wide:.0f}" height="{high}" rx="6" fill="#0e1211"/>'
    return "\n".join([head, ground, f"<g {style}>", *filter(None, rows), "</g>", "</svg>", ""])


def _row(line: Line, y: float) -> str:
    """Each piece at its own column: fonts differ in the width of some signs."""
    pieces, at = [], 0
    for said, meaning in line:
        if said.strip():
            start = at + width_of(said) - width_of(said.lstrip())
            look = f' fill="{COLOURS[meaning]}"' if meaning in COLOURS else ""
            look += ' font-weight="600"' if meaning in (BOLD, CHOSEN) else ""
            place = f'x="{MARGIN + start * CELL:.1f}" textLength="{width_of(said.strip()) * CELL:.1f}"'
            pieces.append(f"<tspan {place}{look}>{escape(said.strip()).replace(' ', NO_BREAK)}</tspan>")
        at += width_of(said)
    return f'<text y="{y:.1f}">{"".join(pieces)}</text>' if pieces else ""


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, drawn in pictures().items():
        (FOLDER / f"{name}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
