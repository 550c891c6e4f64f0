"""
Policy: what is allowed, what a lead may grant, what only a person may, what is forbidden.

Deny wins over asking a person over asking the lead over allow, in whatever order the rules stand. The user's own file
decides; every other file can only narrow what it gives. What leaves the machine, costs money or destroys something
outside of the worktree is for a person, unless a rule speaks of just that. What is not understood is asked for.

A rule that forbids or asks is compared with the text of a command, in every spelling. A rule that allows is compared
with its words: by a grammar, or by a pattern that names the program (see `allowing`).
"""

from __future__ import annotations

from atm.approvals.rules.act import DELETE, PLAN
from atm.approvals.rules.allowing import allows_words, why_not_allowed
from atm.approvals.rules.options import READS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.approvals.rules.act import Act
    from atm.approvals.rules.calls import Understood
    from atm.approvals.rules.grammar import Grammar

ALLOW, ASK_LEAD, ASK_HUMAN, DENY = "allow", "ask-lead", "ask-human", "deny"
DECISIONS = (ALLOW, ASK_LEAD, ASK_HUMAN, DENY)
"""From the mildest to the strictest."""

LEAD, HUMAN = "lead", "human"
TIERS = {ASK_LEAD: LEAD, ASK_HUMAN: HUMAN}

KEYS = ("tool", "command", "grammar", "path", "branch", "operation")


class Rule:
    """One rule: its decision, and which calls it is about. Each key has patterns, of which one must fit."""

    __slots__ = ("_grammars", "decision", "file", "number", "patterns")

    def __init__(self, decision: str, patterns: dict[str, list[str]], file: str = "", number: int = 0) -> None:
        self.decision = decision
        self.patterns = patterns
        self._grammars: list[Grammar] | None = None
        self.file = file
        self.number = number
        """Its place in the file, from 1 on; 0 for what no rule said."""

    @property
    def text(self) -> str:
        said = [f"{key} = {' | '.join(self.patterns[key])}" for key in KEYS if key in self.patterns]
        return f"{self.decision}: {', '.join(said) or 'everything'}"

    @property
    def grammars(self) -> list[Grammar]:
        """Read when a command is first compared with them. One that cannot be read allows nothing."""
        if self._grammars is None:
            from atm.approvals.rules.grammar import read_grammar

            read = map(read_grammar, self.patterns.get("grammar", ()))
            self._grammars = [one for one in read if not isinstance(one, str)]
        return self._grammars

    def speaks_of(self, act: Act, call: Understood) -> bool:
        """Does it name what is sensitive about an act, instead of covering it with everything else?"""
        if "operation" in self.patterns or "branch" in self.patterns:
            return True
        if "grammar" in self.patterns:
            return act.operation != DELETE
        tools = () if call.call.is_shell else self.patterns.get("tool", ())
        if (act.operation != DELETE or "path" in self.patterns) and any(pattern.strip("*") for pattern in tools):
            return True
        return any(pattern.strip("* ") for pattern in self.patterns.get("command", ()))


class PolicyLayer:
    """What one file says."""

    __slots__ = ("default", "file", "rules", "unreadable")

    def __init__(self, file: str, rules: Sequence[Rule] = (), default: str = "", unreadable: str = "") -> None:
        self.file = file
        self.rules = [*rules]
        self.default = default
        """For what no rule is about; empty where the file does not say."""
        self.unreadable = unreadable
        """Why it could not be understood: then everything is denied."""

    @property
    def says_something(self) -> bool:
        return bool(self.rules or self.default or self.unreadable)


class Policy:
    """The user's own layer, and others that narrow it."""

    __slots__ = ("narrower", "own")

    def __init__(self, own: PolicyLayer, narrower: Sequence[PolicyLayer] = ()) -> None:
        self.own = own
        self.narrower = [layer for layer in narrower if layer.says_something]

    @property
    def exists(self) -> bool:
        return self.own.says_something or bool(self.narrower)


class Judgement:
    """What a policy says about a call."""

    __slots__ = ("chain", "decision", "is_granted", "reason", "rule")

    def __init__(self, decision: str, rule: Rule, chain: list[Rule], reason: str, *, is_granted: bool) -> None:
        self.decision = decision
        self.rule = rule
        """The one that decided; number 0 for a default."""
        self.chain = chain
        """All that were about it, the strictest first."""
        self.reason = reason
        self.is_granted = is_granted
        """Has the user's own policy allowed it? Where they have none, nobody has: their program's own rules count."""

    @property
    def tier(self) -> str:
        return TIERS.get(self.decision, "")

    @property
    def asks(self) -> bool:
        return self.decision in TIERS


