"""What is to run: one plugin in one place, and the bounds within which it may."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from atm.files.formats.layout import Layout
from atm.plugins.rules.health import RestartPolicy
from atm.teamd.places import Place
from atm.teamd.plugins.discovery import Found
from atm.teamd.plugins.order import PluginOrder

LARGEST_NUMBER = 1e9


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long plugins may take, in seconds, and how much. Tests have shorter ones."""

    policy: RestartPolicy = field(default_factory=RestartPolicy)
    silent_after: float = 10.0
    """No beat for so long: its event loop is blocked. A plugin's section may say otherwise."""
    init_within: float = 30.0
    stop_within: float = 5.0
    """For the end of `run`, and again for `shutdown`."""
    kill_after: float = 2.0
    """Between SIGTERM and SIGKILL."""
    check_every: float = 0.5
    beat_every: float = 1.0
    look_every: float = 1.0
    max_memory_mb: float = 512.0
    """Also in a plugin's section."""
    most_events: int = 1000
    """That may wait for a slow listener."""


@dataclass(frozen=True, slots=True)
class Spec:
    """One plugin in one place. Two that are equal need no restart."""

    plugin: str
    place: str
    root: str
    repo: str | None
    target: str = ""
    version: str = ""
    config: Mapping[str, object] = field(default_factory=dict)
    problem: str = ""
    """Why it cannot be started at all."""

    @property
    def key(self) -> tuple[str, str]:
        return self.plugin, self.place

    def bound(self, name: str, otherwise: float) -> float:
        """A positive number from the plugin's own section."""
        value = self.config.get(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number and 0 < value < LARGEST_NUMBER else otherwise  # type: ignore[operator, arg-type]

    def order(self, layout: Layout, bounds: Bounds) -> PluginOrder:
        return PluginOrder(
            name=self.plugin,
            target=self.target,
            root=self.root,
            repo=self.repo,
            claude_root=layout.claude_root,
            config_root=layout.config_root,
            state_root=layout.state_root,
            config=dict(self.config),
            beat_every=min(bounds.beat_every, self.bound("silent_after", bounds.silent_after) / 4),
            stop_within=bounds.stop_within,
            look_every=bounds.look_every,
        )


def wanted(places: Iterable[Place], found: Iterable[Found]) -> dict[tuple[str, str], Spec]:
    """What the settings of all places ask for. A plugin that is not installed is wanted too, and said to be missing."""
    by_name = {one.name: one for one in found}
    specs = [_spec(place, plugin, by_name.get(plugin)) for place in places for plugin in place.enabled()]
    return {spec.key: spec for spec in specs}


def _spec(place: Place, plugin: str, found: Found | None) -> Spec:
    missing = f"no plugin {plugin!r} is installed; see `atm plugins list`"
    return Spec(
        plugin=plugin,
        place=place.name,
        root=place.root,
        repo=place.repo,
        target=found.target if found else "",
        version=f"{found.distribution} {found.version}".strip() if found else "",
        config=place.section(plugin),
        problem=found.error if found else missing,
    )
