"""
Runs the sessions of the README and of all pages, and compares what they print.

Blocks marked `console` hold lines that begin with `$ ` and what they print. They run one after the other in one shell
in one sandbox, as a reader types them; a line that begins with `> ` goes on with a command. Ids and times differ
from run to run and are compared as patterns; an id that a later command names is the one of this run. A last line `…`
stands for what follows. A block marked `toml`, `python` or `sh` whose first line is `# PATH`, or `markdown` whose first
line is `<!-- PATH -->`, is written to that file first. A comment `<!-- run`, which readers of the page do not see,
holds commands that bring about what the page speaks of, one shell script in which each must succeed; `wait_for 'TEST'`
waits there until something is so. A page with `<!-- needs tmux, jq -->` is left out where one of these programs is
missing. What cannot be run stands in blocks marked `text`, and `test_documents.py` has the list of these.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    *sorted(str(one.relative_to(ROOT)) for one in (ROOT / "docs").rglob("*.md") if "```console\n" in one.read_text()),
]
"""Every page that has such a block: whoever writes one has it run."""

ID = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8}\b|\b[0-9a-f]{12}\b|\b\d{8}T\d{9}Z\b"

WAIT_FOR = """
wait_for() {
    until eval "$1" > "$KEPT/waited" 2>&1; do
        [ $SECONDS -lt 50 ] || { echo "it was never so: $1" >&2; cat "$KEPT/waited" >&2; exit 1; }
        sleep 0.1
    done
}
set -e
"""
"""What the hidden commands of a page begin with."""

VARIABLE = (
    (r"\b\d{8}T\d{9}Z\b|\b\d{19}\b", "<time>"),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>"),
    (r"\b\d\d:\d\d(:\d\d)?\b", "<clock>"),
    (r"\b\d{8}-\d{6}-[0-9a-f]{4}\b", "<run>"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>"),
    (r"\batm_[0-9a-f]{16}[0-9a-f…]+", "<token>"),
    (r"\b[0-9a-f]{8}\b", "<id8>"),
    (r"\b[0-9a-f]{12}\b", "<id12>"),
    (r"\b(now|a moment ago|\d+ minutes? ago|\d+[smhd] ago)\b", "<age>"),
    (r"/[\w./-]*/\.(claude|config|local|atm\.toml)\b", "<home>/.\\1"),
    (r"/\S*/bin/python\S*", "<python>"),
    (r"'/\S*\[(\w+)\]'", r"'<clone>[\1]'"),
    (r"/(tmp|home)/\w+(?=/)", "<home>"),
    (r"\b[\d.]+ GB free, room for [\d,]+ files", "<room>"),
    (r"\b\d+ min (left|for)\b", r"<n> min \1"),
    (r"\(\d+ ms\)", "(<n> ms)"),
    (r"\b\d+(\.\d+)? s\b|\b\d+\.\d+s\b", "<n> s"),
    (r"\b(process|seq) \d+", r"\1 <n>"),
    (r"\b[\d,]+ (looks|MB|bytes)\b", r"<n> \1"),
    (r"127\.0\.0\.1:\d+/login\S*", "<link>"),
    (r"[ \t]+", " "),
    (r"─+", "─"),
)


def blocks(text: str) -> list[tuple[str, list[str]]]:
    found = re.findall(
        r"^ *(?:```(console|toml|markdown|python|sh)\n(.*?)^ *```|<!-- (run)\n(.*?)^ *-->)", text, re.S | re.M
    )
    return [(kind or run, dedent(block or script).strip("\n").split("\n")) for kind, block, run, script in found]


def is_missing(text: str) -> list[str]:
    """Programs that the page needs and this machine lacks."""
    needs = re.search(r"^<!-- needs (.*) -->$", text, re.M)
    return [one for one in (needs[1].split(", ") if needs else []) if shutil.which(one) is None]


def write_file(lines: list[str], sandbox: str) -> None:
    """`# ~/.config/atm/config.toml`, `# .atm.toml` or `<!-- plan.md -->`, then what it holds."""
    mark = "# " if lines[0].startswith("# ") else "<!-- "
    name = lines[0].removeprefix(mark).removesuffix(" -->").removeprefix("~/")
    if lines[0].startswith(mark) and name.endswith((".toml", ".md", ".py", ".sh")) and " " not in name:
        path = Path(sandbox, name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text("\n".join(lines[1:]) + "\n")


def commands(lines: list[str]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        elif found:
            found[-1][1].append(line)
    return found


def plain(lines: list[str]) -> list[str]:
    text = "\n".join(line.rstrip() for line in lines).strip()
    for pattern, mark in VARIABLE:
        text = re.sub(pattern, mark, text)
    return [line.strip() for line in text.split("\n") if line.strip()]


def same_ids(told: dict[str, str], expected: list[str], printed: list[str]) -> None:
    """The ids of a page are made anew in every run: what a later command of the page names is the one of this run."""
    theirs, ours = (re.findall(ID, "\n".join(lines)) for lines in (expected, printed))
    if len(theirs) == len(ours):
        told |= dict(zip(theirs, ours, strict=True))


def with_ids(command: str, told: dict[str, str]) -> str:
    return re.sub(ID, lambda found: told.get(found[0], found[0]), command)


def is_as_expected(printed: list[str], expected: list[str]) -> bool:
    """An expected text that ends with `…` says how it begins."""
    if expected[-1:] == ["…"]:
        return printed[: len(expected) - 1] == expected[:-1] and len(printed) >= len(expected)
    return printed == expected


class Shell:
    """One shell of one reader: folder and variables are kept from command to command."""

    def __init__(self, sandbox: str, kept: str) -> None:
        self._sandbox = sandbox
        self._kept = kept
        self.code = 0
        """What the last command ended with."""

    def run(self, command: str) -> list[str]:
        given = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        environment = {**given, "ATM_HOME": self._sandbox, "HOME": self._sandbox, "COLUMNS": "100"}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        environment |= {"GIT_CONFIG_NOSYSTEM": "1", "KEPT": self._kept, "TMUX_TMPDIR": self._kept}
        before = '[ -e "$KEPT/env" ] && . "$KEPT/env" 2>/dev/null && cd "$(cat "$KEPT/pwd")"'
        after = 'code=$?; declare -p | grep "^declare -[-x]* [A-Z]" > "$KEPT/env"; pwd > "$KEPT/pwd"; exit $code'
        # Files, and no pipes: what goes on in the background would keep these open.
        with open(f"{self._kept}/out", "w+") as out, open(f"{self._kept}/err", "w+") as err:
            process = subprocess.Popen(
                ["bash", "-c", f"{before}\n{command}\n{after}"],
                cwd=self._sandbox,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                self.code = process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                self.code = process.wait()
                return ["(it did not end within a minute)"]
            return [line for file in (out, err) if not file.seek(0) for line in file.read().split("\n")]

    def end(self) -> None:
        """Nothing of a page goes on after it."""
        self.run('[ ! -d "$ATM_HOME/.local/state/atm/daemon" ] || { atm stop --all; atm daemon stop; }')
        self.run('[ ! -e "$KEPT"/tmux-*/default ] || tmux kill-server')


class Page:
    """A page that is read from its beginning to its end, with every command typed."""

    def __init__(self, name: str, shell: Shell) -> None:
        self._name = name
        self._shell = shell
        self._told: dict[str, str] = {}
        self.count = 0
        self.wrong: list[str] = []

    def prepare(self, script: list[str]) -> None:
        printed = self._shell.run(with_ids("\n".join([WAIT_FOR, *script, "set +e"]), self._told))
        if self._shell.code:
            self.wrong.append(f"{self._name}: <!-- run ended with {self._shell.code}: {plain(printed)}\n")

    def type(self, command: str, expected: list[str]) -> None:
        self.count += 1
        said = self._shell.run(with_ids(command, self._told))
        same_ids(self._told, expected, said)
        printed = plain(said)
        if not is_as_expected(printed, plain(expected)):
            self.wrong.append(f"{self._name}: $ {command}\n  says   {plain(expected)}\n  prints {printed}\n")


def run_page(name: str) -> tuple[bool, str]:
    """Whether all of it was as the page says, and what there is to tell."""
    text = (ROOT / name).read_text()
    if missing := is_missing(text):
        return True, f"{name}: left out, there is no {' and no '.join(missing)}\n"
    with tempfile.TemporaryDirectory() as sandbox, tempfile.TemporaryDirectory() as kept:
        Path(sandbox, ".gitconfig").write_text("[user]\n\tname = Zoe\n")  # whoever makes a team is in it by that name
        shell = Shell(sandbox, kept)
        page = Page(name, shell)
        for kind, block in blocks(text):
            if kind == "run":
                page.prepare(block)
            elif kind == "console":
                for command, expected in commands(block):
                    page.type(command, expected)
            else:
                write_file(block, sandbox)
        shell.end()
    told = f"{''.join(page.wrong)}{name}: {page.count} commands run, {len(page.wrong)} differ\n"
    return bool(page.count) and not page.wrong, told


def main() -> int:
    good = True
    with ThreadPoolExecutor((os.cpu_count() or 2) + 2) as several:
        for as_said, told in several.map(run_page, sys.argv[1:] or PAGES):
            sys.stdout.write(told)
            sys.stdout.flush()
            good &= as_said
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
