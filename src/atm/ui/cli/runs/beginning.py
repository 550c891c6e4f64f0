"""Beginning a run, or taking one up again."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TypeVar

from atm.board.rules.dependencies import Board
from atm.board.rules.schedule import edges_on
from atm.board.services.importing import reimport
from atm.core.work_errors import NotTrusted
from atm.merges.services.people import unmerged_tasks
from atm.merges.services.queueing import open_target
from atm.roster.services.members import update_member
from atm.runs.rules.limits import Limits
from atm.runs.rules.orders import RunOrder
from atm.runs.services.starting import find_run, new_run_id
from atm.team.rules.repositories import OTHER, base_names, name_of_folder
from atm.team.rules.team import check_open
from atm.team.services.registry import find_team
from atm.team.services.standing import check_roster
from atm.ui.cli.crew.wishes import check_may_start, note_leader
from atm.ui.cli.runs.prepared import make_team
from atm.ui.cli.session import working_folder
from atm.ui.cli.team.belonging import belonging_here, bind_here, check_named, choose_here, is_top
from atm.wiring.runs import build_limits, build_rules, build_runroom

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.runs.services.runroom import Runroom
    from atm.team.services.belonging import RepositoryTeams
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.runs.prepared import Prepared
    from atm.ui.cli.session import Session

Amount = TypeVar("Amount", int, float)


def begin(args: Args, session: Session, made: Prepared) -> RunOrder | None:
    """The plan on the board, the order on disk, everybody in the roster. None if there is nothing to do."""
    make_team(session, made)
    check_may_start(session, made.desk.crew, made.team)
    team = find_team(session.room, made.team)
    if made.wishes:
        done = reimport(session.boardroom, made.team, team.lead, made.wishes, made.plan_file)
        for warning in done.warnings:
            session.warn(f"note: {warning}")
    note_leader(session, made.team)
    board = session.boardroom.tasks.board(made.team) if session.boardroom.tasks.exists(made.team) else Board({})
    made.unmerged = unmerged_tasks(made.desk.merges, made.team) if made.into else []
    if not edges_on(board) and not any(card.is_claimed for card in board.cards.values()) and not made.unmerged:
        return None
    if made.leader is not None:
        made.leader = replace(made.leader, name=team.lead)
        _let_it_delegate(args, session, made.team, team.lead)
    order = _order(args, session, made, new_run_id(session.boardroom.clock, session.boardroom.chance), board)
    if order.merges:
        open_target(made.desk.merges, made.repository, order.into, order.base)
    made.desk.runs.write(order)
    if made.drafts:
        made.desk.runs.write_copy(made.team, order.run, made.checklist)
    return order


def _let_it_delegate(args: Args, session: Session, team: str, lead: str) -> None:
    if args.flag("delegate"):
        update_member(session.room, team, lead, {"delegate": True})


def _order(args: Args, session: Session, made: Prepared, run: str, board: Board) -> RunOrder:
    settings = session.settings
    limits = _limits(args, build_limits(settings, "max"))
    return RunOrder(
        run=run,
        team=made.team,
        folder=made.folder,
        lead=find_team(session.room, made.team).lead,
        goal=made.goal,
        base=made.base,
        branch=made.repository.branch,
        seats=made.seats,
        leader=made.leader,
        rules=build_rules(settings),
        limits=limits,
        per_agent=build_limits(settings, "agent"),
        per_task=build_limits(settings, "task"),
        done_before=[card.id for card in board.sorted() if card.is_finished and card.id not in made.unmerged],
        saved_before=[one.id for one in made.desk.crew.worktrees.saved(made.repository.common, made.team)],
        plan_file=made.plan_file,
        tick=args.flag("tick"),
        merge=made.merge,
        into=made.into,
        merge_at=made.merge_at,
    )


def _given(said: Amount | None, setting: Amount) -> Amount:
    return setting if said is None else said


def _limits(args: Args, most: Limits) -> Limits:
    return Limits(
        minutes=_given(args.number("max_minutes"), most.minutes),
        turns=_given(args.whole("max_turns"), most.turns),
        tokens=_given(args.whole("max_tokens"), most.tokens),
        cost=_given(args.number("max_cost"), most.cost),
    )


def find_resumed(args: Args, session: Session, given: str) -> tuple[Runroom, RunOrder]:
    desk = build_runroom(session.layout, session.settings, session.boardroom, session.environment)
    belonging, folder = belonging_here(session), os.path.realpath(working_folder())
    team = args.text("team") or session.settings.text("core.default_team") or ""
    if team:
        team = find_team(session.room, team).name
        if belonging is not None:
            check_named(session, belonging, team)
    else:
        team = _team_with_runs(session, desk, belonging, folder, given)
    order = find_run(desk.runs, check_open(find_team(session.room, team)).name, given)
    check_roster(session.room, order.team, "go on with a run")
    if belonging is not None:
        bind_here(session, belonging, order.team, lambda: desk)
        order = find_run(desk.runs, order.team, order.run)  # its folder may have been elsewhere
    return desk, order


def take_up(args: Args, session: Session, desk: Runroom, order: RunOrder) -> RunOrder:
    """As a person began it: its folder is open to every agent of the user (D25). With the limits that are given now."""
    if not desk.runs.is_as_written(order.team, order.run):
        path = f"{desk.runs.folder(order.team, order.run)}/plan.json"
        raise NotTrusted(f"the order of run {order.run} is not as atm wrote it", "look at it; begin another run", path)
    check_may_start(session, desk.crew, order.team)
    note_leader(session, order.team)
    limits = _limits(args, order.limits)
    if limits != order.limits:
        order.limits = limits
        desk.runs.write(order)
    return order


def _team_with_runs(session: Session, desk: Runroom, belonging: RepositoryTeams | None, folder: str, given: str) -> str:
    """The team of this repository, or the only one with a run of that name that no other repository has."""
    teams = [
        name for name in session.room.rosters.teams() if any(run.startswith(given) for run in desk.runs.names(name))
    ]
    if belonging is None:
        own = name_of_folder(folder)
    else:
        own = belonging.choose(base_names(belonging.here, folder), is_top=is_top(belonging, folder)).team
        if own in teams:
            return choose_here(session, belonging, folder).team
        owners = [name for name in teams if belonging.verdict(name) == OTHER]
        teams = [name for name in teams if name not in owners]
        if not teams and owners:
            belonging.check(owners[0])
    if own in teams or len(teams) != 1:
        return own
    if belonging is not None:
        check_named(session, belonging, teams[0])
    return teams[0]
