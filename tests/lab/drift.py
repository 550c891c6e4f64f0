"""
What a newer version does differently: what its hooks are told and what it keeps in files, recorded in a run of the lab
and compared with the corpus.

    python -m tests.lab.drift build/lab             # after `make lab`
    python -m tests.lab.drift build/lab --record    # make the files of this run the recorded ones

Between a vendor's program and `atm hook` stands a script that keeps each payload; of files and settings the shapes are
kept before a home is removed (`files.py`). Compared are fields and their kinds, not what they say.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.lab import files
from tests.lab.shapes import Shape, merged, shape
from tests.lab.shapes import differences as shapes_differ

CORPUS = Path(__file__).parents[1] / "corpus" / "recorded_hooks"

SCRIPT = """#!/bin/sh
# Keeps what a hook is told, and hands it on.
if [ "$1" = hook ]; then
  kept="{folder}/$2-$3-$$.json"
  if [ $# -gt 3 ]; then printf %s "$4" > "$kept"; exec {atm} "$@"; fi
  cat > "$kept"
  exec {atm} "$@" < "$kept"
fi
exec {atm} "$@"
"""

PAYLOADS, FILES = "payloads", "files"
"""Folders of a run."""


def record(home: Path, atm: str, folder: Path) -> None:
    """Put the script between the programs of this home, which look for `atm` in their PATH, and the real one."""
    folder.mkdir(parents=True, exist_ok=True)
    script = home / "bin" / "atm"
    script.parent.mkdir()
    script.write_text(SCRIPT.format(folder=folder, atm=atm))
    script.chmod(0o755)


def shapes_in(folder: Path) -> dict[tuple[str, str], Shape]:
    """For each vendor and event every field that was ever there, and its kind."""
    found: dict[tuple[str, str], list[Shape]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            said = json.loads(path.read_bytes())
        except ValueError:
            continue
        vendor, _, rest = path.name.partition("-")
        if isinstance(said, dict):
            event = str(said.get("hook_event_name") or said.get("event") or re.split(r"[-.]", rest)[0])
            found.setdefault((vendor, event), []).append(shape(said, 1))
    return {key: merged(shapes) for key, shapes in found.items()}


def differences(folder: Path, corpus: Path = CORPUS) -> list[str]:
    """A line for each event that nobody recorded before, and for each field that came, went or is another kind now."""
    known, lines = shapes_in(corpus), []
    for (vendor, event), now in sorted(shapes_in(folder).items()):
        former = known.get((vendor, event))
        if former is None:
            lines.append(f"{vendor} {event}: not in the corpus; it says {', '.join(sorted(now))}")
        else:
            lines += shapes_differ(f"{vendor} {event}", former, now)
    return lines


def differences_of_files(folder: Path, corpus: Path = files.CORPUS) -> list[str]:
    """The same for what is in files, with the versions in the first line of a vendor of which something is told."""
    known, lines = files.recorded_in(corpus), []
    for vendor, now in files.recorded_in(folder).items():
        former = known.get(vendor, files.Recorded((), {}))
        told = [f"{vendor} {kind}: not in the corpus" for kind in sorted(now.files.keys() - former.files.keys())]
        for kind in sorted(now.files.keys() & former.files.keys()):
            told += shapes_differ(f"{vendor} {kind}", former.files[kind], now.files[kind])
        if told:
            lines += [f"{vendor} {' '.join(now.versions)}; recorded: {' '.join(former.versions) or 'nothing'}", *told]
    return lines


def main(words: list[str]) -> int:
    run = Path(words[0])
    if "--record" in words:
        files.record(run / FILES)
        return 0
    if not shapes_in(run / PAYLOADS):
        print(f"no hook was told anything: there is nothing in {run / PAYLOADS}")
        return 1
    for what, found in (("hooks", differences(run / PAYLOADS)), ("files", differences_of_files(run / FILES))):
        print("\n".join([f"{what}: not as in the corpus", *found]) if found else f"{what}: as in the corpus")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
