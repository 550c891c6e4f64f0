"""The results as a table for the terminal and as a page for the docs. The page carries no date and no host name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.approvals import ApprovalFigures, approval_targets
from benchmarks.baseline import DURABLE, NAMES, STYLES
from benchmarks.board import CLAIMANTS, LARGE, SHARED, SMALL, Claimants
from benchmarks.busy_team import Busy, busy_targets
from benchmarks.cases import CROWD, FEW, HUGE, MANY, UNREAD, Crowds, Effort
from benchmarks.checkpoints import CheckpointFigures, checkpoint_targets
from benchmarks.crew import CrewFigures, crew_targets
from benchmarks.daemon import MEMBERS, TEAMS, DaemonFigures
from benchmarks.mail_talk import MailTalk, mail_talk_context, mail_talk_targets
from benchmarks.mcp import CALLS, McpFigures
from benchmarks.measure import Machine, Times
from benchmarks.merges import MergeFigures, merge_targets
from benchmarks.rows import Row, at_most, beside, rounded
from benchmarks.runs import RunFigures, run_targets
from benchmarks.screen import ScreenFigures, screen_targets
from benchmarks.sessions import SessionFigures, session_targets
from benchmarks.snapshot import SnapshotFigures, snapshot_targets
from benchmarks.sync_rows import mcp_context, mcp_targets, size_rows, worksync_context, worksync_targets
from benchmarks.web_page import PageFigures, page_targets
from benchmarks.worksync import BURST, LOOKS, QUIET, SyncFigures


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that one run measured."""

    programs: dict[str, Times]
    large: dict[str, Times]
    crowds: Crowds
    alone: Crowds
    board: dict[str, Times]
    claimants: Claimants
    daemon: DaemonFigures
    worksync: SyncFigures
    mcp: McpFigures
    mail_talk: MailTalk
    busy: list[Busy]
    crew: CrewFigures
    checkpoints: CheckpointFigures
    sessions: SessionFigures
    snapshots: SnapshotFigures
    approvals: ApprovalFigures
    runs: RunFigures
    merges: MergeFigures
    screen: ScreenFigures
    page: PageFigures
    effort: Effort
    pip: str


WHY_SEND = "beyond the interpreter it is imports of our own modules and, for a send, three fsyncs"
WHY_READ = (
    "the start of the program alone is about 3.3; the rest is the file, read once, counted through twice, copied by "
    "the kernel and synced: about 20 ms for 4 MB, whoever wrote it"
)
WHY_CLAIM = (
    "a command line knows nothing of the board but its index, and looks at each of 10,000 files whether it is still "
    "the one that the index tells of; over MCP the daemon knows, and a claim costs the same on any board"
)
WHY_MANY = (
    "the new version of a large file is copied and made durable in whole: 1.8 MB more to the disk than for ten rows"
)
WHY_DUMP = "the rival's answer stands for bytes that the system may still lose; ours waits for the disk three times"
WHY_CROWD = "under the lock both do the same three fsyncs, which take most of the time of either"
WHY_ALONE = (
    "a send here also reads the roster, takes two locks (Claude Code's is a folder that is made and removed), looks "
    "for mail that others dropped and keeps the version it replaced until its own is in place"
)


def targets(results: Results) -> list[Row]:
    """The rows that have a target, in the order of the design."""
    programs = results.programs
    bare, send = programs["bare"], programs["send"]
    rows = [at_most(f"`atm send`, inbox of {FEW} rows / bare interpreter", send, bare, 2.5, WHY_SEND)]
    if "send as installed" in programs:
        what = f"the same, started by the script that pip {results.pip} wrote, which imports `re`"
        rows.append(at_most(what, programs["send as installed"], bare, 3.0, "that script's own import"))
    return [
        *rows,
        at_most("the same with a `.atm.toml` in force / bare interpreter", programs["send with settings"], bare, 3.5),
        at_most(f"`atm send`, {MANY:,} rows / {FEW} rows", programs["send to many"], send, 1.5, WHY_MANY),
        at_most(
            f"`atm read --json`, {UNREAD} unread of {MANY:,}, last written by another program / bare interpreter",
            *(programs["read"], bare, 3.5, WHY_READ),
        ),
        at_most(
            f"append to {HUGE:,} rows / copy of the file with fsync",
            results.large["append"],
            results.large["copy"],
            2.0,
        ),
        *_crowd_targets(results),
        *_board_targets(results),
        at_most("`atm hook` with nothing to say / bare interpreter", programs["hook"], bare, 2.35, WHY_SEND),
        *_daemon_targets(results.daemon),
        *worksync_targets(results.worksync),
        *mcp_targets(results.mcp),
        *mail_talk_targets(results.mail_talk),
        *busy_targets(results.busy),
        *crew_targets(results.crew),
        *session_targets(results.sessions),
        *checkpoint_targets(results.checkpoints),
        *snapshot_targets(results.snapshots),
        *approval_targets(results.approvals),
        *run_targets(results.runs),
        *merge_targets(results.merges),
        *screen_targets(results.screen),
        *page_targets(results.page),
    ]


