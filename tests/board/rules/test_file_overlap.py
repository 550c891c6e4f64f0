"""File overlap: two patterns overlap exactly if some path matches both; in doubt, yes."""

from __future__ import annotations

import random
import subprocess
import sys
from functools import cache
from itertools import product
from pathlib import Path
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chaos import LONG

from atm.board.rules.file_overlap import LONGEST_PATTERN, globs_overlap, overlapping

OVERLAP = [
    ("a.py", "a.py"),
    ("src/parser", "src/parser/lexer.py"),
    ("src/parser/", "src/parser/lexer.py"),
    ("src/parser", "src/parser/"),
    ("src/parser", "src/**"),
    ("src/parser", "src/*/lexer.py"),
    ("src/*", "src/parser"),
    ("src/*/", "src/parser/deep/lexer.py"),
    ("src/**", "src/a/b/c.py"),
    ("src/**", "src"),
    ("src/**/x.py", "src/x.py"),
    ("**/x.py", "x.py"),
    ("**/x.py", "a/b/x.py"),
    ("**", "anything/at/all"),
    ("**/a/**", "**/b/**"),
    ("**/test_*.py", "tests/**"),
    ("*.py", "a.*"),
    ("a*", "*b"),
    ("*a*", "*b*"),
    ("a?c", "ab?"),
    ("?", "é"),
    ("[abc]", "c"),
    ("[a-c]x", "[c-e]x"),
    ("[!a]", "b"),
    ("[^a]", "b"),
    ("[!a]", "[!b]"),
    ("[!a]", "?"),
    ("[]]", "]"),
    ("[!]]", "a"),
    ("[a-]", "-"),
    ("[*]", "*"),
    ("[*]", "[*]"),
    ("a[b", "a[b"),
    ("a[b", "a[b*"),
    ("[]", "[]"),
    ("a**b", "axxb"),
    ("./src/a.py", "src/a.py"),
    ("src//a.py", "src/a.py"),
    ("src/./a.py", ".//src/a.py"),
    ("/src/a.py", "src/a.py"),
    ("src/x/../a.py", "src/a.py"),
    ("**/../a.py", "b/a.py"),
    ("src/*/..", "src/b/c.py"),
    ("../shared/a", "../shared/*"),
    (".", "a/b"),
    ("./", "a"),
    ("a/..", "x/y"),
    ("a/**/**/b", "a/b"),
    ("docs/[a-z]*/**/*.md", "docs/guide/*/intro.md"),
    ("a b/c", "a b/*"),
    ("日本/*", "日本/語"),
    ("conf.d", "conf.d/site.conf"),
    ("**/x.app", "**/x.app/main"),
    ("src/v1.2", "src/*/a.py"),
    (".github", "**/ci.yml"),
    ("**/tests", "src/tests/test_a.py"),
    ("x.py/", "*/y.py"),
]

APART = [
    ("a.py", "b.py"),
    ("a.py", "A.py"),
    ("src/a", "tests/a"),
    ("src/parser", "src/parser2"),
    ("src/parser/", "src/parsers/x"),
    ("src/*", "src/parser/lexer.py"),
    ("*", "a/b"),
    ("*.py", "src/a.py"),
    ("src/*.py", "src/*.md"),
    ("src/**/x.py", "src/**/y.py"),
    ("src/**/x.py", "tests/**/x.py"),
    ("a*b", "a*c"),
    ("a?", "a"),
    ("a?", "abc"),
    ("?", "**/a/b"),
    ("[abc]", "d"),
    ("[a-c]", "[d-f]"),
    ("[!a]", "a"),
    ("[!a]", "[a]"),
    ("[!a-z]", "[c-d]"),
    ("[z-a]", "*"),
    ("[z-a]", "**"),
    ("**/[z-a]", "**/x"),
    ("[.-0]", "[!.0]"),  # only the slash would fit
    ("x*/y", "z*/y"),
    ("", "**"),
    ("  ", "**"),
    ("", ""),
    ("../a", "a"),
    ("a/b", "a/b/../c"),
    ("**/lexer.py", "src/parser.py"),  # a file is no folder
    ("src/parser.py", "src/*/lexer.py"),
]


@pytest.mark.parametrize(("one", "other"), OVERLAP)
def test_patterns_that_share_a_path_overlap(one, other):
    assert globs_overlap(one, other)
    assert globs_overlap(other, one)


@pytest.mark.parametrize(("one", "other"), APART)
def test_patterns_that_share_no_path_are_apart(one, other):
    assert not globs_overlap(one, other)
    assert not globs_overlap(other, one)


@cache
def paths_of(pattern: str) -> frozenset[tuple[str, ...]]:
    """The reference: slow, obvious, and sharing no idea with the code under test."""
    parts = tuple(pattern.split("/"))
    if parts[-1] == "":
        parts = (*parts[:-1], "**")
    elif not set("*?[") & set(parts[-1]):
        parts = (*parts, "**")
    return frozenset(path for path in PATHS if path_matches(parts, path))


