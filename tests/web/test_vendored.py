"""Nothing of the page comes from elsewhere, and what others wrote is what they wrote."""

from __future__ import annotations

import json
import re
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from tests.optional import needs

from atm.core.untrusted_text import MARKED, TAKEN_OUT

PAGE = Path(__file__).parents[2] / "src/atm/ui/web/page"
VENDOR = PAGE / "vendor"
TOLD = json.loads((VENDOR / "VENDORED.json").read_text(encoding="utf-8"))["files"]
OURS = [path for path in sorted(PAGE.rglob("*")) if path.is_file() and VENDOR not in path.parents]
SCRIPTS = [path for path in OURS if path.suffix == ".js"]
HOST = re.compile(r"(?:https?:|wss?:|['\"(])//([\w.-]+)")
NAMESPACE = "www.w3.org"


def test_every_file_of_others_is_written_down_with_its_licence():
    named = {one["file"] for one in TOLD} | {f"{one['package']}.LICENSE" for one in TOLD} | {"VENDORED.json"}
    assert {path.name for path in VENDOR.iterdir()} == named


@pytest.mark.parametrize("one", TOLD, ids=[one["file"] for one in TOLD])
def test_a_file_of_others_is_as_it_was_published_but_for_what_is_written_down(one):
    text = (VENDOR / one["file"]).read_text(encoding="utf-8")
    assert sha256(text.encode()).hexdigest() == one["sha256"]
    for ours, theirs in one.get("changed", []):
        text = text.replace(ours, theirs) if ours else text + theirs
    assert sha256(text.encode()).hexdigest() == one["upstream_sha256"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", one["version"])


@pytest.mark.parametrize("one", TOLD, ids=[one["file"] for one in TOLD])
def test_hosts_that_others_mention_are_known(one):
    found = HOST.findall((VENDOR / one["file"]).read_text(encoding="utf-8"))
    assert sorted(set(found)) == one.get("hosts_in_comments_and_namespaces", [])


@pytest.mark.parametrize("path", OURS, ids=[str(path.relative_to(PAGE)) for path in OURS])
def test_no_file_of_ours_mentions_another_host(path):
    assert set(HOST.findall(path.read_text(encoding="utf-8"))) <= {NAMESPACE}


@pytest.mark.parametrize("path", SCRIPTS, ids=[str(path.relative_to(PAGE)) for path in SCRIPTS])
def test_no_script_of_ours_makes_markup_of_text(path):
    """Texts of agents are text nodes; that they cannot become more is a matter of what is not called."""
    text = path.read_text(encoding="utf-8")
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\bstyle=|srcdoc"
    assert not re.findall(forbidden, text)
    assert len(text.splitlines()) <= 400


def test_the_shell_has_no_script_and_no_style_of_its_own():
    shell = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", shell)


def test_what_hides_is_the_same_in_the_page_as_everywhere_in_atm():
    text = (PAGE / "hidden.js").read_text(encoding="utf-8")
    marked, unseen = (_ranges(re.search(rf"{name} = /\[(.*)\]/u", text)) for name in ("MARKED", "UNSEEN"))
    for first, last in MARKED:
        assert {first, last} <= marked, f"U+{first:04X}"
    for first, last in TAKEN_OUT:
        assert {first, last} <= unseen, f"U+{first:04X}"


def _ranges(found: re.Match[str] | None) -> set[int]:
    assert found is not None
    parts = re.findall(r"\\u\{?([0-9a-f]+)\}?(?:-\\u\{?([0-9a-f]+)\}?)?", found[1])
    return {at for first, last in parts for at in range(int(first, 16), int(last or first, 16) + 1)}


READ = "fs.readFileSync(path, 'utf8'), {identifier: path}"
PARSE = f"for (const path of process.argv.slice(1)) new vm.SourceTextModule({READ})"


@needs("node")
def test_a_machine_can_read_every_script():
    words = ["node", "--no-warnings", "--experimental-vm-modules", "-e", PARSE, "--", *map(str, SCRIPTS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
