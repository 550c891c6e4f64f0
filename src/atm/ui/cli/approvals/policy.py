"""`atm approvals policy test` and `explain`: what would happen, and which rule says so."""

from __future__ import annotations

from atm.approvals.rules.policy import ALLOW, DECISIONS, DENY, allowed_by, for_a_person
from atm.approvals.services.answering import find_approval
from atm.approvals.services.asking import judged
from atm.core.untrusted_text import one_line
from atm.ui.cli.approvals.answering import NOTHING, room_of, teams_meant
from atm.ui.cli.approvals.asking import call_in
from atm.ui.views.approvals import detail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.calls import Understood
    from atm.approvals.rules.policy import Judgement, PolicyLayer, Rule
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def run(args: Args, session: Session) -> int:
    room = room_of(session)
    if args.command.name == "approvals policy test":
        return _test(args, session, room)
    if args.text("id"):
        return _explain_one(args, session, room)
    return _explain(session, room)


def _test(args: Args, session: Session, room: Approvalroom) -> int:
    understood, verdict = judged(room, call_in(args, session))
    verdict = for_a_person(verdict)
    if session.as_json:
        session.print_json(
            {
                "action": "approvals policy test",
                "decision": "ask" if verdict.asks else verdict.decision,
                "tier": verdict.tier or None,
                "operation": understood.operation,
                "rule": _rule(verdict.rule),
                "reason": verdict.reason,
                "understood": not understood.unclear,
                "layers": _layers(room, understood),
                "chain": [_rule(one) for one in verdict.chain],
            }
        )
    else:
        lines = _words(understood.operation, verdict)
        layers = _layers(room, understood)
        if verdict.decision != DENY and (len(layers) > 1 or (verdict.asks and not understood.unclear)):
            lines += [f"  {_layer_in_words(one)}" for one in layers]
        session.print("\n".join(lines))
        if not room.policy.exists:
            session.print(
                "  There is no policy: this is what `atm approvals ask` does; agents' programs go by their own."
            )
    return 0 if verdict.decision == ALLOW else 1 if verdict.decision == DENY else NOTHING


def _words(operation: str, verdict: Judgement) -> list[str]:
    what = {ALLOW: "allowed", DENY: "denied"}.get(verdict.decision, f"the {verdict.tier} is asked")
    lines = [f"{what} ({operation}): {one_line(verdict.reason)}"]
    return lines + [f"  {_rule_in_words(rule)}" for rule in verdict.chain if rule.number]


def _layers(room: Approvalroom, understood: Understood) -> list[dict[str, object]]:
    """Each program of a line, wrappers and what they start: its words, what is known of it, and what allows it."""
    found: list[dict[str, object]] = []
    for act in understood.acts if understood.call.is_shell else ():
        rule, why = allowed_by(room.policy.own, act, understood) if act.needs else (None, "")
        found.append(
            {
                "words": act.words or act.texts[:1],
                "operation": act.operation,
                "effect": act.effect,
                "options": [{"option": option.name, "harmless": option.is_harmless} for option in act.options],
                "rule": _rule(rule) if rule is not None else None,
                "why": why,
            }
        )
    return found


def _layer_in_words(layer: dict[str, object]) -> str:
    words, rule = layer["words"], layer["rule"]
    text = one_line(" ".join(map(str, words)) if isinstance(words, list) else str(words))
    if isinstance(rule, dict):
        return f"{text}: rule {rule['number']}"
    return f"{text}: {one_line(str(layer['why'])) or 'needs no rule'}"


def _rule(rule: Rule) -> dict[str, object]:
    return {"file": rule.file, "number": rule.number, "text": rule.text, "decision": rule.decision}


def _rule_in_words(rule: Rule) -> str:
    return f"rule {rule.number} of {one_line(rule.file)}: {one_line(rule.text)}"


def _explain_one(args: Args, session: Session, room: Approvalroom) -> int:
    found = find_approval(room, teams_meant(args, session), args.need("id"))
    now = room.clock.now()
    audit = [line for line in room.approvals.audit(found.team) if line.get("id") == found.id]
    if session.as_json:
        from atm.approvals.formats.records import approval_json

        said = {"action": "approvals policy explain", "approval": approval_json(found, now), "audit": audit}
        session.print_json(said)
        return 0
    lines = [*detail(found, now), "", "audit:"]
    lines += [f"    {one.get('at')}  {one.get('event')}  {one.get('by') or '-'}  {one.get('how')}" for one in audit]
    session.print("\n".join(one_line(line) for line in lines))
    return 0


def _explain(session: Session, room: Approvalroom) -> int:
    own, narrower = room.policy.own, room.policy.narrower
    layers = [*([own] if own.says_something else []), *narrower]
    if session.as_json:
        session.print_json(
            {
                "action": "approvals policy explain",
                "exists": room.policy.exists,
                "order": [*reversed(DECISIONS)],
                "default": own.default or "ask-human",
                "layers": [_layer(one, is_own=one is own) for one in layers],
            }
        )
        return 0
    if not layers:
        session.print("There is no policy: agents ask by the rules of their own programs.")
        session.print(f"Write one: [[approvals.rules]] in {session.layout.settings}; then run `atm init`.")
        return 0
    for layer in layers:
        session.print(f"{one_line(layer.file)}" + ("" if layer is own else " (can only narrow)"))
        if layer.unreadable:
            session.print(f"  cannot be read, so everything is denied: {one_line(layer.unreadable)}")
        for rule in layer.rules:
            session.print(f"  {rule.number:>3}  {one_line(rule.text)}")
        if layer is own or layer.default:
            session.print(f"    otherwise: {layer.default or 'ask-human'}")
    session.print("deny wins over ask-human, over ask-lead, over allow, in any order")
    return 0


def _layer(layer: PolicyLayer, *, is_own: bool) -> dict[str, object]:
    return {
        "file": layer.file,
        "own": is_own,
        "default": layer.default or None,
        "unreadable": layer.unreadable or None,
        "rules": [_rule(rule) for rule in layer.rules],
    }
