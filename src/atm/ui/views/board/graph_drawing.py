"""
A graph of tasks drawn: as text for a terminal, as DOT for Graphviz, as an SVG picture that needs nothing else.

Subjects, owners, ids and states come from files that any program may write; each drawing neutralises them its own way.
"""

from __future__ import annotations

from atm.core.untrusted_text import one_line
from atm.ui.views.board.graph_layout import MOST_LANES, Node, arrange, by_number, heights, needed_links
from atm.ui.views.looks import LOOKS, UNKNOWN, look, word_of
from atm.ui.views.style import BLUE, BOLD, DIM, YELLOW, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from atm.ui.views.board.graph_layout import Arrangement, Place

    Colour = Callable[..., str]
    Gutter = tuple[str, str, str, str]
    """What stands left of a task: on the heading above it, before its symbol, behind that, on the lines below."""

MOST_DEPENDENCIES = 10
"""Listed by id with a task; the others are counted."""

WIDEST_LANES = 10
"""Lines side by side that an eye can follow. A graph that needs more is shown as plain groups."""


_OVER = ("completed", "cancelled", "unreachable")


def _counts(nodes: Sequence[Node]) -> list[tuple[str, int]]:
    """How many tasks are in each state, the states in the order of our table."""
    states = [node.state for node in nodes]
    return [(state, states.count(state)) for state in dict.fromkeys([*LOOKS, *states]) if state in states]


