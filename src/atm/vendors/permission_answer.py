"""
Our word on a call, in the shape that each vendor's permission hook reads from stdout.

Here an answer is always given where there is one: silence would leave the decision to whatever the program does by
itself. `NO_OPINION` is for calls that no policy is about.
"""

from __future__ import annotations

from atm.vendors.hook_answer import ascii_document, whole_text
from atm.vendors.known import calls_of


def encode_permission(vendor: str, event: str, word: str, reason: str) -> str:
    """One JSON document, or nothing."""
    says = calls_of(vendor).says
    said = says(event, word, whole_text(reason)) if says is not None else None
    return ascii_document(said) if said is not None else ""
