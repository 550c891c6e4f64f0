"""The tree's promises: rooms import rooms below them, rules are pure, `atm send` stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.project.source_trees import MODULES, ROOT, SOURCE, outline_in, outline_of
from tests.proving import proves
from tests.trusting import trust

ROOMS = (
    ("core",),
    ("files", "git", "plugins"),
    ("vendors",),
    ("team", "trust"),
    ("mail", "access"),
    ("board", "setup", "config"),
    ("roster", "events", "delivery", "approvals"),
    ("crew", "worksync"),
    ("sessions", "merges", "daemon"),
    ("forge", "bridge", "chat"),
    ("runs", "checkup"),
    ("snapshot",),
    ("testing",),
    ("wiring",),
    ("teamd",),
    ("ui",),
)
"""Lowest first: a room may import the rooms of the rows before its own, and itself, and none that shares its row."""

WITHOUT_KINDS = ("core", "vendors", "config")
"""Lower rooms that have no folders of kinds."""

TO_COME = {"forge", "bridge", "chat"}

FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}

KINDS = ("rules", "formats", "ports", "services", "adapters")
"""Folders, or files, in a room."""

SEES = {
    "rules": {"rules"},
    "formats": {"rules", "formats"},
    "ports": {"rules", "formats", "ports"},
    "services": {"rules", "formats", "ports", "services"},
    "adapters": {"rules", "formats", "ports", "adapters"},
}
"""What a kind of module may import, in its own room and in others."""

OF_VENDORS = {
    **dict.fromkeys(
        ("drivers", "packages", "transcripts", "claude.installed", "claude.sessions", "claude.stream_json"), "adapters"
    ),
    **dict.fromkeys(
        ("codex.app_server", "gemini.driver", "opencode.driver", "opencode.http", "opencode.wake"), "adapters"
    ),
    **dict.fromkeys(("agent_servers", "driver"), "ports"),
    **dict.fromkeys(
        ("hook_call", "hook_answer", "permission_answer", "google", "editors", "claude.session_note"), "formats"
    ),
    **dict.fromkeys(("settings_hooks", "settings_servers", "settings_parts", "opencode.plugin"), "formats"),
    **dict.fromkeys(("codex.notify", "codex.notify_part", "codex.servers", "opencode.plugin_part"), "formats"),
    **{f"{name}.settings": "formats" for name in ("agy", "claude", "codex", "gemini", "opencode")},
    **{f"{name}.hooks": "formats" for name in ("agy", "gemini")},
}
"""A vendor's package has a file for each part, instead of folders of kinds; what is not here are rules."""

IMPURE = {
    *("os", "sys", "time", "io", "pathlib", "shutil", "tempfile", "subprocess", "socket", "random", "secrets", "uuid"),
    *(
        "asyncio",
        "threading",
        "multiprocessing",
        "signal",
        "logging",
        "select",
        "fcntl",
        "ctypes",
        "platform",
        "argparse",
    ),
}
PURE = ("rules", "formats", "ports", "services")
NO_JSON = ("rules", "ports", "services")
GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "misc"}


def room_of(name: str) -> str:
    """The room of a module; empty for the package itself and for what starts it."""
    return name.split(".")[1] if "." in name and name != "atm.__main__" else ""


def kind_of(name: str) -> str:
    """What a module is: rules, formats, ports, services or adapters; empty in rooms without that order."""
    room, inside = room_of(name), name.split(".")[2:]
    if room == "core":
        return "rules"
    if room == "vendors" and inside:
        return OF_VENDORS.get(inside[0]) or OF_VENDORS.get(".".join(inside[:2]), "rules")
    return inside[0] if inside and inside[0] in KINDS else ""


@proves(
    "R001-1-07",
    "R001-1-13",
    "R001-2.1-03",
    "R001-2.1-08",
    "R001-2.2-08",
    "R001-2.2-09",
    "R001-4.2-read-05",
    "R002-3.1-03",
    "R002-3.1-04",
    "R002-3.1-05",
    "R002-3.1-06",
    "R002-3.1-07",
    "R002-3.1-09",
    "R002-3.2-14",
    "R002-3.4-08",
    "R002-3.4-09",
    "R002-3.4-10",
    "R002-3.4-13",
    "R002-5-07",
    "R002-11.2.1-51",
    "R002-11.3-18",
    "R002-12.1-08",
    "R002-13.3-12",
    "R002-16.6-01",
    "R002-16.6-06",
    "R002-16.7-28",
    "R002-16.7-29",
    "R002-16.7-30",
    "R002-16.7-31",
    "R002-21-04",
    "R002-26-01",
    "R002-27.1-14",
    "R002-27.1-39",
    "R002-29-01",
)
def test_rooms_import_the_rooms_below_them():
    for name, other in ((each, other) for each, others in graph().items() for other in others):
        here, there = room_of(name), room_of(other)
        if here and there and here != there:
            assert FLOOR[there] < FLOOR[here], f"{name} imports {other}"