def _clip(text: str, columns: int) -> str:
    """At most so many columns, with a sign that something was left out."""
    if len(text) <= columns and width_of(text) <= columns:
        return text
    text = text[: columns - 1]
    while text and width_of(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def _by_id(nodes: Sequence[Node]) -> dict[str, Node]:
    return {node.id: node for node in reversed(nodes)}


def as_text(nodes: Sequence[Node], colour: Colour, width: int = 100) -> str:
    """
    The graph for a terminal: a line for each task, in groups that could run at the same time.

    Lines lead from a task to those that wait for it. Links that others imply have no line, and a graph that is too
    wide has none at all; the ids behind the arrow are always complete.
    """
    arrangement = arrange(nodes)
    known = _by_id(nodes)
    layers, gutters = arrangement.layers, _lanes(arrangement)
    if gutters is None:
        layers = [sorted(layer, key=by_number) for layer in layers]
        gutters = _branches(layers)
    lines: list[str] = []
    for number, layer in enumerate(layers, 1):
        heading = f"step {number} · {len(layer)} task{'s' if len(layer) > 1 else ''}"
        lines.append(colour(gutters[layer[0]][0], DIM) + colour(heading, BOLD))
        for task in layer:
            lines += _task_lines(known[task], gutters[task], known, colour, width)
    for task, other in arrangement.cut:
        lines.append(colour(f"! {_mark(task)} waits for {_mark(other)} in a circle; that link is left out", YELLOW))
    return "\n".join([*lines, *_summary(list(known.values()), colour)])


def _mark(task: str) -> str:
    return "#" + _clip(one_line(task), 24)


def _summary(nodes: Sequence[Node], colour: Colour) -> list[str]:
    parts = [
        colour(f"{look(state).symbol} {count} {_clip(one_line(word_of(state)), 20)}", *look(state).codes)
        for state, count in _counts(nodes)
    ]
    return ["", "  ".join(parts)] if parts else []


def _task_lines(node: Node, gutter: Gutter, known: Mapping[str, Node], colour: Colour, width: int) -> list[str]:
    """The task, and its dependencies behind it or, where they do not fit, below it."""
    _, left, right, below = gutter
    mark, owner = _mark(node.id), f"  @{_clip(one_line(node.owner), 24)}" if node.owner else ""
    room = width - len(left) - len(right) - 2 - len(mark) - width_of(owner)
    label = _clip(one_line(node.label), max(room, 20))
    codes = (DIM,) if node.state in _OVER else (BOLD,) if node.state == "in_progress" else ()
    shown = colour(left, DIM) + colour(look(node.state).symbol, *look(node.state).codes) + colour(right, DIM)
    line = f"{shown}{colour(mark, DIM)} {colour(label, *codes)}{colour(owner, BLUE)}"
    waits = _dependencies(node, known)
    if not waits:
        return [line]
    if width_of(label) + 3 + width_of(waits) <= room:
        return [f"{line}  {colour(waits, DIM)}"]
    return [line, colour(f"{below.ljust(len(left) + 1 + len(right))}  {waits}", DIM)]


def _dependencies(node: Node, known: Mapping[str, Node]) -> str:
    others = sorted(set(node.depends_on), key=by_number)
    marks = [_mark(other) + ("" if other in known else "?") for other in others[:MOST_DEPENDENCIES]]
    more = f" … +{len(others) - MOST_DEPENDENCIES}" if len(others) > MOST_DEPENDENCIES else ""
    return f"← {' '.join(marks)}{more}" if marks else ""


def _branches(layers: Sequence[Sequence[str]]) -> dict[str, Gutter]:
    """Plain groups, for a graph whose lines nobody could follow."""
    gutters: dict[str, Gutter] = {}
    for layer in layers:
        gutters.update(dict.fromkeys(layer, ("", "├ ", " ", "│ ")))
        gutters[layer[-1]] = ("", "└ ", " ", "  ")
    return gutters


def _lanes(arrangement: Arrangement) -> dict[str, Gutter] | None:
    """A lane for each task that others wait for, as `git log --graph` draws them; None if that becomes too wide."""
    needed = needed_links(arrangement.depends_on)
    waiting = dict.fromkeys(needed, 0)
    for others in needed.values():
        for other in others:
            waiting[other] += 1
    lanes: list[str | None] = []
    rows: dict[str, Gutter] = {}
    for task in (task for layer in arrangement.layers for task in layer):
        for other in needed[task]:
            waiting[other] -= 1
        above = _open_lanes(lanes)
        own = _own_lane(lanes, [other for other in needed[task] if not waiting[other]])
        if len(lanes) > WIDEST_LANES:
            return None
        row = _row(lanes, own, needed[task], waiting)
        lanes = [lane if lane is not None and waiting[lane] else None for lane in lanes]
        lanes[own] = task if waiting[task] else None
        rows[task] = (above, row[: 2 * own], row[2 * own + 1 :], _open_lanes(lanes))
    wide = 2 * len(lanes)
    return {
        task: (above.ljust(wide), left, right.ljust(wide - 1 - len(left)), below)
        for task, (above, left, right, below) in rows.items()
    }


def _open_lanes(lanes: Sequence[str | None]) -> str:
    return "".join("  " if lane is None else "│ " for lane in lanes)


def _own_lane(lanes: list[str | None], ending: Sequence[str]) -> int:
    """The lane of a dependency that nobody else waits for, or else the first that is free."""
    for index, lane in enumerate(lanes):
        if lane in ending:
            return index
    if None not in lanes:
        lanes.append(None)
    return lanes.index(None)


def _row(lanes: Sequence[str | None], own: int, others: Sequence[str], waiting: Mapping[str, int]) -> str:
    """The lanes beside a task. A line that only passes by interrupts the one that it crosses."""
    linked = [own, *(index for index, lane in enumerate(lanes) if lane in others)]
    first, last = min(linked), max(linked)
    row = ""
    for index, lane in enumerate(lanes):
        goes_on = lane is not None and (lane not in others or waiting[lane] > 0)
        if index == own:
            sign = "*"
        elif index in linked:
            sign = ("├┼┤" if goes_on else "╰┴╯")[0 if index == first else 2 if index == last else 1]
        else:
            sign = "│" if goes_on else "─" if first < index < last else " "
        row += sign + ("─" if first <= index < last else " ")
    return row


def as_dot(nodes: Sequence[Node]) -> str:
    """The graph for Graphviz: `dot -Tpng`."""
    arrangement = arrange(nodes)
    known = _by_id(nodes)
    lines = ["digraph tasks {", "  rankdir=LR;", '  node [shape=box, style="rounded,filled", fontname="sans-serif"];']
    for task in sorted(known, key=by_number):
        node = known[task]
        below = _dot_text(word_of(node.state) + (f" @{node.owner}" if node.owner else ""))
        label = f"#{_dot_text(task)} {_dot_text(_clip(one_line(node.label), 60))}\\n{below}"
        shown = look(node.state)
        colours = f'fillcolor="{shown.light}", color="{shown.border}", tooltip="{_dot_text(node.label)}"'
        lines.append(f'  "{_dot_text(task)}" [label="{label}", {colours}];')
    for task, others in arrangement.depends_on.items():
        lines += [f'  "{_dot_text(other)}" -> "{_dot_text(task)}";' for other in others]
    circle = '[style=dashed, color="#d1242f", constraint=false]'
    lines += [f'  "{_dot_text(other)}" -> "{_dot_text(task)}" {circle};' for task, other in arrangement.cut]
    return "\n".join([*lines, "}", ""])


def _dot_text(text: str) -> str:
    """For between quotes. Graphviz reads backslash escapes in labels, and entities everywhere."""
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


BOX_WIDTH, BOX_HEIGHT, BOX_SPACE, LANE_HEIGHT = 220, 82, 18, 16
COLUMN_SPACE, MARGIN, HEAD = 76, 24, 52
TEXT_SIZE, SMALL = 13, 11
_NARROW, _BROAD = "fijlrtI.,:;'|!()[] ", "mwMW@%"

_STYLE = """
svg { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
.page { fill: #ffffff; } text { fill: #1f2328; font-size: 13px; } .small { font-size: 11px; fill: #57606a; }
.title { font-size: 17px; font-weight: 600; } .id { font-weight: 600; }
.box { stroke-width: 1.5; } .cancelled, .unreachable { stroke-dasharray: 5 3; }
.link { fill: none; stroke: #8593a3; stroke-width: 1.4; } .implied { opacity: 0.35; } .tip { fill: #8593a3; }
.circle { stroke: #d1242f; stroke-dasharray: 5 4; }
%s
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117; } text { fill: #e6edf3; } .small { fill: #9aa7b4; }
.link { stroke: #66788c; } .tip { fill: #66788c; } .circle { stroke: #ff6b63; }
%s
}
"""
_CLIP = f'<clipPath id="inside"><rect width="{BOX_WIDTH - 6}" height="{BOX_HEIGHT}"/></clipPath>'
_TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" orient="auto"'
    ' markerUnits="userSpaceOnUse"><path class="tip" d="M0 0.5 8 4 0 7.5z"/></marker>'
)


