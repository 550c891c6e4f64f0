"""
What hooks are told, recorded in a run of the lab and compared with the corpus: what a newer version says differently.

Between a vendor's program and `atm hook` stands a script that keeps each payload. Compared are the fields and their
kinds, not what they say.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

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

Shape = dict[str, str]


def record(home: Path, atm: str, folder: Path) -> None:
    """Put the script between the programs of this home, which look for `atm` in their PATH, and the real one."""
    folder.mkdir(parents=True, exist_ok=True)
    script = home / "bin" / "atm"
    script.parent.mkdir()
    script.write_text(SCRIPT.format(folder=folder, atm=atm))
    script.chmod(0o755)


def shapes_in(folder: Path) -> dict[tuple[str, str], Shape]:
    """For each vendor and event every field that was ever there, and its kind."""
    found: dict[tuple[str, str], Shape] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            said = json.loads(path.read_bytes())
        except ValueError:
            continue
        vendor, _, rest = path.name.partition("-")
        if isinstance(said, dict):
            event = str(said.get("hook_event_name") or said.get("event") or re.split(r"[-.]", rest)[0])
            found.setdefault((vendor, event), {}).update({key: type(value).__name__ for key, value in said.items()})
    return found


def differences(folder: Path, corpus: Path = CORPUS) -> list[str]:
    """A line for each event that nobody recorded before, and for each field that came or is another kind now."""
    known, lines = shapes_in(corpus), []
    for (vendor, event), shape in sorted(shapes_in(folder).items()):
        former = known.get((vendor, event))
        if former is None:
            lines.append(f"{vendor} {event}: not in the corpus; it says {', '.join(sorted(shape))}")
            continue
        lines += [f"{vendor} {event}: new field {key} ({shape[key]})" for key in sorted(shape.keys() - former.keys())]
        lines += [
            f"{vendor} {event}: {key} was {former[key]} and is {shape[key]}"
            for key in sorted(shape.keys() & former.keys())
            if former[key] != shape[key]
        ]
    return lines


def main(words: list[str]) -> int:
    if not shapes_in(Path(words[0])):
        print(f"no hook was told anything: there is nothing in {words[0]}")
        return 1
    found = differences(Path(words[0]))
    print("\n".join(["hooks were told what the corpus does not know:", *found]) if found else "hooks: as in the corpus")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