def judge(policy: Policy, call: Understood) -> Judgement:
    for layer in (policy.own, *policy.narrower):
        if layer.unreadable:
            rule = Rule(DENY, {}, layer.file)
            return Judgement(DENY, rule, [rule], f"the policy cannot be read: {layer.unreadable}", is_granted=False)
    found = _in_own(policy, call)
    for layer in policy.narrower:
        narrower = _in_layer(layer, call)
        if narrower is not None and _strictness(narrower.decision) > _strictness(found.decision):
            narrower.chain += found.chain
            found = narrower
        elif narrower is not None:
            found.chain += narrower.chain
    for inner in (judge(policy, stored) for stored in call.stored):
        if _strictness(inner.decision) > _strictness(found.decision):
            inner.chain += found.chain
            inner.reason = f"it stores a command that is run later: {inner.reason}"
            found = inner
    return found


def for_a_person(verdict: Judgement) -> Judgement:
    """
    What somebody asks for by name. An allow that the user's own policy did not give is nobody's: with a file of its own
    a repository could otherwise turn "there is no policy, so a person is asked" into a yes.
    """
    if verdict.decision != ALLOW or verdict.is_granted:
        return verdict
    rule = Rule(ASK_HUMAN, {})
    return Judgement(ASK_HUMAN, rule, [rule, *verdict.chain[1:]], verdict.reason, is_granted=False)


def _in_own(policy: Policy, call: Understood) -> Judgement:
    own = policy.own
    if not own.says_something and policy.narrower:
        rule = Rule(ALLOW, {})
        return Judgement(ALLOW, rule, [rule], "no rule of yours is about it", is_granted=False)
    found = _in_layer(PolicyLayer(own.file, own.rules, own.default or ASK_HUMAN), call)
    assert found is not None
    return found


def _in_layer(layer: PolicyLayer, call: Understood) -> Judgement | None:
    """What one file says of a call; None if it has nothing to say."""
    restricting = sorted(
        (rule for rule in layer.rules if rule.decision != ALLOW and _restricts(rule, call)),
        key=lambda rule: -_strictness(rule.decision),
    )
    unasked = [act for act in call.acts if not _is_allowed(layer, act, call)]
    allowing = [rule for rule in layer.rules if rule.decision == ALLOW and any(_fits(rule, a, call) for a in call.acts)]
    chain = [*restricting, *allowing]
    if call.unclear and not (restricting and restricting[0].decision in (DENY, ASK_HUMAN)):
        if not layer.default and not restricting:
            return None
        doubt = Rule(DENY if layer.default == DENY else ASK_HUMAN, {}, layer.file)
        why = f"not understood: {call.unclear}"
        return Judgement(doubt.decision, doubt, [doubt, *chain], why, is_granted=False)
    if restricting:
        return _restricted(layer, call, restricting, unasked, chain)
    if not unasked and allowing:
        return Judgement(ALLOW, allowing[0], chain, "a rule allows it", is_granted=True)
    if not layer.default:
        return None
    return _by_default(layer, unasked, chain, call)


def _restricted(
    layer: PolicyLayer, call: Understood, restricting: list[Rule], unasked: list[Act], chain: list[Rule]
) -> Judgement:
    """
    What a rule asks the lead for, the lead may grant, unless a part of it is for a person: a line that commits and
    pushes is not granted by whoever may grant the commit.
    """
    rule = restricting[0]
    if rule.decision == ASK_LEAD:
        granted = [one for one in restricting if one.decision == ASK_LEAD]
        open_acts = [act for act in unasked if not _given_to_lead(granted, act, call)]
        if open_acts:
            left = _by_default(layer, open_acts, chain, call)
            if _strictness(left.decision) > _strictness(ASK_LEAD):
                return left
    return Judgement(rule.decision, rule, chain, "a rule says so", is_granted=False)


def _given_to_lead(rules: Sequence[Rule], act: Act, call: Understood) -> bool:
    return any(_fits(rule, act, call) and (not act.is_sensitive or rule.speaks_of(act, call)) for rule in rules)