def as_svg(nodes: Sequence[Node], title: str) -> str:
    """The graph as a picture that stands alone: no script, nothing to fetch, readable on white and on dark."""
    arrangement = arrange(nodes)
    known = _by_id(nodes)
    where = _points(arrangement)
    width = max(480, 2 * MARGIN + len(arrangement.columns) * (BOX_WIDTH + COLUMN_SPACE) - COLUMN_SPACE)
    bottom = max((y + BOX_HEIGHT / 2 for _, y in where.values()), default=HEAD) + MARGIN
    legend, height = _legend(list(known.values()), width, bottom + 12)
    body = [
        f'<text class="title" x="{MARGIN}" y="32">{_fitted(title, width - 2 * MARGIN, 17)}</text>',
        *_link_paths(arrangement, where),
        *(_box(node, where[node.id, arrangement.layer_of[node.id]]) for node in known.values()),
        *legend,
    ]
    size = f'width="{width}" height="{height:.0f}" viewBox="0 0 {width} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<title>{_escaped(_drawable(title))}</title>'
    page = '<rect class="page" width="100%" height="100%"/>'
    return "\n".join([head, f"<style>{_style()}</style>", f"<defs>{_CLIP}{_TIP}</defs>", page, *body, "</svg>", ""])


def _style() -> str:
    looks = {**LOOKS, "unknown": UNKNOWN}
    light = [f".{state} {{ fill: {look.light}; stroke: {look.border}; }}" for state, look in looks.items()]
    dark = [f".{state} {{ fill: {look.dark}; }}" for state, look in looks.items()]
    return _STYLE % ("\n".join(light), "\n".join(dark))


def _points(arrangement: Arrangement) -> dict[Place, tuple[float, float]]:
    """The left edge and the middle of every box and lane."""
    middles = heights(arrangement, BOX_HEIGHT + BOX_SPACE, LANE_HEIGHT)
    return {place: (MARGIN + place[1] * (BOX_WIDTH + COLUMN_SPACE), HEAD + y) for place, y in middles.items()}


def _link_paths(arrangement: Arrangement, where: Mapping[Place, tuple[float, float]]) -> list[str]:
    """The links of a task share its lanes, so that each is drawn once however many tasks wait at its end."""
    needed = {task: set(others) for task, others in needed_links(arrangement.depends_on).items()}
    layer_of, far = arrangement.layer_of, dict(arrangement.layer_of)
    for task, others in needed.items():
        far.update({other: max(far[other], layer_of[task]) for other in others})
    crowded = sum(map(len, arrangement.before.values())) > MOST_LANES
    paths: list[str] = []
    for (task, layer), places in arrangement.before.items():
        is_box = layer == layer_of[task]
        for other in places:
            says_something = other[0] in needed[task] if is_box else far[task] > layer
            if says_something or not crowded:
                kind = "link" if says_something else "link implied"
                paths.append(_path(where[other], where[task, layer], kind, tip=is_box))
    for task, other_task in arrangement.cut[:MOST_LANES]:
        start, end = where[other_task, layer_of[other_task]], where[task, layer_of[task]]
        paths.append(_path(start, end, "link circle", tip=True))
    return paths


