"""Graphs of tasks: laid out soon whatever the shape, drawn safely whatever the text."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.chaos import LONG

from atm.ui.views.board.graph_drawing import WIDEST_LANES, as_dot, as_svg, as_text
from atm.ui.views.board.graph_layout import Arrangement, Node, arrange, heights, layers, needed_links
from atm.ui.views.looks import LOOKS, word_of

at_leisure = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""What is drawn is checked, not how busy the machine is."""

SVG = "{http://www.w3.org/2000/svg}"


def plain(text: str, *codes: str) -> str:
    return text


def tagged(text: str, *codes: str) -> str:
    return f"<{';'.join(codes)}>{text}" if codes and text else text


def graph(*links: str, state: str = "pending") -> list[Node]:
    """`graph("1", "2<1", "3<1,2")`: the ids, and what each depends on."""
    nodes = []
    for link in links:
        task, _, others = link.partition("<")
        nodes.append(Node(task, f"Task {task}", state, "", others.split(",") if others else []))
    return nodes


def crossings(arrangement: Arrangement) -> int:
    found = 0
    for left, right in pairwise(arrangement.columns):
        at = {place: index for index, place in enumerate(left)}
        ends = [(at[other], index) for index, place in enumerate(right) for other in arrangement.before[place]]
        found += sum((a - c) * (b - d) < 0 for i, (a, b) in enumerate(ends) for c, d in ends[:i])
    return found


def test_every_task_stands_behind_what_it_depends_on():
    assert layers(graph("1", "2<1", "3<1", "4<2,3", "5<1", "6<4,5")) == [["1"], ["2", "3", "5"], ["4"], ["6"]]


def test_a_task_stands_behind_its_longest_chain():
    assert layers(graph("4<1,3", "3<2", "2<1", "1")) == [["1"], ["2"], ["3"], ["4"]]


def test_tasks_without_links_stand_in_the_order_of_their_numbers():
    assert layers(graph("10", "b", "9", "a", "2")) == [["2", "9", "10", "a", "b"]]


def test_nothing_has_no_layers():
    assert layers([]) == []


def test_unknown_and_doubled_dependencies_count_nothing():
    assert layers(graph("1<99", "2<1,1,98")) == [["1"], ["2"]]


def test_of_two_tasks_with_one_id_the_first_counts():
    assert layers(graph("1", "2<1", "2")) == [["1"], ["2"]]


@pytest.mark.parametrize(
    ("links", "cut"),
    [
        (["1<1"], [("1", "1")]),
        (["1<2", "2<1"], [("2", "1")]),
        (["1<2", "2<3", "3<1", "4<1"], [("3", "1")]),
        (["1<2", "2<1", "3<4", "4<3"], [("2", "1"), ("4", "3")]),
    ],
)
def test_a_circle_is_broken_and_reported(links, cut):
    arrangement = arrange(graph(*links))
    assert arrangement.cut == cut
    assert sorted(task for layer in arrangement.layers for task in layer) == sorted(link[0] for link in links)


def test_the_order_within_layers_avoids_crossings():
    assert crossings(arrange(graph("1", "2", "3", "4<3", "5<2", "6<1"))) == 0
    assert crossings(arrange(graph("1", "2", "3<2", "4<1", "5<3", "6<4", "7<5,1", "8<6"))) <= 1


def test_a_link_over_several_layers_reserves_a_lane_in_each():
    arrangement = arrange(graph("1", "2<1", "3<2", "4<3,1", "5<3,1"))
    assert sorted(arrangement.columns[1]) == [("1", 1), ("2", 1)]
    assert sorted(arrangement.columns[2]) == [("1", 2), ("3", 2)]
    assert arrangement.before["4", 3] == [("1", 2), ("3", 2)]


def test_links_that_others_imply_are_not_needed():
    arrangement = arrange(graph("1", "2<1", "3<1,2", "4<1,2,3"))
    assert needed_links(arrangement.depends_on) == {"1": [], "2": ["1"], "3": ["2"], "4": ["3"]}


LINKS = st.lists(st.lists(st.integers(0, 30), max_size=5), max_size=30)