@proves("R002-3.1-03", "R002-3.1-04", "R002-3.1-06", "R002-16.6-06", "R002-26-01", "R001-1-07")
def test_inside_a_room_and_between_rooms_each_kind_imports_what_it_may():
    for name, other in ((each, other) for each, others in graph().items() for other in others):
        here, there = kind_of(name), kind_of(other)
        if here and there:
            assert there in SEES[here], f"{name} imports {other}: {here} import no {there}"
        if here in PURE:
            assert room_of(other) not in ("config", "testing"), f"{name} imports {other}"
        if room_of(name) == "ui":
            assert there != "adapters", f"{name}: the surfaces reach the machine through wiring only, not {other}"


@proves(
    "R001-1-17",
    "R001-3.3b-20",
    "R001-3.3b-21",
    "R001-3.3b-22",
    "R001-7.2-06",
    "R002-3.1-03",
    "R002-3.1-04",
    "R002-3.1-06",
    "R002-3.1-07",
    "R002-3.2-12",
    "R002-3.2-14",
    "R002-8.0-76",
    "R002-8.4.1-07",
    "R002-10.1-71",
    "R002-10.1-74",
    "R002-11.2.1-28",
    "R002-12.1-07",
    "R002-13.3-11",
    "R002-16.6-01",
    "R002-16.6-08",
    "R002-16.7-28",
    "R002-24-09",
    "R002-26-01",
    "R002-26-02",
    "R002-27.1-07",
    "R002-27.1-17",
    "R002-27.2-11",
)
def test_the_core_is_pure():
    for path, here in ((path, kind_of(name_of(path))) for path in MODULES if kind_of(name_of(path)) in PURE):
        for name in (name for name, only_types in outline_of(path).imports if not only_types):
            top = name.split(".")[0]
            assert top not in IMPURE, f"{path} imports {name}"
            if here in NO_JSON:
                assert top not in ("json", "_json", "tomllib"), f"{path} parses {name}"


def test_every_room_is_known_has_only_known_kinds_and_none_is_a_grab_bag():
    assert {room_of(name) for name in NAMES} - {""} == set(FLOOR) - TO_COME
    for name in NAMES:
        assert not set(name.split(".")) & GRAB_BAGS, name
        has_kinds = FLOOR.get(room_of(name), 0) < FLOOR["testing"] and room_of(name) not in (
            "core",
            "vendors",
            "config",
        )
        if has_kinds and name.count(".") > 1:
            assert name.split(".")[2] in KINDS, f"{name} is in none of {', '.join(KINDS)}"


@proves("R001-2.2-07")
def test_asyncio_appears_only_at_the_edges():
    for path in MODULES:
        name = name_of(path)
        if kind_of(name) != "adapters" and room_of(name) not in ("teamd", "ui"):
            assert "asyncio" not in {name.split(".")[0] for name, _ in outline_of(path).imports}, path


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in MODULES}


@cache
def graph() -> dict[str, set[str]]:
    """Who imports whom: at the top, inside functions, and for the type checker alone."""
    found: dict[str, set[str]] = {}
    for name, path in NAMES.items():
        taken = outline_of(path).taken
        wanted = {f"{module}.{each}" if f"{module}.{each}" in NAMES else module for module, each in taken}
        wanted |= {name for name, _ in outline_of(path).imports if name in NAMES}
        found[name] = {other for other in wanted if other in NAMES and other != name}
    return found