def _daemon_targets(daemon: DaemonFigures) -> list[Row]:
    slowest = daemon.percentile(0.99) * 1000
    share = daemon.idle_share * 100
    return [
        Row(
            "file change → daemon event in a listener's hands, 99 of 100 within",
            f"{slowest:.1f} ms",
            f"{daemon.percentile(0.5) * 1000:.1f} ms in the middle, {len(daemon.latencies)} changes",
            "≤ 20 ms",
            slowest <= 20,
        ),
        Row(
            f"daemon beside {TEAMS} teams × {MEMBERS} members: resident memory",
            f"{daemon.memory_with_teams / 1e6:.0f} MB",
            f"{daemon.memory_alone / 1e6:.0f} MB beside one team",
        ),
        Row(
            f"the same, idle: share of one core over {daemon.watched:.0f} s",
            f"{share:.2f} %",
            f"{daemon.idle_seconds * 1000:.0f} ms of processor time",
        ),
    ]


def _board_targets(results: Results) -> list[Row]:
    board, once = results.board, results.claimants.exactly_once
    what = f"{CLAIMANTS} processes × {SHARED} tasks: tasks with exactly one claimant"
    return [
        at_most(
            f"`atm tasks claim`, {LARGE:,} tasks / {SMALL} tasks",
            *(board["claim of many"], board["claim of few"], 2.0, WHY_CLAIM),
        ),
        at_most(f"`atm tasks list --json`, {LARGE:,} tasks / reading their bytes", board["list"], board["bytes"], 10.0),
        Row(what, f"{once} of {SHARED}", "", f"{SHARED}", once == SHARED),
    ]


def _crowd_targets(results: Results) -> list[Row]:
    crowds, size = results.crowds, f"{CROWD} processes × {results.effort.sends} sends to one inbox"
    runs = crowds.outcomes["atm"]
    queued = sum(run.queued for run in runs)
    of = f"of {sum(run.sent for run in runs):,} in {len(runs)} runs" + (f", {queued} in the spool" if queued else "")
    lost, doubled = crowds.lost("atm"), crowds.doubled("atm")
    return [
        Row(f"{size}: lost or doubled", f"{lost} or {doubled}", of, "0", not lost + doubled),
        _at_least(f"{size}: throughput / that of `filelock` + `json.dump`", crowds, "dump", 3, WHY_DUMP),
        _at_least(f"the same / that of `filelock` + {NAMES[DURABLE]}", crowds, DURABLE, 3, WHY_CROWD),
        _at_least(
            f"one process × {results.effort.sends} sends: throughput / that of `filelock` + {NAMES[DURABLE]}",
            *(results.alone, DURABLE, 1.0, WHY_ALONE),
        ),
    ]


def _at_least(what: str, crowds: Crowds, rival: str, least: float, why: str = "") -> Row:
    found = crowds.throughput(rival)
    return Row(what, str(found), _rates(crowds, rival), f"≥ {least}", rounded(found) >= least, why)


def _rates(crowds: Crowds, rival: str) -> str:
    return f"{crowds.rate('atm'):.0f} / {crowds.rate(rival):.0f} a second"


def context(results: Results) -> list[Row]:
    """The rows that help to read the others."""
    programs, crowds = results.programs, results.crowds
    many = programs["send to many"]
    return [
        beside(
            f"a program with `filelock` + `json.dump`, {FEW} rows / `atm send`", programs["rival"], programs["send"]
        ),
        beside(f"the same, {MANY:,} rows", programs["rival to many"], many),
        beside(f"the same with `json.dumps`, {MANY:,} rows", programs["quick rival to many"], many),
        *(_alone(results, rival) for rival in STYLES if rival != DURABLE),
        _beside_quick(crowds),
        *(_waiting(crowds, rival) for rival in STYLES),
        Row(
            f"{CROWD} processes, `filelock` + `json`: lost or doubled",
            f"{sum(map(crowds.lost, STYLES))} or {sum(map(crowds.doubled, STYLES))}",
        ),
        *worksync_context(results.worksync),
        *mcp_context(results.mcp),
        *mail_talk_context(results.mail_talk),
    ]


