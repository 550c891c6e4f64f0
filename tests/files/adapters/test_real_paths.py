"""Real paths below a root, beside what the system says."""

from __future__ import annotations

import os

import pytest

from atm.files.adapters.disk import RealDisk
from atm.files.adapters.refusals import RealRoot


@pytest.fixture
def root(tmp_path):
    (tmp_path / "teams" / "crew" / "inboxes").mkdir(parents=True)
    (tmp_path / "teams" / "crew" / "inboxes" / "ann.json").write_text("[]")
    return tmp_path / "teams"


@pytest.mark.parametrize("relative", ["crew/inboxes/ann.json", "crew/inboxes/new.json", "other/inboxes/x.json", "crew"])
def test_what_is_no_link_lies_where_it_says(root, relative):
    real = RealRoot(RealDisk(), str(root))
    assert real.inside(relative) == os.path.realpath(root / relative) == f"{real.known}/{relative}"


@pytest.mark.parametrize("part", ["crew", "crew/inboxes", "crew/inboxes/ann.json"])
def test_a_link_at_any_part_is_followed_also_one_that_comes_later(root, tmp_path, part):
    real = RealRoot(RealDisk(), str(root))
    assert real.inside("crew/inboxes/ann.json").startswith(f"{real.known}/crew/")
    (root / part).rename(tmp_path / "elsewhere")
    (root / part).symlink_to(tmp_path / "elsewhere")
    found = real.inside("crew/inboxes/ann.json")
    assert found == os.path.realpath(root / "crew/inboxes/ann.json")
    assert not found.startswith(f"{real.known}/crew/inboxes/ann")


def test_a_root_that_becomes_a_link_is_resolved_anew(root, tmp_path):
    real = RealRoot(RealDisk(), str(root))
    real.inside("crew")
    root.rename(tmp_path / "moved")
    root.symlink_to(tmp_path / "moved")
    assert real.inside("crew") == os.path.realpath(root / "crew")
    assert real.known == os.path.realpath(root)


def test_a_root_that_is_not_there_yet_is_looked_up_again(tmp_path):
    real = RealRoot(RealDisk(), str(tmp_path / "teams"))
    assert real.inside("crew") == f"{os.path.realpath(tmp_path)}/teams/crew"
    (tmp_path / "there").mkdir()
    (tmp_path / "teams").symlink_to(tmp_path / "there")
    assert real.inside("crew") == f"{os.path.realpath(tmp_path)}/there/crew"
