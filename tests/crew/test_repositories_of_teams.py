"""A team belongs to one repository: two folders of one name, moves, clones and copies, with real runs and real git."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Atm, Result
from tests.crew.conftest import Crew
from tests.crew.repositories import git

from atm.files.adapters.machine import find_layout
from atm.roster.services.members import create_team
from atm.team.services.belonging import RepositoryTeams
from atm.team.services.lifecycle import begin
from atm.wiring.files import build_repositories
from atm.wiring.mail import build_room

PLAN = "- [ ] Write {text} (run: echo {text} > {text}.txt)\n"


class Shops:
    """Repositories, most of them in folders called `shop`, and `atm` in each."""

    def __init__(self, crew: Crew, top: Path) -> None:
        self.atm: Atm = crew.atm
        self.layout = crew.layout
        self.top = top

    def make(self, place: str, *, commits: bool = True) -> Path:
        folder = self.top / place
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main")
        if commits:
            git(folder, "commit", "-q", "--allow-empty", "-m", f"begin {place}")
        return folder

    def __call__(self, folder: Path, *words: str, code: int | None = 0, env: dict[str, str] | None = None) -> Result:
        return self.atm(*words, cwd=folder, code=code, env=env)

    def run(self, folder: Path, text: str, *words: str, code: int = 0) -> tuple[dict[str, Any], str]:
        """The report of a run that writes a text into a file, and what was said beside it."""
        plan = self.top / f"{text}.md"
        plan.write_text(PLAN.format(text=text))
        said = self(folder, "run", "--plan", str(plan), "--runtime", "script", "--yes", "--json", *words, code=code)
        return json.loads(said.out.splitlines()[-1]), said.err

    def refusal(self, folder: Path, *words: str, env: dict[str, str] | None = None) -> Any:
        return self(folder, *words, "--json", code=1, env=env).json["error"]

    def state(self, team: str) -> Path:
        return Path(self.layout.state(team))

    def binding(self, team: str) -> Any:
        return json.loads(self.state(team).read_text())["repository"]

    def change_state(self, team: str, **fields: object) -> None:
        """As another program or an older atm left it; None takes a field away."""
        found = {**json.loads(self.state(team).read_text()), **fields}
        self.state(team).write_text(json.dumps({key: value for key, value in found.items() if value is not ...}))

    def teams(self) -> list[str]:
        return sorted(path.name for path in Path(self.layout.teams).iterdir() if path.name != "crew")


@pytest.fixture
def shops(crew: Crew, tmp_path: Path) -> Shops:
    """Without the team of the other tests: this machine has no team yet."""
    shutil.rmtree(crew.layout.team("crew"))
    crew.atm.environment.pop("ATM_TEAM", None)
    return Shops(crew, tmp_path / "shops")


def test_two_repositories_of_one_folder_name_have_two_teams_and_each_branch_its_own_work(shops: Shops) -> None:
    one, two = shops.make("a/shop"), shops.make("b/shop")
    first, said = shops.run(one, "one")
    assert (first["team"], "shop-2" in said) == ("shop", False)
    second, said = shops.run(two, "two")
    assert (second["team"], second["team_chosen_by"]) == ("shop-2", "repository")
    assert f"team shop belongs to the repository {one}; the team here is shop-2" in said
    assert (first["outcome"], second["outcome"]) == ("success", "success")
    assert git(one, "show", "atm/result/shop:one.txt") == "one"
    assert git(two, "show", "atm/result/shop-2:two.txt") == "two"
    assert "shop-2" not in git(one, "branch", "--list", "--all")
    assert git(two, "branch", "--list", "atm/result/shop") == ""
    status = one.joinpath(".git").stat()
    assert shops.binding("shop") == {
        "common_dir": str(one / ".git"),
        "device": status.st_dev,
        "inode": status.st_ino,
        "root_commit": git(one, "rev-list", "--max-parents=0", "HEAD"),
        "head_commit": git(one, "rev-parse", "HEAD"),
    }
    listed = shops(two, "runs", "list", "--json").json
    assert (listed["team"], [row["run"] for row in listed["runs"]]) == ("shop-2", [second["run"]])
    assert shops(one, "runs", "list", "--json").json["team"] == "shop"
    assert shops(two, "tasks", "list", "--json").json["team"] == "shop-2"


def test_a_repository_without_a_team_gets_none_of_another_by_its_folders_name(shops: Shops) -> None:
    one, two = shops.make("a/shop"), shops.make("b/shop")
    shops.run(one, "one")
    before = shops.state("shop").read_bytes()
    for words in (
        ("run", "--resume"),
        ("runs", "list"),
        ("runs", "show"),
        ("merge",),
        ("merge", "work"),
        ("tasks", "add", "Sweep"),
    ):
        error = shops.refusal(two, *words)
        assert error["code"] == "wrong-repository", words
        assert str(one) in error["message"]
        assert str(two) in error["message"]
    assert "no team yet" in shops(two, "up", code=1).err
    assert shops.state("shop").read_bytes() == before
    assert shops.teams() == ["shop"]


@pytest.mark.parametrize(
    ("words", "env"),
    [(("--team", "shop"), {}), ((), {"ATM_TEAM": "shop"})],
    ids=["flag", "environment"],
)
def test_a_team_that_is_named_is_refused_in_another_repository(shops: Shops, words, env) -> None:
    one, two = shops.make("a/shop"), shops.make("b/shop")
    shops.run(one, "one")
    for command in (
        ("run", "--plan", str(shops.top / "one.md"), "--yes"),
        ("run", "--resume"),
        ("up", "script:zoe"),
        ("spawn", "script:zoe"),
        ("merge", "work"),
        ("merge", "retry", "1"),
        ("salvage", "list"),
    ):
        if command[0] == "salvage" and env:
            continue  # it looks at the repository, and takes a team only by its flag
        error = shops.refusal(two, *command, *words, env=env)
        assert error["code"] == "wrong-repository", command
        assert "atm teams rebind shop" in error["remedy"]
        assert f"cd {one}" in error["remedy"]
    assert shops.teams() == ["shop"]
    assert git(two, "for-each-ref", "refs/heads/atm", "refs/atm") == ""


def test_a_moved_repository_keeps_its_team_and_the_run_is_resumed_there(shops: Shops) -> None:
    one = shops.make("a/shop")
    report, _ = shops.run(one, "one")
    moved = one.rename(shops.top / "a" / "store")
    resumed = shops(moved, "run", "--resume", "--json")
    assert f"the repository of team shop moved from {one} to {moved}" in resumed.err
    assert json.loads(resumed.out.splitlines()[-1])["team"] == "shop"
    assert shops.binding("shop")["common_dir"] == str(moved / ".git")
    order = json.loads(Path(shops.layout.run("shop", report["run"]), "plan.json").read_text())
    assert order["folder"] == str(moved)
    again, said = shops.run(moved, "two")
    assert (again["team"], again["outcome"]) == ("shop", "success")
    assert "moved" not in said
    assert git(moved, "log", "--format=%s", "-1", "atm/result/shop") == "Write two"
    assert shops(moved, "merge", "--json", code=None).json["team"] == "shop"


def test_worktrees_of_a_moved_repository_are_found_again_with_what_was_not_committed(shops: Shops, crew: Crew) -> None:
    one = shops.make("a/shop")
    shops(one, "up", "command:ann", "--prompt", "sleep 3")
    worktrees = crew_worktrees(shops)
    made = worktrees.repository(str(one))
    assert made is not None
    place = worktrees.make(made, "shop", "7", "ann")
    Path(place.path, "half").write_text("half")
    moved = one.rename(shops.top / "b")
    shops(moved, "down", "--team", "shop", code=None)
    shops(moved, "up", "command:bob", "--prompt", "sleep 3")
    saved = shops(moved, "salvage", "list", "--team", "shop", "--json").json["items"]
    assert [one["untracked"] for one in saved] == [["half"]]
    assert not Path(place.path).exists()
    shops(moved, "down", "--team", "shop", code=None)


def crew_worktrees(shops: Shops) -> Any:
    from atm.wiring.crew import build_worktrees

    return build_worktrees(shops.layout)


def test_a_clone_a_copy_and_a_shallow_clone_elsewhere_get_teams_of_their_own(shops: Shops) -> None:
    one = shops.make("a/shop")
    shops.run(one, "one")
    clone, copy, shallow = (shops.top / name / "shop" for name in "bcd")
    git(shops.top, "clone", "-q", str(one), str(clone))
    shutil.copytree(one, copy, symlinks=True)
    git(one, "commit", "-q", "--allow-empty", "-m", "more")
    git(shops.top, "clone", "-q", "--depth", "1", f"file://{one}", str(shallow))
    names = [shops.run(folder, f"w{number}")[0]["team"] for number, folder in enumerate((clone, copy, shallow))]
    assert names == ["shop-2", "shop-3", "shop-4"]
    assert shops.binding("shop-4")["root_commit"] is None
    assert shops.binding("shop-2")["root_commit"] == shops.binding("shop")["root_commit"]
    git(shallow, "fetch", "-q", "--unshallow")
    assert shops.run(shallow, "later")[0]["team"] == "shop-4"
    assert shops.binding("shop-4")["root_commit"] == shops.binding("shop")["root_commit"]


def test_what_was_cloned_again_in_place_keeps_the_team_and_another_project_does_not(shops: Shops) -> None:
    one, other = shops.make("a/shop"), shops.make("b/other")
    shops.run(one, "one")
    kept = shops.top / "kept.git"
    git(shops.top, "clone", "-q", "--mirror", str(one), str(kept))
    one.rename(shops.top / "old")
    git(shops.top, "clone", "-q", str(kept), str(one))
    report, said = shops.run(one, "two")
    assert report["team"] == "shop"
    assert "same root commit" in said
    shutil.rmtree(one)
    git(shops.top, "clone", "-q", str(other), str(one))
    report, said = shops.run(one, "three")
    assert report["team"] == "shop-2"
    assert "shop-2" in said


def test_a_shallow_clone_that_gets_the_inode_of_a_deleted_one_gets_a_team_of_its_own(shops: Shops) -> None:
    one, other = shops.make("a/one"), shops.make("b/other")
    for folder in (one, other):  # so that a clone of the last commit is shallow
        git(folder, "commit", "-q", "--allow-empty", "-m", "more")
    shop = shops.top / "c" / "shop"
    git(shops.top, "clone", "-q", "--depth", "1", f"file://{one}", str(shop))
    assert shops.run(shop, "same")[0]["team"] == "shop"
    assert shops.run(shop, "more")[0]["team"] == "shop"
    shutil.rmtree(shop)
    git(shops.top, "clone", "-q", "--depth", "1", f"file://{other}", str(shop))
    shops.change_state("shop", repository={**shops.binding("shop"), "inode": shop.joinpath(".git").stat().st_ino})
    report, said = shops.run(shop, "same")
    assert (report["team"], report["tasks"]["completed"]) == ("shop-2", ["1"])
    assert "shop-2" in said
    assert git(shop, "show", "atm/result/shop-2:same.txt") == "same"


def test_a_linked_worktree_and_a_bare_repository_share_one_team(shops: Shops) -> None:
    one = shops.make("a/shop")
    git(one, "worktree", "add", "-q", "../feature", "-b", "feature")
    assert shops.run(shops.top / "a" / "feature", "one")[0]["team"] == "shop"
    assert shops.run(one, "two")[0]["team"] == "shop"
    bare = shops.top / "lib.git"
    git(shops.top, "clone", "-q", "--bare", str(one), str(bare))
    git(bare, "worktree", "add", "-q", "../lib-main", "main")
    git(bare, "worktree", "add", "-q", "../lib-next", "-b", "next")
    assert {shops.run(shops.top / name, name)[0]["team"] for name in ("lib-main", "lib-next")} == {"lib"}


def test_a_sub_module_is_a_repository_of_its_own(shops: Shops) -> None:
    lib, one = shops.make("x/lib"), shops.make("a/shop")
    git(one, "submodule", "--quiet", "add", str(lib), "lib")
    git(one, "commit", "-q", "-m", "lib")
    assert shops.run(one, "one")[0]["team"] == "shop"
    assert shops.run(one / "lib", "two")[0]["team"] == "lib"
    assert shops.binding("lib")["common_dir"] == str(one / ".git" / "modules" / "lib")
    assert shops.run(lib, "three")[0]["team"] == "lib-2"


def test_a_repository_without_commits_is_known_by_its_folder_until_it_has_one(shops: Shops) -> None:
    one = shops.make("a/shop", commits=False)
    (shops.top / "plan.md").write_text(PLAN.format(text="x"))
    said = shops(one, "run", "--plan", "../../plan.md", "--yes", code=1).err
    assert "no commit yet" in said
    assert "git commit" in said
    assert "shop" not in shops(one, "teams", "list", "--json").out
    create_team(build_room(shops.layout), "shop", lead="lead", repository=here(one).binding)
    assert shops.binding("shop")["root_commit"] is None
    git(one, "commit", "-q", "--allow-empty", "-m", "begin")
    assert shops.run(one, "one")[0]["team"] == "shop"
    assert shops.binding("shop")["root_commit"] == git(one, "rev-parse", "HEAD")


def test_without_commits_another_repository_of_the_name_gets_its_own_team(shops: Shops) -> None:
    one, two = shops.make("a/shop", commits=False), shops.make("b/shop")
    create_team(build_room(shops.layout), "shop", lead="lead", repository=here(one).binding)
    assert shops.run(two, "two")[0]["team"] == "shop-2"


def test_a_team_that_was_cut_off_while_it_was_made_is_finished_by_its_own_repository(shops: Shops) -> None:
    one, two = shops.make("a/shop"), shops.make("b/shop")
    room, mine = build_room(shops.layout), here(one)
    begin(room, "shop", "lead", mine.binding)  # killed here: its roster was never written
    assert shops.run(two, "two")[0]["team"] == "shop-2"
    assert shops.run(one, "one")[0]["team"] == "shop"
    assert not create_team(room, "shop", repository=here(two).binding)


def here(folder: Path) -> Any:
    """What a team that is made in this repository is bound to."""
    found = build_repositories().around(str(folder))
    assert found is not None
    room = build_room(find_layout({"ATM_HOME": str(folder)}))
    return RepositoryTeams(room, build_repositories(), found, lambda _: ())


def test_an_old_team_is_bound_at_first_use_unless_it_worked_elsewhere(shops: Shops) -> None:
    one, two = shops.make("a/shop"), shops.make("b/shop")
    shops.run(one, "one")
    shops.change_state("shop", repository=..., mine={"deep": [1]})
    assert shops.run(two, "two")[0]["team"] == "shop-2"
    assert "repository" not in json.loads(shops.state("shop").read_text())
    error = shops.refusal(two, "up", "script:ann", "--team", "shop")
    assert error["code"] == "wrong-repository"
    assert shops.run(one, "three")[0]["team"] == "shop"
    assert shops.binding("shop")["common_dir"] == str(one / ".git")
    assert json.loads(shops.state("shop").read_text())["mine"] == {"deep": [1]}


def test_a_team_made_by_hand_is_free_for_agents_of_several_repositories_until_a_run(shops: Shops) -> None:
    one, two = shops.make("a/one"), shops.make("b/two")
    shops(one, "teams", "create", "both", "--lead", "lead")
    assert shops.binding("both") is None
    shops(one, "up", "script:ann", "--team", "both")
    shops(two, "up", "script:bob", "--team", "both")
    shops(one, "down", "--team", "both")
    assert shops.binding("both") is None


def test_rebind_binds_a_team_as_a_person_says(shops: Shops) -> None:
    one = shops.make("a/shop")
    shops.run(one, "one")
    copy = shops.top / "b" / "shop"
    shutil.copytree(one, copy, symlinks=True)
    assert shops.refusal(copy, "run", "--resume", "--team", "shop")["code"] == "wrong-repository"
    said = shops(copy, "teams", "rebind", "shop", "--json").json
    assert (said["team"], said["repository"], said["former"]) == ("shop", str(copy), str(one))
    assert shops.run(copy, "two")[0]["team"] == "shop"
    assert git(copy, "show", "atm/result/shop:two.txt") == "two"
    assert git(one, "ls-tree", "--name-only", "atm/result/shop") == "one.txt"
    assert shops.run(one, "three")[0]["team"] == "shop-2"
    assert "no git repository" in shops(shops.top, "teams", "rebind", "shop", code=1).err


def test_doctor_tells_a_repository_that_moved_and_mends_it_only_from_there(shops: Shops) -> None:
    one, two = shops.make("a/shop"), shops.make("b/shop")
    shops.run(one, "one")

    def codes(folder: Path, *words: str) -> set[str]:
        found = json.loads(shops(folder, "doctor", "--json", *words, code=None).out)["findings"]
        return {row["code"] for row in found if row["code"].endswith("repository") and not row.get("mended")}

    assert codes(two) == set()
    moved = one.rename(shops.top / "c")
    assert codes(two, "--fix") == {"lost-repository"}
    assert codes(moved) == {"moved-repository"}
    assert codes(moved, "--fix") == set()
    assert shops.binding("shop")["common_dir"] == str(moved / ".git")
    shops.change_state("shop", repository={"common_dir": "../x", "device": "y"})
    assert codes(moved) == {"strange-repository"}


@pytest.mark.parametrize(
    "value",
    [
        "x",
        {"common_dir": "--upload-pack=touch hacked", "device": 1, "inode": 1, "root_commit": "--help"},
        {"common_dir": "/\x1b]0;hacked\x07", "device": 1, "inode": 1, "root_commit": None},
        {"common_dir": "/a\nb", "device": 10**30, "inode": [], "root_commit": {}},
    ],
)
def test_a_hostile_binding_runs_nothing_and_shows_nothing_of_its_own(shops: Shops, value) -> None:
    one = shops.make("a/shop")
    shops.run(one, "one")
    shops.change_state("shop", repository=value)
    for words in (("status",), ("runs", "list"), ("doctor",), ("up", "script:zoe", "--team", "shop")):
        said = shops(one, *words, code=None)
        assert "\x1b]" not in said.out + said.err
        assert "\x07" not in said.out + said.err
    assert not list(one.rglob("hacked"))
    shops(one, "down", "--team", "shop", code=None)


def test_two_runs_at_once_in_repositories_of_one_name_get_two_teams(shops: Shops) -> None:
    folders = [shops.make(f"{letter}/shop") for letter in "abc"]
    (shops.top / "plan.md").write_text(PLAN.format(text="x"))
    words = ("run", "--plan", str(shops.top / "plan.md"), "--runtime", "script", "--yes", "--json")

    def begin(folder: Path) -> dict[str, Any]:
        done = subprocess.run(
            shops.atm.command(*words), cwd=folder, env=shops.atm.environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return dict(json.loads(done.stdout.splitlines()[-1]))

    with ThreadPoolExecutor(3) as pool:
        reports = [*pool.map(begin, folders)]
    assert sorted(report["team"] for report in reports) == ["shop", "shop-2", "shop-3"]
    for folder, report in zip(folders, reports, strict=True):
        assert shops.binding(report["team"])["common_dir"] == str(folder / ".git")
        assert git(folder, "rev-parse", "--verify", f"atm/result/{report['team']}")
        assert len(git(folder, "branch", "--list", "atm/result/*").splitlines()) == 1


def test_a_folder_of_the_same_name_in_other_letters_is_the_same_repository(shops: Shops) -> None:
    one = shops.make("a/Shop")
    report, _ = shops.run(one, "one")
    assert report["team"] == "shop"
    os.symlink(one, shops.top / "link")
    assert shops.run(shops.top / "link", "two")[0]["team"] == "shop"
