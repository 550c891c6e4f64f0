"""
Bringing a team's work together: gate, checks, hooks, commit, push, mark.

The step that is about to be done stands in the state before it is done. Whoever was killed in the middle is found by
two signs, that note and a working tree with changes; nothing is ever committed without somebody who asks for it again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from atm.board.rules.acceptance import said_by
from atm.core.errors import RequestError
from atm.core.plain import counted
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import (
    BadMove,
    ChecksFailed,
    ConsolidationRunning,
    GitTrouble,
)
from atm.mail.services.posting import Draft
from atm.roster.services.ending import archive_team
from atm.sessions.formats.consolidation_fields import consolidation_in, with_consolidation
from atm.sessions.rules import consolidation as plan
from atm.sessions.rules.consolidation import Consolidation, MemberReadiness, steps_from, why_not_green
from atm.sessions.services.checkpointing import checkpoint, commit_checkpoint
from atm.sessions.services.confirming import VERIFY, answers_since, can_answer
from atm.sessions.services.overview import look_at
from atm.sessions.services.teammates import checkpoint_in, save_all
from atm.sessions.services.telling import tell
from atm.team.rules import lifecycle
from atm.team.rules.team import AGENT, check_open
from atm.team.services.leading import change_lead, lead_of
from atm.team.services.lifecycle import check_ours, in_state, standing, walk
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.board.rules.acceptance import Ran
    from atm.sessions.services.overview import TeamView
    from atm.sessions.services.sessionroom import SessionRoom

NAP = 0.5
MOST_SAID = 1500


@dataclass(slots=True, kw_only=True)
class Interrupted:
    """A consolidation that nobody is at any more."""

    step: str
    since: float
    session: str
    files: list[str] = field(default_factory=list)
    """What is staged or changed in the lead's folder."""


@dataclass(slots=True, kw_only=True)
class Consolidated:
    """How far it came."""

    team: str
    steps: list[str] = field(default_factory=list)
    commit: str = ""
    branch: str = ""
    pushed: str = ""
    backup: str = ""
    skipped: list[str] = field(default_factory=list)
    """Steps for which there was nothing to do, with the reason."""
    status: str = ""


def consolidation_of(desk: SessionRoom, team: str) -> Consolidation | None:
    return in_state(desk.room, team, consolidation_in, None)


def is_at_work(desk: SessionRoom, team: str) -> bool:
    """Is the process that consolidates there?"""
    found = consolidation_of(desk, team)
    return found is not None and found.partial and _lives(desk, found)


def _lives(desk: SessionRoom, found: Consolidation) -> bool:
    is_here = found.pid > 0 and found.boot == desk.room.presence.boot and found.pid != desk.crew.pid
    return is_here and desk.room.presence.began(found.pid) == found.began != ""


def interrupted_in(desk: SessionRoom, team: str) -> Interrupted | None:
    """Both signs are needed: the note in the state, and changes in the working tree."""
    found = consolidation_of(desk, team)
    if found is None or not found.partial or _lives(desk, found):
        return None
    status = desk.tree.status(desk.caller.folder)
    if status is None or status.is_clean:
        return None
    files = sorted({*status.staged, *status.unstaged, *status.untracked})
    return Interrupted(step=found.step, since=found.at, session=found.session, files=files)


