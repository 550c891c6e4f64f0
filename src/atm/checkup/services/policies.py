"""What `atm doctor` finds about rules of approvals: those that allow less than their text seems to say."""

from __future__ import annotations

from collections.abc import Iterator

from atm.approvals.rules.allowing import why_narrower
from atm.approvals.rules.policy import ALLOW, Policy
from atm.approvals.rules.programs import SHELLS, WRAPPERS
from atm.checkup.services.findings import NOTE, Finding
from atm.core.untrusted_text import one_line


def examine_policy(policy: Policy) -> Iterator[Finding | str]:
    allowing = [rule for rule in policy.own.rules if rule.decision == ALLOW]
    for rule in allowing:
        for pattern in rule.patterns.get("command", ()):
            why = why_narrower(pattern)
            if why:
                what = f"rule {rule.number} ({one_line(pattern)}) allows less than it seems to: {why}"
                yield Finding("narrow-rule", NOTE, what, "atm approvals policy explain", rule.file, subject=pattern)
    if not policy.exists:
        yield "no policy: agents ask by the rules of their own programs"
        return
    count = sum(len(layer.rules) for layer in (policy.own, *policy.narrower))
    named = " ".join(text for rule in allowing for key in ("command", "grammar") for text in rule.patterns.get(key, ()))
    has_wrappers = any(word in (*WRAPPERS, *SHELLS) for word in named.split())
    hint = "" if has_wrappers else "; none allows a wrapper, so lines with timeout or bash -c are asked for"
    yield f"{count} rules{hint}"
