"""How much is said at once: whatever a tool gives, no answer is larger than an agent's context can bear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.formats.json_record import encode, to_bytes

if TYPE_CHECKING:
    from atm.domain.tasks import Plain

MOST_BYTES = 64 << 10
"""Of the text of one answer."""

CUT_NOTE = "\n[cut: this answer was larger than 64 KB; long texts and lists are shortened; ask for less at once]"
_ROUNDS = ((16_384, 1000), (4_096, 500), (1_024, 200), (256, 100), (256, 25), (64, 10), (16, 2))
"""Longest text and longest list, tried in this order until it fits."""

DEEPEST = 20


def fitted(value: dict[str, Plain]) -> tuple[dict[str, Plain], str, bool]:
    """The value, the same as JSON, and whether something had to be cut to stay below the limit."""
    text = encode(value)
    if _fits(text):
        return value, text, False
    for longest_text, longest_list in _ROUNDS:
        smaller = {key: _cut(part, longest_text, longest_list, 1) for key, part in value.items()}
        text = encode(smaller)
        if _fits(text):
            break
    return smaller, text + CUT_NOTE, True


def _fits(text: str) -> bool:
    return len(text) <= MOST_BYTES and len(to_bytes(text)) <= MOST_BYTES - len(CUT_NOTE)


def _cut(value: Plain, text: int, items: int, depth: int) -> Plain:
    """Shorter texts and lists of the same shape, so that the answer still is what its schema says."""
    if isinstance(value, str):
        return value if len(value) <= text else value[:text] + " […]"
    if depth > DEEPEST:
        return None
    if isinstance(value, list):
        return [_cut(item, text, items, depth + 1) for item in value[:items]]
    if isinstance(value, dict):
        return {key: _cut(item, text, items, depth + 1) for key, item in value.items()}
    return value


def shortened(text: str) -> str:
    """A resource or prompt, cut at the limit; a cut one says so."""
    if _fits(text):
        return text
    kept = to_bytes(text)[: MOST_BYTES - 200].decode("utf-8", "ignore")
    return f"{kept}\n[cut: the first {len(kept)} of {len(text)} characters]"