@at_leisure
@given(LINKS)
def test_any_graph_is_layered_and_nothing_overlaps(links):
    nodes = [Node(str(i), "x", "pending", "", map(str, others)) for i, others in enumerate(links)]
    arrangement = arrange(nodes)
    where = {task: number for number, layer in enumerate(arrangement.layers) for task in layer}
    assert sorted(where) == sorted(node.id for node in nodes)
    for task, others in arrangement.depends_on.items():
        assert all(where[other] < where[task] for other in others)
    wanted = {(node.id, other) for node in nodes for other in node.depends_on if other in where}
    drawn = {(task, other) for task, others in arrangement.depends_on.items() for other in others}
    assert drawn | set(arrangement.cut) == wanted
    assert not drawn & set(arrangement.cut)
    middle = heights(arrangement, 10, 10)
    for column in arrangement.columns:
        assert all(middle[b] - middle[a] > 9.99 for a, b in pairwise(column))
    if nodes:
        assert abs(min(middle.values()) - 5) < 0.01


CHANCE = random.Random(7)
MANY = 2_000 if LONG else 200
DENSE = 400 if LONG else 60
SHAPES = {
    "random": [Node(str(i), "x", "pending", "", {str(CHANCE.randrange(i or 1)) for _ in "123"}) for i in range(MANY)],
    "fan": [Node(str(i), "x", "pending", "", ["0"] if i else []) for i in range(MANY)],
    "chain": [Node(str(i), "x", "pending", "", [str(i - 1)]) for i in range(MANY)],
    "ring": [Node(str(i), "x", "pending", "", [str((i - 1) % MANY)]) for i in range(MANY)],
    "ladder": [Node(str(i), "x", "pending", "", [str(i - 1), "0"]) for i in range(MANY)],
    "everything": [Node(str(i), "x", "pending", "", map(str, range(i))) for i in range(DENSE)],
    "knot": [Node(str(i), "x", "pending", "", map(str, range(DENSE))) for i in range(DENSE)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_graphs_of_every_shape_are_drawn_whole(shape):
    nodes = SHAPES[shape]
    assert sum(map(len, layers(nodes))) == len(nodes)
    assert as_text(nodes, plain).count("\n") >= len(nodes)
    assert len(ElementTree.fromstring(as_svg(nodes, shape))) > len(nodes)
    assert as_dot(nodes).endswith("}\n")


TWELVE = [
    Node("1", "Set up the repository", "completed", "ann"),
    Node("2", "Agree on the wire format", "completed", "bob"),
    Node("3", "Write the lexer", "completed", "ann", ["1", "2"]),
    Node("4", "Write the parser", "in_progress", "ann", ["3"]),
    Node("5", "Choose a storage engine", "review", "cy", ["1"]),
    Node("6", "Implement storage", "planning", "cy", ["5", "2"]),
    Node("7", "Command line", "blocked", "", ["4", "6", "1"]),
    Node("8", "Fuzz the parser", "blocked", "", ["4"]),
    Node("9", "Benchmarks", "failed", "dee", ["3"]),
    Node("10", "Publish benchmarks", "unreachable", "", ["9"]),
    Node("11", "Manual", "pending", "", ["2"]),
    Node("12", "Release 1.0", "blocked", "", ["7", "8", "10", "11"]),
]


def test_a_dozen_tasks_are_shown_with_their_chains():
    assert as_text(TWELVE, plain).split("\n") == [
        "        step 1 · 2 tasks",
        "✓       #1 Set up the repository  @ann",
        "│ ✓     #2 Agree on the wire format  @bob",
        "│ │     step 2 · 3 tasks",
        "├─│─◎   #5 Choose a storage engine  @cy  ← #1",
        "✓─┤ │   #3 Write the lexer  @ann  ← #1 #2",
        "│ ├─│─○ #11 Manual  ← #2",
        "│ │ │ │ step 3 · 3 tasks",
        "│ ✎─╯ │ #6 Implement storage  @cy  ← #2 #5",
        "├─│─◉ │ #4 Write the parser  @ann  ← #3",
        "✗ │ │ │ #9 Benchmarks  @dee  ← #3",
        "│ │ │ │ step 4 · 3 tasks",
        "│ ◌─┤ │ #7 Command line  ← #1 #4 #6",
        "│ │ ◌ │ #8 Fuzz the parser  ← #4",
        "⊝ │ │ │ #10 Publish benchmarks  ← #9",
        "│ │ │ │ step 5 · 1 task",
        "◌─┴─┴─╯ #12 Release 1.0  ← #7 #8 #10 #11",
        "",
        "◉ 1 in progress  ◎ 1 in review  ✎ 1 planning  ○ 1 ready  ◌ 3 blocked  ✓ 3 done  ✗ 1 failed  ⊝ 1 unreachable",
    ]


def test_a_graph_that_is_too_wide_for_lines_is_shown_in_groups():
    wide = [Node(str(i), f"Root {i}", "pending") for i in range(1, WIDEST_LANES + 2)]
    wide += [Node(f"{100 + i}", f"Leaf {i}", "blocked", "", [str(i)]) for i in range(1, WIDEST_LANES + 2)]
    lines = as_text(list(reversed(wide)), plain).split("\n")
    assert lines[:3] == ["step 1 · 11 tasks", "├ ○ #1 Root 1", "├ ○ #2 Root 2"]
    assert lines[11:14] == ["└ ○ #11 Root 11", "step 2 · 11 tasks", "├ ◌ #101 Leaf 1  ← #1"]


def test_what_does_not_fit_behind_the_task_stands_below_it():
    lines = as_text([*graph("1"), Node("2", "word " * 40, "blocked", "bob", ["1"])], plain, width=60).split("\n")
    assert lines[3].startswith("◌ #2 word word")
    assert lines[3].endswith("…  @bob")
    assert len(lines[3]) <= 60
    assert lines[4] == "    ← #1"


def test_ten_dependencies_are_named_and_the_others_counted():
    nodes = [*graph(*map(str, range(1, 14))), Node("20", "Last", "blocked", "", map(str, range(1, 14)))]
    assert "← #1 #2 #3 #4 #5 #6 #7 #8 #9 #10 … +3" in as_text(nodes, plain)


def test_a_dependency_that_is_not_there_is_marked():
    assert "#1 Task 1  ← #99?" in as_text(graph("1<99"), plain)


def test_a_circle_is_told_below_the_drawing():
    text = as_text(graph("1<2", "2<1"), plain)
    assert "! #2 waits for #1 in a circle; that link is left out" in text
    assert "#2 Task 2  ← #1" in text


@pytest.mark.parametrize("state", LOOKS)
def test_every_state_has_its_symbol_and_its_name(state):
    text = as_text(graph("1", state=state), plain)
    assert f"{LOOKS[state].symbol} #1 Task 1" in text
    assert f"{LOOKS[state].symbol} 1 {word_of(state)}" in text


def test_a_state_that_we_do_not_know_is_shown_as_it_is():
    text = as_text(graph("1", state="on_ice\x1b[2J"), plain)
    assert "? #1 Task 1" in text
    assert "? 1 on ice␛[2J" in text
    ElementTree.fromstring(as_svg(graph("1", state='"><script>'), "x"))


def test_colours_are_left_to_the_caller():
    text = as_text(TWELVE, tagged)
    assert "<1;34>◉" in text
    assert "<32>✓" in text
    assert "<31>⊝" in text
    assert re.sub("<[0-9;]*>", "", text) == as_text(TWELVE, plain)


def test_no_tasks_make_an_empty_text_and_a_picture_that_says_so():
    assert as_text([], plain) == ""
    assert "no tasks" in as_svg([], "crew")
    assert as_dot([]).startswith("digraph tasks {")


def test_wide_characters_are_counted_as_they_are_shown():
    lines = as_text([Node("1", "日本語" * 30, "pending", "bob")], plain, width=50).split("\n")
    assert lines[1].endswith("…  @bob")
    assert len(lines[1]) < 35


HOSTILE = [
    "\x1b]0;title\x07\x1b[2J\r\n\x9b31m",
    "\0 \ud800 \udfff \ufffe \uffff",
    "]]> <!-- & &amp; --> <script>alert(1)</script> ' \" \\",
    '"]; evil [label="x',
    "ends in a backslash \\",
    "\\N \\G \\l &lt;b&gt;",
    "\u202eright to left\u202c שלום עולם",
    "🎉👩‍👩‍👧‍👦 e\u0301",
    "x" * 20_000,
    "word " * 4_000,
    "日本" * 3_000,
    "",
    "\n\n\t",
]
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_in_a_task_leaves_its_place(text):
    nodes = [Node(text, text, text, text, ["1", text]), Node("1", text, "pending", text, [text])]
    shown = as_text(nodes, plain)
    assert not FORBIDDEN.search(shown)
    assert max(map(len, shown.split("\n"))) < 300
    svg = as_svg(nodes, text)
    assert not FORBIDDEN.search(svg)
    assert {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()} <= DRAWN
    assert not FORBIDDEN.search(as_dot(nodes))
    check_dot(as_dot(nodes))


DRAWN = {"svg", "title", "style", "defs", "clipPath", "rect", "marker", "path", "text", "g"}
QUOTED = r'"(?:[^"\\]|\\.)*"'
DOT_LINES = [
    re.compile(rf"  {QUOTED} \[label={QUOTED}, fillcolor={QUOTED}, color={QUOTED}, tooltip={QUOTED}\];"),
    re.compile(rf"  {QUOTED} -> {QUOTED}( \[style=dashed, color={QUOTED}, constraint=false\])?;"),
]


def check_dot(dot: str) -> None:
    head, *lines = dot.split("\n")
    assert head == "digraph tasks {"
    assert lines[-2:] == ["}", ""]
    assert lines[0] == "  rankdir=LR;"
    for line in lines[2:-2]:
        assert any(form.fullmatch(line) for form in DOT_LINES), line


@at_leisure
@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=12), st.text(max_size=12))
def test_any_text_can_be_drawn(label, owner, task, state):
    nodes = [Node(task, label, state, owner, ["1"]), Node("1", label, "pending", owner, [task])]
    assert not FORBIDDEN.search(as_text(nodes, plain))
    ElementTree.fromstring(as_svg(nodes, label))
    check_dot(as_dot(nodes))


