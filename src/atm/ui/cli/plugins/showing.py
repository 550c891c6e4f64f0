"""`atm plugins list`, `info` and `logs`."""

from __future__ import annotations

from typing import cast

from atm.core.errors import RequestError
from atm.core.names import nearest_name
from atm.core.redaction import redact_fields
from atm.core.untrusted_text import one_line
from atm.plugins.rules.sight import ALL_TEAMS
from atm.teamd.places import Place, load_places
from atm.teamd.plugins.discovery import Description, Found, describe_all, discover
from atm.teamd.plugins.sight import Fence, Workplaces, scope_of
from atm.ui.cli.log_view import show_log
from atm.ui.cli.plugins.plugins import daemon_states
from atm.ui.cli.render import Style
from atm.ui.cli.waiting import Spinner
from atm.ui.views.ages import ago
from atm.ui.views.style import BOLD, DIM, GREEN, RED, YELLOW
from atm.ui.views.tables import table
from atm.wiring.daemon import find_daemon

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

COLOURS = {"running": (GREEN,), "starting": (YELLOW,), "stopped": (DIM,)}
NO_DAEMON = "the daemon does not run, so no plugin does; start it with `atm daemon start`"
NO_ANSWER = "the daemon runs, but does not answer; see `atm daemon status`"


class Overview:
    """All that is known of plugins: installed, described, enabled, running."""

    def __init__(self, session: Session, only: str | None = None) -> None:
        self.places, self.problems = load_places(session.layout, session.environment)
        self.found = {one.name: one for one in discover()}
        self.states = daemon_states(session)
        enabled = {name for place in self.places for name in place.enabled()}
        running = {str(state.get("name")) for state in self.states or []}
        self.names = sorted({*self.found, *enabled, *running})
        asked = [one for one in self.found.values() if only in (None, one.name)]
        with Spinner(session, "asking the plugins what they are"):
            self.told = describe_all(asked, session.environment)
        self._workplaces = Workplaces(session.room.rosters, session.room.clock.monotonic)

    def enabled_in(self, name: str) -> list[Place]:
        return [place for place in self.places if name in place.enabled()]

    def instances(self, name: str) -> list[dict[str, object]]:
        return [state for state in self.states or [] if state.get("name") == name]

    def sees(self, name: str) -> dict[str, object]:
        """By place: the teams that it may see there, as the rosters are now."""
        return {place.name: self._sight(name, place) for place in self.enabled_in(name)}

    def _sight(self, name: str, place: Place) -> str | list[str]:
        scope = scope_of(name, place.repo, place.section(name))
        return ALL_TEAMS if scope.is_everything else Fence(scope, self._workplaces).teams()

    def error(self, name: str) -> str:
        if name not in self.found:
            return "it is enabled, but not installed"
        return self.told[name].error if name in self.told else ""

    def as_json(self, name: str) -> dict[str, object]:
        found = self.found.get(name, Found(name, ""))
        told = self.told.get(name, Description(name))
        return {
            "name": name,
            "installed": name in self.found,
            "target": found.target or None,
            "distribution": f"{found.distribution} {found.version}".strip() or None,
            "version": told.version or None,
            "description": told.description or None,
            "capabilities": list(told.capabilities),
            "enabled": [place.name for place in self.enabled_in(name)],
            "sees": self.sees(name),
            "error": self.error(name) or None,
            "instances": self.instances(name),
        }


def _list(args: Args, session: Session) -> int:  # noqa: ARG001 - every command has this signature
    seen = Overview(session)
    if session.as_json:
        plugins = [seen.as_json(name) for name in seen.names]
        session.print_json(
            {
                "action": "plugins",
                "daemon": seen.states is not None,
                "plugins": plugins,
                "problems": seen.problems,
            }
        )
        return 0
    for problem in seen.problems:
        session.warn(f"Warning: {problem}")
    style = Style(session)
    rows = [row for name in seen.names for row in _rows(seen, name)]
    session.print("\n".join(table(["Plugin", "Enabled in", "State", "Restarts", ""], rows, right=(3,), drop=(3, 1))))
    if seen.states is None:
        session.print(style(f"\n  {NO_DAEMON if find_daemon(session.layout) is None else NO_ANSWER}", DIM))
    return 0


