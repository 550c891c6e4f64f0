"""Settings files: the quick reader gives what TOML's own parser gives, or leaves it to that parser."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chaos import examples

from atm.files.formats.settings_text import NotSettings, read_settings, read_simple

# Half of the parts are as simple as settings usually are, half are whatever else TOML knows or refuses.
VALUES = st.sampled_from(['"text"', "'text'", "true", "0", "17", "[]", '["a", "b"]']) | st.sampled_from(
    [
        *('""', "''", '"a#b"', "'a\"b'", '"a\\n"', '"""x"""', "'''", '"a', '"é😀"', '"\x07"', '"\t"', "{}", ""),
        *("True", "007", "-1", "+1", "1_000", "1.5", "1e3", "0x1f", "2026-08-27", "inf"),
        *('["a",]', '["a,b"]', '["a]"]', '["a" # ]', "[ ]", "[,]", "[1, 2]", '[["a"]]'),
    ]
)
KEYS = st.sampled_from(["a", "b", "c", "x_1", "a-b"]) | st.sampled_from(["a.b", '"a"', "'a'", "", "1", "é", " a"])
EQUALS = st.sampled_from(["=", " = ", "\t=\t"]) | st.sampled_from([" ", "=="])
ENDINGS = st.sampled_from(["", " ", " # note"]) | st.sampled_from(
    ["\t", "#é", "# \x01", " # \x7f", "\r", " x", "]", '"']
)
HEADERS = st.sampled_from(["[core]", "[a]", "[b]", "", "# note"]) | st.sampled_from(
    ["[ a ]", "[a.b]", "[[a]]", "[a", "[]", '["a"]', "[a]x", "\ufeff", "[[a.b]]", "[[a.c]]", "[[a.b]", "[[b.a.c]]"]
)
LINES = st.tuples(KEYS, EQUALS, VALUES, ENDINGS).map("".join)
FILES = st.lists(LINES | st.tuples(HEADERS, ENDINGS).map("".join), max_size=4)
PAIRS = st.tuples(KEYS, EQUALS, VALUES).map("".join)
ITEM_LINES = st.tuples(
    st.sampled_from(["{", " {", "{ "]) | st.sampled_from(["", "[", "{{"]),
    st.lists(PAIRS, max_size=3).map(", ".join),
    st.sampled_from(["}", "},", "} ,", "}, "]) | st.sampled_from(["", ",}", "},,", "} # note", "}, # note", "}x"]),
).map("".join) | st.sampled_from(["", "# note", "#\x01", "]", "x = 1"])
NEWLINES = st.sampled_from(["\n", "\n\n", "\r\n"])


def by_tomllib(text: str) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return "not TOML"


def agrees_with_tomllib(text: str) -> None:
    simple = read_simple(text)
    if simple is not None:  # else it is left to tomllib
        assert simple == by_tomllib(text)


class TestReadSimple:
    @settings(max_examples=examples(200))
    @given(FILES, NEWLINES)
    def test_it_reads_what_tomllib_reads_or_leaves_it_to_tomllib(self, lines, newline):
        agrees_with_tomllib(newline.join(lines))

    @settings(max_examples=examples(200))
    @given(FILES)
    def test_it_agrees_with_tomllib_on_printable_files(self, lines):
        agrees_with_tomllib("\n".join(line for line in lines if line.replace("\t", " ").isprintable()))

    @given(st.text(alphabet="ab=[]\"'#,\\ \n\t1.0tru_-é", max_size=30))
    def test_it_agrees_with_tomllib_on_noise(self, text):
        agrees_with_tomllib(text)

    @pytest.mark.parametrize(
        ("text", "table"),
        [
            ("", {}),
            ("# only a note", {}),
            ("[core]", {"core": {}}),
            ('a = "x"', {"a": "x"}),
            ("a='x'", {"a": "x"}),
            ('[core]\ndefault_team = "backend" # ours\n', {"core": {"default_team": "backend"}}),
            ("a = true\nb = false # off", {"a": True, "b": False}),
            ("a = 0\nb = 17", {"a": 0, "b": 17}),
            ('a = ""', {"a": ""}),
            ("a = [ ]", {"a": []}),
            ("a = ['x', \"y\"] # two", {"a": ["x", "y"]}),
            ('[a]\r\nb = "c"\r\n', {"a": {"b": "c"}}),
            ("\t a\t=\t1 \t", {"a": 1}),
            ('a = "it\'s # not a note"', {"a": "it's # not a note"}),
            ("[[a.b]]\nc = 1\n[[a.b]]\nc = 2", {"a": {"b": [{"c": 1}, {"c": 2}]}}),
            ("[a]\nx = 1\n[[a.b]]\n[[a.c]]\nd = ['e']", {"a": {"x": 1, "b": [{}], "c": [{"d": ["e"]}]}}),
            (
                '[approvals]\ndefault = \'deny\'\n[[approvals.rules]]\ndecision = "allow"\ncommand = ["a", "b *"]\n',
                {"approvals": {"default": "deny", "rules": [{"decision": "allow", "command": ["a", "b *"]}]}},
            ),
        ],
    )
    def test_simple_files_are_read_without_the_real_parser(self, text, table):
        assert read_simple(text) == table
        assert tomllib.loads(text) == table

    @pytest.mark.parametrize(
        "text",
        [
            'a = "\\n"',
            'a = """x"""',
            "a = '''x'''",
            "a = 1.5",
            "a = -1",
            "a = 1_000",
            "a = 2026-08-27",
            "a.b = 1",
            '"a" = 1',
            "[a.b]",
            "[[a]]",
            "[ a ]",
            "[a] # note",
            "a = {b = 1}",
            "a = [1, 2]",
            'a = ["x",]',
            'a = ["x",\n"y"]',
            'a = ["x, y"]',
            'a = ["x]"]',
            'a = "\t"',
            "#\tnote",
            "a = 'x' #\tnote",
            "a = ['x'] #\tnote",
        ],
    )
    def test_what_is_less_simple_is_left_to_the_real_parser(self, text):
        assert read_simple(text) is None
        assert read_settings(text) == tomllib.loads(text)

    @given(
        st.lists(
            st.sampled_from(["[a]", "[b]", "[[a.b]]", "[[a.c]]", "[[b.a]]", "b = []", "c = 1", "x = 'y'"]), max_size=8
        )
    )
    def test_it_agrees_with_tomllib_on_lists_of_tables(self, lines):
        agrees_with_tomllib("\n".join(lines))

    @settings(max_examples=examples(300))
    @given(st.lists(ITEM_LINES, max_size=5).map(lambda lines: "\n".join(["[a]", "x = [", *lines, "]", "y = 1"])))
    def test_it_agrees_with_tomllib_on_lists_of_inline_tables(self, text):
        agrees_with_tomllib(text)

    @given(st.text(alphabet="{}[]ab=\"',# \n", max_size=24).map(lambda noise: f"x = [\n{{{noise}}}\n]"))
    def test_it_agrees_with_tomllib_on_noise_in_inline_tables(self, text):
        agrees_with_tomllib(text)

    def test_the_policy_of_the_docs_is_read_without_the_real_parser(self):
        page = (Path(__file__).parents[3] / "docs" / "how-to-approvals.md").read_text()
        policy = page.partition("```toml\n")[2].partition("```")[0]
        assert "rules = [\n" in policy
        assert read_simple(policy) == tomllib.loads(policy)

    @pytest.mark.parametrize("text", ["a = 1\r", "\ra = 1", "a = 1\r\r\n", "a = 1 # \x01", "a = true # \x7f"])
    def test_what_tomllib_refuses_is_not_accepted(self, text):
        with pytest.raises(tomllib.TOMLDecodeError):
            tomllib.loads(text)
        assert read_simple(text) is None


class TestReadSettings:
    @pytest.mark.parametrize(
        "text",
        [
            "a",
            "a =",
            "= 1",
            "a = x",
            "[a",
            "[a]\n[a]",
            "a = 1\na = 2",
            'a = "x',
            "a = [",
            "a = 1 2",
            "]",
            "\ufeffa = 1",
        ],
    )
    def test_what_is_not_toml_is_an_error_that_says_where(self, text):
        with pytest.raises(NotSettings, match=r"line|end of document"):
            read_settings(text)

    def test_an_integer_longer_than_python_converts_is_an_error_of_ours(self):
        with pytest.raises(NotSettings):
            read_settings("a = " + "9" * 5000)
        with pytest.raises(NotSettings):
            read_settings("a = -" + "9" * 5000)
