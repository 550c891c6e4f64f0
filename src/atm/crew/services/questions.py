"""
What an agent asks its host for: judged by the policy, put before the lead or a person, and answered when they do.

Nothing waits here but the agent itself: the host goes on beating, delivering and ending. A question that its program
withdraws, or that outlives the agent, is cancelled.
"""

from __future__ import annotations

from atm.approvals.formats.records import digest_of
from atm.approvals.formats.tool_calls import read_call
from atm.approvals.rules.calls import EXIT_PLAN, KNOWN_TOOLS
from atm.approvals.rules.requests import WAITING
from atm.approvals.services.approvalroom import close_expired, fresh
from atm.approvals.services.asking import ask, cancel, denied_by, judged, task_of, use
from atm.approvals.services.permitting import denied_in_words
from atm.board.services.reviews import submit_plan
from atm.core.errors import AtmError
from atm.team.rules import liveness
from atm.vendors.known import calls_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.calls import AgentCall
    from atm.approvals.rules.requests import Approval
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.crew.services.hosting import Host
    from atm.vendors.driver import Driver, Heard

NOBODY_ASKED = (
    "Nobody has allowed this, and nobody is there to be asked: do what you can without it, within your own folder, "
    "or tell the lead by mail what you need and why."
)
HANDED_IN = "Your plan is handed in. End your turn now: you are told when it is approved, and work then."
SAY_IT = "End your turn with your plan, in words: so it is handed in."
OURS = ("mcp__atm__",)
"""Tools of our own server, as Claude Code calls them: each looks itself at who calls."""

FOR_PEOPLE = ("AskUserQuestion", "question", "mcp", "permissions")
"""What is no call of a tool: a choice, a form, wider rights for good. Nobody grants these from here."""


class HostQuestions:
    """The open ones of one agent."""

    def __init__(self, host: Host, driver: Driver, approvals: Approvalroom) -> None:
        self._host = host
        self._driver = driver
        self._approvals = approvals
        self._open: dict[str, tuple[Approval, AgentCall]] = {}
        self._explained: set[str] = set()
        self.unexplained = False
        """Was a call refused for a reason that its model has not been given yet, if its protocol carries none?"""

    def take(self, heard: Heard) -> None:
        """A question has come. Any trouble with it is a no."""
        id, tool = str(heard.facts.get("id")), str(heard.facts.get("tool"))
        try:
            self._judge(id, tool, heard)
        except Exception as error:  # noqa: BLE001 - nothing that an agent asks for may end its host
            self._open.pop(id, None)
            why = f"atm could not judge this call, and what is not judged is denied: {error!r}"
            self._answer(id, allow=False, reason=why)

    def _judge(self, id: str, tool: str, heard: Heard) -> None:
        record, room = self._host.record, self._approvals
        is_plan = KNOWN_TOOLS.get(tool.lower()) == EXIT_PLAN
        if tool in FOR_PEOPLE or not (room.policy.exists or is_plan):
            is_ours = tool.startswith(OURS)
            self._answer(id, allow=is_ours, reason="" if is_ours else NOBODY_ASKED)
            return
        given = heard.facts.get("input")
        given = given if isinstance(given, dict) else {}
        if is_plan and record.has_task_for_life:
            self._answer(id, allow=False, reason=self._hand_in(given.get("plan")))
            return
        folder = record.worktree or record.folder
        asker = str(heard.facts.get("vendor"))
        named = calls_of(asker).call_id  # in other protocols a field of that name is the model's
        call_id = str(given.get(named) or "") if named else ""
        call = read_call(asker, tool, given, folder=folder, root=folder, session=record.session, call_id=call_id or id)
        understood, verdict = judged(room, call)
        if not verdict.asks:
            reason = "" if verdict.is_granted else denied_by(verdict) or NOBODY_ASKED
            self._answer(id, allow=verdict.is_granted, reason=reason)
            self._note_refusal(call, verdict.is_granted)
        else:
            task = task_of(room, record.team, record.member)
            approval = ask(room, self._host.team, record.member, understood, verdict, task=task)
            self._open[id] = (approval, call)
            self._host.machine.log(f"it waits for an answer to request {approval.id}")
            self._host.beat(liveness.WAITING, at_once=True)
            self.look()

    def _hand_in(self, plan: object) -> str:
        """The plan of its task is answered on the board, once, whichever way it comes. What the agent is told."""
        record = self._host.record
        if not isinstance(plan, str) or not plan.strip():
            return SAY_IT
        try:
            submit_plan(self._host.crew.boardroom, record.team, record.member, record.task, plan)
        except AtmError as error:
            return f"{error}; {SAY_IT}"
        return HANDED_IN

    @property
    def is_waiting(self) -> bool:
        """Is a person, or the lead, asked for something just now?"""
        return bool(self._open)

    def look(self) -> None:
        """Has anything been answered, or is its time over?"""
        for id, (approval, call) in [*self._open.items()]:
            try:
                self._look_at(id, approval, call)
            except Exception as error:  # noqa: BLE001 - the same
                self._open.pop(id, None)
                self._answer(id, allow=False, reason=f"its request cannot be read any more, which is a no: {error!r}")

    def _look_at(self, id: str, approval: Approval, call: AgentCall) -> None:
        room = self._approvals
        if not room.approvals.news(approval.team, approval.id) and approval.state(room.clock.now()) == WAITING:
            return
        now = close_expired(room, fresh(room, approval))
        if now.state(room.clock.now()) == WAITING:
            return  # something that nobody gave through us lies where the answer would be
        del self._open[id]
        is_used = use(room, now, call.call_id)
        self._answer(id, allow=is_used, reason="" if is_used else denied_in_words(room, now))
        self._note_refusal(call, is_used)
        self._host.beat(liveness.WORKING, at_once=True)

    def _note_refusal(self, call: AgentCall, is_allowed: bool) -> None:
        """Once for the same call: a model that tries it again and again is not answered with a prompt each time."""
        what = digest_of(self._host.record.member, call)
        if not is_allowed and what not in self._explained:
            self._explained.add(what)
            self.unexplained = True

    def withdraw(self, id: str) -> None:
        found = self._open.pop(id, None)
        if found is not None:
            self._cancel(found[0], "its program asks no more")

    def cancel_all(self, why: str = "the agent has ended") -> None:
        """Its turn is over, or the agent is: no answer is of use any more."""
        while self._open:
            self._cancel(self._open.popitem()[1][0], why)

    def _cancel(self, approval: Approval, why: str) -> None:
        try:
            cancel(self._approvals, approval, why)
        except (AtmError, OSError):
            return  # its time will be over

    def _answer(self, id: str, *, allow: bool, reason: str) -> None:
        self._host.machine.log(f"question {id}: {'allowed' if allow else f'denied, {reason}'}")
        self._driver.answer(id, allow=allow, reason=reason)