def _rows(seen: Overview, name: str) -> list[list[str]]:
    """One for each place that it is enabled in, or one that says that it is not."""
    said = seen.error(name) or (seen.told[name].description if name in seen.told else "")
    places = [place.name for place in seen.enabled_in(name)]
    running = {str(state.get("place")): state for state in seen.instances(name)}
    where = [*places, *(place for place in running if place not in places)]
    if not where:
        return [[name, "-", "-", "-", said]]
    return [[name if not i else "", *_standing(seen, place, running.get(place), said)] for i, place in enumerate(where)]


def _standing(seen: Overview, place: str, state: dict[str, object] | None, said: str) -> list[str]:
    if state is None:
        return [place, "unknown" if seen.states is None else "not started", "-", said]
    trouble = str(state.get("last_error") or "")
    return [place, str(state.get("state")), str(state.get("restarts")), trouble[:100] or said]


def _info(args: Args, session: Session) -> int:
    name = args.need("name")
    seen = Overview(session, only=name)
    if name not in seen.names:
        near = nearest_name(name, seen.names)
        raise RequestError(
            f"there is no plugin {one_line(name)!r}",
            f"did you mean {near!r}?" if near else "see those that are installed with `atm plugins list`",
        )
    settings = {place.name: _harmless_section(place, name) for place in seen.enabled_in(name)}
    if session.as_json:
        session.print_json({"action": "plugins info", **seen.as_json(name), "settings": settings})
        return 0
    style, facts, sees = Style(session), seen.as_json(name), seen.sees(name)
    session.print(f"{style(name, BOLD)}  {one_line(str(facts['description'] or ''))}")
    for label, value in _facts(facts):
        session.print(f"  {label:<13} {one_line(value)}")
    if facts["error"]:
        session.print(style(f"  {'error':<13} {one_line(str(facts['error']))}", RED))
    for place, section in settings.items():
        session.print(f"\n  enabled in {style(one_line(place), BOLD)}, sees {_sight_in_words(sees.get(place))}")
        for key, setting in section.items():
            session.print(f"    {one_line(key)} = {one_line(str(setting))}")
    for state in seen.instances(name):
        session.print("\n" + "\n".join(_instance_lines(session, style, state)))
    return 0


def _sight_in_words(seen: object) -> str:
    return one_line(", ".join(seen) or "no team yet" if isinstance(seen, list) else str(seen))


def _harmless_section(place: Place, name: str) -> dict[str, Plain]:
    """Its settings without secrets."""
    return redact_fields(cast("dict[str, Plain]", place.section(name)))  # plain data of TOML is plain data of JSON


def _facts(facts: dict[str, object]) -> list[tuple[str, str]]:
    capabilities = facts["capabilities"]
    listed = ", ".join(str(one) for one in capabilities) if isinstance(capabilities, list) else ""
    shown = {
        "version": facts["version"],
        "from": facts["distribution"],
        "entry point": facts["target"],
        "capabilities": listed or "none",
    }
    return [(label, str(value)) for label, value in shown.items() if value]


def _instance_lines(session: Session, style: Style, state: dict[str, object]) -> list[str]:
    word, since = str(state.get("state")), state.get("since")
    age = f", since {ago(session.room.clock.now() - since)}" if isinstance(since, int | float) else ""
    size = state.get("rss")
    lines = [f"  {style(word, *COLOURS.get(word, (RED,)))} in {one_line(str(state.get('place')))}{age}"]
    facts = {
        "process": state.get("pid"),
        "memory": f"{size / 1e6:.0f} MB" if isinstance(size, int) else None,
        "restarts": state.get("restarts"),
        "events missed": state.get("dropped"),
        "plays": ", ".join(str(one) for one in members) if isinstance(members := state.get("members"), list) else "",
        "last error": state.get("last_error"),
    }
    return lines + [f"    {label:<13} {one_line(str(value))}" for label, value in facts.items() if value]


def _logs(args: Args, session: Session) -> int:
    args.values["source"] = f"plugin:{args.need('name')}"
    return show_log(args, session)


VERBS = {"plugins list": _list, "plugins info": _info, "plugins logs": _logs}
