"""The docs show the screen as it is."""

from __future__ import annotations

import xml.etree.ElementTree as xml

import pytest
from tests.tui.demo_picture import draw, stored
from tests.tui.pictures import FOLDER, pictures

DRAWN = pictures()


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_in_the_docs_is_what_the_screen_draws(name):
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == DRAWN[name], "draw them anew: make pictures"


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_loads_nothing(name):
    root = xml.fromstring(DRAWN[name])
    assert not [one for one in root.iter() if one.tag.endswith(("script", "image", "style", "use", "foreignObject"))]
    assert "url(" not in DRAWN[name]


def test_the_moving_picture_is_drawn_from_the_recorded_run():
    drawn = (FOLDER / "demo.svg").read_text(encoding="utf-8")
    assert drawn == draw(stored()), "draw it anew: make pictures"
    assert len(drawn.encode()) < 300_000
    assert "<script" not in drawn
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_the_recorded_run_ended_well():
    said = [line for _, line in stored()]
    assert "success: 13 of 13 tasks" in "\n".join(said)
    assert sum(line.startswith("  ✓ ") and "says" in line for line in said) == 3
