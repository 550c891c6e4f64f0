"""Which repository a team belongs to: every way in which a folder can be the same, moved, replaced or another one."""

from __future__ import annotations

import pytest

from atm.team.rules.repositories import (
    CUT_OFF,
    GONE,
    MISSING,
    MOVED,
    OTHER,
    PRESENT,
    REPLACED,
    SAME,
    UNKNOWN,
    UNREADABLE,
    History,
    Place,
    RepositoryBinding,
    RepositoryHere,
    base_names,
    folder_of,
    judge,
    name_of_repository,
    numbered,
    rank,
    refreshed,
)

ROOT, STRANGE, HEAD, NEWER = "a" * 40, "b" * 40, "c" * 40, "d" * 40
HOME, ELSEWHERE = "/a/shop/.git", "/b/shop/.git"
BOUND = RepositoryBinding(HOME, 1, 10, ROOT, HEAD)
SHALLOW = RepositoryBinding(HOME, 1, 10, None, HEAD)
WITHOUT_COMMITS = RepositoryBinding(HOME, 1, 10)


def history(root: str | None = ROOT, head: str | None = HEAD, *, shallow: bool = False) -> History:
    """Of a repository with that root commit, and that one checked out. A shallow clone lacks the root commit."""
    known = (head,) if shallow else (root, head)
    lacking = CUT_OFF if shallow else MISSING
    return History(
        lambda: None if shallow else root,
        lambda: None if root is None else head,
        lambda commit: PRESENT if commit in known else lacking,
    )


def other_shallow() -> History:
    return history(STRANGE, NEWER, shallow=True)


def unknown() -> None:
    return None


def verdict(
    stored: RepositoryBinding, path: str, place: Place, known: History, there: Place | None = None, at: str = HOME
) -> str:
    """`there`: what is now at the path that was recorded; without it, nothing was moved away."""
    places = {path: place, at: there if there is not None else stored.place}
    return judge(stored, RepositoryHere(path, place), known, lambda folder: places.get(folder, GONE))


@pytest.mark.parametrize(
    ("case", "stored", "path", "place", "known", "there", "expected"),
    [
        ("nothing changed", BOUND, HOME, (1, 10), history(), (1, 10), SAME),
        ("no commits yet", WITHOUT_COMMITS, HOME, (1, 10), history(None), (1, 10), SAME),
        ("the first commit since", WITHOUT_COMMITS, HOME, (1, 10), history(), (1, 10), SAME),
        ("shallow now", BOUND, HOME, (1, 10), history(shallow=True), (1, 10), SAME),
        ("shallow, as before", SHALLOW, HOME, (1, 10), history(shallow=True), (1, 10), SAME),
        ("not shallow any more", SHALLOW, HOME, (1, 10), history(), (1, 10), SAME),
        ("shallow, inode used again at the same path", SHALLOW, HOME, (1, 10), other_shallow(), (1, 10), OTHER),
        ("inode used again by a shallow clone", BOUND, HOME, (1, 10), other_shallow(), (1, 10), OTHER),
        ("shallow, inode used again with all commits", SHALLOW, HOME, (1, 10), history(STRANGE, NEWER), (1, 10), OTHER),
        ("shallow, moved", SHALLOW, ELSEWHERE, (1, 10), history(shallow=True), GONE, MOVED),
        ("shallow, inode used again at another path", SHALLOW, ELSEWHERE, (1, 10), other_shallow(), GONE, OTHER),
        ("git gives no answer", SHALLOW, HOME, (1, 10), History(unknown, unknown, lambda _: UNKNOWN), (1, 10), SAME),
        ("bound by an older atm, shallow", WITHOUT_COMMITS, HOME, (1, 10), history(shallow=True), (1, 10), SAME),
        ("other device number after a restart", BOUND, HOME, (9, 10), history(), (9, 10), SAME),
        ("other device number, other root", BOUND, HOME, (9, 10), history(STRANGE), (9, 10), OTHER),
        ("inode used again at the same path", BOUND, HOME, (1, 10), history(STRANGE), (1, 10), OTHER),
        ("history that was rewritten since its root", BOUND, HOME, (1, 10), history(head=NEWER), (1, 10), SAME),
        ("the same folder by another name", BOUND, "/A/Shop/.git", (1, 10), history(), (1, 10), SAME),
        ("another name after a restart", BOUND, "/A/Shop/.git", (9, 10), history(), (9, 10), SAME),
        ("moved", BOUND, ELSEWHERE, (1, 10), history(), GONE, MOVED),
        ("moved, and another folder in its place", BOUND, ELSEWHERE, (1, 10), history(), (1, 77), MOVED),
        ("moved without commits", WITHOUT_COMMITS, ELSEWHERE, (1, 10), history(None), GONE, MOVED),
        ("inode used again by one with commits", WITHOUT_COMMITS, ELSEWHERE, (1, 10), history(), GONE, OTHER),
        ("moved to another disk", BOUND, ELSEWHERE, (2, 20), history(), GONE, MOVED),
        ("moved to another disk, shallow", BOUND, ELSEWHERE, (2, 20), history(shallow=True), GONE, OTHER),
        ("inode used again at another path", BOUND, ELSEWHERE, (1, 10), history(STRANGE), GONE, OTHER),
        ("copied, the original still there", BOUND, ELSEWHERE, (1, 20), history(), (1, 10), OTHER),
        ("copied, the original not readable", BOUND, ELSEWHERE, (1, 20), history(), UNREADABLE, OTHER),
        ("cloned elsewhere", BOUND, ELSEWHERE, (2, 20), history(), (1, 10), OTHER),
        ("restored from a backup", BOUND, HOME, (1, 20), history(), (1, 20), REPLACED),
        ("another project at the same path", BOUND, HOME, (1, 20), history(STRANGE), (1, 20), OTHER),
        ("cloned again in place, shallow", BOUND, HOME, (1, 20), history(shallow=True), (1, 20), OTHER),
        ("made anew without commits", BOUND, HOME, (1, 20), history(None), (1, 20), OTHER),
        ("made anew, never a commit", WITHOUT_COMMITS, HOME, (1, 20), history(None), (1, 20), OTHER),
        ("another folder, never a commit", WITHOUT_COMMITS, ELSEWHERE, (1, 20), history(None), GONE, OTHER),
    ],
)
def test_a_repository_is_the_same_moved_replaced_or_another(case, stored, path, place, known, there, expected):
    assert verdict(stored, path, place, known, there) == expected, case


