"""The docs show the screen as it is."""

from __future__ import annotations

import xml.etree.ElementTree as xml

import pytest
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
