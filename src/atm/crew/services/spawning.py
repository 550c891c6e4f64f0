"""
Starting an agent: roster entry, worktree, branch, slot and process appear together, or not at all (G7).

Before each step the record says what may exist after it. Whoever is interrupted takes back what was made; whoever is
killed leaves that to the next command (`reaping.reconcile`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.board.rules.acceptance import said_by
from atm.board.rules.tasks import LONGEST_TIMEOUT
from atm.core.errors import AtmError
from atm.core.names import check_new_name, same_name
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import (
    MemberInUse,
    RuntimeMissing,
    SpawnFailed,
    TeamStopped,
)
from atm.crew.ports.agents import Launch
from atm.crew.rules.agents import AgentRecord
from atm.crew.rules.marks import HOST_ASKS, VARIABLE, AgentMark
from atm.crew.rules.refs import encode, refused_base
from atm.crew.rules.states import ERROR, SPAWNING
from atm.crew.services.crewroom import change, is_being_started, is_running
from atm.crew.services.equipment import check_tools, look
from atm.crew.services.reaping import clear_away
from atm.roster.services.members import add_member, remove_member, update_member
from atm.team.rules.team import AGENT, Member
from atm.team.services.registry import find_team
from atm.vendors.driver import ASKS, DEFAULT, EDITS, PLAN
from atm.vendors.runtime import BOARD, HEADLESS, PLAIN, TMUX, command_line
from atm.vendors.runtimes import can_limit_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.ports.worktrees import Saved, Worktree
    from atm.crew.services.crewroom import Crewroom
    from atm.vendors.runtime import Runtime

NAP = 0.03
OF_ONE_AGENT = ("ATM_TASK", "ATM_RUN", "ATM_WORKTREE", HOST_ASKS)
"""Variables that are never inherited from another agent."""

HOME_TASK = "up"
"""Stands for the task in the names of a worktree that an agent has from its start."""


@dataclass(slots=True, kw_only=True)
class AgentWish:
    """An agent that somebody wants."""

    team: str
    member: str
    runtime: str
    folder: str
    backend: str = "auto"
    model: str = ""
    prompt: str = ""
    command: list[str] = field(default_factory=list)
    """For `command`: the program."""
    environment: dict[str, str] = field(default_factory=dict)
    requires_plan: bool = False
    tools: list[str] = field(default_factory=list)
    in_place: bool = False
    """Work in the folder itself: the user named it (`--cwd`)."""
    resume: str = ""
    run: str = ""
    start: str = ""
    """The commit that its worktree begins with; empty for the one that is checked out."""
    task: str = ""
    claim: str = ""
    """A task that was claimed for it, and the claim."""
    work: Saved | Worktree | str | None = None
    """What another one left of it, to go on with; or a commit."""
    place: Worktree | None = None
    """A worktree that was prepared for it."""


def spawn(crew: Crewroom, wish: AgentWish) -> AgentRecord:
    """Start one. Raises SpawnFailed, RuntimeMissing, MemberInUse, TeamStopped; then nothing of it is left."""
    return await_ready(crew, launch(crew, wish))


def launch(crew: Crewroom, wish: AgentWish) -> AgentRecord:
    """The same without waiting for its host: several can begin at once. Whoever calls this calls `await_ready`."""
    runtime = runtime_of(crew, wish.runtime)
    backend = choose_backend(crew, runtime, wish.backend)
    if wish.tools and not can_limit_tools(runtime):
        raise RuntimeMissing(f"the tools of {runtime.name} cannot be limited", _instead(crew))
    team = find_team(crew.room, wish.team)
    check_not_stopped(crew, team.name)
    known = team.member(wish.member)
    if known is not None and known.kind != AGENT:
        raise MemberInUse(f"{known.name} is a {known.kind} and no agent", "choose another name")
    member = known.name if known is not None else check_new_name(wish.member, "member")
    record = _begin(crew, wish, team.name, member, backend, is_new=known is None)
    with _AllOrNothing(crew, record):
        return _make(crew, wish, runtime, record)


class _AllOrNothing:
    """What goes wrong inside takes back all that was made. Ctrl-C too."""

    def __init__(self, crew: Crewroom, record: AgentRecord) -> None:
        self._crew = crew
        self._record = record

    def __enter__(self) -> None:
        return

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            return
        _take_back(self._crew, self._record, str(error) or type(error).__name__)
        if isinstance(error, OSError):
            said = f"{self._record.member} could not be started: {error.strerror or error}"
            raise SpawnFailed(said, "see `atm doctor`") from None


def runtime_of(crew: Crewroom, name: str) -> Runtime:
    runtime = crew.runtimes.get(name)
    if runtime is None:
        from atm.core.names import nearest_name

        near = nearest_name(name, list(crew.runtimes))
        hint = f"did you mean {near!r}?" if near else "see `atm runtimes list`"
        raise RuntimeMissing(f"there is no runtime {name!r}", hint)
    if runtime.program and not crew.find_program(runtime.program):
        brings = f"bring it with: {runtime.brings}" if runtime.brings else "install it, or mend the PATH"
        raise RuntimeMissing(f"{runtime.name} needs the program {runtime.program!r}, which is not on the PATH", brings)
    if crew.policy.required_tools:
        check_tools(look(runtime, crew.find_program, lambda _: "", crew.set_up), crew.policy.required_tools)
    return runtime


def _instead(crew: Crewroom) -> str:
    able = [name for name, runtime in crew.runtimes.items() if can_limit_tools(runtime)]
    return f"leave --tools out, or use {' or '.join(able)}" if able else "leave --tools out"


def choose_backend(crew: Crewroom, runtime: Runtime, wanted: str) -> str:
    """Headless unless it is asked for otherwise, or cannot be."""
    can_hide = runtime.protocol in (BOARD, PLAIN) or bool(runtime.headless)
    name = wanted if wanted != "auto" else HEADLESS if can_hide else TMUX
    backend = crew.backends.get(name)
    if backend is None:
        raise RuntimeMissing(f"there is no backend {name!r}", f"use one of {', '.join(sorted(crew.backends))}")
    if problem := backend.problem():
        raise RuntimeMissing(f"{runtime.name} cannot be started with {name}: {problem}", "install it, or use headless")
    if name == HEADLESS and not can_hide:
        raise RuntimeMissing(f"{runtime.name} needs a terminal", "start it with --backend tmux")
    return name


def check_not_stopped(crew: Crewroom, team: str) -> None:
    said = crew.records.latch(team)
    if said is not None:
        raise TeamStopped(
            f"team {team!r} was stopped at {said.get('at', 'an unknown time')} by {said.get('by', 'somebody')}",
            f"a person starts it again with `atm up --team {shell_words(team)}`",
        )


def _begin(crew: Crewroom, wish: AgentWish, team: str, member: str, backend: str, *, is_new: bool) -> AgentRecord:
    """The record of a new life, before anything is made for it. Only one of two who try at once gets it."""
    with crew.records.turn(team, member) as turn:
        former = turn.record
        if former is not None and (is_being_started(crew, former) or is_running(crew, former)):
            raise MemberInUse(
                f"{member} runs already ({former.runtime}, process {former.pid or former.spawner})",
                f"end it first: atm kill {shell_words(member)} --team {shell_words(team)}",
            )
        if former is not None and (former.worktree or former.slot >= 0 or former.pid):
            raise MemberInUse(
                f"what {member} left behind is not cleared away yet", f"run `atm down --team {shell_words(team)}` first"
            )
        generation = (former.generation if former is not None else 0) + 1
        mark = AgentMark(crew.records.home, team, member, generation, crew.boardroom.chance.new_id())
        now = crew.clock.now()
        record = AgentRecord(
            team=team,
            member=member,
            generation=generation,
            mark=str(mark),
            runtime=wish.runtime,
            backend=backend,
            folder=wish.folder,
            at=now,
            state=SPAWNING,
            since=now,
            model=wish.model,
            prompt=wish.prompt,
            environment=wish.environment,
            requires_plan=wish.requires_plan,
            tools=wish.tools,
            spawner=crew.pid,
            spawner_began=crew.processes.began(crew.pid),
            is_enrolled=is_new,
            boot=crew.processes.boot,
            session=wish.resume,
            resumes=wish.resume,
            run=wish.run,
            start=wish.start,
            task=wish.task,
            claim=wish.claim,
            injected=len(wish.prompt) if backend == TMUX else 0,
        )
        if former is not None and wish.resume and former.session == wish.resume:
            record.tokens_before = former.tokens_before + (former.tokens or 0)
            record.cost_before = former.cost_before + (former.cost or 0.0)
        turn.write(record)
        return record


def _make(crew: Crewroom, wish: AgentWish, runtime: Runtime, record: AgentRecord) -> AgentRecord:
    team, member, generation = record.team, record.member, record.generation
    add_member(crew.room, team, Member(member, agent_type=runtime.name, model=wish.model, cwd=wish.folder))
    if record.requires_plan:
        update_member(crew.room, team, member, {"planModeRequired": True})
    slot = crew.slots.take(record.mark, crew.policy.lease)
    record = change(crew, team, member, generation, slot=slot)
    if runtime.protocol == BOARD:
        _check_can_work(crew, record)
    elif not wish.in_place:
        record = _with_worktree(crew, record, wish)
    command = program_words(crew, runtime, wish, record)
    session = _uuid(record) if _uuid(record) in command else record.session
    record = change(crew, team, member, generation, command=command, session=session)
    _check_goes_on(crew, record)
    started = crew.backends[record.backend].start(
        Launch(
            team, member, crew.host_command(record), record.worktree or record.folder, agent_environment(crew, record)
        )
    )
    began = crew.processes.began(started.pid)
    facts = {"pid": started.pid, "began": began, "server": started.server, "pane": started.pane}
    record = change(crew, team, member, generation, **facts)
    _check_goes_on(crew, record)
    return record


def _check_goes_on(crew: Crewroom, record: AgentRecord) -> None:
    """
    `atm stop` sets its latch, and looks for processes then. It does not end a process that starts agents, so that one
    has to see the latch itself: before it starts a host, and after.
    """
    check_not_stopped(crew, record.team)
    now = crew.records.read(record.team, record.member)
    if now is None or now.generation != record.generation or now.is_over:
        raise SpawnFailed(f"{record.member} was ended while it was being started", "start it again")


def _check_can_work(crew: Crewroom, record: AgentRecord) -> None:
    """Its worktrees come with its tasks; without any commit each of these would fail, and say so only then."""
    repository = crew.worktrees.repository(record.folder)
    if repository is not None and not (record.start or repository.head):
        raise refused_base("", repository.root or repository.common)


def _with_worktree(crew: Crewroom, record: AgentRecord, wish: AgentWish) -> AgentRecord:
    if wish.place is not None:
        return _noted(crew, record, wish.place)
    repository = crew.worktrees.repository(record.folder)
    if repository is None:
        return record  # no git here: it works in the folder itself
    left_alone = crew.runtimes[record.runtime].ignored
    name = record.task or HOME_TASK
    made = crew.worktrees.make(repository, record.team, name, record.member, record.start, left_alone)
    noted = _noted(crew, record, made)
    if wish.work is not None:
        crew.worktrees.go_on(made, wish.work)
    if crew.policy.setup:
        seconds = crew.policy.task or LONGEST_TIMEOUT
        ran = crew.boardroom.programs.run(crew.policy.setup, folder=made.path, seconds=seconds)
        if ran.code != 0:
            raise SpawnFailed(f"`{crew.policy.setup}` failed in the new worktree: {said_by(ran).strip()[-500:]}")
    return noted


def _noted(crew: Crewroom, record: AgentRecord, made: Worktree) -> AgentRecord:
    facts = {"worktree": made.path, "branch": made.branch, "base": made.base, "common": made.common}
    return change(crew, record.team, record.member, record.generation, **facts)


def program_words(crew: Crewroom, runtime: Runtime, wish: AgentWish, record: AgentRecord) -> list[str]:
    """The command line of its program; empty for one that has none."""
    if runtime.protocol == BOARD:
        return []
    if runtime.protocol == PLAIN:
        return wish.command or runtime.headless or [crew.environment.get("SHELL") or "/bin/sh"]
    in_pane = record.backend == TMUX
    words = runtime.terminal if in_pane else runtime.headless
    words = [words[0], *runtime.tools, *(runtime.resume if in_pane and wish.resume else ()), *words[1:]]
    mode = runtime.modes.get(mode_of(crew, record), "")
    values = {
        "model": wish.model,
        "mode": mode,
        "port": str(port_base(crew, record)),
        "resume": wish.resume,
        "tools": ",".join(wish.tools),
        "session": "" if wish.resume else _uuid(record),
        "prompt": f" {wish.prompt}" if wish.prompt.startswith("-") else wish.prompt,  # words, and no option
    }
    return command_line(words, values)


def mode_of(crew: Crewroom, record: AgentRecord) -> str:
    """How far it may go by itself: never further than editing files in its own folder."""
    return PLAN if record.requires_plan else working_mode(crew)


def working_mode(crew: Crewroom) -> str:
    if crew.policy.asks:
        return ASKS
    return EDITS if crew.policy.accepts_edits else DEFAULT


def _uuid(record: AgentRecord) -> str:
    key = record.mark.rpartition("/")[2]
    return key if "-" in key else f"{key[:8]}-{key[8:12]}-{key[12:16]}-{key[16:20]}-{key[20:32]}"


def port_base(crew: Crewroom, record: AgentRecord) -> int:
    return crew.policy.ports_from + max(0, record.slot) * crew.policy.ports_each


def agent_environment(crew: Crewroom, record: AgentRecord) -> dict[str, str]:
    """What it inherits, who it is, and what the user gave it. Never another agent's mark."""
    ours = {
        VARIABLE: record.mark,
        "ATM_TEAM": record.team,
        "ATM_IDENTITY": record.member,
        "ATM_GENERATION": str(record.generation),
        "ATM_PORT_BASE": str(port_base(crew, record)),
        **{key: value for key, value in _of_its_work(record).items() if value},
        **({HOST_ASKS: "1"} if crew.policy.asks and record.backend == HEADLESS else {}),
        **_for_its_server(crew, record),
    }
    kept = {key: value for key, value in crew.environment.items() if key not in OF_ONE_AGENT}
    runtime = crew.runtimes[record.runtime]
    return {**_as_author(runtime, record), **kept, **runtime.environment, **record.environment, **ours}