def test_without_a_difference_git_is_asked_only_whether_it_has_the_root():
    asked: list[str] = []

    def find(commit: str) -> str:
        asked.append(commit)
        return PRESENT

    def root() -> str:
        raise AssertionError("the whole history would be read")

    assert judge(BOUND, RepositoryHere(HOME, (1, 10)), History(root, root, find), lambda _: (1, 10)) == SAME
    assert asked == [ROOT]


def test_a_root_commit_is_recorded_as_soon_as_there_is_one_and_never_forgotten():
    here = RepositoryHere(HOME, (1, 10))
    assert refreshed(WITHOUT_COMMITS, here, history(None)) is None
    made = refreshed(WITHOUT_COMMITS, here, history())
    assert made is not None
    assert (made.root_commit, made.head_commit) == (ROOT, HEAD)
    assert refreshed(BOUND, here, history(shallow=True)) is None
    assert refreshed(BOUND, here, history()) is None


def test_the_commit_that_is_checked_out_is_recorded_at_each_use_and_never_forgotten():
    here = RepositoryHere(HOME, (1, 10))
    assert refreshed(SHALLOW, here, history(head=NEWER, shallow=True)) == RepositoryBinding(HOME, 1, 10, None, NEWER)
    assert refreshed(SHALLOW, here, history(None)) is None


def test_a_new_device_number_is_recorded_and_another_spelling_of_the_path_is_not():
    made = refreshed(BOUND, RepositoryHere(HOME, (9, 10)), history())
    assert made == RepositoryBinding(HOME, 9, 10, ROOT, HEAD)
    assert refreshed(BOUND, RepositoryHere("/A/SHOP/.git", (1, 10)), history()) is None


@pytest.mark.parametrize(
    ("common", "folder", "name"),
    [
        ("/a/Shop/.git", "/a/Shop", "shop"),
        ("/a/shop.git", "/a/shop.git", "shop"),
        ("/a/shop/.bare", "/a/shop", "shop"),
        ("/a/big/.git/modules/lib", "/a/big/.git/modules/lib", "lib"),
        ("/.git", "/.git", "crew"),
    ],
)
def test_a_repository_has_the_name_that_people_know_it_by(common, folder, name):
    assert (folder_of(common), name_of_repository(common)) == (folder, name)


def test_all_worktrees_of_a_repository_share_the_name_of_its_team():
    main = RepositoryHere("/a/shop/.git", (1, 1), root="/a/shop")
    linked = RepositoryHere("/a/shop/.git", (1, 1), root="/a/shop-feature", is_linked=True)
    apart = RepositoryHere("/store/4711.git", (1, 1), root="/a/shop")
    assert base_names(main, "/a/shop") == ["shop"]
    assert base_names(main, "/a/shop/web")[0] == "web"
    assert base_names(linked, "/a/shop-feature")[0] == "shop"
    assert base_names(apart, "/a/shop")[0] == "shop"


def test_numbers_follow_the_name():
    names = numbered("shop")
    assert [next(names) for _ in range(3)] == ["shop", "shop-2", "shop-3"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop", (0, 1)),
        ("Shop", (0, 1)),
        ("shop-2", (0, 2)),
        ("store-12", (1, 12)),
        ("shop-1", None),
        ("shop-02", None),
        ("shop-x", None),
        ("shop-", None),
        ("shop-99999999999", None),
        ("workshop", None),
        ("shop-²", None),
    ],
)
def test_only_a_number_behind_the_name_belongs_to_it(name, expected):
    assert rank(name, ["shop", "store"]) == expected