def circles_in(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Modules that reach themselves again, with the way."""
    done: set[str] = set()
    found: list[list[str]] = []

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            found.append([*trail[trail.index(name) :], name])
            return
        if name not in done:
            for other in sorted(arrows.get(name, ())):
                visit(other, (*trail, name))
            done.add(name)

    for name in arrows:
        visit(name, ())
    return found


def test_there_is_no_circle_of_imports_not_even_inside_functions():
    # A package and its modules are one name apart and no circle: the face of a package imports nothing of it, but for
    # the two that plugin authors and tests import from.
    assert circles_in(graph()) == []


PAGE = SOURCE / "ui" / "web" / "page"


def test_there_is_no_circle_of_imports_in_the_page_either():
    found = {
        str(path.relative_to(PAGE)): {
            str((path.parent / name).resolve().relative_to(PAGE.resolve()))
            for name in re.findall(r"""(?:from|import)\s*\(?["'](\.[^"']+\.js)["']""", path.read_text())
        }
        for path in PAGE.rglob("*.js")
    }
    assert len(found) > 20
    assert any(found.values())
    assert circles_in(found) == []


def test_a_circle_is_found_wherever_the_import_stands():
    assert circles_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c", "a"]]
    inside = "def f():\n    from atm.x import y\n\nif TYPE_CHECKING:\n    from atm.z import w\n"
    assert {name for name, _ in outline_in(ast.parse(inside)).imports} == {"atm.x", "atm.z"}


def test_every_module_says_what_it_is():
    assert [str(path) for path in MODULES if not outline_of(path).docstring] == []


HEAVY = {
    *(
        "asyncio",
        "dataclasses",
        "typing",
        "pathlib",
        "logging",
        "importlib.metadata",
        "msgspec",
        "subprocess",
        "argparse",
    ),
    *("json", "json.decoder", "re", "uuid", "datetime", "tomllib", "random", "tempfile", "shutil", "socket", "hashlib"),
    *("contextlib", "enum", "inspect", "difflib", "tomlkit", "watchfiles"),
}

SEND_LOADS = {
    f"atm.{name}".rstrip(".")
    for name in """
         . config config.known core core.errors core.names files files.adapters files.adapters.disk
        files.adapters.exchange files.adapters.locking files.adapters.machine files.adapters.numbered_log
        files.adapters.refusals files.adapters.rewriting files.adapters.shared_edit files.adapters.whole_files
        files.formats files.formats.file_stamp files.formats.json_record files.formats.layout
        files.formats.settings_text files.formats.times mail mail.adapters mail.adapters.inbox_edits
        mail.adapters.inbox_store mail.adapters.ledger mail.adapters.spool mail.formats mail.formats.inbox
        mail.formats.journal mail.rules mail.rules.inbox_merge mail.rules.lifetimes mail.rules.messages
        mail.rules.quotas mail.services mail.services.mailroom mail.services.posting mail.services.sending roster
        roster.services roster.services.teamroom team team.adapters team.adapters.team_store team.formats
        team.formats.team_config team.rules team.rules.team team.services team.services.registry trust trust.rules ui
        ui.cli ui.cli.arguments ui.cli.catalog ui.cli.mail ui.cli.mail.send ui.cli.main ui.cli.session vendors
        vendors.at_a_glance wiring wiring.files wiring.mail
    """.split()  # noqa: SIM905 - a hundred names in quotes are harder to read
}
"""What `atm send` may load of ours. Adding a module here is a decision about its speed."""

CONSENT_LOADS = {"atm.core.plain", "atm.trust.formats", "atm.trust.adapters"}
"""What comes with them in a repository with settings, together with `hashlib`: consent is to a content."""

PROBE = """
import sys
before = set(sys.modules)
from atm.ui.cli.main import main
code = main(sys.argv[1:])
print("\\n".join(sorted(set(sys.modules) - before)), file=sys.stderr)
sys.exit(code)
"""


def loaded_by(atm, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n" + PROBE, *words],
        capture_output=True,
        env=atm.environment,
        cwd=atm.folder,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.decode().split())


@proves(
    "R001-1-13", "R001-2.1-04", "R001-2.1-07", "R001-2.2-01", "R001-2.2-02", "R001-3.1-16", "R001-3.3b-01", "R001-5-02"
)
def test_a_send_loads_nothing_that_it_does_not_need(atm):
    atm.team("crew", "ann", "bob")
    atm("config", "set", "core.default_team", "crew")
    atm("config", "set", "core.identity", "bob")
    atm("send", "ann", "the first one finds inboxes that another program made")
    loaded = loaded_by(atm, "send", "ann", "hello")
    assert not loaded & HEAVY, sorted(loaded & HEAVY)
    ours = {name for name in loaded if name.split(".")[0] == "atm"}
    assert ours <= SEND_LOADS, sorted(ours - SEND_LOADS)


def test_a_send_in_a_repository_with_settings_loads_what_their_consent_needs_and_no_more(atm):
    atm.team("crew", "ann")
    (atm.folder / ".atm.toml").write_text('[core]\ndefault_team = "crew"\nidentity = "bob"\n')
    trust(atm.home, atm.folder)
    atm("send", "ann", "the first one finds an inbox that another program made")
    loaded = loaded_by(atm, "send", "ann", "hello")
    assert loaded & HEAVY == {"hashlib"}
    ours = {name for name in loaded if name.split(".")[0] == "atm"}
    assert ours <= SEND_LOADS | CONSENT_LOADS, sorted(ours - SEND_LOADS - CONSENT_LOADS)
    assert atm.rows("ann")[0]["from"] == "bob"


@proves("R001-2.2-02")
def test_a_read_as_json_loads_nothing_heavy(atm):
    atm.team("crew", "ann")
    atm("send", "ann", "hello")
    loaded = loaded_by(atm, "read", "ann", "--mark", "--json")
    assert not loaded & HEAVY, sorted(loaded & HEAVY)


def test_importing_atm_loads_nothing_else():
    probe = "import sys, atm; print([name for name in sys.modules if name.startswith('atm.')])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True, timeout=60)
    assert done.stdout.strip() == b"[]"


def test_the_public_names_are_these():
    import atm
    import atm.testing

    assert atm.__all__ == ["__version__"]
    assert sorted(atm.testing.__all__) == [
        *("Crash", "FakeChance", "FakeClock", "FaultyDisk", "LookingNews", "MemoryArchive", "MemoryBackups"),
        "MemoryDrift",
        "MemoryInboxes",
        *(
            "MemoryLedger",
            "MemoryMarks",
            "MemoryPresence",
            "MemoryPrograms",
            "MemoryRosters",
            "MemorySpool",
            "MemoryStates",
            "MemoryStores",
            "MemoryTasks",
            "MemoryTeamFiles",
            "QuickDisk",
            "make_message",
            "memory_boardroom",
            "memory_room",
        ),
    ]
    assert all(hasattr(atm.testing, name) for name in atm.testing.__all__)