@cache
def path_matches(parts: tuple[str, ...], path: tuple[str, ...]) -> bool:
    if not parts:
        return not path
    if parts[0] == "**":
        return path_matches(parts[1:], path) or (bool(path) and path_matches(parts, path[1:]))
    return bool(path) and segment_matches(parts[0], path[0]) and path_matches(parts[1:], path[1:])


@cache
def segment_matches(part: str, name: str) -> bool:
    if not part:
        return not name
    if part[0] == "*":
        return segment_matches(part[1:], name) or (bool(name) and segment_matches(part, name[1:]))
    if part[0] == "[":
        inside, _, rest = part[1:].partition("]")
        wanted = inside.removeprefix("!")
        letters = "abc"["abc".index(wanted[0]) : "abc".index(wanted[2]) + 1] if "-" in wanted else wanted
        fits = bool(name) and (name[0] in letters) is not inside.startswith("!")
        return fits and segment_matches(rest, name[1:])
    return bool(name) and part[0] in ("?", name[0]) and segment_matches(part[1:], name[1:])


NAMES = ["".join(letters) for size in (1, 2) for letters in product("abc", repeat=size)]
PATHS = [path for depth in (1, 2, 3) for path in product(NAMES, repeat=depth)]
PIECES = ["a", "b", "c", "*", "?", "[ab]", "[!a]", "[b-c]", "[!a-b]"]


def random_pattern(chance: random.Random) -> str:
    """At most as long as the paths that we enumerate: a longer witness would look like a mistake."""
    segments = []
    for _ in range(chance.choice((1, 1, 2))):
        wild = chance.random() < 0.2
        segments.append("**" if wild else "".join(chance.choices(PIECES, k=chance.choice((1, 1, 2)))))
    return "/".join(segments) + chance.choice(("", "", "", "/"))


def test_the_answer_is_that_of_trying_every_short_path():
    chance = random.Random(11)
    answers = set()
    for _ in range(1_500 if LONG else 500):
        one, other = random_pattern(chance), random_pattern(chance)
        shared = paths_of(one) & paths_of(other)
        assert globs_overlap(one, other) is bool(shared), (one, other, min(shared, default=None))
        answers.add(bool(shared))
    assert answers == {True, False}


@given(st.text(alphabet="ab*?[]!-/.^\\", max_size=30), st.text(alphabet="ab*?[]!-/.^\\", max_size=30))
def test_any_text_gets_an_answer_and_the_order_does_not_matter(one, other):
    assert globs_overlap(one, other) is globs_overlap(other, one)


@given(st.text(max_size=40).filter(lambda text: text.strip() and "[" not in text))
def test_every_pattern_overlaps_itself_and_everything(pattern):
    assert globs_overlap(pattern, pattern)
    if not pattern.startswith(".."):
        assert globs_overlap(pattern, "**")


HARD = [
    ("*a" * 499, "*b" * 498 + "*c"),
    ("*a" * 499, "a" * 999),
    ("**/*a/" * 160, "**/*b/" * 160),
    ("**/" * 330, "a/" * 499),
    ("?" * 999, "*" * 999),
    ("[" * 999, "[" * 998),
    ("[!" + "-" * 900 + "]*", "[a-" * 300),
    ("/".join(f"[!{chr(c)}]*" for c in range(300, 450)), "/".join(f"[!{chr(c)}]*" for c in range(300, 450))),
]


@pytest.mark.parametrize(("one", "other"), HARD, ids=range(len(HARD)))
def test_no_pattern_takes_long(one, other):
    started = thread_time()
    assert globs_overlap(one, other) is globs_overlap(other, one)
    assert thread_time() - started < 10  # the naive search would need longer than the universe has


def test_a_pattern_that_is_too_long_to_read_overlaps_everything():
    longest = "x" * LONGEST_PATTERN
    assert not globs_overlap(longest, "y")
    assert globs_overlap(longest + "x", "y")
    assert globs_overlap("y", "*a" * 5_000)
    assert not globs_overlap("*a" * 5_000, "")


def test_each_other_task_is_named_with_its_patterns_that_overlap():
    others = {
        "7": ["docs/**", "src/parser/*.py", "src/parser/*.py", "src/**"],
        "8": ["docs/guide.md"],
        "9": [],
        "12": ["**/lexer.py"],
    }
    found = overlapping(["src/parser", "README.md"], others)
    assert found == {"7": ["src/parser/*.py", "src/**"], "12": ["**/lexer.py"]}
    assert list(found) == ["7", "12"]


def test_who_names_no_files_overlaps_nobody():
    assert overlapping([], {"1": ["**"]}) == {}
    assert overlapping(["", " "], {"1": ["**"]}) == {}
    assert overlapping(["a"], {}) == {}


PROBE = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import atm.board.rules.file_overlap
print(*sorted(set(sys.modules) - before))
"""


def test_the_module_is_light_enough_for_a_claim():
    source = str(Path(__file__).parents[3] / "src")
    words = [sys.executable, "-I", "-S", "-c", PROBE, source]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == [
        *("__future__", "atm", "atm.board", "atm.board.rules", "atm.board.rules.file_overlap"),
    ]
