"""Secrets do not reach a log, ordinary words do, and no text is too strange or too long."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.chaos import LONG

from atm.core.redaction import CUT, LARGEST, REDACTED, is_secret_name, redact, redact_fields

SECRET = "s3cr3tValue"
NAMES = [
    *("password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "auth", "bearer", "cookie"),
    *("private_key", "access_key", "session_token", "PASSWORD", "Api-Key", "X-API-KEY", "GITHUB_TOKEN", "accessToken"),
    *("AWS_SECRET_ACCESS_KEY", "client-secret", "dbPassword", "refresh.token", "Set-Cookie", "Proxy-Authorization"),
    *("password2", "privateKey", "passphrase", "basicAuth", "x_auth", "OAUTH"),
]
ORDINARY_NAMES = [
    *("author", "authentic", "authority", "secretary", "tokenizer", "token_count", "passwordless", "cookiecutter"),
    *("monkey", "key", "keys", "turkey", "session_id", "PWD", "OLDPWD", "message_id", "compass", "basic", "keyboard"),
    *("path", "team", "member", "authored_by", "bearing", "forbearer", "", "tokens_left"),
]

FORMS = [
    "{key}={value}",
    "{key} = {value}",
    "{key}='{value}'",
    '{key}="{value}"',
    '{{"{key}": "{value}"}}',
    "{{'{key}': '{value}'}}",
    "{{'{key}': b'{value}'}}",
    '{{"{key}":"{value}","next":1}}',
    '"{{\\"{key}\\": \\"{value}\\"}}"',
    "{key}: {value}",
    "{key}:{value}",
    "export {key}={value}; echo done",
    "https://example.org/?{key}={value}&page=2",
    "--{key} {value}",
    "--{key}={value}",
    '"{key}" => "{value}"',
    "{key} := {value}",
    '"{key}": ["{value}", "{value}"]',
    "({key}={value})",
    "error: {key}={value}, user=bob",
]


def test_the_value_of_a_secret_name_goes_and_the_name_stays():
    texts = [(key, form.format(key=key, value=SECRET)) for key, form in product(NAMES, FORMS)]
    said = [(key, text, redact(text)) for key, text in texts]
    assert [row for row in said if SECRET in row[2] or REDACTED not in row[2] or row[0] not in row[2]] == []


def test_these_are_names_of_secrets():
    assert [name for name in NAMES if not is_secret_name(name)] == []


def test_these_are_not():
    assert [name for name in ORDINARY_NAMES if is_secret_name(name)] == []
    texts = [f"{name}={SECRET}" for name in ORDINARY_NAMES]
    assert [redact(text) for text in texts] == texts
    fields: list[dict[str, Any]] = [{name: SECRET} for name in ORDINARY_NAMES]
    assert [redact_fields(field) for field in fields] == fields


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("password=hunter2 user=bob", f"password={REDACTED} user=bob"),
        ('{"token": "abc", "x": 1}', f'{{"token": "{REDACTED}", "x": 1}}'),
        ('say \\"token\\": \\"a\\\\\\"b\\", x', f'say \\"token\\": \\"{REDACTED}\\", x'),
        ('token="a\\"b" c', f'token="{REDACTED}" c'),
        ('token="a\\\\" c', f'token="{REDACTED}" c'),
        ("GITHUB_TOKEN=abc,user=bob", f"GITHUB_TOKEN={REDACTED},user=bob"),
        ("password=a,b&c;d rest", f"password={REDACTED} rest"),
        ("/cb?access_token=abc&state=1", f"/cb?access_token={REDACTED}&state=1"),
        ("Authorization: Bearer abcdef", f"Authorization: Bearer {REDACTED}"),
        ("Authorization: Basic abcdef", f"Authorization: Basic {REDACTED}"),
        ("-H 'Authorization: token abc' url", f"-H 'Authorization: token {REDACTED}' url"),
        ('Authorization: Digest u="x", r="y"\nnext', f"Authorization: Digest {REDACTED}\nnext"),
        ("sent Bearer abc123 to it.", f"sent Bearer {REDACTED} to it."),
        ("Bearer a1b2c3.", f"Bearer {REDACTED}."),
        ("Basic dXNlcjpwYXNz", f"Basic {REDACTED}"),
        ("Cookie: sid=abc; theme=dark\nnext", f"Cookie: {REDACTED}\nnext"),
        ("Set-Cookie: sid=abc; Path=/", f"Set-Cookie: {REDACTED}"),
        ("https://bob:pw@host/x?mail=a@b", f"https://bob:{REDACTED}@host/x?mail=a@b"),
        ("postgres://u:p/w@db/x", f"postgres://u:{REDACTED}@db/x"),
        ("redis://:pw@host:6379/0", f"redis://:{REDACTED}@host:6379/0"),
        ("a https://u:p@h and http://v:q@i", f"a https://u:{REDACTED}@h and http://v:{REDACTED}@i"),
        ("tokens=abc123def", f"tokens={REDACTED}"),
        ("cut off: token='abc def", f"cut off: token='{REDACTED}"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----\nx", f"{REDACTED}\nx"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\\nabc and no end", REDACTED),
        ("token= password = abc", f"token= {REDACTED}"),
        ("token=password: abc", f"token={REDACTED}"),
        ("--token password='abc def' x", f"--token {REDACTED}' x"),
        ('token = "password" => "abc" x', f'token = "{REDACTED}" x'),
        ("secret: [a] b", "secret: [a] b"),
        ("secret=[a, ['b', \"]\"]] b", f"secret={REDACTED} b"),
    ],
)
def test_what_is_left_of_texts(text, said):
    assert redact(text) == said
    assert redact(said) == said


SHAPES = [
    "sk" + "-abcdefghijklmnop1234",
    "sk" + "-proj-AbCdEfGhIjKl1234",
    "sk" + "-ant-api03-AbCdEf_gh-1234567890",
    "sk" + "_live_abcdefgh12345678",
    "gh" + "p_0123456789abcdefghijABCDEFGHIJ012345",
    "gh" + "o_0123456789abcdefghijABCDEFGHIJ012345",
    "gh" + "s_0123456789abcdefghijABCDEFGHIJ012345",
    "github" + "_pat_11ABCDEFG0_abcdefghijklmnopqrstuvwxyz",
    "glp" + "at-abcdefghij0123456789",
    "xox" + "b-1234567890-abcdefghij",
    "xox" + "p-1234567890-abcdefghij",
    "AK" + "IAIOSFODNN7EXAMPLE",
    "AI" + "zaSyA-0123456789_abcdefghijklmnopqrstuvw",
    "np" + "m_abcdefghijABCDEFGHIJ0123456789abcdef",
    "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN-HlH",
]


@pytest.mark.parametrize("around", ["{}", "use {} now", "({})", "'{}'", "x={}", "url/{}/end", "a\n{}\nb", "{},"])
def test_well_known_tokens_are_recognised_anywhere(around):
    said = {shape: redact(around.format(shape)) for shape in SHAPES}
    assert said == dict.fromkeys(SHAPES, around.format(REDACTED))


@pytest.mark.parametrize(
    "text",
    [
        "the token bucket is empty",
        "author: bob, authority: none",
        "an authentic letter to the secretary: come at 5",
        "auth: failed for bob",
        "auth: ok",
        "authorization: denied",
        "bearer of bad news",
        "Bearer tokens are used here",
        "Basic usage: see below",
        "Basic HTTP/1.1 support",
        "basic authentication of users",
        "cookie: chocolate",
        "max_tokens=4096, total_tokens: 1,200 and tokens: 12",
        '{"tokens": 15, "max_tokens": "4096"}',
        "secret::Store and auth::module::Run",
        "token == other",
        "password: string",
        "Enter your password:\nLogin ok",
        "token= user=bob",
        "password=, token: null, auth=true",
        "PWD=/home/ann OLDPWD=/tmp session_id=4be0643f",
        "sk-learn-based-pipelines-here",
        "task-sk-abcdefghijklmnop1234",
        "http://host:8080/a@b http://[::1]:8080/x@y",
        "see https://example.org/a:b and ann@example.org",
        "npm_config_registry_name_that_is_long",
        "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
        "--token-file /run/x --verbose",
        "--token --verbose",
        "12:30:01 warn spool 3 messages wait for ann@crew",
    ],
)
def test_ordinary_texts_stay_as_they_are(text):
    assert redact(text) == text


def test_fields_are_redacted_by_name_and_by_text_at_any_depth():
    fields: dict[str, Any] = {
        "team": "crew",
        "count": 3,
        "ok": True,
        "nothing": None,
        "token": SECRET,
        "headers": {"Authorization": f"Bearer {SECRET}", "Accept": "*/*"},
        "arguments": ["--password", f"--token={SECRET}", {"api-key": [SECRET]}],
        "error": f"could not reach https://bob:{SECRET}@host",
        "max_tokens": 4096,
        "pin_token": 123456,
        "auth": False,
        "secret": "",
    }
    said = redact_fields(fields)
    assert SECRET not in json.dumps(said)
    assert said["headers"] == {"Authorization": REDACTED, "Accept": "*/*"}
    assert said["arguments"] == ["--password", f"--token={REDACTED}", {"api-key": REDACTED}]
    assert said["pin_token"] == REDACTED
    kept = {"team": "crew", "count": 3, "ok": True, "nothing": None, "max_tokens": 4096, "auth": False, "secret": ""}
    assert {key: said[key] for key in kept} == kept
    assert fields["token"] == SECRET, "what it was given is not changed"


def test_a_secret_in_the_name_of_a_field_goes_too():
    assert SHAPES[0] not in str(redact_fields({SHAPES[0]: 1}))


class Rude:
    """A value that cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def test_what_is_no_plain_data_becomes_a_text():
    odd = {"a": Rude(), "b": {1, 2}, "c": (1, "x"), 5: "five", "d": b"x", "e": ValueError(f"token={SECRET}")}
    said = redact_fields(odd)  # type: ignore[arg-type]
    assert said["a"] == "[Rude]"
    assert said["c"] == [1, "x"]
    assert said["5"] == "five"
    assert said["e"] == f"token={REDACTED}"
    assert redact_fields("nothing of the kind") == {}  # type: ignore[arg-type]