def _by_default(layer: PolicyLayer, acts: Sequence[Act], chain: list[Rule], call: Understood) -> Judgement:
    if any(act.operation == PLAN for act in acts) and layer.default != DENY:
        rule = Rule(ASK_LEAD, {}, layer.file)
        return Judgement(
            ASK_LEAD, rule, [*chain, rule], "a plan is for the lead or a person to approve", is_granted=False
        )
    sensitive = next((act for act in acts if act.is_sensitive), None)
    unknown = next((act for act in acts if act.words and not act.is_known_inside), None)
    decision = layer.default or ALLOW
    reason = f"no rule is about it, and the default is {decision}"
    if call.call.is_unknown and decision == ALLOW:
        decision, reason = ASK_HUMAN, f"atm does not know the tool {call.call.own_name}, and no rule names it"
    if unknown is not None and sensitive is None and layer.default == ALLOW:
        decision, reason = ASK_HUMAN, f"{unknown.why or 'its effects are not known'}, and no rule names it"
    if sensitive is not None and _strictness(decision) < _strictness(ASK_HUMAN):
        decision, reason = ASK_HUMAN, f"{sensitive.operation} is for a person to grant, and no rule says otherwise"
    rule = Rule(decision, {}, layer.file)
    return Judgement(decision, rule, [*chain, rule], reason, is_granted=decision == ALLOW)


def _is_allowed(layer: PolicyLayer, act: Act, call: Understood) -> bool:
    """By rules: each thing that it needs by one of them."""
    rules = [rule for rule in layer.rules if rule.decision == ALLOW]
    if act.is_sensitive:
        rules = [rule for rule in rules if rule.speaks_of(act, call)]
    if not act.needs:
        return bool(act.texts) or any(_fits(rule, act, call) for rule in rules)
    return all(any(_fits(rule, act, call, need) for rule in rules) for need in act.needs)


def allowed_by(layer: PolicyLayer, act: Act, call: Understood) -> tuple[Rule | None, str]:
    """The rule that allows a layer of a line; else None, and why the nearest one does not."""
    rules = [rule for rule in layer.rules if rule.decision == ALLOW and _fits_tool(rule, call)]
    why = ""
    for rule in rules:
        if act.needs and _fits(rule, act, call, act.needs[0]) and (not act.is_sensitive or rule.speaks_of(act, call)):
            return rule, ""
        for pattern in rule.patterns.get("command", ()):
            if act.words and matches(pattern, act.needs[0] if act.needs else ""):
                why = why or why_not_allowed(pattern, act)
    return None, why or "no rule allows it"


def _strictness(decision: str) -> int:
    return DECISIONS.index(decision)


# Which calls a rule is about.


def _restricts(rule: Rule, call: Understood) -> bool:
    """Is any part of the call what the rule is about? What cannot be seen might be."""
    if any(_fits(rule, act, call) for act in call.acts):
        return True
    commands = rule.patterns.get("command")
    if call.unclear and commands and _fits_tool(rule, call):
        return any(_occurs(pattern, call.call.command) for pattern in commands)
    return False


def _fits(rule: Rule, act: Act, call: Understood, need: str | None = None) -> bool:
    """With `need`, for one that allows: all of the act must fit, under this text. Without, some of it is enough."""
    every = rule.decision == ALLOW
    patterns = rule.patterns
    if not _fits_tool(rule, call):
        return False
    if "operation" in patterns and not _any(patterns["operation"], [act.operation], matches):
        return False
    if need is not None and call.call.is_shell and not _names_program(rule, act, call, need):
        return False
    if "command" in patterns and not _any(patterns["command"], [need] if need is not None else act.texts, matches):
        return False
    if "grammar" in patterns and not any(
        grammar.matches(act.words, call.place, takes_patterns=act.effect == READS and act.words[0] != "uniq")
        for grammar in rule.grammars
    ):
        return False
    if "branch" in patterns and not _fits_branch(patterns["branch"], act, every=every):
        return False
    return "path" not in patterns or _fits_path(patterns["path"], act, call, every=every)


def _names_program(rule: Rule, act: Act, call: Understood, need: str) -> bool:
    """Does an allowing rule name the program, or does the program need no name: is it without effect outside?"""
    if "grammar" in rule.patterns:
        return need == act.needs[0]
    commands = rule.patterns.get("command")
    if commands is None:
        return act.is_known_inside or rule.speaks_of(act, call)
    if not act.words or need != act.needs[0]:
        return True
    return any(matches(pattern, need) and allows_words(pattern, act) for pattern in commands)


