"""One run of a command: where files lie, what the settings say, who is asking, how to print."""

from __future__ import annotations

import os
import sys

from atm import config
from atm.core.errors import AtmError, UsageError
from atm.core.names import parse_address, same_name
from atm.files.formats.json_record import encode
from atm.team.services.registry import only_one
from atm.wiring.files import build_repositories, find_layout, interruptions
from atm.wiring.mail import build_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import TextIO

    from atm.board.ports.workplaces import AgentPlaces
    from atm.config import Settings
    from atm.files.formats.layout import Layout
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.choosing import Whereabouts
    from atm.team.services.choosing import Choice
    from atm.ui.cli.arguments import Args

LARGEST_RECORD = 1 << 20
"""Bytes of an agent's record that are looked through."""

LAST_WORDS = 2000


class Session:
    """What every command needs, each part made when it is asked for."""

    __slots__ = (
        "_as_json",
        "_ask_for_team",
        "_ask_for_trust",
        "_boardroom",
        "_gathered",
        "_layout",
        "_room",
        "_settings",
        "choice",
        "environment",
        "heard",
        "makes_room",
        "speaker",
        "wants_yes",
    )

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        as_json: bool = False,
        speaker: str | None = None,
        ask_for_trust: Callable[[Session], bool] | None = None,
        ask_for_team: Callable[[Session], Choice] | None = None,
    ) -> None:
        self._ask_for_team = ask_for_team
        """Told that none was named; says which one was chosen, or asks a person."""
        self.environment = environment
        self.speaker = speaker
        """Who a flag says that it acts as."""
        self._ask_for_trust = ask_for_trust
        """Told once that a repository's settings are left out; True if a person has said yes to them now."""
        self._as_json = as_json
        self._layout: Layout | None = None
        self.choice: Choice | None = None
        """The team that was chosen because none was named."""
        self._gathered: list[object] | None = None
        self.wants_yes = False
        """Has the command only shown what it would do with --yes?"""
        self.makes_room: Callable[[], AbstractContextManager[None]] | None = None
        """Somebody waits, and a line says so, which makes room for what is said meanwhile."""
        self.heard = b""
        """The end of what a command says that runs now."""
        self._settings: Settings | None = None
        self._room: Teamroom | None = None
        self._boardroom: FullBoardroom | None = None

    @property
    def layout(self) -> Layout:
        if self._layout is None:
            self._layout = find_layout(self.environment)
        return self._layout

    @property
    def settings(self) -> Settings:
        if self._settings is None:
            self._settings = self._load_settings()
            is_ignored = self._settings.repo.ignored or self._settings.repo.owner is not None
            if is_ignored and self._ask_for_trust is not None and self._ask_for_trust(self):
                self._settings = self._load_settings()
        return self._settings

    def read_settings_again(self) -> None:
        """After this command changed them."""
        self._settings = None

    @property
    def is_of_an_agent(self) -> bool:
        """Does the model of an agent program run this command?"""
        from atm.vendors.known import in_agents_shells

        return any(name in self.environment for name in in_agents_shells())

    def do_without_bad_settings(self) -> str:
        """For what has to work whatever lies there: defaults, if the settings cannot be read. Why, then."""
        try:
            self.settings.text("core.identity")
        except (AtmError, OSError) as error:
            self._settings = config.Settings({}, [], None, working_folder())
            return str(error)
        return ""

    def _load_settings(self) -> Settings:
        return config.load(self.layout, self.environment, working_folder(), {}, self.speaker)

    @property
    def room(self) -> Teamroom:
        if self._room is None:
            self._room = build_room(self.layout, self.settings)
            self._room.acting_pid = os.getpid()
        return self._room

    @property
    def boardroom(self) -> FullBoardroom:
        """The board."""
        if self._boardroom is None:
            from atm.wiring.board import build_boardroom

            self._boardroom = build_boardroom(
                self.layout, self.settings, self.room, workplaces=self._workplaces, hears=self._hear
            )
        return self._boardroom

    def _hear(self, said: bytes) -> None:
        """By two threads, for its two outputs: what one of them overwrites was only for the eye."""
        self.heard = (self.heard + said)[-LAST_WORDS:]

    def _workplaces(self) -> AgentPlaces:
        from atm.wiring.crew import build_workplaces

        return build_workplaces(self.layout)

    @property
    def as_json(self) -> bool:
        return self._as_json or self.settings.text("display.format") == "json"

    # Who and where.

    def team(self, args: Args) -> str:
        """The team that a command means: its flag, then the settings, then what can be told from here."""
        from atm.core.names import check_known_name

        named = args.text("team") or self.settings.text("core.default_team")
        if named:
            return check_known_name(named, "team")
        if self.choice is None:
            if only := only_one(self.room):
                return only
            from atm.team.services.choosing import choose_team

            self.choice = self._ask_for_team(self) if self._ask_for_team else choose_team(self.room, self.whereabouts)
        return self.choice.team

    @property
    def whereabouts(self) -> Whereabouts:
        """Where this command is run, and by whom, for whoever has to tell which team is meant."""
        from atm.team.rules.choosing import Whereabouts

        identity = self.settings.setting("core.identity")
        me = self.speaker or (str(identity.value) if identity.origin != "default" else "")
        folder = working_folder().replace(os.sep, "/")
        return Whereabouts(
            me=me, root=self.settings.root, folder=folder, repository=build_repositories().around(folder)
        )

    def home_team(self) -> str | None:
        """The team of whoever is asking, as far as it is known."""
        return self.settings.text("core.default_team") or None

    def named(self, args: Args, flag: str = "as") -> str:
        """Who a command says that it acts as."""
        from atm.core.names import check_sender

        given = args.text("as") if args.text(flag) is None else args.text(flag)
        if given is None and "ATM_NOBODY" in self.environment:
            from atm.core.errors import NotAllowed
            from atm.vendors.shared_sessions import trouble_and_remedy

            trouble, remedy = trouble_and_remedy(self.environment["ATM_NOBODY"])
            raise NotAllowed(trouble, f"{remedy}; or name the member: --as")
        # An empty name is a variable that was not set, and not the person at the terminal.
        return check_sender(self.settings.text("core.identity") if given is None else given)

    def identity(self, args: Args, flag: str = "as") -> str:
        """The same, and it may: an agent's process speaks for nobody else (D26)."""
        who = self.named(args, flag)
        self.check_speaks_for(who, args.text("team") or self.home_team() or "")
        return who

    def check_speaks_for(self, who: str, team: str) -> None:
        if os.path.isdir(self.layout.processes):  # agents run here: this may be one of theirs
            from atm.team.services.standing import check_speaker

            check_speaker(self.room, team, who)

    def address(self, given: str, args: Args) -> tuple[str, str]:
        """`agent` or `agent@team`, aliases resolved, as (agent, team)."""
        meant = self.settings.alias(given)
        if meant is not None:
            self.warn(f"{given} means {meant}")
        agent, team = parse_address(meant or given)
        flagged = args.text("team")
        if team and flagged and not same_name(team, flagged):
            raise UsageError(f"{given!r} names one team and --team another", "leave one of them out")
        return agent, team or self.team(args)

    @property
    def may_start_daemon(self) -> bool:
        return not self.forbids_daemon

    @property
    def forbids_daemon(self) -> str:
        """What forbids commands to start the daemon by themselves: a variable, a setting, or nothing."""
        if self.environment.get("ATM_DAEMON_AUTOSTART") == "0":
            return "ATM_DAEMON_AUTOSTART=0"
        return "" if self.settings.yes("daemon.autostart") else "the setting daemon.autostart"

    def need_daemon(self, why: str) -> None:
        """Start the daemon if it does not run; a feature that needs it works as far as it can without."""
        if not self.may_start_daemon:
            return
        from atm.wiring.daemon import start_daemon

        problem = start_daemon(self.layout, self.environment)
        if problem:
            self.warn(f"Warning: the daemon could not be started, so nobody watches for {why}: {problem}")

    # Output.

    def print(self, text: str = "", *, is_folded: bool = True) -> None:
        """`is_folded` is not for what others wrote line by line: a line of a log must stay one."""
        said = (fitted(harmless(text), sys.stdout) if is_folded else harmless(text)) + "\n"
        with interruptions:
            self._put(sys.stdout, said)

    def _put(self, stream: TextIO, said: str) -> None:
        """Whoever waits sees it above the line that says for what, which comes again."""
        if self.makes_room is None:
            stream.write(said)
            return
        with self.makes_room():
            stream.write(said)
            stream.flush()

    def print_json(self, value: object) -> None:
        ignored = self._settings.repo.ignored if self._settings is not None else None
        if ignored and self._ask_for_trust is not None and isinstance(value, dict) and "action" in value:
            value = {**value, "untrusted": [*ignored]}
        if self.choice is not None and self.choice.others and isinstance(value, dict) and "action" in value:
            value = {**value, "team_chosen_by": self.choice.why}
        if self._gathered is not None:
            self._gathered.append(value)
            return
        said = encode(value) + "\n"
        with interruptions:
            sys.stdout.write(said)

    def gather(self, look: Callable[[], int]) -> tuple[int, list[object]]:
        """What would have been printed as JSON, for whoever puts it together."""
        found: list[object] = []
        self._gathered = found
        try:
            return look(), found
        finally:
            self._gathered = None

    def heed(self) -> None:
        """If somebody asked us to end, this is the moment: nothing has been said yet."""
        with interruptions:
            return

    def flush(self) -> None:
        """What was printed goes out. Whoever does not read it may be interrupted."""
        with interruptions:
            sys.stdout.flush()

    def finish(self) -> None:
        """Everything is done and said: who asked us to end has that without a word."""
        for trouble in self._room.troubles.news() if self._room is not None else ():
            self.warn(f"Warning: {trouble}")
        interruptions.forget()
        self.flush()

    def tell(self, result: dict[str, object], text: str) -> None:
        """Report what has been done. If nobody can hear it, it has been done all the same."""
        asked = interruptions.forget()  # to end: whoever did should hear that it was done
        try:
            if self.as_json:
                self.print_json(result)
            else:
                self.print(text)
            self.flush()
        except (OSError, ValueError, KeyboardInterrupt) as error:
            asked = error.args[0] if isinstance(error, KeyboardInterrupt) and error.args else asked
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - until the process ends, a moment later
        interruptions.caught = asked or interruptions.caught

    def warn_guests(self) -> None:
        """Root in somebody else's home, as after `sudo`: what it makes there shuts the owner out. Said first."""
        if getattr(os, "geteuid", lambda: -1)() != 0:
            return
        try:
            roots = (self.layout.claude_root, self.layout.state_root)
        except AtmError:
            return  # no home at all: the command says so itself
        owner = next((uid for root in roots if (uid := owner_of(root))), 0)
        if owner:
            from pwd import getpwall

            name = next((user.pw_name for user in getpwall() if user.pw_uid == owner), f"#{owner}")
            self.warn(
                f"Warning: you are root in the home of {name}, who cannot use what you make; sudo -u {name} atm …"
            )

    def question_before(self, team: str, member: str) -> str:
        """What the program of this recipient asks a person in its window; only agents that atm started can be seen."""
        try:
            with open(self.layout.agent_record(team, member), "rb") as file:
                data = file.read(LARGEST_RECORD)
        except (OSError, ValueError):
            return ""
        if b'"asks":' not in data or b'"asks": ""' in data:
            return ""  # `atm send` need not load what understands a record
        from atm.wiring.crew import build_agent_records, question_of

        return question_of(build_agent_records(self.layout).read(team, member))

    def warn(self, text: str) -> None:
        from atm.core.untrusted_text import one_line

        self._put(sys.stderr, f"{fitted(one_line(text), sys.stderr)}\n")


def fitted(text: str, stream: TextIO) -> str:
    """On a terminal lines are wrapped by words, with their indent."""
    if not stream.isatty():
        return text
    from atm.ui.views.fitting import fold
    from atm.ui.views.style import terminal_columns

    columns = terminal_columns(stream)
    return "\n".join(part for line in text.split("\n") for part in (fold(line, columns) if columns else [line]))


def harmless(text: str) -> str:
    """
    A last net for everything that is printed: only our own colours get through to a terminal (D22).

    What others wrote is made visible where it is rendered; this catches what was forgotten there.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    from atm.core.untrusted_text import many_lines

    if "\x1b" not in text or not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("ATM_NO_COLOR"):
        return many_lines(text)
    import re

    parts = re.split(r"(\x1b\[(?:0|1|2|3[1-4])(?:;(?:1|2|3[1-4]))?m)", text)
    return "".join(part if i % 2 else many_lines(part) for i, part in enumerate(parts))


def owner_of(path: str) -> int:
    """Whose it is; where it is not there yet, whose the folder is that it would be made in."""
    while True:
        try:
            return os.stat(path).st_uid
        except OSError:
            path, former = os.path.dirname(path), path
            if path == former:
                return 0


def working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder was deleted under us: mail works all the same
        return "/"
