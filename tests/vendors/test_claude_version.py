"""Which formats a version of Claude Code speaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.vendors.claude.version import Maturity, schema_for
from atm.vendors.versions import parse_version


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("2.1.39 (Claude Code)", (2, 1, 39)),
        ("2.1.231 (Claude Code)\n", (2, 1, 231)),
        ("v2.1.39", (2, 1, 39)),
        ("Claude Code v2.1.39", (2, 1, 39)),
        ("claude-code, 2.1.39, linux", (2, 1, 39)),
        ("2.1.240-beta.3 (Claude Code)", (2, 1, 240)),
        ("3.0.0", (3, 0, 0)),
        ("10.20.30", (10, 20, 30)),
        ("node 20.1.0\n2.1.39", (20, 1, 0)),
        ("", None),
        ("claude: command not found", None),
        ("2.1", None),
        ("2.1.39.4", None),
        ("2.x.1", None),
        ("٢.١.٣", None),
        ("..", None),
        ("2..1", None),
        ("-1.2.3", None),
    ],
)
def test_the_version_is_the_first_three_numbers(printed, version):
    assert parse_version(printed) == version


@pytest.mark.parametrize("printed", ["Claude Code (2.1.39)", "(2.1.39)", "version 2.1.39; build 7", "2.1.39+build.5"])
def test_punctuation_around_the_version_does_not_hide_it(printed):
    assert parse_version(printed) == (2, 1, 39)


@proves("R000-version-sensitivity-01", "R001-1-12", "R001-3.1-19", "R001-3.1-25", "R001-3.1-26", "R001-10-03")
@pytest.mark.parametrize(
    ("printed", "maturity"),
    [
        ("2.1.39 (Claude Code)", Maturity.PRE_RELEASE),
        ("2.999.0", Maturity.PRE_RELEASE),
        ("3.0.0", Maturity.STABLE),
        ("4.1.0 (Claude Code)", Maturity.STABLE),
        ("1.0.128", Maturity.PRE_RELEASE),
    ],
)
def test_a_version_tells_how_far_its_files_can_be_relied_upon(printed, maturity):
    assert schema_for(printed).maturity is maturity


@proves("R000-version-sensitivity-01", "R001-3.1-27")
@pytest.mark.parametrize("printed", ["", "bash: claude: command not found", "latest"])
def test_unknown_means_the_newest_known_format_and_care(printed):
    schema = schema_for(printed)
    assert (schema.maturity, schema.claude_version) == (Maturity.UNKNOWN, "")


@proves("R001-3.1-28")
def test_the_version_is_kept_in_its_plain_form():
    assert schema_for("v2.1.39-beta (Claude Code)").claude_version == "2.1.39"


@proves("R001-3.1-28")
@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 999))
def test_any_version_is_recognised(major, minor, patch):
    printed = f"{major}.{minor}.{patch} (Claude Code)"
    assert parse_version(printed) == (major, minor, patch)
    assert schema_for(printed).claude_version == f"{major}.{minor}.{patch}"


@given(st.text(max_size=30))
def test_no_output_makes_it_fail_and_without_a_version_it_is_unknown(printed):
    assert (schema_for(printed).maturity is Maturity.UNKNOWN) is (parse_version(printed) is None)