def _path(start: tuple[float, float], end: tuple[float, float], kind: str, *, tip: bool) -> str:
    """A curve from the right edge of one place to the left edge of another: to the tip at a box, or along a lane."""
    x, y = start[0] + BOX_WIDTH, start[1]
    bend = max((end[0] - x) / 2, COLUMN_SPACE / 2)
    curve = f"M{x:.1f} {y:.1f}C{x + bend:.1f} {y:.1f} {end[0] - bend:.1f} {end[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    rest = '" marker-end="url(#tip)"' if tip else f'H{end[0] + BOX_WIDTH:.1f}"'
    return f'<path class="{kind}" d="{curve}{rest}/>'


def _box(node: Node, at: tuple[float, float]) -> str:
    state = node.state if node.state in LOOKS else "unknown"
    inner = BOX_WIDTH - 24
    lines = enumerate(_wrapped(node.label, inner))
    rows = "".join(f'<text x="12" y="{39 + 16 * row}">{_escaped(line)}</text>' for row, line in lines)
    owner = f'<text class="small" x="12" y="{BOX_HEIGHT - 9}">{_fitted("@" + node.owner, inner, SMALL)}</text>'
    return (
        f'<g transform="translate({at[0]:.1f} {at[1] - BOX_HEIGHT / 2:.1f})">'
        f"<title>{_escaped(_drawable(f'#{node.id} {node.label}'))}</title>"
        f'<rect class="box {state}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="9"/><g clip-path="url(#inside)">'
        f'<text class="id" x="12" y="20">{_fitted("#" + node.id, inner / 2, TEXT_SIZE)}</text>'
        f'<text class="small" x="{BOX_WIDTH - 12}" y="20" text-anchor="end">'
        f"{_fitted(word_of(node.state), inner / 2, SMALL)}</text>{rows}{owner if node.owner else ''}</g></g>"
    )


def _legend(nodes: Sequence[Node], width: float, top: float) -> tuple[list[str], float]:
    """What the colours mean, with counts, in as many rows as it takes; and where the picture ends."""
    x, y, parts = float(MARGIN), top, []
    for state, count in _counts(nodes):
        text = _shortened(f"{_drawable(word_of(state))} {count}", 160, SMALL)
        step = 22 + _text_width(text, SMALL) + 18
        if x + step > width - MARGIN and x > MARGIN:
            x, y = float(MARGIN), y + 20
        look = state if state in LOOKS else "unknown"
        parts.append(f'<rect class="box {look}" x="{x:.1f}" y="{y - 10:.1f}" width="14" height="12" rx="3"/>')
        parts.append(f'<text class="small" x="{x + 20:.1f}" y="{y:.1f}">{_escaped(text)}</text>')
        x += step
    return parts or [f'<text class="small" x="{MARGIN}" y="{y:.1f}">no tasks</text>'], y + MARGIN


def _drawable(text: str) -> str:
    """Without what XML cannot hold or a terminal must not see; blanks for line breaks."""
    if text.isascii() and text.isprintable():
        return text
    spaced = text.replace("\n", " ").replace("\t", " ")
    return "".join(c for c in spaced if one_line(c) == c and c not in "\ufffe\uffff")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _fitted(text: str, room: float, size: int) -> str:
    return _escaped(_shortened(_drawable(text), room, size))


def _text_width(text: str, size: int) -> float:
    """A guess, on the safe side, since we do not know the reader's font."""
    return size * sum(0.4 if c in _NARROW else 0.95 if c in _BROAD else 0.63 * width_of(c) for c in text)


def _shortened(text: str, room: float, size: int) -> str:
    most = int(room / size / 0.4) + 1  # characters, if all are narrow
    if len(text) <= most and _text_width(text, size) <= room:
        return text
    text = text[:most]
    while text and _text_width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def _wrapped(label: str, room: float) -> list[str]:
    """The subject on two lines at most. A word that is longer than a line is broken."""
    words = _drawable(label)[:400].split()
    first = ""
    while words and _text_width(f"{first} {words[0]}".strip(), TEXT_SIZE) <= room:
        first = f"{first} {words.pop(0)}".strip()
    if words and not first:
        while words[0] and _text_width(first + words[0][0], TEXT_SIZE) <= room:
            first, words[0] = first + words[0][0], words[0][1:]
    rest = _shortened(" ".join(words), room, TEXT_SIZE)
    return [line for line in (first, rest) if line]