def _fits_tool(rule: Rule, call: Understood) -> bool:
    return "tool" not in rule.patterns or _any(rule.patterns["tool"], call.call.names, matches)


def _fits_branch(patterns: list[str], act: Act, *, every: bool) -> bool:
    if act.branches is None:  # it may be any
        return not every
    fits = [_any(patterns, [branch], matches) for branch in act.branches]
    return bool(fits) and (all(fits) if every else any(fits))


def _fits_path(patterns: list[str], act: Act, call: Understood, *, every: bool) -> bool:
    place = call.place
    named = dict.fromkeys(one for path in act.paths for one in (path, place.real(path)))
    roots = dict.fromkeys((place.root, place.real(place.root)))
    meant = [place.at_home(pattern) for pattern in patterns]
    if every:
        fits = [any(_is_path(pattern, path, root) for pattern in meant for root in roots) for path in named]
        return bool(fits) and all(fits)
    return any(_may_be(pattern, path, root, act) for path in named for pattern in meant for root in roots)


def _may_be(pattern: str, path: str, root: str, act: Act) -> bool:
    """
    For a rule that restricts: could it be one of the files, or hold some? A word with wildcards may be any that lies
    there; who names a folder names what is in it, and who removes one removes what is below.
    """
    if _is_path(pattern, path, root):
        return True
    wild = _first_wildcard(path)
    if wild >= 0:
        return "/" not in pattern.rstrip("/") or _lies_in(_base(pattern, root), path[:wild].rpartition("/")[0])
    if "/" not in pattern.rstrip("/"):
        return False
    base = _base(pattern, root)
    return path.rstrip("/") == base or (act.operation == DELETE and f"{base}/".startswith(f"{path.rstrip('/')}/"))


def _lies_in(base: str, folder: str) -> bool:
    """Is one of them below the other?"""
    return f"{base}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{base}/")


def _base(pattern: str, root: str) -> str:
    """The folder that every file of a pattern lies in, or the one file."""
    whole = pattern if pattern.startswith(("/", "~")) else f"{root.rstrip('/')}/{pattern}"
    wild = _first_wildcard(whole)
    return (whole if wild < 0 else whole[:wild].rpartition("/")[0]).rstrip("/")


def _first_wildcard(text: str) -> int:
    return min((at for sign in "*?[" if (at := text.find(sign)) >= 0), default=-1)


def _is_path(pattern: str, path: str, root: str) -> bool:
    from atm.mail.rules.path_globs import path_glob

    if pattern.startswith("~") or path.startswith("~"):
        return matches(pattern, path)
    if pattern.startswith("/"):
        return path_glob("", pattern).matches(path)
    where = f"/{pattern}" if "/" in pattern.rstrip("/") else f"/**/{pattern}"
    return path_glob(root, where).matches(path) or ("/" not in pattern and path_glob("", where).matches(path))


def _any(patterns: Sequence[str], texts: Sequence[str], fits: Callable[[str, str], bool]) -> bool:
    return any(fits(pattern, text) for pattern in patterns for text in texts)


def matches(pattern: str, text: str) -> bool:
    """
    `*` for anything, `?` for one character; `git push *` fits `git push` too. In bounded time, whatever stands in it.
    """
    while pattern.endswith(" * *"):
        pattern = pattern[:-2]
    if pattern.endswith(" *") and matches(pattern[:-2], text):
        return True
    first, *rest = pattern.split("*")
    if not rest:
        return len(first) == len(text) and _begins(first, text)
    if not _begins(first, text):
        return False
    at, last = len(first), rest.pop()
    for piece in rest:
        at = _find(piece, text, at)
        if at < 0:
            return False
        at += len(piece)
    return len(text) - len(last) >= at and _begins(last, text[len(text) - len(last) :])


def _begins(piece: str, text: str) -> bool:
    return len(text) >= len(piece) and all(sign in ("?", other) for sign, other in zip(piece, text, strict=False))


def _find(piece: str, text: str, start: int) -> int:
    if "?" not in piece:
        return text.find(piece, start)
    places = range(start, len(text) - len(piece) + 1)
    return next((at for at in places if _begins(piece, text[at : at + len(piece)])), -1)


def _occurs(pattern: str, text: str) -> bool:
    """Does it stand anywhere in a line that was not understood?"""
    wanted = pattern.strip("*").strip()
    return not wanted or matches(f"*{wanted}*", text) or matches(f"*{wanted}*", " ".join(text.split()))
