"""
Which tests run which lines: found out once by following each test, and remembered in `.venv` until something changes.

It decides which tests a mutant meets. A test that never runs the mutated line cannot see the mutant.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.copies import Copy
from tests.mutants.mutations import Mutant


@dataclass(frozen=True, slots=True)
class Reaching:
    """A test that passes without mutants, and how long it took while it was followed."""

    name: str
    seconds: float
    is_within: bool
    """Does it call the code, or run the program?"""

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]

    def is_about(self, module: str) -> bool:
        """Does it stand where tests of this module stand, in its own folder or in its room?"""
        return f"tests/{module}".startswith(f"{self.file.rpartition('/')[0]}/")


class Reach:
    """Tests by the lines they run."""

    def __init__(self) -> None:
        self.tests: list[Reaching] = []
        self._by_line: dict[tuple[str, int], list[Reaching]] = defaultdict(list)

    def add(self, found: dict[str, dict[str, Any]], *, is_within: bool) -> None:
        for name, what in found.items():
            test = Reaching(name, what["seconds"], is_within)
            self.tests.append(test)
            for module, lines in what["lines"].items():
                for line in lines:
                    self._by_line[module, line].append(test)

    def of(self, mutant: Mutant) -> list[Reaching]:
        """The tests that run a line of the mutant, those that call the code first, and the quickest of them first."""
        lines = range(mutant.line, mutant.end_line + 1)
        found = {test.name: test for line in lines for test in self._by_line.get((mutant.module, line), ())}
        return sorted(found.values(), key=lambda test: (not test.is_within, test.seconds, test.name))


class Explorer:
    """Follows test files in copies of the project, unless the answer is remembered."""

    def __init__(self, root: Path, modules: Sequence[str], say: Callable[[str], None]) -> None:
        """`root` is one of the copies: the project itself may change while its tests are followed."""
        self._root = root
        self._modules = modules
        self._say = say
        self._memory = Path(sys.prefix) / "mutants"
        self._memory.mkdir(exist_ok=True)
        # What several test files use; and of this folder, what follows them.
        shared = [path for path in (root / "tests").rglob("*.py") if not path.name.startswith("test_")]
        here = [path for path in shared if path.parent.name != "mutants" or path.name in ("following.py", "plugin.py")]
        self._common = self._digest(json.dumps(list(modules)), [*(root / "src").rglob("*.py"), *here])

    def known(self, file: str) -> dict[str, dict[str, Any]] | None:
        path = self._place(file)
        if not path.exists():
            return None
        found: dict[str, dict[str, Any]] = json.loads(path.read_bytes())
        return found

    def forget_others(self, files: Iterable[str]) -> None:
        """What is remembered of other versions of the project takes room and is never asked for again."""
        kept = {self._place(file) for file in files}
        for path in self._memory.iterdir():
            if path not in kept:
                path.unlink(missing_ok=True)

    def explore(self, copy: Copy, file: str) -> dict[str, dict[str, Any]]:
        """Follow the tests of a file; those that fail without any mutant are named and left out."""
        copy.watch(self._modules)
        with tempfile.TemporaryDirectory() as notes:
            told = copy.run([file], notes=Path(notes), stop=False)
            if not told.ends and told.code != 5:
                raise RuntimeError(f"{file} cannot be run:\n{told.output}")
            found = {}
            for end in told.ends:
                if end["outcome"] == "failed":
                    self._say(f"left out, because it fails without a mutant: {end['ended']}")
                elif end["outcome"] == "passed":
                    found[end["ended"]] = {"seconds": end["seconds"], "lines": self._lines(Path(notes, end["lines"]))}
        self._place(file).write_text(json.dumps(found))
        return found

    def _lines(self, path: Path) -> dict[str, list[int]]:
        seen: dict[str, set[int]] = defaultdict(set)
        for entry in path.read_text().splitlines():
            number, _, line = entry.partition(":")
            seen[self._modules[int(number)]].add(int(line))
        return {module: sorted(lines) for module, lines in sorted(seen.items())}

    def _place(self, file: str) -> Path:
        path = self._root / file
        return self._memory / f"{path.stem}-{self._digest(self._common, [path])[:24]}.json"

    def _digest(self, start: str, files: Sequence[Path]) -> str:
        state = hashlib.sha256(start.encode())
        for path in sorted(files):
            state.update(f"\0{path.relative_to(self._root)}\0".encode() + path.read_bytes())
        return state.hexdigest()
