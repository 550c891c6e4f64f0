"""Report tokens: for one team, one member, one agenda and fifteen minutes."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.files.formats.json_record import decode_object
from atm.worksync.formats.agenda_fingerprint import canonical_json
from atm.worksync.formats.report_token import CLOCK_TOLERANCE, VALID_SECONDS, _sign, issue_token, verify_token
from atm.worksync.rules.reports import LONGEST_FINGERPRINT, LONGEST_TOKEN

NOON = 1_790_000_000.0
SECRET = bytes(range(32))
FINGERPRINT = "agenda:v1:" + "ab" * 32
LIFE = "6f1c2d3e-0000-4000-8000-000000000001/1790000000.000"
KNOWN: dict[str, Any] = {
    "secret": SECRET,
    "team": "crew",
    "member": "ann",
    "life": LIFE,
    "fingerprint": FINGERPRINT,
    "now": NOON,
}


def token(**other: Any) -> str:
    return issue_token(**{**KNOWN, **other})


def verdict(said: str, **other: Any) -> str:
    return verify_token(token=said, **{**KNOWN, **other})


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signed(payload: bytes, secret: bytes = SECRET) -> str:
    return f"wrs:v1.{encoded(payload)}.{encoded(_sign(secret, payload))}"


def bound(**other: object) -> str:
    """A token with our own signature over something else than we would issue."""
    payload = decode_object(decoded(token().split(".")[1]).decode())
    return signed(canonical_json({**payload, **other}).encode())  # type: ignore[dict-item]


@proves("R002-9-30")
def test_a_token_is_good_for_whom_and_what_it_was_given():
    assert verdict(token()) == "ok"
    assert token().startswith("wrs:v1.")
    assert token() == token()
    assert verdict(bound()) == "ok"  # the test below tampers with what would be good


def test_the_member_is_meant_in_whatever_letters():
    assert verdict(token(member="ANN")) == verdict(token(), member="Ann") == "ok"


@proves("R002-9-32")
def test_none_is_missing():
    assert verdict("") == "missing"


@proves(
    "R002-7-25",
    "R002-9-31",
    "R002-9-34",
    "R002-13.2-04",
    "R002-13.2-07",
    "R002-13.2-08",
    "R002-13.2-09",
    "R002-13.2-10",
    "R002-23-07",
    "R002-27.2-04",
    "R002-28-05",
)
@pytest.mark.parametrize(
    "other",
    [
        {"team": "other"},
        {"member": "bob"},
        {"member": ""},
        {"life": LIFE.replace("1790000000", "1790000001")},
        {"life": LIFE.replace("6f1c", "6f1d")},
        {"life": ""},
        {"fingerprint": FINGERPRINT[:-1] + "c"},
        {"fingerprint": ""},
        {"secret": SECRET[:-1]},
        {"secret": bytes(32)},
        {"secret": b""},
    ],
)
def test_it_is_good_for_nothing_else(other):
    assert verdict(token(), **other) == "invalid"
    assert verdict(token(**other)) == "invalid"


@proves("R002-9-33", "R002-13.2-11", "R002-23-30", "R002-27.2-06")
@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (0.0, "ok"),
        (VALID_SECONDS - 1, "ok"),
        (VALID_SECONDS - 0.001, "ok"),
        (VALID_SECONDS, "expired"),
        (VALID_SECONDS + 1, "expired"),
        (10 * 365 * 86400.0, "expired"),
        (-CLOCK_TOLERANCE, "ok"),
        (-CLOCK_TOLERANCE - 0.002, "expired"),  # our clock was set back: nobody knows how old it is
        (-86400.0, "expired"),
    ],
)
def test_it_is_good_for_fifteen_minutes_to_the_second(later, expected):
    assert verdict(token(), now=NOON + later) == expected


@pytest.mark.parametrize("expires", ["", "never", None, 5, [], "9999-12-31T23:59:59.999Z"])
def test_an_expiry_that_is_none_or_too_far_has_passed(expires):
    assert verdict(bound(expiresAt=expires)) == "expired"


@pytest.mark.parametrize(
    "other",
    [
        *({"version": 2}, {"version": "1"}, {"version": None}, {"teamName": None}, {"teamName": ["crew"]}),
        *({"memberName": "Bob"}, {"memberName": {}}, {"agendaFingerprint": 5}, {"life": None}, {"life": 5}),
    ],
)
def test_what_is_bound_must_be_what_we_bind_also_under_our_own_signature(other):
    assert verdict(bound(**other)) == "invalid"


@proves("R002-7-25", "R002-27.2-03")
def test_changing_any_bit_of_what_is_signed_or_of_the_signature_is_noticed():
    prefix, payload, signature = token().split(".")
    for at, bit in product(range(len(decoded(payload))), range(8)):
        data = bytearray(decoded(payload))
        data[at] ^= 1 << bit
        assert verdict(f"{prefix}.{encoded(bytes(data))}.{signature}") == "invalid"
    for at, bit in product(range(32), range(8)):
        data = bytearray(decoded(signature))
        data[at] ^= 1 << bit
        assert verdict(f"{prefix}.{payload}.{encoded(bytes(data))}") == "invalid"


@pytest.mark.parametrize("character", ["A", "_", "=", ".", " ", "\0", "é", "\ud800", ""])
def test_changing_any_character_is_noticed_or_says_the_very_same_bytes(character):
    """The last character of a signature has two bits that say nothing, and base64 passes over what is none."""
    good = token()
    whole = [decoded(part) for part in good.split(".")[1:]]
    for at in range(len(good)):
        changed = good[:at] + character + good[at + 1 :]
        if verdict(changed) == "ok":
            assert [decoded(part) for part in changed.split(".", 2)[1:]] == whole


def test_a_token_that_was_cut_is_noticed_wherever():
    good = token()
    assert {verdict(good[:length]) for length in range(1, len(good))} == {"invalid"}
    assert {verdict(good[start:]) for start in range(1, len(good))} == {"invalid"}


@pytest.mark.parametrize(
    "said",
    [
        *(".", "..", "wrs:v1", "wrs:v1.", "wrs:v1..", "wrs:v2." + "A" * 40, "wrs:v1.a.b", "wrs:v1.!!.??"),
        *("wrs:v1.é.ü", "wrs:v1.\ud800.\udfff", "wrs:v1.====.====", " ", "\0", "null", "{}"),
        *(token().upper(), token().replace("wrs:v1", "WRS:V1"), f" {token()}", token().replace(".", "..")),
        *(f"wrs:v1.{'A' * 10_000_000}.AAAA", "." * 1_000_000, "A" * 10_000_000),
    ],
    ids=range(22),
)
def test_garbage_is_invalid_and_no_error(said):
    assert verdict(said) == "invalid"


@pytest.mark.parametrize("payload", [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 200_000, b'{"version": 1}', b'"x"'])
def test_a_payload_that_is_none_is_invalid_also_under_our_own_signature(payload):
    assert verdict(signed(payload)) == "invalid"


@given(st.text(max_size=300))
def test_nothing_that_can_be_said_is_an_error(said):
    assert verdict(said) == ("invalid" if said else "missing")
    assert verdict(f"wrs:v1.{said}") == verdict(f"wrs:v1.{said}.{said}") == "invalid"


NAMES = st.text(max_size=20)


@given(NAMES, NAMES, NAMES, NAMES, st.binary(min_size=1, max_size=64), st.integers(0, 4_000_000_000))
def test_whatever_the_names_are_a_token_is_read_back(team, member, life, fingerprint, secret, now):
    made = issue_token(secret, team, member, life, fingerprint, float(now))
    assert verify_token(secret, made, team, member, life, fingerprint, float(now)) == "ok"


def test_a_token_of_the_longest_names_fits_into_a_report():
    long = token(team="é" * 64, member="a" * 64, fingerprint="f" * LONGEST_FINGERPRINT)
    assert len(long) <= LONGEST_TOKEN