def _of_its_work(record: AgentRecord) -> dict[str, str]:
    return {"ATM_WORKTREE": record.worktree, "ATM_RUN": record.run, "ATM_TASK": record.task}


def _as_author(runtime: Runtime, record: AgentRecord) -> dict[str, str]:
    """What it commits is its own. A program may hide the user's identity from git, which then refuses to commit."""
    if not runtime.vendor:
        return {}
    email = f"{encode(record.member)}@atm.invalid"
    who = {"NAME": record.member, "EMAIL": email}
    return {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}


def _for_its_server(crew: Crewroom, record: AgentRecord) -> dict[str, str]:
    """Variables of its own: its mode, and the secret by which its host speaks with it."""
    variables = crew.runtimes[record.runtime].variables
    return variables(mode_of(crew, record), secret_of(record)) if variables is not None else {}


def secret_of(record: AgentRecord) -> str:
    return record.mark.rpartition("/")[2]


def await_ready(crew: Crewroom, record: AgentRecord) -> AgentRecord:
    """Until its host says that it is there. If it does not, nothing of it is left."""
    with _AllOrNothing(crew, record):
        return _await(crew, record)


def _await(crew: Crewroom, record: AgentRecord) -> AgentRecord:
    end = crew.clock.monotonic() + crew.policy.start
    while True:
        now = crew.records.read(record.team, record.member)
        if now is None or now.generation != record.generation:
            raise SpawnFailed(f"{record.member} was taken away while it started", "start it again")
        if now.is_over:
            raise SpawnFailed(
                f"{record.member} ended at once: {now.error or 'its program said nothing'}", _log_hint(now)
            )
        if now.state != SPAWNING:
            return now
        if now.pid and not is_running(crew, now):
            raise SpawnFailed(f"the host of {record.member} ended before it was ready", _log_hint(now))
        if crew.clock.monotonic() >= end:
            raise SpawnFailed(f"{record.member} was not ready within {crew.policy.start:g} s", _log_hint(now))
        crew.clock.sleep(NAP)


def _log_hint(record: AgentRecord) -> str:
    return f"see what it said: atm peek {shell_words(record.member)} --team {shell_words(record.team)}"


def _take_back(crew: Crewroom, record: AgentRecord, why: str) -> None:
    now = crew.records.read(record.team, record.member)
    if now is None or now.generation != record.generation:
        return
    clear_away(crew, now, state=ERROR, error=why)
    if not now.is_enrolled:
        return
    try:
        found = find_team(crew.room, record.team).member(record.member)
        if found is not None and same_name(found.name, record.member):
            remove_member(crew.room, record.team, record.member, force=True)
    except AtmError:
        return  # `atm doctor` finds it