def test_dot_says_what_depends_on_what():
    dot = as_dot(graph("1", "2<1,99", "3<3"))
    check_dot(dot)
    assert '  "1" -> "2";' in dot
    assert '"99"' not in dot
    assert '  "3" -> "3" [style=dashed' in dot
    assert 'label="#1 Task 1\\nready"' in dot


def boxes_of(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"translate\(([\d.]+) ([\d.]+)\)", svg)]


def test_a_picture_holds_every_box_and_stands_alone():
    svg = as_svg(TWELVE, "crew & <friends>")
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    boxes = boxes_of(svg)
    assert len(set(boxes)) == 12
    assert all(0 <= x <= width - 220 and 40 <= y <= height - 82 for x, y in boxes)
    assert root.findtext(f"{SVG}title") == "crew & <friends>"
    assert "prefers-color-scheme: dark" in svg
    assert not re.search(r"<script|href|src=|@import|url\((?!#)", svg)
    tips = [path for path in root.findall(f"{SVG}path") if "marker-end" in path.attrib]
    assert len(tips) == sum(len(node.depends_on) for node in TWELVE)


def test_a_box_shows_two_lines_and_tells_the_whole_subject_on_request():
    label = "Rewrite the whole of the storage engine so that it survives a crash in the middle of a compaction"
    root = ElementTree.fromstring(as_svg([Node("7", label, "in_progress", "ann")], "crew"))
    box = root.find(f"{SVG}g")
    assert box is not None
    assert box.findtext(f"{SVG}title") == f"#7 {label}"
    shown = [element.text or "" for element in box.iter(f"{SVG}text")]
    assert shown[:2] == ["#7", "in progress"]
    assert len(shown) == 5
    assert label.startswith(shown[2])
    assert shown[3].endswith("…")
    assert shown[4] == "@ann"