class Consolidating:
    """One run of it."""

    def __init__(
        self, desk: SessionRoom, team: str, by: str, *, force: bool = False, heard: Callable[[str], None] | None = None
    ) -> None:
        self.desk = desk
        self.team = check_open(check_ours(find_team(desk.room, team)))
        self.by = by
        self.force = force
        self.heard = heard or (lambda _: None)
        self.done = Consolidated(team=self.team.name)
        self.folder = desk.caller.folder
        self._check_here()
        self.now = Consolidation(step=plan.GATE)

    def _check_here(self) -> None:
        """Only where the caller stands: a state that somebody else can write does not choose whose files we commit."""
        led_from = lead_of(self.desk.room, self.team.name).folder
        if led_from and led_from != self.folder:
            raise RequestError(
                f"{self.team.name} is led from {led_from}, and this is {self.folder}",
                f"cd {shell_words(led_from)}; or lead it from here: atm session resume {shell_words(self.team.name)}",
                led_from,
            )

    # What stands in the state.

    def _note(self, made: Consolidation | None) -> None:
        desk = self.desk

        def change(data: bytes | None) -> bytes | None:
            if data is None:
                raise BadMove(
                    f"team {self.team.name!r} has no state", "make a checkpoint first: atm session checkpoint"
                )
            there = consolidation_in(data)
            if there is not None and there.partial and _lives(desk, there):
                raise ConsolidationRunning(
                    f"process {there.pid} is consolidating {self.team.name}", "wait until it is done"
                )
            return with_consolidation(data, made)

        desk.room.states.change(self.team.name, change)
        if made is not None:
            self.now = made

    def _mine(self, **facts: object) -> Consolidation:
        presence, pid = self.desk.room.presence, self.desk.crew.pid
        kept = replace(self.now, **facts)  # type: ignore[arg-type]
        kept.by, kept.session, kept.at = self.by, self.desk.caller.session, kept.at or self.desk.clock.now()
        kept.pid, kept.began, kept.boot = pid, presence.began(pid), presence.boot
        return kept

    # From the beginning, from the middle, and back.

    def begin(self, message: str, push: str) -> Consolidated:
        former = consolidation_of(self.desk, self.team.name)
        if former is not None and former.partial and not _lives(self.desk, former):
            words = f"atm session consolidate {shell_words(self.team.name)}"
            raise BadMove(
                f"a consolidation of {self.team.name} was interrupted at {former.step!r}",
                f"go on with {words} --continue, or go back with {words} --abort",
            )
        self.now = Consolidation(step=plan.GATE, message=message, push=push)
        return self._run(plan.STEPS)

    def go_on(self, message: str = "", push: str = "") -> Consolidated:
        """A push must be asked for again: the state says where it was to go, and others can write there."""
        former = consolidation_of(self.desk, self.team.name)
        if former is None or not former.partial:
            raise BadMove(f"no consolidation of {self.team.name} was interrupted", "begin one without --continue")
        is_pushed = plan.PUSH not in steps_from(former.step)
        if push and is_pushed:
            raise RequestError(f"{former.step!r} is all that is left: the push is over", "go on without --push")
        if former.push and not push and not is_pushed:
            words = f"atm session consolidate {shell_words(self.team.name)} --continue"
            raise RequestError(
                f"what was interrupted was to be pushed to {former.push}; nobody has asked for that now",
                f"say where again: {words} --push {shell_words(former.push)}; or go back with --abort",
            )
        self.now = replace(former, push=push, message=message or former.message)
        self._note(self._mine())
        if not self.force and not former.commit:
            self._ask_members()
        return self._run(steps_from(former.step))

    def abort(self) -> Consolidated:
        """Back to work. What was staged for it is not staged any more; no file is changed."""
        former = consolidation_of(self.desk, self.team.name)
        if former is None or not former.partial:
            raise BadMove(f"no consolidation of {self.team.name} is under way", "there is nothing to go back from")
        self.now = former
        self._note(self._mine())  # refused while somebody is at it
        self._unstage()
        self._back_to_work()
        return self.done

    def _unstage(self) -> None:
        """The index as it was before we staged anything; not if that was committed since: a commit is not undone."""
        status = self.desk.tree.status(self.folder) if self.now.index else None
        if status is None:
            return
        if self.now.commit or status.head != self.now.head:
            self.done.commit, self.done.branch = status.head, status.branch
            self.done.skipped.append(f"index: {status.head[:12]} was committed already and stays")
            return
        self.desk.tree.restore_index(self.folder, self.now.index)
        self.done.steps.append("index restored")

    def _back_to_work(self) -> None:
        self._note(None)
        if standing(self.desk.room, self.team.name).status == lifecycle.CONSOLIDATING:
            walk(self.desk.room, self.team.name, lifecycle.ACTIVE, self.by)
        self.done.status = standing(self.desk.room, self.team.name).status

    def _run(self, steps: tuple[str, ...]) -> Consolidated:
        verbs = {
            plan.GATE: self._gate,
            plan.CHECKS: self._checks,
            plan.HOOKS: self._hooks,
            plan.COMMIT: self._commit,
            plan.PUSH: self._push,
            plan.MARK: self._mark,
        }
        for step in steps:
            self._note(self._mine(step=step, partial=True))
            self.heard(step)
            verbs[step]()
            self.done.steps.append(step)
        self.done.status = standing(self.desk.room, self.team.name).status
        return self.done

    # The steps.

    def _gate(self) -> None:
        """A full checkpoint, then everybody must be green."""
        view, unsaved = look_at(self.desk, self.team.name), dict[str, str]()
        save_all(self.desk, view, lambda name, error: unsaved.update({name: str(error)}))
        checkpoint(self.desk, self.team.name, facts=True, view=view)
        commit_checkpoint(self.desk, self.team.name, "gate")
        red = [one for one in readiness(self.desk, view, unsaved) if one.reasons]
        open_tasks = [*view.pending, *(task.id for task in view.in_progress)]
        if (red or open_tasks) and not self.force:
            self._back_to_work()
            why = [f"{one.name}: {', '.join(one.reasons)}" for one in red]
            why += [f"open tasks: {', '.join(f'#{id}' for id in open_tasks[:10])}"] if open_tasks else []
            raise ChecksFailed(
                f"{self.team.name} is not ready to be consolidated: {'; '.join(why)}", "finish that, or --force"
            )
        walk(self.desk.room, self.team.name, lifecycle.CONSOLIDATING, self.by)

    def _checks(self) -> None:
        commands = self.desk.policy.checks
        if not commands:
            self.done.skipped.append("checks: none are set (sessions.checks)")
        for command in commands:
            ran = self.desk.boardroom.programs.run(
                command,
                folder=self.folder,
                seconds=self.desk.policy.task,
                facts={"ATM_TEAM": self.team.name},
                meanwhile=self._still_here,
            )
            self._need(ran, command)

    def _still_here(self) -> None:
        change_lead(self.desk.room, self.team.name, lambda lead: replace(lead, last_seen=self.desk.clock.now()))

    def _hooks(self) -> None:
        if self.desk.tree.status(self.folder) is None:
            self.done.skipped.append("hooks: the lead works in no repository")
            return
        self._stage()
        self._need(self.desk.tree.hooks(self.folder, self.desk.policy.task), "the pre-commit hook")

    def _stage(self) -> None:
        """What is staged already is what the lead wants; else everything that changed."""
        status = self.desk.tree.status(self.folder)
        if status is None or status.is_clean or status.staged:
            return
        self._note(self._mine(index=self.desk.tree.index(self.folder), head=status.head))
        self.desk.tree.stage_all(self.folder)

    def _need(self, ran: Ran, what: str) -> None:
        """Red: everybody is told, work goes on, and the lead tries again."""
        if ran.code == 0:
            return
        said = said_by(ran)[-MOST_SAID:].strip()
        self._unstage()
        others = [member.name for member in self.team.members if not self.team.is_lead(member.name)]
        self._ask(others, f"Consolidation stopped: {what} failed. Please fix what is yours.\n\n{said}")
        self._back_to_work()
        raise ChecksFailed(
            f"{what} ended with {ran.code}: {said}", "the members were told; try again when it is mended"
        )

    def _commit(self) -> None:
        status = self.desk.tree.status(self.folder)
        if status is None:
            self.done.skipped.append("commit: the lead works in no repository")
            return
        if status.is_half_done:
            raise GitTrouble(
                f"a {status.is_half_done} waits in {status.root}", "finish it, then --continue", status.root
            )
        self.done.branch = status.branch
        if status.is_clean:
            self.done.commit = status.head
            self.done.skipped.append("commit: nothing had changed")
            return
        self._stage()
        message = self.now.message or f"{self.team.name}: work of {counted(len(self.team.members), 'member')}"
        self.done.commit = self.desk.tree.commit(self.folder, message)
        self._note(self._mine(commit=self.done.commit))

    def _push(self) -> None:
        if not self.now.push:
            self.done.skipped.append("push: not asked for")
            return
        ran = self.desk.tree.push(self.folder, self.now.push)
        if ran.code != 0:
            raise GitTrouble(
                f"git push {self.now.push} ended with {ran.code}: {said_by(ran)[-MOST_SAID:].strip()}",
                f"mend that, then go on with --continue --push {shell_words(self.now.push)}",
                self.folder,
            )
        self.done.pushed = self.now.push

    def _mark(self) -> None:
        """The last checkpoint goes into git before the team becomes immutable."""
        checkpoint(self.desk, self.team.name, good=self.done.commit or self.now.commit)
        commit_checkpoint(self.desk, self.team.name, "complete")
        self._note(self._mine(partial=False))
        self.done.backup = archive_team(self.desk.room, self.team.name, self.by, force=True).backup_path or ""

    # After an interruption.

    def _ask_members(self) -> None:
        """Each who is there says that its changes are fine, or has them mended first."""
        view = look_at(self.desk, self.team.name)
        names = [one.name for one in view.members if can_answer(self.team, one)]
        if not names:
            return
        if not self.now.asked_at:
            self._note(self._mine(asked_at=self.desk.clock.now()))
            self._ask(names, VERIFY)
        self.heard(f"waiting for {', '.join(names)}")
        answers = self._wait_for(names)
        to_fix = [name for name, said in answers.items() if said == plan.TO_FIX]
        silent = [name for name in names if name not in answers]
        if to_fix:
            self._unstage()
            self._back_to_work()
            raise ChecksFailed(f"{', '.join(to_fix)} must fix something first", "consolidate again when that is done")
        if silent:
            raise RequestError(
                f"{', '.join(silent)} did not say whether their changes are fine",
                "ask them, and go on with --continue; or --continue --force",
            )

    def _ask(self, names: list[str], text: str) -> None:
        draft = Draft(sender=self.team.lead, text=text, is_urgent=True, intent="question")
        tell(self.desk, self.team.name, names, draft)

    def _wait_for(self, names: list[str]) -> dict[str, str]:
        end = self.desk.clock.monotonic() + self.desk.policy.confirm
        while True:
            answers = answers_since(self.desk, self.team, self.now.asked_at)
            if all(name in answers for name in names) or self.desk.clock.monotonic() >= end:
                return answers
            self._still_here()
            self.desk.clock.sleep(NAP)


def readiness(desk: SessionRoom, view: TeamView, unsaved: Mapping[str, str]) -> list[MemberReadiness]:
    """Everybody, and why they are not green. `unsaved`: whose work could not be saved, and why."""
    found = []
    for one in view.members:
        if one.kind != AGENT or view.team.is_lead(one.name):
            continue
        saved = checkpoint_in(desk, view.team.name, one.name)
        reasons = why_not_green(
            task=one.task,
            last_check=saved.how_it_ended if saved is not None and saved.task == one.task else "",
            unsaved=unsaved.get(one.name, ""),
            status=one.status,
        )
        found.append(MemberReadiness(one.name, reasons))
    return found
