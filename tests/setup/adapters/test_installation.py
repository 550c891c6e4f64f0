"""What is read of an installation: the records of pip, pipx and uv, and the clone that the code runs from."""

from __future__ import annotations

import pytest

from atm.setup.adapters.installation import describe_installation, has_extra, has_module, read_installation
from atm.setup.rules.installation import DISTRIBUTION, EXTRAS, PIP, PIPX, UV_PIP, UV_TOOL


def describe(tmp_path, direct_url=None, package="", modules=("pip",)):
    return describe_installation(
        package or str(tmp_path / "lib/atm"), str(tmp_path), "/v/python", direct_url, lambda name: name in modules
    )


@pytest.mark.parametrize(
    ("record", "modules", "installer"),
    [
        ("pipx_metadata.json", ("pip",), PIPX),
        ("uv-receipt.toml", (), UV_TOOL),
        ("", ("pip",), PIP),
        ("", (), UV_PIP),
    ],
)
def test_the_installer_is_known_by_what_it_left(tmp_path, record, modules, installer):
    if record:
        (tmp_path / record).write_text("{}")
    assert describe(tmp_path, modules=modules).installer == installer


def test_the_clone_that_the_code_runs_from_comes_before_the_one_that_was_recorded(tmp_path):
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "{DISTRIBUTION}"\n')
    found = describe(tmp_path, {"url": "file:///elsewhere"}, str(tmp_path / "src/atm"))
    assert (found.source, found.is_editable, found.is_source_there) == (str(tmp_path), True, True)


def test_a_project_that_has_a_package_of_this_name_in_it_is_no_clone(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n')
    assert describe(tmp_path, None, str(tmp_path / "src/atm")).source == ""


@pytest.mark.parametrize(
    ("record", "source", "url", "is_editable"),
    [
        ({"url": "file:///a%20b", "dir_info": {}}, "/a b", "", False),
        ({"url": "file:///a", "dir_info": {"editable": True}}, "/a", "", True),
        ({"url": "file:///d/x.whl", "archive_info": {}}, "/d/x.whl", "", False),
        ({"url": "https://h.example/x", "vcs_info": {"vcs": "git"}}, "", "git+https://h.example/x", False),
        ({"url": "https://h.example/x.whl", "archive_info": {}}, "", "https://h.example/x.whl", False),
        ({"url": "https://h.example/\x1b[2J"}, "", "", False),
        ({"url": 5}, "", "", False),
        (["url"], "", "", False),
        (None, "", "", False),
    ],
)
def test_what_the_installer_recorded_is_read_and_never_trusted(tmp_path, record, source, url, is_editable):
    found = describe(tmp_path, record)
    assert (found.source, found.url, found.is_editable) == (source, url, is_editable)
    assert found.is_source_there is (not source)


def test_an_extra_is_there_when_all_of_its_modules_are(tmp_path):
    assert describe(tmp_path, modules=("starlette", "textual")).extras == ("tui",)
    assert describe(tmp_path, modules=("starlette", "uvicorn")).extras == ("web",)


def test_a_module_below_one_that_is_missing_is_missing():
    assert not has_module("no_such_package.part")
    assert has_module("importlib.util")


def test_this_installation_can_be_read():
    found = read_installation()
    assert found.executable
    assert {extra for extra in EXTRAS if has_extra(extra)} == set(found.extras)
