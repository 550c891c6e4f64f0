"""Patterns on paths: what the regular expressions said that they were before, and never more steps than signs."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atm.mail.rules import path_globs
from atm.mail.rules.path_globs import path_glob

PIECES = st.lists(
    st.sampled_from(
        [
            *(
                "a",
                "b",
                "/",
                "*",
                "**",
                "/**/",
                "/**",
                "?",
                "[",
                "]",
                "[ab]",
                "[!a]",
                "[^]",
                "[!]",
                "[]a]",
                "[!]a]",
                "-",
            ),
            *(
                "[a-c]",
                "[c-a]",
                "[!c-a]",
                "[/]",
                "[!/]",
                "[a-]",
                "[-a]",
                "[.-0]",
                ".",
                "^",
                "!",
                "\\",
                "c",
                "\n",
                "[!-b]",
            ),
        ]
    ),
    max_size=9,
)
PATTERN = PIECES.map("".join)
PATH = st.text("ab/c].-\n![x", max_size=9).map("/repo".__add__) | st.text("ab/", max_size=12).map("/repo/".__add__)


def expression(base: str, pattern: str) -> re.Pattern[str]:
    """The former one, but that a bracket in the first place ends no class, and that `/**/**/` is `/**/`."""
    out, i = [re.escape(base.rstrip("/"))], 0
    pattern = pattern.rstrip("/")
    while i < len(pattern):
        first = i + 2 if pattern[i + 1 : i + 2] in ("!", "^") else i + 1
        if pattern.startswith("/**/", i):
            out.append("/(?:.*/)?")
            i += 4
            while pattern.startswith("**/", i):
                i += 3
        elif pattern.startswith("**", i):
            out.append(".*")
            i += 2
        elif pattern[i] == "*":
            out.append("[^/]*")
            i += 1
        elif pattern[i] == "?":
            out.append("[^/]")
            i += 1
        elif pattern[i] == "[" and "]" in pattern[first + 1 :]:
            end = pattern.index("]", first + 1)
            out.append(one_of(pattern[i + 1 : end]))
            i = end + 1
        else:
            out.append(re.escape(pattern[i]))
            i += 1
    return re.compile("".join(out) + "(?:/.*)?", re.DOTALL)


def one_of(body: str) -> str:
    negated = body[0] in "!^"
    body = body[1:] if negated else body
    parts, i = [], 0
    while i < len(body):
        if i + 2 < len(body) and body[i + 1] == "-":
            first, last = body[i], body[i + 2]
            parts.append(f"{re.escape(first)}-{re.escape(last)}" if first <= last else "")
            i += 3
        else:
            parts.append(re.escape(body[i]))
            i += 1
    inside = "".join(parts)
    if not inside:
        return "[^/]" if negated else "(?!)"
    return f"(?!/)[{'^' if negated else ''}{inside}]"


@settings(max_examples=600)
@given(PATTERN, st.lists(PATH, min_size=1, max_size=8))
def test_a_pattern_matches_what_its_regular_expression_would(pattern, paths):
    glob, oracle = path_glob("/repo/", pattern), expression("/repo/", pattern)
    for path in paths:
        assert glob.matches(path) == (oracle.fullmatch(path) is not None), (pattern, path)


@settings(max_examples=600)
@given(PIECES, st.data())
def test_so_it_does_with_paths_that_are_made_for_it(pieces, data):
    """Random paths rarely match long patterns: many of these do."""
    fitting = [
        data.draw(st.text("ab/" if "**" in piece else "ab]-" if piece in "*?" or "[" in piece else piece, max_size=2))
        if len(piece) > 1 or piece in "*?"
        else piece
        for piece in pieces
    ]
    pattern, path = "".join(pieces), "".join(fitting)
    assert path_glob("", pattern).matches(path) == (expression("", pattern).fullmatch(path) is not None), (
        pattern,
        path,
    )


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("/[!]a]", ["/r/b", "/r/["], ["/r/a", "/r/]", "/r/a]", "/r/ba]", "/r/"]),
        ("/[^]a]x", ["/r/bx"], ["/r/]x", "/r/ax"]),
        ("/[]a]", ["/r/]", "/r/a"], ["/r/b", "/r/]a"]),
        ("/[!]", ["/r/[!]"], ["/r/x", "/r/!"]),
        ("/[]", ["/r/[]"], ["/r/]"]),
        ("/[]]", ["/r/]"], ["/r/[]]"]),
        ("/**/a/**/b", ["/r/a/b", "/r/x/a/y/z/b", "/r/a/b/below"], ["/r/xa/b", "/r/a/xb", "/r/ab"]),
        ("/**/**/b", ["/r/b", "/r/x/b", "/r/x/y/b"], ["/r/xb"]),
        ("/a***b", ["/r/ab", "/r/axb", "/r/a/x/b"], ["/r/a/x/c"]),
    ],
)
def test_what_a_pattern_matches(pattern, matching, others):
    glob = path_glob("/r", pattern)
    assert [path for path in matching if not glob.matches(path)] == []
    assert [path for path in others if glob.matches(path)] == []


def lines_run(work) -> int:
    """How many lines of the module one call runs: its steps, on any machine."""
    count, before = 0, sys.gettrace()

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename != path_globs.__file__:
            return None
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "pattern",
    [
        "/" + "*a" * 200 + "b",
        "/" + "**a" * 200 + "b",
        "/**" * 200 + "/b",
        "/" + "*[ab]" * 200 + "c",
        "/" + "?*" * 200 + "b",
        "/" + "[" * 1000,
        "/" + "[a" * 500 + "*" * 500,
    ],
)
@pytest.mark.parametrize("path", ["/repo/" + "a" * 4000, "/repo" + "/a" * 2000, "/repo/" + "ab" * 2000 + "\n"])
def test_no_pattern_takes_more_steps_than_path_and_pattern_are_long(pattern, path):
    steps = lines_run(lambda: path_glob("/repo", pattern).matches(path))
    assert steps <= 12 * (len(path) + len(pattern))
