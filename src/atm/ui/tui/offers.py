"""What keys offer for what is chosen."""

from __future__ import annotations

from atm.ui.faces.deeds import ADD, offers_for
from atm.ui.faces.view_names import APPROVALS, BOARD, TEAMS
from atm.ui.views.team.seen import TeamSeen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.faces.deeds import KeyOffer
    from atm.ui.tui.model import Model


def offers(model: Model) -> list[KeyOffer]:
    """For the row that is chosen; nothing opens the view in which it stands already."""
    found = offers_for(model.target, model.seen or TeamSeen("")) if model.target is not None else []
    found = [one for one in found if one.opens != model.view or one.opens in (APPROVALS, TEAMS)]
    return [*found, ADD] if model.view == BOARD else found
