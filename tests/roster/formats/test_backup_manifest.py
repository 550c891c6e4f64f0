"""A manifest decides what is read and written: a name in it that could lead out makes the backup unusable (G11)."""

from __future__ import annotations

import json

import pytest

from atm.board.formats.task import task_mark
from atm.files.formats.json_record import NotJson
from atm.roster.formats.backup_manifest import Listed, Manifest, decode_manifest, encode_manifest, is_safe_path


def test_a_manifest_is_read_back():
    manifest = Manifest(
        "crew", "2026-11-15T04:16:16.243Z", [Listed("team/config.json", 17, "ab"), Listed("tasks/1.json", 2, "c")]
    )
    found = decode_manifest(encode_manifest(manifest))
    assert (found.team, found.at, found.bytes) == ("crew", manifest.at, 19)
    assert [(f.path, f.size, f.sha256) for f in found.files] == [
        ("team/config.json", 17, "ab"),
        ("tasks/1.json", 2, "c"),
    ]


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "../x", "team/../../x", "team/..", "team//x", "team/./x", "team/", "team", "manifest.json"),
        *("other/x", "team\\x", "team/C:x", "team/a\x00b", "team/a\nb", "team/" + "x" * 2000, "", "tasks/../team/x"),
    ],
)
def test_names_that_could_lead_out_are_not_safe(path):
    assert not is_safe_path(path)
    entry = {"path": path, "size": 1, "sha256": "x"}
    with pytest.raises(NotJson):
        decode_manifest(json.dumps({"version": 1, "team": "crew", "files": [entry]}).encode())


@pytest.mark.parametrize(
    "path", ["team/config.json", "team/inboxes/ann.json", "tasks/.highwatermark", "team/.x/y.json"]
)
def test_plain_names_are_safe(path):
    assert is_safe_path(path)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"version": 2, "team": "crew", "files": []}', '{"version": 1, "files": []}'),
        *('{"version": 1, "team": "crew", "files": {}}', '{"version": 1, "team": "crew", "files": [7]}'),
        '{"version": 1, "team": "crew", "files": [{"path": "team/x"}]}',
    ],
)
def test_what_is_no_manifest_is_refused(text):
    with pytest.raises(NotJson):
        decode_manifest(text.encode())


def test_a_file_that_is_listed_twice_is_refused_also_in_another_case():
    files = [{"path": path, "size": 1, "sha256": "x"} for path in ("team/a", "team/A")]
    with pytest.raises(NotJson, match="twice"):
        decode_manifest(json.dumps({"version": 1, "team": "crew", "files": files}).encode())


@pytest.mark.parametrize(
    ("data", "mark"), [(b"12", 12), (b"12\n", 12), (b"", 0), (b"-3", 0), (b"x", 0), (b"9" * 40, 0), (b"1.5", 0)]
)
def test_a_high_water_mark_is_digits_or_says_nothing(data, mark):
    assert task_mark(data) == mark
