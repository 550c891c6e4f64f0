"""
A server with the page's API over made-up data, for tests of looks and for pictures. The real one has tests of its own.

`python -m tests.web.made_server` serves it at a port of its own, to look at.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.tui.lantern import NOW
from tests.web import lantern_page as made
from tests.web import lantern_reads as reads

from atm.ui.views.team.seen import TeamSeen
from atm.ui.web.whole import change_between, offer_fields, offers_of

PAGE = Path(__file__).parents[2] / "src/atm/ui/web/page"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
KEY = "once"


class MadeServer(ThreadingHTTPServer):
    """One team, which tests may change; `deeds` is what was asked for."""

    daemon_threads = True

    def __init__(
        self, seen: TeamSeen | None = made.SEEN, role: str = "human", threads: list[dict[str, Any]] | None = None
    ) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen, self.role, self.threads = seen, role, reads.THREADS if threads is None else threads
        self.version, self.now, self.key, self.is_in, self.is_deaf = 1, NOW, KEY, True, False
        self.deeds: list[dict[str, Any]] = []
        self.is_over = False
        self.broken: dict[str, str] = {}
        """What cannot be read, and what is said instead."""
        self.rested = 0.0
        """Seconds since the last change: a whole keeps the time at which it was made."""
        self.ears: list[queue.Queue[tuple[str, dict[str, Any]] | None]] = []
        self.lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that goes on elsewhere hangs up in the middle of answers."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> MadeServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over = True  # a browser comes again at once, on a connection that it has kept
        self.hang_up()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def whole(self) -> dict[str, Any]:
        assert self.seen is not None
        return {"version": f"r1-{self.version}", **made.whole_of(self.seen, self.now)}

    def offers(self, kind: str, id: str) -> list[dict[str, Any]]:
        assert self.seen is not None
        return [offer_fields(one, self.seen.team) for one in offers_of((kind, id), self.seen)]

    def change(self, seen: TeamSeen, passed: float = 0.0) -> None:
        """Tells every stream what is another in `seen`, so many seconds later."""
        before, self.seen = self.whole(), seen
        self.now += passed
        change = change_between(before, self.whole())
        if change is not None:
            self.version += 1
            self.tell("change", {"from": before["version"], "version": f"r1-{self.version}", **change})

    def tell(self, kind: str, data: dict[str, Any]) -> None:
        with self.lock:
            for ear in self.ears:
                ear.put((kind, data))

    def hang_up(self) -> None:
        """Ends every stream, as a daemon that is stopped does."""
        with self.lock:
            for ear in self.ears:
                ear.put(None)


class Handler(BaseHTTPRequestHandler):
    """Answers as the real server does, as far as the page can tell."""

    server: MadeServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        """Of the made-up team's clock: the page takes the time from it."""
        return super().date_time_string(timestamp or self.server.now + self.server.rested)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        steps = [unquote(one) for one in url.path.split("/")[1:]]
        asked = {key: values[0] for key, values in parse_qs(url.query).items()}
        if steps[0] == "static":
            self._file(PAGE.joinpath(*steps[1:]))
        elif steps[0] != "api":
            self._file(PAGE / "index.html")
        elif self.server.is_deaf:
            self.close_connection = True
        elif not self.server.is_in:
            self._say({"error": "not signed in", "remedy": "atm web"}, 401)
        elif steps[1:] == ["hello"]:
            self._say({"role": self.server.role, "person": "ann", "version": "1.2", "home": "/home/ann/.claude"})
        elif steps[1:] == ["teams"]:
            self._say({"teams": self._teams()})
        elif self.server.seen is None or steps[2] != self.server.seen.team:
            self._say({"error": f"there is no team {steps[2]}", "remedy": "see `atm teams list`"}, 404)
        else:
            self._team(steps[3:], asked)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.server.is_deaf:
            self.close_connection = True
        elif self.headers.get("X-Atm") != "page":
            self._say({"error": "not from the page", "remedy": ""}, 403)
        elif self.path == "/api/login":
            if body.get("key") != self.server.key:
                return self._say(
                    {
                        "error": "The link was used already, or is not from this machine.",
                        "remedy": "atm web prints a new one",
                    },
                    403,
                )
            self.server.is_in, self.server.key = True, ""
            self._say({"role": self.server.role, "person": "ann"})
        elif self.path == "/api/logout":
            self.server.is_in = False
            self._say({})
        else:
            self.server.deeds.append(body)
            seen = self.server.seen
            assert seen is not None
            offers = self.server.offers(body["kind"], body["id"])
            command = next((one["command"] for one in offers if one["deed"] == body["deed"]), "")
            if not command:
                return self._say({"error": "it is not offered", "remedy": "look again", "command": ""}, 409)
            self._say({"command": command, "code": 0, "said": "done"})
        return None

    def _teams(self) -> list[dict[str, Any]]:
        seen = self.server.seen
        if seen is None:
            return []
        done = sum(task.state == "completed" for task in seen.tasks)
        counts = self.server.whole()["counts"]
        return [
            {
                "name": seen.team,
                "status": seen.status,
                "members": len(seen.members),
                "tasks": len(seen.tasks),
                "done": done,
                **counts,
            }
        ]

    def _team(self, rest: list[str], asked: dict[str, str]) -> None:
        seen = self.server.seen
        assert seen is not None
        if not rest:
            self._say(self.server.whole())
        elif rest[0] == "events":
            self._events(asked.get("after") or self.headers.get("Last-Event-ID") or "")
        elif rest[0] == "offers":
            self._say({"offers": self.server.offers(asked["kind"], asked["id"])})
        elif rest[0] == "replay":
            self._say({"from": NOW - 9660, "to": NOW, "marks": reads.LIFE})
        elif rest[0] == "at":
            self._say(made.at_moment(seen, float(asked["moment"])))
        else:
            self._read(rest[1], asked.get("id", ""))

    def _read(self, what: str, id: str) -> None:
        seen = self.server.seen
        assert seen is not None
        if what in self.server.broken:
            return self._say({"error": self.server.broken[what], "remedy": "atm doctor"}, 409)
        task = seen.task(id)
        tasks = {"task": made.detail_of(task)} if task else None
        item = next((one for one in reads.QUEUE if one["task"] == id), None)
        approvals = [asdict(one) for one in seen.approvals]
        values: dict[str, tuple[str, Any]] = {
            "task": (f"atm tasks show {id}", tasks),
            "diff": (f"atm peek {id} --diff", {"diff": reads.DIFF}),
            "output": (f"atm peek {id}", {"lines": reads.OUTPUT.split("\n")}),
            "approvals": ("atm approvals list --all", {"approvals": [*approvals, *reads.PAST], "audit": []}),
            "merges": ("atm merge queue", {"target": reads.TARGET, "items": reads.QUEUE}),
            "merge": (
                f"atm merge show {id}",
                {"target": reads.TARGET, "item": item, "diff": reads.DIFF} if item else None,
            ),
            "runs": ("atm runs list", {"runs": reads.RUNS}),
            "run": ("atm runs show", reads.RUN),
            "sync": (
                "atm sync status",
                {
                    "members": [
                        {
                            "member": one.name,
                            "state": one.sync.state,
                            "label": one.sync.label,
                            "why": one.sync.why,
                            "source": "work-sync",
                        }
                        for one in seen.members
                        if one.sync
                    ]
                },
            ),
            "diagnose": (
                f"atm sync diagnose {id}",
                {
                    "member": id,
                    "state": "needs_sync",
                    "label": "Needs sync",
                    "why": "1 item changed since its last report",
                    "source": "board",
                    "nudges": [],
                    "pendingReports": [],
                    "blockedByDependencies": [],
                    "problems": [],
                },
            ),
            "sessions": ("atm session list", {"teams": reads.SESSIONS}),
            "daemon": ("atm daemon status", reads.DAEMON),
            "logs": ("atm daemon logs", {"lines": reads.LOGS}),
            "threads": ("atm receipts", self.server.threads),
            "happenings": ("", reads.HAPPENINGS),
            "activity": ("", reads.ACTIVITY),
        }
        command, value = values.get(what, ("", None))
        if value is None:
            return self._say({"error": f"there is no {what} {id}", "remedy": "look at the list"}, 404)
        self._say({"command": command and f"{command} --team {seen.team}", "at": NOW, "value": value})
        return None

    def _events(self, after: str) -> None:
        ear: queue.Queue[tuple[str, dict[str, Any]] | None] = queue.Queue()
        with self.server.lock:
            self.server.ears.append(ear)
        if self.server.is_over:
            ear.put(None)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            whole = self.server.whole()
            self._event("beat", {"now": whole["now"]}) if after == whole["version"] else self._event("snapshot", whole)
            while (told := ear.get()) is not None:
                self._event(*told)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with self.server.lock:
                self.server.ears.remove(ear)

    def _event(self, kind: str, data: dict[str, Any]) -> None:
        id = f"id: {data['version']}\n" if "version" in data else ""
        self.wfile.write(f"{id}event: {kind}\ndata: {json.dumps(data)}\n\n".encode("utf-8", "replace"))
        self.wfile.flush()

    def _file(self, path: Path) -> None:
        if not path.resolve().is_relative_to(PAGE) or not path.is_file():
            return self._say({"error": "not found"}, 404)
        self._answer(path.read_bytes(), TYPES.get(path.suffix, "text/plain"), 200)
        return None

    def _say(self, value: object, status: int = 200) -> None:
        self._answer(json.dumps(value).encode(), "application/json", status)

    def _answer(self, body: bytes, type: str, status: int) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", type),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", CSP),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    with MadeServer() as server:
        print(server.url)
        threading.Event().wait()


if __name__ == "__main__":
    main()
