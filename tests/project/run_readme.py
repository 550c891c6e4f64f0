"""
Runs the sessions of the README and of tutorials, and compares what they print.

Blocks marked `console` hold lines that begin with `$ ` and what they print. They run one after the other in one
sandbox. Ids, times and folders differ from run to run and are compared as patterns. A
last line `…` stands for what follows. A block marked `toml` whose first line is `# PATH`, or `markdown` whose
first line is `<!-- PATH -->`, is written to that file first.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "docs/tutorial-first-run.md",
    "docs/tutorial-agents.md",
    "docs/tutorial-sessions.md",
    "docs/how-to-approvals.md",
    "docs/how-to-plans.md",
    "docs/how-to-merge.md",
    "docs/screen.md",
    "docs/web.md",
)

VARIABLE = (
    (r"\b\d{8}-\d{6}-[0-9a-f]{4}\b", "<run>"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>"),
    (r"\b[0-9a-f]{8}\b", "<id8>"),
    (r"\b[0-9a-f]{12}\b", "<id12>"),
    (r"\b(now|\d+[smhd] ago)\b", "<age>"),
    (r"/[\w./-]*/\.(claude|config|local|atm\.toml)\b", "<home>/.\\1"),
    (r"\(\d+ ms\)", "(<n> ms)"),
    (r"\b\d+(\.\d+)? s\b", "<n> s"),
    (r"\bprocess \d+", "process <n>"),
    (r"127\.0\.0\.1:\d+/login\S*", "<link>"),
    (r"[ \t]+", " "),
    (r"─+", "─"),
)


def blocks(text: str) -> list[tuple[str, list[str]]]:
    found = re.findall(r"^```(console|toml|markdown)\n(.*?)^```", text, re.S | re.M)
    return [(kind, block.strip("\n").split("\n")) for kind, block in found]


def write_file(lines: list[str], sandbox: str) -> None:
    """`# ~/.config/atm/config.toml`, `# .atm.toml` or `<!-- plan.md -->`, then what it holds."""
    mark = "# " if lines[0].startswith("# ") else "<!-- "
    name = lines[0].removeprefix(mark).removesuffix(" -->").removeprefix("~/")
    if lines[0].startswith(mark) and name.endswith((".toml", ".md")) and " " not in name:
        path = Path(sandbox, name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text("\n".join(lines[1:]) + "\n")


def commands(lines: list[str]) -> list[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def plain(lines: list[str]) -> list[str]:
    text = "\n".join(line.rstrip() for line in lines).strip()
    for pattern, mark in VARIABLE:
        text = re.sub(pattern, mark, text)
    return [line.strip() for line in text.split("\n") if line.strip()]


def is_as_expected(printed: list[str], expected: list[str]) -> bool:
    """An expected text that ends with `…` says how it begins."""
    if expected[-1:] == ["…"]:
        return printed[: len(expected) - 1] == expected[:-1] and len(printed) >= len(expected)
    return printed == expected


def run(command: str, sandbox: str) -> list[str]:
    environment = {**os.environ, "ATM_HOME": sandbox, "HOME": sandbox, "COLUMNS": "100"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=sandbox, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return (done.stdout + done.stderr).split("\n")


def run_page(page: str) -> tuple[int, int]:
    """How many commands were run, and how many printed something else."""
    wrong = count = 0
    with tempfile.TemporaryDirectory() as sandbox:
        for kind, block in blocks((ROOT / page).read_text()):
            if kind != "console":
                write_file(block, sandbox)
                continue
            for command, expected in commands(block):
                count += 1
                printed = plain(run(command, sandbox))
                if not is_as_expected(printed, plain(expected)):
                    wrong += 1
                    sys.stderr.write(f"{page}: $ {command}\n  says   {plain(expected)}\n  prints {printed}\n")
        run("atm stop --all; atm daemon stop", sandbox)
    sys.stdout.write(f"{page}: {count} commands run, {wrong} differ\n")
    return count, wrong


def main() -> int:
    done = [run_page(page) for page in PAGES]
    return 1 if any(wrong or not count for count, wrong in done) else 0


if __name__ == "__main__":
    sys.exit(main())
