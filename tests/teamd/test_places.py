"""Places: where plugins work, what is enabled there, and files that are missing, broken or hostile."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.proving import proves
from tests.trusting import trust

from atm.teamd.places import Place, load_places
from atm.teamd.plugins.discovery import Found
from atm.teamd.plugins.spec import Bounds, wanted


class Machine:
    """A home with settings, and repositories beside it."""

    def __init__(self, layout, home: Path, folder: Path) -> None:
        self.layout = layout
        self.home = home
        self.folder = folder
        self.environment = {"HOME": str(home), "ATM_HOME": str(home)}
        Path(layout.config_root).mkdir(parents=True)

    def user(self, text: str) -> None:
        Path(self.layout.settings).write_text(text)

    def daemon(self, text: str) -> None:
        Path(self.layout.daemon_settings).write_text(text)

    def repo(self, name: str, text: str = "", file: str = ".atm.toml") -> str:
        """A repository to whose settings the user has said yes."""
        path = self.folder / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        if text:
            path.write_text(text)
            trust(self.home, path)
        return str(self.folder / name)

    def load(self, former: list[Place] | None = None) -> tuple[list[Place], list[str]]:
        return load_places(self.layout, self.environment, former or [])


@pytest.fixture
def machine(layout, home, tmp_path):
    return Machine(layout, home, tmp_path)


ENABLED = "[plugins.digest]\nenabled = true\n"


def test_without_any_file_there_is_the_machine_and_nothing_is_wrong(machine, home):
    (place,), problems = machine.load()
    assert (place.root, place.repo, place.name, place.enabled(), problems) == (str(home), None, "machine", [], [])


@proves("R001-5.3-20", "R001-6.2-24")
@pytest.mark.parametrize(
    "listed",
    [
        'repos = ["{one}", "{two}"]\n',
        '[[repos]]\npath = "{one}"\n[[repos]]\npath = "{two}"\nbranch = "develop"\n',
        'repos = [{{path = "{one}"}}, "{two}"]\n',
        'repos = ["{one}", "{two}", "{one}/", "{two}/../two"]\n',
    ],
)
def test_repositories_are_listed_in_either_form_and_each_counts_once(machine, listed):
    one, two = machine.repo("one", ENABLED), machine.repo("two")
    machine.daemon(listed.format(one=one, two=two))
    places, problems = machine.load()
    assert [place.repo for place in places] == [None, one, two]
    assert [place.root for place in places[1:]] == [one, two]
    assert problems == []


def test_a_tilde_means_home(machine, home):
    (home / "code").mkdir()
    machine.daemon('repos = ["~/code"]')
    assert [place.repo for place in machine.load()[0]] == [None, f"{home}/code"]


@proves("R001-6.2-22")
@pytest.mark.parametrize("file", [".atm.toml", ".atm/config.toml", "config.atm.toml"])
def test_a_repository_has_its_settings_in_one_of_three_files(machine, file):
    machine.daemon(f'repos = ["{machine.repo("one", ENABLED, file)}"]')
    assert machine.load()[0][1].enabled() == ["digest"]


def test_of_several_files_the_first_counts_and_the_others_are_named(machine):
    repo = machine.repo("one", ENABLED)
    machine.repo("one", "[plugins.webhook]\nenabled = true\n", ".atm/config.toml")
    machine.daemon(f'repos = ["{repo}"]')
    places, problems = machine.load()
    assert places[1].enabled() == ["digest"]
    assert problems == [f"{repo}/.atm/config.toml is ignored, because there is {repo}/.atm.toml too"]


ENABLEMENTS = [
    # of the user, of the repository, for the machine, for the repository
    ("[plugins.digest]\nenabled = true\n", "", ["digest"], []),
    ("", "[plugins.digest]\nenabled = true\n", [], ["digest"]),
    ("[plugins.digest]\nenabled = true\n", "[plugins.digest]\nenabled = true\n", ["digest"], ["digest"]),
    ("[plugins.digest]\nenabled = true\n", "[plugins.digest]\nenabled = false\n", ["digest"], []),
    ("[plugins.digest]\nenabled = true\n", '[plugins.digest]\nevery = "1h"\n', ["digest"], []),
    ("[plugins.digest]\nenabled = 1\n", "", [], []),
    ('[plugins.digest]\nenabled = "true"\n', "", ["digest"], []),
    ('[plugins.digest]\nenabled = "yes"\n', "", [], []),
    ("[plugins]\nenabled = true\n", "", [], []),
    ('[plugins]\n"digest.enabled" = true\n', "", ["digest"], []),
    ("[plugins.digest.deep]\nenabled = true\n", "", [], []),
    ("[plugins.a]\nenabled = true\n[plugins.b]\nenabled = true\n", "", ["a", "b"], []),
]


@proves("R001-5.4-04", "R001-5.6-02")
@pytest.mark.parametrize(("user", "repo", "on_machine", "in_repo"), ENABLEMENTS)
def test_a_plugin_is_enabled_by_the_places_own_file_alone(machine, user, repo, on_machine, in_repo):
    machine.user(user)
    machine.daemon(f'repos = ["{machine.repo("one", repo)}"]')
    places, problems = machine.load()
    assert [place.enabled() for place in places] == [on_machine, in_repo]
    assert problems == []


@proves("R001-5.3-04", "R001-5.6-01")
def test_settings_hold_key_by_key_and_as_plain_data(machine):
    machine.user('[plugins.digest]\nto = "lead"\nevery = "24h"\nsince = 2026-11-15T09:00:00Z\n')
    text = '[plugins.digest]\nevery = "1h"\nlist = [1, "x", 2026-11-15]\n[plugins.digest.deep.er]\nx = 1\n'
    machine.daemon(f'repos = ["{machine.repo("one", text)}"]')
    place = machine.load()[0][1]
    assert place.section("digest") == {
        "to": "lead",
        "every": "1h",
        "since": "2026-11-15 09:00:00+00:00",
        "list": [1, "x", "2026-11-15"],
        "deep": {"er": {"x": 1}},
    }
    assert place.section("nothing") == {}


def test_the_shell_that_starts_the_daemon_changes_nothing(machine, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(ENABLED)
    machine.environment |= {"ATM_CONFIG": str(other), "ATM_TEAM": "elsewhere", "ATM_IDENTITY": "mallory"}
    (place,), _ = machine.load()
    assert place.enabled() == []
    assert place.settings.text("core.default_team") == ""
    assert place.settings.text("core.identity") == "human"


PROBLEMS = [
    ('repos = ["/no/such/folder"]', "there is no such folder"),
    ('repos = ["relative/path"]', "'relative/path' is not an absolute path"),
    ('repos = [""]', "'' is not an absolute path"),
    ('repos = ["/with\\u0000nul"]', "is not an absolute path"),
    ("repos = 5", "'5' is not an absolute path"),
    ("repos = [[]]", "'[]' is not an absolute path"),
    ("repos = [{name = 'x'}]", "'' is not an absolute path"),
    ("repos = [", "is not a settings file"),
    ("repos = ['~other/code']", "is not an absolute path"),
]


@pytest.mark.parametrize(("text", "problem"), PROBLEMS)
def test_what_is_wrong_in_the_daemons_file_is_a_text_and_never_an_error(machine, text, problem):
    machine.daemon(text)
    places, problems = machine.load()
    assert [place.repo for place in places] == [None]
    assert len(problems) == 1
    assert problem in problems[0]


def test_a_file_in_a_repositorys_place_is_no_repository(machine, tmp_path):
    (tmp_path / "file").write_text("")
    machine.daemon(f'repos = ["{tmp_path}/file"]')
    assert "no such folder" in machine.load()[1][0]


BROKEN = ["[plugins.digest\n", "[nonsense]\nx = 1\n", "[core]\nidentity = 5\n", "\udcff"]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_stops_no_other_place_and_what_the_users_own_said_before_holds(machine, text):
    one, two = machine.repo("one", ENABLED), machine.repo("two", ENABLED)
    machine.daemon(f'repos = ["{one}", "{two}"]')
    machine.user("[plugins.webhook]\nenabled = true\n")
    before, problems = machine.load()
    assert problems == []
    Path(one, ".atm.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    Path(machine.layout.settings).write_bytes(text.encode("utf-8", "surrogateescape"))
    after, problems = machine.load(before)
    assert [place.enabled() for place in after] == [["webhook"], [], ["digest"]]  # no yes holds for those bytes
    assert len(problems) == 2
    fresh, problems = machine.load()
    assert [(place.repo, place.enabled()) for place in fresh] == [(None, []), (one, []), (two, ["digest"])]
    assert len(problems) == 2


def test_a_list_of_repositories_that_cannot_be_read_is_the_one_that_was_known(machine):
    one = machine.repo("one", ENABLED)
    machine.daemon(f'repos = ["{one}"]')
    before, _ = machine.load()
    machine.daemon("repos = [")
    after, problems = machine.load(before)
    assert [place.repo for place in after] == [None, one]
    assert len(problems) == 1


def test_a_repository_that_was_taken_off_the_list_is_gone(machine):
    machine.daemon(f'repos = ["{machine.repo("one", ENABLED)}"]')
    before, _ = machine.load()
    machine.daemon("repos = []")
    assert [place.repo for place in machine.load(before)[0]] == [None]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_a_problem(machine):
    machine.user(ENABLED)
    Path(machine.layout.settings).chmod(0)
    (place,), problems = machine.load()
    assert place.enabled() == []
    assert "Permission denied" in problems[0]


# What follows from them.


def test_what_is_wanted_is_one_for_each_plugin_and_place(machine):
    machine.user(ENABLED)
    one = machine.repo("one", ENABLED + 'every = "1h"\n')
    machine.daemon(f'repos = ["{one}"]')
    specs = wanted(machine.load()[0], [Found("digest", "a:b", "dist", "1.0")])
    assert set(specs) == {("digest", "machine"), ("digest", one)}
    assert specs[("digest", one)].config == {"enabled": True, "every": "1h"}
    again = wanted(machine.load()[0], [Found("digest", "a:b", "dist", "1.0")])
    assert again == specs
    newer = wanted(machine.load()[0], [Found("digest", "a:b", "dist", "1.1")])
    assert all(newer[key] != specs[key] for key in specs)


@pytest.mark.parametrize(
    ("text", "bound"),
    [("64", 64.0), ("0.5", 0.5), ("0", 512.0), ("-1", 512.0), ("true", 512.0), ('"64"', 512.0), ("nan", 512.0)],
)
def test_a_bound_in_a_section_counts_if_it_is_a_number_above_zero(machine, text, bound):
    machine.user(ENABLED + f"max_memory_mb = {text}\n")
    (spec,) = wanted(machine.load()[0], []).values()
    assert spec.bound("max_memory_mb", Bounds().max_memory_mb) == bound
