"""Policy as it stands in settings: `[approvals] default`, `[[approvals.rules]]`."""

from __future__ import annotations

from atm.approvals.rules.act import OPERATIONS
from atm.approvals.rules.policy import ALLOW, DECISIONS, KEYS, PolicyLayer, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.files.formats.settings_text import Value

DEFAULT, RULES = "approvals.default", "approvals.rules"
MOST_RULES = 1000


def read_layer(file: str, said: Mapping[str, Value]) -> PolicyLayer:
    """What one file says. One mistake in it, and nothing of it can be relied on: then it denies everything."""
    default, tables = said.get(DEFAULT, ""), said.get(RULES, [])
    if default and default not in DECISIONS:
        return PolicyLayer(file, unreadable=f"{DEFAULT} must be one of {', '.join(DECISIONS)}")
    if not isinstance(tables, list) or len(tables) > MOST_RULES:
        return PolicyLayer(file, unreadable=f"{RULES} must be tables, at most {MOST_RULES}: [[approvals.rules]]")
    rules: list[Rule] = []
    for number, table in enumerate(tables, 1):
        rule = _rule(table, file, number)
        if isinstance(rule, str):
            return PolicyLayer(file, unreadable=f"rule {number} of {file}: {rule}")
        rules.append(rule)
    return PolicyLayer(file, rules, str(default))


def _rule(table: Value, file: str, number: int) -> Rule | str:
    """The rule, or what is wrong with it."""
    if not isinstance(table, dict):
        return "it is not a table"
    unknown = [key for key in table if key not in (*KEYS, "decision")]
    if unknown:
        return f"{unknown[0]!r} is unknown; known are decision, {', '.join(KEYS)}"
    decision = table.get("decision")
    if decision not in DECISIONS:
        return f"decision must be one of {', '.join(DECISIONS)}"
    patterns: dict[str, list[str]] = {}
    for key in KEYS:
        if key in table:
            value = table[key]
            texts = [value] if isinstance(value, str) else value
            if not isinstance(texts, list) or not texts or not all(isinstance(one, str) and one for one in texts):
                return f"{key} must be a text or a list of texts"
            patterns[key] = [str(one) for one in texts]
    wrong = [one for one in patterns.get("operation", ()) if one not in OPERATIONS]
    if wrong:
        return f"operation {wrong[0]!r} is unknown; known are {', '.join(OPERATIONS)}"
    return _wrong_grammar(str(decision), patterns) or Rule(str(decision), patterns, file, number)


def _wrong_grammar(decision: str, patterns: dict[str, list[str]]) -> str:
    if "grammar" not in patterns:
        return ""
    if decision != ALLOW:
        return "grammar is for rules that allow; write command, which finds every spelling, to ask or to deny"
    if "command" in patterns:
        return "grammar and command exclude each other in one rule; write two rules"
    from atm.approvals.rules.grammar import read_grammar  # here: most policies have none

    for text in patterns["grammar"]:
        read = read_grammar(text)
        if isinstance(read, str):
            return f"the grammar {text!r} cannot be read: {read}"
    return ""