def sizes(results: Results) -> list[Row]:
    """What the MCP server's answers take of a model's context."""
    return size_rows(results.mcp)


def _alone(results: Results, rival: str) -> Row:
    what = f"one process × {results.effort.sends} sends: throughput / that of `filelock` + {NAMES[rival]}"
    return Row(what, str(results.alone.throughput(rival)), _rates(results.alone, rival))


def _beside_quick(crowds: Crowds) -> Row:
    what = f"{CROWD} processes: throughput / that of `filelock` + {NAMES['dumps']}, one fsync"
    return Row(what, str(crowds.throughput("dumps")), _rates(crowds, "dumps"))


def _waiting(crowds: Crowds, rival: str) -> Row:
    what = f"{CROWD} processes, 99 of 100 sends end within: `filelock` + {NAMES[rival]} / atm"
    theirs, ours = crowds.slowest_percent(rival), crowds.slowest_percent("atm")
    return Row(what, f"{theirs / ours:.2f}", f"{theirs * 1000:.0f} ms / {ours * 1000:.0f} ms")


# For the terminal.


def table(rows: Sequence[Row]) -> str:
    lines = [("what", "measured", "medians", "target", "")]
    lines += [(row.what.replace("`", ""), row.measured, row.detail, row.target, row.verdict) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


# For the docs.


def page(results: Results, machine: Machine, command: str) -> str:
    return PAGE.format(
        command=command,
        machine=machine,
        targets=_markdown(targets(results), with_target=True),
        missed=_missed(targets(results)),
        context=_markdown(context(results), with_target=False),
        sizes=_markdown(sizes(results), with_target=False, titles=("what", "tokens", "bytes seen, of bytes sent")),
        rounds=results.effort.rounds,
        large_rounds=results.effort.large_rounds,
        crowds=results.effort.crowds,
        sends=results.effort.sends,
        few=FEW,
        many=f"{MANY:,}",
        huge=f"{HUGE:,}",
        unread=UNREAD,
        crowd=CROWD,
        small=SMALL,
        large=f"{LARGE:,}",
        claimants=CLAIMANTS,
        shared=SHARED,
        calls=CALLS,
        looks=LOOKS,
        burst=BURST,
        quiet=QUIET,
    )


def _missed(rows: Sequence[Row]) -> str:
    """Each with its reason, as far as we know it."""
    found = [row for row in rows if row.ok is False]
    if not found:
        return "No target is missed."
    lines = [f"- {row.what}: {row.why or 'not known yet'}." for row in found]
    return "Why some are missed:\n\n" + "\n".join(lines)


def _markdown(
    rows: Sequence[Row], *, with_target: bool, titles: Sequence[str] = ("what", "measured", "medians")
) -> str:
    titles = [*titles, *(["target", ""] if with_target else [])]
    lines = [titles, ["---"] * len(titles)]
    lines += [[row.what, row.measured, row.detail, *([row.target, row.verdict] if with_target else [])] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("  |", " |") for line in lines)


PAGE = """\
# Benchmarks

Written by `{command}`; do not edit. Run it again and this page has your machine's numbers.

The machine: {machine}.

## Results

{targets}

{missed}

For context:

{context}

What answers of the MCP server take of a model's context, at four bytes to a token; vendors' tokenizers differ by a
third. A model does not see all that is sent: a result travels twice (as text and as data, because about half of
all clients show only one of them), and tools travel with the schemas of their answers.

{sizes}

## How to read this

*Measured* is the ratio of two times within a round: the median over all rounds, and in brackets the quartiles, which
say how far to trust it. The medians of the times are those of a machine that was not idle; they show the size of
things, and only ratios carry over to yours. A target that is missed is printed as such. It does not fail the run:
timings on a shared machine are no test. A message that is lost or doubled does fail it.

*Bare interpreter* is `python -I -c pass`: what any command written in Python pays before its first line runs. What
`atm send` takes beyond that is its own imports, the work, and making the message durable: fsync of the new inbox, of
the ledger and of the folder. On a file system in memory fsync is free, and the ratios look better than they are.

The scripts that installers write for `atm` differ. Those of uv, and of pip since 25.0, import only `sys`; older ones
import `re` as well. Commands are measured with the former; where the pip at hand is an older one, `atm send` is
measured with its script too.

## How each row is measured

Variants take turns, {rounds} rounds ({large_rounds} for the large file), each round beginning with another one, so
that noise hits all alike. One round more comes first and is not counted. Before every round all files are written,
synced and left alone for a moment.

- **Installation.** The project is built and installed, not editable, into a virtual environment made for this run,
  and compiled to bytecode. `filelock` and the rival lie beside it. No variable of Python's or atm's is set, except
  `ATM_HOME`.
- **`atm send`.** A team of five; an inbox of {few} or {many} unread rows of about 430 bytes, laid out as
  `JSON.stringify(rows, null, 2)` does; a home of its own for every run. The last of these rows was sent by atm, so
  that lock files and ledger exist and the inbox has been considered for clean-up. The working folder is the root of a
  repository; the `.atm.toml`, where there is one, sets five keys. Afterwards the rows are counted.
- **`atm read --json`.** By the owner, so the {unread} rows are marked and entered in the ledger; afterwards none may
  be unread. Every run has a home of its own.
- **Appending to {huge} rows.** A whole send in one process (roster, lock, inbox, ledger), beside reading the same file
  in pieces of 1 MiB, writing them to a new one, fsync and rename.
- **{crowd} processes × {sends} sends.** Into an inbox that is empty at first. The clock runs from the moment that all
  processes are ready until the last has finished; {crowds} runs of each kind, in turn. Every id that a sender was told
  is looked up in the inbox, and in the spool.
- **`atm tasks claim`.** A board of {small} and one of {large} tasks, every third of which depends on the one before.
  Each claim is made by another member and gets a task; the index was written by an earlier look. At most 20 rounds.
- **`atm tasks list --json`** of the large board, beside a Python program that opens and reads the same files and does
  nothing with them.
- **{claimants} processes × {shared} tasks.** Each claims and completes until nothing is left; then every task must
  have been handed out exactly once.
- **`atm hook`.** After a tool call, for a member without unread mail who gave a sign of life a moment before; its
  payload comes from a file. Part of the round robin of command lines.
- **File change → daemon event.** Another program's rename over an inbox; the clock runs from its return until the event
  has been read from the daemon's socket in this process.
- **Memory and idle time.** Resident memory as the system tells it, after the first round of every loop; the processor
  time of the daemon while nothing happens.
- **Work-sync, one member.** The same board of 50 tasks, five of which are on the member's agenda, in a small and in a
  large team; everybody was looked at before. Over real files in this process, {looks} looks each time it is a team's
  turn. The rosters are a minute old: one that was written less than two seconds ago is decoded at every look, and a
  daemon meets rosters that have lain there for hours.
- **Work-sync, everybody.** All members of a team in one look at a board whose tasks are spread over them, half of them
  claimed just now. The stall watch and the routing of {burst} heard events are beside one look at the same board.
- **{burst} changed tasks at once.** Renamed into place beside a daemon whose quiet window is {quiet} s instead of 90;
  then the status file says how often each member was looked at.
- **`atm mcp` to its first answer.** From the start of the program until the line that answers `initialize` has been
  read, beside a daemon that has served a client before.
- **Calls.** Lines of JSON through `atm mcp` and the daemon; the same services called by this process; and an echo
  server of the same SDK, written with the layer of it that atm uses. They take turns, {calls} calls each. The client is
  this process and no SDK, whose own time would be the same in all. Over HTTP one connection is kept for each token.
- **Mail over an open connection.** One member sends, another reads what came, then reads again and finds nothing;
  0.12 s between two calls, through `atm mcp` beside a warm daemon. The plain server is `benchmarks/rival_mcp.py`: the
  SDK, a process for each agent, a lock file, `json` over the whole inbox, rename; no fsync, no ledger, no other writer.
- **A busy team.** Each member over a connection of its own: 40 % send, 40 % read, the rest add, claim and complete,
  with a pause of 0 to 0.3 s after each call; the board has 2,000 tasks from the start. At the end everybody reads until
  nothing is left, and what was read is compared with what was sent.
- **Merging a finished task.** The queue worked off in this process, without checks, beside the commands of somebody who
  merges in a scratch worktree: `git worktree add`, `git rebase` or `git merge`, `git update-ref`, `git worktree
  remove`. Every task began before the one that was merged last, so nothing is a fast-forward.
- **The radar.** Worktrees with a changed and a new file each; processor time with that of every git it starts.
- **`filelock` + `json`** is `benchmarks/baseline.py`: lock a file beside the inbox, `json.load`, append, `json.dump` to
  a temporary file, fsync, rename. The row is the same. It keeps no ledger, does not sync the folder, takes no lock
  that Claude Code knows, and loses what a writer without a lock adds meanwhile. `json.dump` is what people write; it
  encodes in Python. `json.dumps` encodes in C and is the quickest that `json` can do. With `indent=2`, which would keep
  the layout of the file, both are slower still.
"""
