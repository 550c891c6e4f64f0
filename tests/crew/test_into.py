"""`--into` with a name that is no branch of the user's: refused before anything is made."""

from __future__ import annotations

import pytest
from tests.crew.conftest import Crew


@pytest.mark.parametrize(
    "name", ["atm/work/crew/9", "refs/heads/x", "HEAD", "@{-1}", "tags/v1", "../x", "a b", "a.lock", "FETCH_HEAD"]
)
def test_a_name_that_git_would_put_elsewhere_is_refused_and_nothing_is_made(crew: Crew, name: str) -> None:
    (crew.folder / "plan.md").write_text("- [ ] One (run: true)\n")
    before = crew.git("for-each-ref")
    done = crew("run", "--plan", "plan.md", "--yes", "--into", name, "--json", code=1)
    assert "--into" in done.json["error"]["remedy"]
    assert crew.git("for-each-ref") == before


def test_a_tag_is_no_target(crew: Crew) -> None:
    (crew.folder / "plan.md").write_text("- [ ] One (run: true)\n")
    crew.git("tag", "v1")
    done = crew("run", "--plan", "plan.md", "--yes", "--into", "v1", code=1)
    assert "is a tag" in done.err


def test_a_name_of_another_reference_is_no_target(crew: Crew) -> None:
    """Git finds `refs/notes/x` by the name `notes/x` before any branch of that name."""
    (crew.folder / "plan.md").write_text("- [ ] One (run: true)\n")
    crew.git("update-ref", "refs/notes/x", "HEAD")
    done = crew("run", "--plan", "plan.md", "--yes", "--into", "notes/x", code=1)
    assert "git means refs/notes/x" in done.err
