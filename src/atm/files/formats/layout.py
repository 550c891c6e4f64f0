"""
Where everything lies. The one module that knows (design section 3).

Pure: it joins names to roots that the caller found. A team that Claude Code owns keeps only Claude Code's
files in its folder, because that folder is deleted when the session ends; our data about it lies under our
own state folder in the same relative layout.
"""

from __future__ import annotations

from atm.core.names import is_claudes_team

INBOX_SUFFIX = ".json"

SYNC_FOLDER = ".member-work-sync"
REPORT_SECRET = f"{SYNC_FOLDER}/report-token-secret.json"
STALL_JOURNAL = "stall-monitor-journal"
"""The one kind of records that lies in the team's own folder."""

REPO_FILES = (".atm.toml", ".atm/config.toml", "config.atm.toml")
"""Where a repository keeps its settings; of several the first counts."""


class Layout:
    """All paths, from three roots."""

    __slots__ = ("claude_root", "config_root", "state_root")

    def __init__(self, *, claude_root: str, config_root: str, state_root: str) -> None:
        self.claude_root = claude_root
        self.config_root = config_root
        self.state_root = state_root

    @property
    def private_roots(self) -> tuple[str, ...]:
        """Everything below these is ours, and for nobody else to look at."""
        return (self.config_root, self.state_root)

    def is_private(self, path: str) -> bool:
        return path.startswith(tuple(f"{root}/" for root in self.private_roots))

    # Shared with Claude Code.

    @property
    def teams(self) -> str:
        return f"{self.claude_root}/teams"

    def team(self, team: str) -> str:
        return f"{self.teams}/{team}"

    def team_config(self, team: str) -> str:
        return f"{self.teams}/{team}/config.json"

    def inboxes(self, team: str) -> str:
        return f"{self.teams}/{team}/inboxes"

    def inbox(self, team: str, agent: str) -> str:
        return f"{self.teams}/{team}/inboxes/{agent}{INBOX_SUFFIX}"

    @property
    def task_lists(self) -> str:
        return f"{self.claude_root}/tasks"

    def tasks(self, team: str) -> str:
        return f"{self.claude_root}/tasks/{team}"

    @property
    def claude_sessions(self) -> str:
        """Where Claude Code notes what each of its sessions does. Only read."""
        return f"{self.claude_root}/sessions"

    # Ours, in the team's folder or beside it.

    def our_data(self, team: str) -> str:
        return f"{self.state_root}/teams/{team}" if is_claudes_team(team) else self.team(team)

    def ledger(self, team: str) -> str:
        return f"{self.our_data(team)}/mailbox.log"

    def task_history(self, team: str) -> str:
        return f"{self.our_data(team)}/tasks.jsonl"

    @property
    def processes(self) -> str:
        """Whose processes are, one file for each."""
        return f"{self.state_root}/processes"

    def heartbeats(self, team: str) -> str:
        return f"{self.our_data(team)}/heartbeats"

    def heartbeat(self, team: str, member: str) -> str:
        return f"{self.heartbeats(team)}/{member}.json"

    def state(self, team: str) -> str:
        return f"{self.our_data(team)}/state.json"

    def completed_mark(self, team: str) -> str:
        """Its presence makes a team immutable."""
        return f"{self.our_data(team)}/COMPLETED"

    def lead_away(self, team: str) -> str:
        """Its presence says that the lead is away, and holds its teammates' mail back."""
        return f"{self.our_data(team)}/lead-away"

    def member_checkpoint(self, team: str, member: str) -> str:
        return f"{self.our_data(team)}/{member}_checkpoint.json"

    def task_intent(self, team: str) -> str:
        return f"{self.our_data(team)}/tasks.intent.json"

    def sync_folder(self, team: str) -> str:
        """Everything of the work-sync control plane. Nothing else of a team depends on it."""
        return f"{self.our_data(team)}/{SYNC_FOLDER}"

    def records(self, team: str, shelf: str) -> str:
        folder = self.our_data(team) if shelf == STALL_JOURNAL else self.sync_folder(team)
        return f"{folder}/{shelf}.json"

    def sync_journal(self, team: str) -> str:
        return f"{self.sync_folder(team)}/journal.jsonl"

    def approvals(self, team: str) -> str:
        """Requests of agents, their answers, and the audit of both."""
        return f"{self.our_data(team)}/approvals"

    def runs(self, team: str) -> str:
        """One folder for each run."""
        return f"{self.our_data(team)}/runs"

    def run(self, team: str, run: str) -> str:
        return f"{self.runs(team)}/{run}"

    def run_seal(self, team: str, run: str) -> str:
        """What the order of a run was when a person began it: its own folder is shared."""
        return f"{self.state_root}/runs/{team}/{run}.sha256"

    def run_log(self, team: str, run: str, member: str) -> str:
        """What an agent of a run said."""
        return f"{self.run(team, run)}/out/{member}.log"

    def merges(self, team: str) -> str:
        """The merge queue."""
        return f"{self.our_data(team)}/merges.json"

    def radar(self, team: str) -> str:
        """Who changes the same files as somebody else, as of the last look."""
        return f"{self.our_data(team)}/radar.json"

    def merges_seal(self, team: str) -> str:
        """What the queue was when atm wrote it: its own folder is shared."""
        return f"{self.state_root}/merges/{team}.sha256"

    def report_secret(self, team: str) -> str:
        return f"{self.our_data(team)}/{REPORT_SECRET}"

    def roster_intents(self, team: str) -> str:
        return f"{self.state_root}/intents/{team}"

    def roster_intent(self, team: str, member: str) -> str:
        return f"{self.roster_intents(team)}/{member}.json"

    @property
    def deletions(self) -> str:
        """Teams that are being deleted. No team's name begins with a dot."""
        return f"{self.state_root}/intents/.deletions"

    def deletion(self, team: str) -> str:
        return f"{self.deletions}/{team}.json"

    def private_in(self, team: str) -> tuple[str, ...]:
        """What is ours alone among our data about a team, though its folder may be shared."""
        files = (self.ledger, self.task_history, self.state, self.completed_mark, self.task_intent, self.lead_away)
        merging = (self.merges, self.radar)
        folders = (self.heartbeats, self._endpoints, self.sync_folder, self.approvals, self.runs)
        return (*(path(team) for path in (*files, *merging, *folders)), self.records(team, STALL_JOURNAL))

    # Ours, for the whole machine.

    @property
    def settings(self) -> str:
        return f"{self.config_root}/config.toml"

    @property
    def claude_version(self) -> str:
        return f"{self.config_root}/claude-version.json"

    @property
    def spool_pending(self) -> str:
        return f"{self.config_root}/spool/pending"

    @property
    def spool_failed(self) -> str:
        return f"{self.config_root}/spool/failed"

    def share(self, team: str) -> str:
        return f"{self.config_root}/share/{team}"

    def archive(self, team: str, agent: str) -> str:
        return f"{self.config_root}/archive/{team}/{agent}"

    def backups(self, team: str) -> str:
        return f"{self.config_root}/backups/{team}"

    def board_index(self, team: str) -> str:
        """What the task files said when they were last read: a cache, safe to delete."""
        return f"{self.state_root}/boards/{team}.index"

    @property
    def hook_log(self) -> str:
        return f"{self.state_root}/hooks.jsonl"

    @property
    def daemon(self) -> str:
        """Everything about the running daemon: its lock, process, socket and log."""
        return f"{self.state_root}/daemon"

    @property
    def daemon_log(self) -> str:
        return f"{self.daemon}/log.jsonl"

    @property
    def daemon_settings(self) -> str:
        return f"{self.config_root}/daemon.toml"

    def plugin_data(self, plugin: str) -> str:
        """What a plugin keeps for the whole machine."""
        return f"{self.state_root}/plugins/{plugin}"

    def endpoint(self, team: str, member: str) -> str:
        """How an agent that runs can be reached: its session, its pane, its server."""
        return f"{self._endpoints(team)}/{member}.json"

    def _endpoints(self, team: str) -> str:
        return f"{self.our_data(team)}/endpoints"

    def surfacing(self, team: str, member: str) -> str:
        """Written down while mail is put before an agent."""
        return f"{self.state_root}/surfacing/{team}/{member}.json"

    def pasted(self, team: str, member: str) -> str:
        """Mail that is too large for a terminal lies here; a line that points to it is pasted."""
        return f"{self.state_root}/pasted/{team}/{member}"

    @property
    def worktrees(self) -> str:
        """Checkouts of agents, by repository and team: far from the user's own."""
        return f"{self.state_root}/worktrees"

    @property
    def vendor_files(self) -> str:
        """What was in the place of settings files of agent CLIs before `atm init` made them."""
        return f"{self.state_root}/vendor-files.json"

    @property
    def crews(self) -> str:
        """Records of agents that atm started, a folder for each team; outside the teams' own folders."""
        return f"{self.state_root}/crew"

    def agent_record(self, team: str, member: str) -> str:
        return f"{self.crews}/{team}/{member}.json"

    def agent_log(self, team: str, member: str) -> str:
        return f"{self.crews}/{team}/{member}.log"

    def stop_latch(self, team: str) -> str:
        """Its presence says that a person stopped the team. No member's name begins with a dot."""
        return f"{self.crews}/{team}/.stopped"

    @property
    def slots(self) -> str:
        return f"{self.state_root}/slots"

    @property
    def trust(self) -> str:
        """To which files of repositories the user has said yes."""
        return f"{self.config_root}/trust.json"

    @property
    def access_tokens(self) -> str:
        """Who may reach the MCP server over HTTP: digests, no secrets."""
        return f"{self.state_root}/mcp-tokens.json"

    @property
    def locks(self) -> str:
        return f"{self.state_root}/locks"

    @property
    def drift_log(self) -> str:
        return f"{self.state_root}/format-drift.jsonl"

    def upkeep_mark(self, team: str, agent: str) -> str:
        return f"{self.state_root}/upkeep/{team}/{agent}.json"

    def beside(self, team: str) -> tuple[str, ...]:
        """Folders that hold, for each member of a team, what passes: notes, pasted texts, marks."""
        return tuple(f"{self.state_root}/{kind}/{team}" for kind in ("surfacing", "pasted", "upkeep"))


def mark_of(path: bytes) -> str:
    """
    What stands for a path in a short name: its CRC-32 and its Adler-32, as `zlib` makes them.

    By hand, because the import of `zlib` takes longer than ten of these, and every send needs one.
    """
    crc, low, high = 0xFFFFFFFF, 1, 0
    for byte in path:
        crc ^= byte
        crc = (crc >> 4) ^ _NIBBLES[crc & 15]
        crc = (crc >> 4) ^ _NIBBLES[crc & 15]
        low = (low + byte) % 65521
        high = (high + low) % 65521
    return f"{crc ^ 0xFFFFFFFF:08x}{high:04x}{low:04x}"


_NIBBLES = (
    *(0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C),
    *(0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C),
)
"""The polynomial of CRC-32, for each half of a byte."""


def inbox_owner(file_name: str) -> str | None:
    """The member whose inbox a file is, or None: other tools leave locks and temporary files there."""
    if file_name.startswith(".") or not file_name.endswith(INBOX_SUFFIX):
        return None
    return file_name[: -len(INBOX_SUFFIX)]