def test_fields_that_contain_themselves_or_have_no_end_are_bounded():
    loop: dict = {"team": "crew"}
    loop["again"] = loop
    assert len(json.dumps(redact_fields(loop))) < 2000
    wide = redact_fields({"all": list(range(1_000_000)), "more": 1})
    assert len(str(wide)) < 200_000


def test_a_long_text_is_cut_with_a_mark():
    said = redact("x" * (LARGEST * 3))
    assert len(said) == LARGEST
    assert said.endswith(CUT)
    assert redact(said) == said


def test_a_text_of_the_largest_size_is_whole():
    assert redact("x" * LARGEST) == "x" * LARGEST


@pytest.mark.parametrize("before", range(LARGEST - 60, LARGEST + 2, 3))
def test_the_cut_never_leaves_half_a_token(before):
    said = redact("x " * (before // 2) + SHAPES[4] + " y" * 2000)
    assert SHAPES[4][:10] not in said


HOSTILE = [
    *("://", "://:a", "token=", 'token="', 'token=\\"', "eyJaaaaa.", "eyJ", "token    ", "-----BEGIN PRIVATE KEY"),
    *("-----BEGIN PRIVATE KEY-----", "bearer ", "bearer a.", "token=[", '"token":{', "sk-", " --a.a-", "cookie: a=b "),
    *("auth:basic ", "token='\"", ",a", "password", " --password", "auth-", "-token ", "token:'", "auth:digest a "),
    *("\\", '\\"', "a", "a-", " ", "\n", "\0", "\ud800", "[", "token=b", "=", ":", "Basic\t", "password: "),
    *("token= password", "auth: auth: ", "token=password:"),
]


STARTS = ["", "token=", 'token="', "token=[", "http://a:", "Bearer ", "--token ", "sk-"]
BESIDE = [(piece, start) for at, piece in enumerate(HOSTILE) for start in (STARTS[at % 8], STARTS[(at + 4) % 8])]
"""The starts take turns: each piece comes behind two of them. In `make chaos` it comes behind each."""


@pytest.mark.parametrize(("piece", "start"), product(HOSTILE, STARTS) if LONG else BESIDE, ids=repr)
def test_a_hostile_text_is_finished_in_the_time_that_its_length_deserves(piece, start):
    """No stopwatch: a quadratic step over 64 KiB would take minutes here, and the suite would be stopped."""
    said = redact("key " + start + piece * (LARGEST // len(piece) + 1))
    assert len(said) <= LARGEST


WORDS = st.sampled_from(
    [
        *(
            "token",
            "password",
            "auth",
            "Authorization",
            "cookie",
            "api_key",
            "secrets",
            "x",
            "--",
            "=",
            ":",
            ": ",
            "=>",
        ),
        *('"', "'", "\\", '\\"', "`", " ", "\n", ",", "&", ";", "[", "]", "{", "}", "Bearer ", "Basic ", "digest "),
        *("://", "@", "/", "abc123DEF", "hunter", REDACTED, "sk-", "eyJabcde", ".", "5", "true", "null", "b", "ſ", "K"),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", CUT),
    ]
)
ANYTHING = st.text(st.characters(), max_size=60) | st.lists(WORDS, max_size=24).map("".join)


@given(ANYTHING)
def test_no_text_makes_it_raise_or_grow_without_bound(text):
    assert len(redact(text)) <= len(text) * (1 + len(REDACTED))


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | ANYTHING, lambda s: st.lists(s, max_size=4))
)
def test_no_field_makes_it_raise_and_none_is_lost(value):
    assert redact_fields({"field": value, "token": value}).keys() == {"field", "token"}


PLANTED = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), min_size=12).map(
    lambda word: f"q7{word}"
)


@given(PLANTED, st.sampled_from(NAMES), st.sampled_from(FORMS), ANYTHING, ANYTHING)
def test_a_planted_secret_is_never_found_again(secret, key, form, before, after):
    text = f"{before} {form.format(key=key, value=secret)} {after}"
    assert secret not in redact(text)


@given(PLANTED, st.sampled_from(SHAPES), ANYTHING, ANYTHING)
def test_a_planted_shape_is_never_found_again(secret, shape, before, after):
    assert shape not in redact(f"{before} {shape} {after}")


@given(st.text(st.characters(categories=["L", "Zs"]), max_size=60))
def test_a_text_of_letters_alone_stays_as_it_is(text):
    assert redact(text) == text
