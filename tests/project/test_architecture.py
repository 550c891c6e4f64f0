"""The tree's promises: imports go one way, the core is pure, files stay small, `atm send` stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.project.source_trees import MODULES, ROOT, SOURCE, outline_in, outline_of, text_of
from tests.proving import proves
from tests.trusting import trust

LAYERS = ["domain", "formats", "ports", "services", "system", "config", "wiring", "testing", "teamd", "ui"]
"""In import order: a module may import its own layer and those before it."""

NEVER_TOGETHER = {("services", "system"), ("system", "services")}

TOPICS = (
    ("root",),
    ("files", "git"),
    ("trust",),
    ("team",),
    ("mail",),
    ("board",),
    ("approvals",),
    ("events", "delivery", "roster"),
    ("worksync",),
    ("access", "setup"),
    ("crew",),
    ("merges",),
    ("sessions",),
    ("runs",),
    ("snapshot",),
    ("checkup",),
    ("plugins",),
    ("daemon",),
)
"""
Lowest first; those in one row do not know each other. A topic is a folder, or a single module of that name, with the
same word on every floor; it may import itself and those above it in this table. `root` is what lies beside them.
"""

RANK = {topic: rank for rank, topics in enumerate(TOPICS) for topic in topics}
LOWER_FLOORS = ("domain", "formats", "ports", "services", "system")
"""Between these floors too, arrows between topics go one way. Above them a floor's root puts its topics together."""

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
PURE_LAYERS = ("domain", "formats", "ports", "services")
NO_JSON = ("domain", "ports", "services")
GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "misc"}


def layer_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


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
def test_imports_go_one_way():
    for path, here in ((path, layer_of(path)) for path in MODULES if layer_of(path) in LAYERS):
        for name, _ in outline_of(path).imports:
            parts = name.split(".")
            if parts[0] != "atm" or len(parts) == 1:
                continue
            there = parts[1]
            assert LAYERS.index(there) <= LAYERS.index(here), f"{path} imports {name}"
            assert (here, there) not in NEVER_TOGETHER, f"{path} imports {name}"
            if here == "ui":
                assert there != "system", f"{path}: the surfaces reach the machine through wiring only, not {name}"


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
    for path, here in ((path, layer_of(path)) for path in MODULES if layer_of(path) in PURE_LAYERS):
        for name in (name for name, only_types in outline_of(path).imports if not only_types):
            top = name.split(".")[0]
            assert top not in IMPURE, f"{path} imports {name}"
            if here in NO_JSON:
                assert top not in ("json", "_json", "tomllib"), f"{path} parses {name}"


def test_every_layer_is_known_and_none_is_a_grab_bag():
    for path in MODULES:
        parts = {part.removesuffix(".py") for part in path.relative_to(SOURCE).parts}
        assert not parts & GRAB_BAGS, path
        assert layer_of(path) in {*LAYERS, "__init__", "__main__"}, path


@proves("R001-2.2-07")
def test_asyncio_appears_only_at_the_edges():
    for path in MODULES:
        if layer_of(path) not in ("system", "teamd", "ui"):
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


def test_a_circle_is_found_wherever_the_import_stands():
    assert circles_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c", "a"]]
    inside = "def f():\n    from atm.x import y\n\nif TYPE_CHECKING:\n    from atm.z import w\n"
    assert {name for name, _ in outline_in(ast.parse(inside)).imports} == {"atm.x", "atm.z"}


def floor_and_topic(name: str) -> tuple[str, str] | None:
    """Where a module stands; None for what belongs to no floor."""
    parts = name.split(".")[1:]
    if parts[:1] == ["ui"]:
        parts = [".".join(parts[:2]), *parts[2:]]
    if len(parts) < 2 or parts[0] not in (
        *LOWER_FLOORS,
        "wiring",
        "testing",
        "teamd",
        "ui.cli",
        "ui.mcp",
        "ui.verbs",
        "ui.views",
    ):
        return None
    if parts == ["system", "machine"]:
        return "system", "files"  # the clock, chance and the layout of this machine
    return parts[0], parts[1] if parts[1] in RANK else "root"


def test_topics_import_one_way():
    for name, other in ((each, other) for each, others in graph().items() for other in others):
        here, there = floor_and_topic(name), floor_and_topic(other)
        if here is None or there is None or here[1] == there[1]:
            continue
        between_floors = here[0] in LOWER_FLOORS and there[0] in LOWER_FLOORS
        if between_floors or (here[0] == there[0] and here[1] != "root"):
            assert RANK[there[1]] < RANK[here[1]], f"{here[1]} imports {there[1]}: {name} imports {other}"


def test_the_lower_floors_have_nothing_but_topics_and_the_words_everybody_uses():
    core = {"errors", "work_errors", "names", "identifiers", "plain", "redaction", "untrusted_text", "excerpts"}
    found = {
        name.split(".")[2]
        for name in NAMES
        if name.split(".")[1:2] and name.split(".")[1] in LOWER_FLOORS and len(name.split(".")) > 2
    }
    assert found - set(RANK) == {*core, "machine"}


def test_every_class_has_a_name_of_its_own():
    where: dict[str, list[str]] = {}
    for name, path in NAMES.items():
        for cls in outline_of(path).classes:
            where.setdefault(cls, []).append(name)
    assert {cls: places for cls, places in where.items() if len(places) > 1} == {}


@proves("R001-1-07", "R002-16.6-06", "R002-26-01")
def test_files_and_functions_can_be_read_in_one_sitting():
    for path in MODULES:
        lines = text_of(path).count("\n")
        assert lines <= 600, f"{path} has {lines} lines"
        for name, line, length in outline_of(path).functions:
            assert length <= 60, f"{path}:{line} {name} has {length} lines"


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
        . config config.known wiring wiring.files wiring.mail
        domain domain.trust domain.errors domain.names domain.team
        domain.team.team domain.mail domain.mail.inbox_merge domain.mail.messages domain.mail.quotas
        domain.mail.lifetimes
        formats formats.files formats.files.file_stamp formats.files.json_record formats.files.layout
        formats.files.settings_text formats.files.times formats.mail formats.mail.inbox
        formats.mail.journal formats.team formats.team.team_config
        services services.mail services.mail.mailroom services.mail.posting services.mail.sending
        services.roster services.roster.teamroom services.team services.team.registry
        system system.machine system.files system.files.disk system.files.exchange
        system.files.locking system.files.numbered_log system.files.refusals
        system.files.rewriting system.files.shared_edit system.files.whole_files
        system.mail system.mail.inbox_edits system.mail.inbox_store system.mail.ledger
        system.mail.spool system.team system.team.team_store
        ui ui.cli ui.cli.arguments ui.cli.catalog ui.cli.main ui.cli.session ui.cli.mail ui.cli.mail.send
    """.split()  # noqa: SIM905 - a hundred names in quotes are harder to read
}
"""What `atm send` may load of ours. Adding a module here is a decision about its speed."""

CONSENT_LOADS = {"atm.domain.plain", "atm.formats.trust", "atm.system.trust"}
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
