"""
Runs the sessions of the README and of tutorials, and compares what they print.

Blocks marked `console` hold lines that begin with `$ ` and what they print. They run one after the other in one shell
in one sandbox, as a reader types them; a line that begins with `> ` goes on with a command. Ids and times differ
from run to run and are compared as patterns; an id that a later command names is the one of this run. A last line `…`
stands for what follows. A block marked `toml`, `python` or `sh` whose first line is `# PATH`, or `markdown` whose first
line is `<!-- PATH -->`, is written to that file first. What cannot be run stands in blocks marked `text`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    *sorted(f"docs/{one.name}" for one in (ROOT / "docs").glob("*.md") if "```console\n" in one.read_text()),
]
"""Every page that has such a block: whoever writes one has it run."""

ID = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8}\b"

VARIABLE = (
    (r"\b\d{8}T\d{9}Z\b", "<time>"),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>"),
    (r"\b\d\d:\d\d(:\d\d)?\b", "<clock>"),
    (r"\b\d{8}-\d{6}-[0-9a-f]{4}\b", "<run>"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>"),
    (r"\b[0-9a-f]{8}\b", "<id8>"),
    (r"\b[0-9a-f]{12}\b", "<id12>"),
    (r"\b(now|\d+[smhd] ago)\b", "<age>"),
    (r"/[\w./-]*/\.(claude|config|local|atm\.toml)\b", "<home>/.\\1"),
    (r"/(tmp|home)/\w+(?=/)", "<home>"),
    (r"\b[\d.]+ GB free, room for [\d,]+ files", "<room>"),
    (r"\(\d+ ms\)", "(<n> ms)"),
    (r"\b\d+(\.\d+)? s\b", "<n> s"),
    (r"\bprocess \d+", "process <n>"),
    (r"127\.0\.0\.1:\d+/login\S*", "<link>"),
    (r"[ \t]+", " "),
    (r"─+", "─"),
)


def blocks(text: str) -> list[tuple[str, list[str]]]:
    found = re.findall(r"^```(console|toml|markdown|python|sh)\n(.*?)^```", text, re.S | re.M)
    return [(kind, block.strip("\n").split("\n")) for kind, block in found]


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

    def run(self, command: str) -> list[str]:
        environment = {**os.environ, "ATM_HOME": self._sandbox, "HOME": self._sandbox, "COLUMNS": "100"}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        environment |= {"GIT_CONFIG_NOSYSTEM": "1", "KEPT": self._kept}
        before = '[ -e "$KEPT/env" ] && . "$KEPT/env" 2>/dev/null && cd "$(cat "$KEPT/pwd")"'
        after = 'declare -p | grep "^declare -[-x]* [A-Z]" > "$KEPT/env"; pwd > "$KEPT/pwd"'
        # Files, and no pipes: what goes on in the background would keep these open.
        with open(f"{self._kept}/out", "w+") as out, open(f"{self._kept}/err", "w+") as err:
            subprocess.run(
                ["bash", "-c", f"{before}\n{command}\n{after}"],
                cwd=self._sandbox,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=120,
                check=False,
            )
            return [line for file in (out, err) if not file.seek(0) for line in file.read().split("\n")]


def run_page(page: str) -> tuple[int, int]:
    """How many commands were run, and how many printed something else."""
    wrong = count = 0
    told: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as sandbox, tempfile.TemporaryDirectory() as kept:
        Path(sandbox, ".gitconfig").write_text("[user]\n\tname = Zoe\n")  # whoever makes a team is in it by that name
        shell = Shell(sandbox, kept)
        for kind, block in blocks((ROOT / page).read_text()):
            if kind != "console":
                write_file(block, sandbox)
                continue
            for command, expected in commands(block):
                count += 1
                said = shell.run(with_ids(command, told))
                same_ids(told, expected, said)
                printed = plain(said)
                if not is_as_expected(printed, plain(expected)):
                    wrong += 1
                    sys.stderr.write(f"{page}: $ {command}\n  says   {plain(expected)}\n  prints {printed}\n")
        shell.run("atm stop --all; atm daemon stop")
    sys.stdout.write(f"{page}: {count} commands run, {wrong} differ\n")
    return count, wrong


def main() -> int:
    done = [run_page(page) for page in sys.argv[1:] or PAGES]
    return 1 if any(wrong or not count for count, wrong in done) else 0


if __name__ == "__main__":
    sys.exit(main())