def test_a_word_that_is_longer_than_a_line_is_broken():
    root = ElementTree.fromstring(as_svg([Node("7", "x" * 40, "pending")], "crew"))
    shown = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert "".join(shown[3:5]) == "x" * 40


def test_the_legend_counts_the_states_that_there_are():
    texts = [element.text for element in ElementTree.fromstring(as_svg(TWELVE, "crew")).iter(f"{SVG}text")]
    assert "blocked 3" in texts
    assert "done 3" in texts
    assert "cancelled 0" not in texts


@pytest.mark.parametrize("size", range(15, 80))
def test_words_of_every_length_are_wrapped_and_cut_only_when_two_lines_do_not_hold_them(size):
    """Each label with the largest size that its two lines hold."""
    labels = {
        "0" * size: 46,
        "I" * size: 74,
        "0" * 19 + "I" * (size - 15): 59,
        "日" * size: 22,
        f"{'0' * size} x": 45,
    }
    for label, largest in labels.items():
        box = ElementTree.fromstring(as_svg([Node("7", label, "pending")], "crew")).find(f"{SVG}g")
        assert box is not None
        lines = [element.text or "" for element in box.iter(f"{SVG}text")][2:]
        shown, whole = "".join(lines).replace(" ", ""), label.replace(" ", "")
        if size <= largest:
            assert shown == whole
        else:
            assert len(lines) == 2
            assert shown.endswith("…")
            assert whole.startswith(shown.removesuffix("…"))
