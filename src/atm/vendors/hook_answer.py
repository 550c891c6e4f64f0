"""
What we answer to vendors' hooks, in the shape that each of them reads from stdout. The exit code is always 0.

Only what a vendor documents is answered: a text in a shape that it does not expect is thrown away, and whoever claimed
the mail in it believes that it was shown. So ask `can_carry` before claiming any. We never answer where a permission
is at stake (G8): silence leaves that decision to the people.
"""

from __future__ import annotations

from atm.files.formats.json_record import encode
from atm.vendors.hooks import BLOCK, CONTEXT
from atm.vendors.known import hooks_of
from atm.vendors.moments import MAIL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.vendors.moments import HookAnswer, HookCall


def can_carry(call: HookCall) -> str:
    """What an answer to this call can do: bring a "context", "block" the end of the turn, or nothing ("")."""
    if call.is_subagent:
        return ""  # its context is not the member's
    return hooks_of(call.vendor).carries.get(call.event, "")


def encode_silence(call: HookCall) -> str:
    """What stands on stdout when there is nothing to say: nothing, except where a vendor asks for an object."""
    return hooks_of(call.vendor).silence if can_carry(call) else ""


def encode_watch(call: HookCall, inbox: str) -> str:
    """For a plugin that asks for mail, where there is none: which file tells of the next one by changing."""
    return ascii_document({"watch": whole_text(inbox)}) if call.moment == MAIL else ""


def encode_answer(call: HookCall, answer: HookAnswer) -> str:
    """The exact text for stdout: one JSON document in ASCII, or nothing."""
    carried = can_carry(call)
    text = {CONTEXT: answer.context, BLOCK: answer.block}.get(carried, "")
    if not text.strip():
        return ""
    return ascii_document(_shape(call, carried, whole_text(text)))


def _shape(call: HookCall, carried: str, text: str) -> dict[str, object]:
    table = hooks_of(call.vendor)
    return {"decision": table.stay, "reason": text} if carried == BLOCK else table.context(call, text)


def whole_text(text: str) -> str:
    """Half a surrogate pair is replaced: Codex's parser would refuse the whole document because of it."""
    halves = {ord(character): "\ufffd" for character in set(text) if "\ud800" <= character <= "\udfff"}
    return text.translate(halves) if halves else text


def ascii_document(said: dict[str, object]) -> str:
    """In escapes, so that it does not depend on how this machine encodes stdout."""
    document = encode(said)
    if document.isascii():
        return document
    return document.translate({ord(c): _escape(ord(c)) for c in set(document) if not c.isascii()})


def _escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
