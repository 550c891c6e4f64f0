"""The ports that the board's verbs need, in one hand; and who may do what."""

from __future__ import annotations

from atm.board.rules.tasks import Stamp
from atm.files.formats.times import to_iso
from atm.team.rules.team import check_open
from atm.team.services.presence import beat
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.board.ports.programs import Programs
    from atm.board.ports.tasks import Tasks
    from atm.board.ports.workplaces import AgentPlaces
    from atm.board.rules.tasks import Task
    from atm.files.ports.clock import Chance, Clock
    from atm.mail.services.mailroom import Mailroom
    from atm.team.ports.presence import Presence
    from atm.team.rules.team import Team

SERVER_SOURCE = "atm mcp"
"""What signs of life say that come from a server."""

HOOK_EVENTS = ("TaskCreated", "TaskCompleted", "TeammateIdle")
CHECK_SECONDS, HOOK_SECONDS = 600.0, 60.0


class Boardroom:
    """Everything that the board is made with."""

    __slots__ = (
        *("_programs", "_workplaces", "check_seconds", "hook_seconds", "hooks", "is_server", "max_retries", "room"),
        *("stands_in", "tasks"),
    )

    def __init__(
        self,
        *,
        room: Mailroom,
        tasks: Tasks,
        programs: Callable[[], Programs],
        hooks: dict[str, list[str]] | None = None,
        hook_seconds: float = HOOK_SECONDS,
        check_seconds: float = CHECK_SECONDS,
        max_retries: int = 2,
        is_server: bool = False,
        workplaces: Callable[[], AgentPlaces] | None = None,
        stands_in: str = "",
    ) -> None:
        self.room = room
        self.tasks = tasks
        self._programs = programs
        self._workplaces = workplaces
        self.hooks = hooks or {}
        self.hook_seconds = hook_seconds
        self.check_seconds = check_seconds
        self.max_retries = max_retries
        self.is_server = is_server
        """Does it act for others, outside of whatever fences them in? Then it runs only what a person allowed."""
        self.stands_in = stands_in
        """Where whoever it acts for works, as their connection says; empty for a process of their own."""

    @property
    def clock(self) -> Clock:
        return self.room.clock

    @property
    def chance(self) -> Chance:
        return self.room.chance

    @property
    def programs(self) -> Programs:
        """Made when first asked for: running programs takes a lot that most commands never need."""
        return self._programs()

    @property
    def workplaces(self) -> AgentPlaces | None:
        """Where members work that atm has started; None where there are none."""
        return self._workplaces() if self._workplaces is not None else None

    @property
    def presence(self) -> Presence:
        return self.room.presence

    def source(self, verb: str = "") -> str:
        """What a sign of life says that a verb leaves. A server leaves no second one beside it."""
        return SERVER_SOURCE if self.is_server else f"atm tasks {verb}".rstrip()

    def stamp(self, actor: str) -> Stamp:
        return Stamp(actor, to_iso(self.clock.now()), self.chance.new_id())


def open_team(boardroom: Boardroom, team: str | Team) -> Team:
    """The team whose board is about to be changed; whoever has just read its roster hands it over."""
    found = find_team(boardroom.room, team) if isinstance(team, str) else team
    check_open(found)
    return found


def list_name(boardroom: Boardroom, team: str) -> str:
    """The list that a team's name means, for reading: also of a session that has ended."""
    found = boardroom.room.rosters.find(team)
    if found is not None:
        return found
    if boardroom.tasks.exists(team):
        return team
    return find_team(boardroom.room, team).name  # raises, and says which teams there are


def working_folder(boardroom: Boardroom, team: Team, task: Task, who: str) -> str:
    """Where the task says, else where its claimant works; empty for wherever we are."""
    return task.text("folder") or own_folder(boardroom, team, who)


def own_folder(boardroom: Boardroom, team: Team, who: str) -> str:
    """
    Where a member works, as the roster says; empty for wherever we are.

    A roster is no secret, and whoever changes it must not choose where another's commands run: a process of the
    member's own believes it only while it stands in that folder itself.
    """
    member = team.member(who)
    said = member.cwd if member is not None else ""
    return said if said and (boardroom.is_server or boardroom.programs.stands_in(said)) else ""


def sign_of_life(boardroom: Boardroom, team: Team, who: str) -> None:
    """Whoever changes something on the board is there."""
    if team.member(who) is not None:
        beat(boardroom.presence, team, who, boardroom.clock.now(), boardroom.source())
