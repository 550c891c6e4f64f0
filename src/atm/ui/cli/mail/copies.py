"""What became of the copies of a broadcast: for people, for programs, and as an exit code."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.mail.rules.quotas import INBOX_FULL
from atm.mail.services.posting import Posted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session


def show_copies(session: Session, message_id: str, copies: list[Posted]) -> int:
    """Exit code 2: some copies failed; 1: all."""
    failed = sum(sent.outcome == "failed" for sent in copies)
    session.tell(_as_json(copies[0].team, message_id, copies), _words(copies, message_id))
    return 0 if not failed else 1 if failed == len(copies) else 2


def _counts(copies: list[Posted]) -> dict[str, int]:
    outcomes = [sent.outcome for sent in copies]
    return {
        "total": len(copies),
        "succeeded": outcomes.count("success") + outcomes.count("conflict_resolved"),
        "queued": outcomes.count("queued"),
        **({"held": held} if (held := outcomes.count("held")) else {}),
        "conflicts": outcomes.count("conflict_resolved"),
        "failed": outcomes.count("failed"),
    }


def _as_json(team: str, message_id: str, copies: list[Posted]) -> dict[str, object]:
    return {
        "action": "broadcast",
        "team": team,
        "message_id": message_id,
        "summary": _counts(copies),
        "results": [_one(sent) for sent in copies],
    }


def _one(sent: Posted) -> dict[str, object]:
    result: dict[str, object] = {"agent": sent.agent, "outcome": sent.outcome, "seq": sent.seq}
    if sent.merged:
        result["merged_messages"] = sent.merged
    if sent.spool_path:
        result["spool_path"] = sent.spool_path
        result["reason"] = sent.reason
    if sent.warnings:
        result["warnings"] = [*sent.warnings]
    if sent.error is not None:
        result["error"] = {"code": sent.error.code, "message": str(sent.error), "remedy": sent.error.remedy}
    return result


def _words(copies: list[Posted], message_id: str) -> str:
    from atm.ui.views.looks import spelled
    from atm.ui.views.tables import table

    def detail(sent: Posted) -> str:
        error: AtmError | None = sent.error
        queued = INBOX_FULL if sent.reason == INBOX_FULL else sent.spool_path
        return str(error) if error else queued or (f"seq {sent.seq}" if sent.seq else "not in the ledger")

    rows = [[sent.agent, spelled(sent.outcome), detail(sent)] for sent in copies]
    counts = _counts(copies)
    summed = (
        f"  {counts['succeeded']} of {counts['total']} delivered, {counts['queued']} queued, "
        f"{counts['failed']} failed  {message_id[:8]}"
    )
    return "\n".join([*table(["Agent", "Outcome", "Detail"], rows), "", summed])
