"""JSON edited in place: what is not touched stays to the letter."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.files.formats.json_pieces import without_members
from atm.files.formats.json_record import (
    NotJson,
    RawArray,
    RawObject,
    decode,
    decode_object,
    decode_with_repeats,
    encode,
    indent,
    quote,
    scan,
    to_bytes,
    to_text,
)

# Generated JSON: values, and the same values in every spelling that JSON allows.

SPACE = st.sampled_from(["", " ", "\n", "\t", "\r\n", "\n  ", " \t "])
STRINGS = st.text(max_size=8) | st.sampled_from(["", "\\", '"', "\ud83d", "\udcff", "\u2028", "a/b", '"a": 1, {', "\0"])
NUMBERS = st.sampled_from(["1.10", "1e5", "1E+5", "-0", "-0.0", "0", "1e400", "123456789012345678901234567890"])


class Raw(str):
    """A number or a word: it has one spelling."""


class Members(list):
    """Of an object. A key may come twice."""


LEAVES = (st.sampled_from(["null", "true", "false"]) | NUMBERS | st.integers().map(str)).map(Raw) | STRINGS
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(STRINGS, inner), max_size=4).map(Members),
    max_leaves=8,
)


def _plain(c: str) -> str:
    may_be = c not in '"\\' and ord(c) >= 32 and not 0xD800 <= ord(c) < 0xE000
    return c if may_be else _short_escape(c)


def _short_escape(c: str) -> str:
    return "\\/" if c == "/" else json.dumps(c)[1:-1]


def _hex_escape(c: str) -> str:
    units = c.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04X}" for i in range(0, len(units), 2))


class Writer:
    """Writes JSON with white space wherever it may stand, and characters escaped in any of the ways allowed."""

    def __init__(self, gaps: list[str], ways: list[Callable[[str], str]]) -> None:
        self._gaps, self._ways = cycle(gaps), cycle(ways)

    def text(self, tree: Any) -> str:
        if isinstance(tree, Raw):
            return tree
        if isinstance(tree, str):
            return f'"{"".join(next(self._ways)(c) for c in tree)}"'
        if isinstance(tree, Members):
            return self._joined("{}", [f"{self._spaced(key)}:{self._spaced(item)}" for key, item in tree])
        return self._joined("[]", [self._spaced(item) for item in tree])

    def _spaced(self, tree: Any) -> str:
        return f"{next(self._gaps)}{self.text(tree)}{next(self._gaps)}"

    def _joined(self, brackets: str, parts: list[str]) -> str:
        return brackets[0] + (",".join(parts) if parts else next(self._gaps)) + brackets[1]


# Drawn once for a whole text, and then used again and again: to draw each gap and each escape takes ten times as long.
WRITERS = st.builds(
    Writer,
    st.lists(SPACE, min_size=1, max_size=11),
    st.lists(st.sampled_from([_plain, _short_escape, _hex_escape]), min_size=1, max_size=7),
)


def texts_of(trees: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    return st.builds(Writer.text, WRITERS, trees)


JSON = texts_of(TREES)
OBJECTS = texts_of(st.lists(st.tuples(STRINGS, TREES), max_size=4).map(Members))
ARRAYS = texts_of(st.lists(TREES, max_size=4))


class TestDecode:
    @given(SPACE, JSON, SPACE)
    def test_it_reads_what_json_reads(self, before, text, after):
        assert decode(before + text + after) == json.loads(before + text + after)

    @given(st.text(' {}[]",:0123456789-+.eEtrufalsn\\\n\t', max_size=20))
    def test_it_refuses_what_json_refuses(self, text):
        try:
            expected = json.loads(text, strict=False)
        except ValueError:
            with pytest.raises(NotJson):
                decode(text)
        else:
            assert _same(decode(text), expected)

    def test_a_byte_order_mark_is_skipped(self):
        assert decode('\ufeff{"a": 1}') == {"a": 1}

    def test_constants_that_json_does_not_know_are_read_all_the_same(self):
        value = decode("[NaN, Infinity, -Infinity]")
        assert isinstance(value, list)
        assert math.isnan(value[0])  # type: ignore[arg-type]
        assert value[1:] == [math.inf, -math.inf]

    @pytest.mark.parametrize("sign", ["", "-"])
    def test_an_integer_longer_than_python_converts_is_handed_on_as_text(self, sign):
        digits = sign + "9" * (sys.get_int_max_str_digits() + 1)
        assert decode(digits) == digits
        assert decode("9" * sys.get_int_max_str_digits()) == int("9" * sys.get_int_max_str_digits())

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " ",
            "[",
            "{",
            '{"a"',
            '{"a":',
            '{"a":1',
            '{"a":1,',
            '{"a":1,}',
            "[1,]",
            "[1 2]",
            "tru",
            '"',
            '"\\x"',
            "1 2",
        ],
    )
    def test_a_torn_text_is_not_json(self, text):
        with pytest.raises(NotJson):
            decode(text)

    def test_what_is_nested_too_deeply_is_not_json_rather_than_a_crash(self):
        with pytest.raises(NotJson, match="deep"):
            decode("[" * 200_000)

    def test_a_raw_control_character_in_a_string_is_read(self):
        assert decode('"a\nb\tc"') == "a\nb\tc"

    def test_scanning_begins_anywhere_and_says_where_it_ended(self):
        assert scan('xx  "a" , 7', 2) == ("a", 7)

    def test_an_object_is_asked_for_by_name(self):
        assert decode_object('{"a": []}') == {"a": []}
        with pytest.raises(NotJson, match="not an object"):
            decode_object("[]")

    def test_a_torn_text_is_refused_where_nobody_has_imported_json(self):
        """The C scanner raises an error of `json.decoder`, which it looks up; nobody may have imported that."""
        in_a_fresh_interpreter(
            "import sys; from atm.files.formats.json_record import NotJson, decode\n"
            "assert 'json' not in sys.modules\n"
            "for text in ('[1, ', '{\"a\" 1}', '\"', '\"\\\\x\"', '{1: 2}'):\n"
            "    try: decode(text)\n"
            "    except NotJson as error:\n"
            "        assert str(error) not in ('', 'None'), text\n"
            "        continue\n"
            "    raise SystemExit(text)\n"
        )

    def test_an_interpreter_without_the_c_scanner_reads_and_writes_the_same(self):
        in_a_fresh_interpreter(
            "import sys; sys.modules['_json'] = None\n"
            "from atm.files.formats.json_record import NotJson, RawObject, decode, encode\n"
            'text = \'{"a": [1, 2.5, "\\\\u00e9", null], "b": {"c": true}}\'\n'
            "assert decode(text) == {'a': [1, 2.5, '\\xe9', None], 'b': {'c': True}}\n"
            "assert RawObject(text).with_raw('b', '7').text == text[: text.index('{', 1)] + '7}'\n"
            "assert decode(encode({'x': '\\ud83d'})) == {'x': '\\ud83d'}\n"
            "try: decode('[1,')\n"
            "except NotJson: pass\n"
            "else: raise SystemExit('a torn text was accepted')\n"
        )


def in_a_fresh_interpreter(code: str) -> None:
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _same(one: object, other: object) -> bool:
    """Equal, with NaN equal to itself."""
    return repr(one) == repr(other)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4),
    max_leaves=12,
)


class TestEncode:
    @given(PLAIN)
    def test_json_reads_what_encode_writes(self, value):
        assert json.loads(encode(value)) == value

    @given(PLAIN)
    def test_what_encode_writes_is_one_line_that_a_file_can_hold(self, value):
        text = encode(value)
        assert "\n" not in text
        assert "\r" not in text
        assert text.encode("utf-8").decode("utf-8") == text

    @given(PLAIN)
    def test_it_reads_its_own_writing(self, value):
        assert decode(encode(value)) == value

    @given(st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.lists(st.integers()))
    def test_numbers_and_lists_are_spelled_as_json_spells_them(self, value):
        assert encode(value) == json.dumps(value)

    @pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
    def test_numbers_that_json_does_not_have_are_written_as_javascript_writes_them(self, value):
        assert encode(value) == "null"

    def test_a_tuple_is_a_list_and_a_key_is_a_string(self):
        assert encode((1, "a")) == '[1, "a"]'
        assert encode({7: None}) == '{"7": null}'

    @pytest.mark.parametrize("value", [object(), b"bytes", {1, 2}])
    def test_what_is_not_plain_data_is_refused(self, value):
        with pytest.raises(TypeError, match="not plain data"):
            encode(value)

    @given(PLAIN)
    def test_indented_text_says_the_same(self, value):
        assert json.loads(indent(value)) == value

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text("aé", max_size=3),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
            max_leaves=8,
        )
    )
    def test_indented_text_is_laid_out_as_javascript_does(self, value):
        assert indent(value) == json.dumps(value, indent=2, ensure_ascii=False)


class TestQuote:
    @given(st.text())
    def test_json_reads_it_back(self, text):
        assert json.loads(quote(text)) == text

    @given(st.lists(st.sampled_from(["a", "é", "\ud83d", "\udcff", "\udc00", "😀"])).map("".join))
    def test_lone_surrogates_become_escapes_that_a_file_can_hold(self, text):
        quoted = quote(text)
        quoted.encode("utf-8")
        # Two halves that stand side by side are one character once they are read again.
        assert json.loads(quoted) == text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def test_readable_characters_stay_readable(self):
        assert quote('é 日本 "x" \\ /') == '"é 日本 \\"x\\" \\\\ /"'


class TestBytes:
    @given(st.binary())
    def test_any_bytes_survive(self, data):
        assert to_bytes(to_text(data)) == data


class TestRawObject:
    @given(OBJECTS)
    def test_its_fields_are_those_that_json_sees(self, text):
        record, expected = RawObject(text), json.loads(text)
        assert {key: record.get(key) for key in record._spans} == expected
        assert all(key in record for key in expected)

    @given(OBJECTS)
    def test_a_field_that_is_not_there_is_none(self, text):
        record = RawObject(text)
        assert "no such key" not in record
        assert record.raw("no such key") is None
        assert record.get("no such key") is None

    @given(OBJECTS, st.data())
    def test_a_field_is_replaced_where_it_stands(self, text, data):
        record = RawObject(text)
        if not record._spans:
            return
        key = data.draw(st.sampled_from(list(record._spans)))
        raw = data.draw(JSON)
        changed = record.with_raw(key, raw)
        start, end = record._spans[key]
        assert changed.text == text[:start] + raw + text[end:]
        assert json.loads(changed.text) == {**json.loads(text), key: json.loads(raw)}
        assert list(changed._spans) == list(record._spans)

    @given(OBJECTS, STRINGS, JSON)
    def test_a_new_field_stands_at_the_end_and_the_others_stay_to_the_letter(self, text, key, raw):
        record = RawObject(text)
        if key in record:
            return
        changed = record.with_raw(key, raw)
        assert json.loads(changed.text) == {**json.loads(text), key: json.loads(raw)}
        assert list(changed._spans) == [*record._spans, key]
        if record._spans:
            last = max(end for _, end in record._spans.values())
            assert changed.text.startswith(text[:last])
            assert changed.text.endswith(text[last:])

    @given(OBJECTS, STRINGS, JSON, JSON)
    def test_the_last_edit_counts(self, text, key, first, second):
        twice = RawObject(text).with_raw(key, first).with_raw(key, second)
        assert twice.text == RawObject(text).with_raw(key, second).text

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("{}", '{"k": 1}'),
            ("{ \n }", '{"k": 1}'),
            ('{"a":1}', '{"a":1, "k": 1}'),
            ('{"a": 1}', '{"a": 1, "k": 1}'),
            ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "k": 1\n}\n'),
            ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"k": 1\n}'),
            ('  { "a": 1 }', '  { "a": 1, "k": 1 }'),
        ],
    )
    def test_a_new_field_is_laid_out_like_the_others(self, text, expected):
        assert RawObject(text).with_raw("k", "1").text == expected

    def test_what_stands_around_an_empty_object_stays(self):
        assert RawObject("{}\n").with_raw("k", "1").text == '{"k": 1}\n'

    def test_of_a_key_that_stands_twice_the_last_counts_and_is_edited(self):
        record = RawObject('{"a": 1, "b": 2, "a": 3}')
        assert record.get("a") == 3
        assert record.with_raw("a", "4").text == '{"a": 1, "b": 2, "a": 4}'
        assert RawObject('{"a": 1, "b": 2, "a": 3}').with_raw("c", "5").text == '{"a": 1, "b": 2, "a": 3, "c": 5}'

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "1",
            '"{}"',
            "{",
            '{"a"}',
            '{"a" 1}',
            '{"a": }',
            '{"a": 1',
            '{"a": 1 "b": 2}',
            '{"a": 1,}',
            "{1: 2}",
        ],
    )
    def test_what_is_not_an_object_is_refused(self, text):
        with pytest.raises(NotJson):
            RawObject(text)

    @pytest.mark.parametrize("text", ['{"a": 1} x', '{"a": 1}}', '{"a": 1}{"a": 2}', "{} {}"])
    def test_something_after_the_object_is_refused(self, text):
        with pytest.raises(NotJson):
            RawObject(text)

    def test_a_byte_order_mark_before_the_object_is_skipped(self):
        record = RawObject('\ufeff{"a": 1}')
        assert record.get("a") == 1
        assert record.with_raw("a", "2").text == '\ufeff{"a": 2}'


class TestRawArray:
    @given(SPACE, ARRAYS, SPACE)
    def test_its_items_are_those_that_json_sees(self, before, text, after):
        array = RawArray(before + text + after)
        assert [json.loads(item) for item in array.items] == json.loads(text)
        assert all(item == item.strip(" \t\r\n") and item in text for item in array.items)
        assert (array.head, array.tail) == (before, after)

    @given(SPACE, ARRAYS, SPACE, st.sampled_from([",\n  ", ",\n    ", ",\n\t\t  "]))
    def test_joined_again_it_says_the_same_with_every_item_to_the_letter(self, before, text, after, separator):
        array = RawArray(before + text + after)
        again = RawArray(array.joined(separator))
        assert again.items == array.items
        assert (again.head, again.tail) == (before, after)
        assert again.joined(separator) == array.joined(separator)

    @pytest.mark.parametrize(
        ("items", "separator", "expected"),
        [
            ([], ",\n  ", "[]"),
            (["1"], ",\n  ", "[\n  1\n]"),
            (["1", "2"], ",\n  ", "[\n  1,\n  2\n]"),
            (["1", "2"], ",\n    ", "[\n    1,\n    2\n  ]"),
        ],
    )
    def test_it_is_laid_out_as_javascript_does(self, items, separator, expected):
        array = RawArray("[]")
        array.items = items
        assert array.joined(separator) == expected

    def test_a_byte_order_mark_stays(self):
        array = RawArray("\ufeff [1]\n")
        assert (array.head, array.items, array.tail) == ("\ufeff ", ["1"], "\n")

    @pytest.mark.parametrize("text", ["", "{}", "[", "[1", "[1,", "[1,]", "[1 2]", "[,]", "[1]]", "[1] x", "[] []"])
    def test_what_is_not_an_array_is_refused(self, text):
        with pytest.raises(NotJson):
            RawArray(text)

    @pytest.mark.parametrize(
        "deep",
        ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + '"]}[{"' + "}" * 100_000],
        ids=["arrays", "objects"],
    )
    def test_an_item_that_is_nested_too_deeply_to_be_read_is_kept_like_any_other(self, deep):
        assert RawArray(f'[{{"a": 1}}, {deep} , 2]').items == ['{"a": 1}', deep, "2"]

    def test_an_item_that_is_nested_too_deeply_and_does_not_end_is_not_json(self):
        with pytest.raises(NotJson, match="not closed"):
            RawArray("[" * 100_000 + "]" * 99_998)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "c": 3}'),
        ('{"b": 2, "c": 3}', '{"c": 3}'),
        ('{"a": 1, "b": 2}', '{"a": 1}'),
        ('{"b": 2}', "{}"),
        ('{ "b" : 2 }', "{ }"),
        ('{"a": {"b": 2}}', '{"a": {"b": 2}}'),
        ('{"b": 1, "a": 1.10, "b": 2}', '{"a": 1.10}'),
        ('{\n  "b": [1,\n 2],\n  "c": "x,}"\n}', '{\n  "c": "x,}"\n}'),
    ],
)
def test_a_field_is_taken_out_and_the_others_stay_to_the_letter(text, after):
    assert without_members(text, ["b"]) == after


def test_what_javascript_leaves_as_it_is_is_no_escape():
    """So a text that Claude Code wrote is the same text after us, to the byte."""
    assert quote("a\x7fb") == '"a\x7fb"'
    assert quote("é\x7f") == '"é\x7f"'
    assert quote("\ud83d\x7f") == '"\\ud83d\\u007f"', "what no file can hold is escaped, and the rest with it"


def test_keys_that_stand_twice_are_named_wherever_they_stand_and_the_last_value_counts():
    assert decode_with_repeats('{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}') == ({"a": 3, "b": {"c": 2}}, ["c", "a"])
    assert decode_with_repeats(' {"a": 1} \n') == ({"a": 1}, [])
    for text in ('{"a": 1} x', "[1]", '"a"'):
        with pytest.raises(NotJson):
            decode_with_repeats(text)
