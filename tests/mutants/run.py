"""
`make mutants`: does the suite notice when the code that carries the guarantees lies?

Small lies, drawn by a seed, are told one at a time in copies of the project, and the tests that run that line are run.
A lie that no test contradicts has survived: it is shown as a difference, and somebody has a test to write.
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import json
import queue
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.mutants.copies import Copy, Told
from tests.mutants.mutations import Mutant, draw, mutants_of
from tests.mutants.reach import Explorer, Reach, Reaching
from tests.mutants.targets import CARRIERS, COUNT, EQUIVALENT, SEED, carriers, relevant_tests

ROOT = Path(__file__).parents[2]

KILLED, HUNG, SURVIVED, EQUAL = "killed", "hung", "survived", "equivalent"

FIRST_SECONDS, WITHIN_SECONDS, PROGRAM_SECONDS = 3.0, 60.0, 90.0
"""How much of the tests a mutant meets: a few quick ones about its module, the others about it, as much of what calls
it from elsewhere, then programs. In seconds that they took while they were followed, which is more than they take."""

PATIENCE, FACTOR = 20.0, 5.0
"""A test that takes so many seconds and so many times longer than it did hangs."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a mutant, and which test said so."""

    mutant: Mutant
    outcome: str
    test: str | None = None
    reached_by: int = 0
    seconds: float = 0.0


class Trial:
    """Puts mutants before the tests that reach them."""

    def __init__(self, sources: dict[str, str], reach: Reach) -> None:
        self._sources = sources
        self._reach = reach

    def judge(self, copy: Copy, mutant: Mutant) -> Verdict:
        tests = self._reach.of(mutant)
        began = time.monotonic()
        outcome, by = SURVIVED, None
        copy.put(mutant.module, mutant.in_source(self._sources[mutant.module]))
        try:
            for wave in waves(tests, mutant.module):
                outcome, by = self._meet(copy, wave)
                if outcome != SURVIVED:
                    break
        finally:
            copy.put(mutant.module, self._sources[mutant.module])
        return Verdict(mutant, outcome, by, len(tests), round(time.monotonic() - began, 1))

    def _meet(self, copy: Copy, wave: list[Reaching]) -> tuple[str, str | None]:
        outcome, by = _outcome_of(_run(copy, wave))
        accused = next((test for test in wave if test.name == by), None)
        if outcome == SURVIVED or accused is None or accused.is_within:
            return outcome, by
        # Programs have time limits of their own and this machine is busy: a word against a mutant is said twice.
        again, _ = _outcome_of(_run(copy, [accused]))
        return (outcome, by) if again != SURVIVED else self._meet(copy, [test for test in wave if test is not accused])


def waves(tests: Sequence[Reaching], module: str) -> Iterator[list[Reaching]]:
    """The tests in the order and the portions in which a mutant meets them; the quickest of each kind first."""
    within = [test for test in tests if test.is_within]
    near = _up_to(WITHIN_SECONDS, [test for test in within if test.is_about(module)])
    far = _up_to(WITHIN_SECONDS, [test for test in within if not test.is_about(module)])
    first = _up_to(FIRST_SECONDS, near)
    programs = _up_to(PROGRAM_SECONDS, [test for test in tests if not test.is_within])
    for wave in (first, near[len(first) :], far, programs):
        if wave:
            yield wave


def _up_to(seconds: float, tests: Sequence[Reaching]) -> list[Reaching]:
    """As many from the start as take so long together, and one at least."""
    chosen: list[Reaching] = []
    for test in tests:
        seconds -= test.seconds
        if chosen and seconds < 0:
            break
        chosen.append(test)
    return chosen


def _run(copy: Copy, tests: Sequence[Reaching]) -> Told:
    limits = {test.name: PATIENCE + FACTOR * test.seconds for test in tests}
    return copy.run(sorted({test.file for test in tests}), limits=limits)


def _outcome_of(told: Told) -> tuple[str, str | None]:
    if told.failed:
        return KILLED, told.failed
    if told.code == 0:
        return SURVIVED, None
    if told.unfinished:
        return HUNG, told.unfinished
    return KILLED, "the tests cannot be collected"


class Crowd:
    """A few copies of the project, each with one thing to do at a time."""

    def __init__(self, copies: Sequence[Copy]) -> None:
        self._free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        self._size = len(copies)
        for copy in copies:
            self._free.put(copy)

    def each(self, items: Sequence[Item], work: Callable[[Copy, Item], Answer], title: str) -> Iterator[Answer]:
        """Work at every item; answers in their order, progress on stderr."""
        began = time.monotonic()
        ends = itertools.count(1)

        def one(item: Item) -> Answer:
            copy = self._free.get()
            try:
                return work(copy, item)
            finally:
                self._free.put(copy)
                done = next(ends)
                left = (time.monotonic() - began) / done * (len(items) - done)
                say(f"{title} {done}/{len(items)}, about {left / 60:.0f} min left")

        with ThreadPoolExecutor(self._size) as pool:
            try:
                yield from pool.map(one, items)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@contextmanager
def copies_of(root: Path, count: int) -> Iterator[list[Copy]]:
    """All alike: the others are made of the first, because somebody may be at work in the project."""
    with tempfile.TemporaryDirectory(prefix="atm-mutants-", ignore_cleanup_errors=True) as folder:
        copies = [Copy(root, Path(folder).resolve() / "copy0")]
        copies += [Copy(copies[0].folder, copies[0].folder.with_name(f"copy{number}")) for number in range(1, count)]
        yield copies


def candidates(source: Path, only: str = "") -> tuple[list[Mutant], dict[str, str]]:
    """Every mutant there is in the modules of the table, and their sources."""
    sources = {name: (source / name).read_text() for name in carriers(source) if only in name}
    if not sources:
        raise SystemExit(f"no module of the table has {only!r} in its name")
    mutants = [mutant for name, text in sources.items() for mutant in mutants_of(name, text)]
    known = {mutant.key for mutant in mutants}
    stale = [key for key in EQUIVALENT if key[0] in sources and key not in known]
    if stale:
        raise SystemExit(f"EQUIVALENT has entries that fit no mutant: {stale}")
    return mutants, sources


def find_reach(root: Path, crowd: Crowd, modules: Sequence[str]) -> Reach:
    explorer = Explorer(root, modules, say)
    files = relevant_tests(root / "tests")
    unknown = [file for file in files if explorer.known(file) is None]
    for _ in crowd.each(unknown, explorer.explore, "followed test files"):
        pass
    explorer.forget_others(files)
    reach = Reach()
    for file, is_within in files.items():
        reach.add(explorer.known(file) or {}, is_within=is_within)
    return reach


def run(root: Path, drawn: Sequence[Mutant], sources: dict[str, str], jobs: int) -> list[Verdict]:
    """Judge each mutant that is not known to be equivalent."""
    equal = {mutant for mutant in drawn if mutant.key in EQUIVALENT}
    verdicts = [Verdict(mutant, EQUAL) for mutant in equal]
    tried = [mutant for mutant in drawn if mutant not in equal]
    with copies_of(root, jobs) as copies:
        crowd = Crowd(copies)
        trial = Trial(sources, find_reach(copies[0].folder, crowd, list(CARRIERS)))
        verdicts += crowd.each(tried, trial.judge, "mutants")
    return sorted(verdicts, key=lambda verdict: (verdict.mutant.module, verdict.mutant.start, verdict.mutant.text))


def score_of(verdicts: Sequence[Verdict]) -> float:
    """Per cent of the mutants that can be told from the original. No mutants, no claim: 0."""
    counted = [verdict for verdict in verdicts if verdict.outcome != EQUAL]
    noticed = [verdict for verdict in counted if verdict.outcome != SURVIVED]
    return 100 * len(noticed) / len(counted) if counted else 0.0


def report(verdicts: Sequence[Verdict], sources: dict[str, str], seed: int) -> Iterator[str]:
    for verdict in verdicts:
        if verdict.outcome == SURVIVED:
            yield from difference(verdict, sources[verdict.mutant.module])
    for verdict in verdicts:
        if verdict.outcome == EQUAL:
            mutant = verdict.mutant
            yield f"equivalent: {mutant.module}:{mutant.line} {mutant.label}\n  {EQUIVALENT[mutant.key]}"
    counts = {kind: sum(verdict.outcome == kind for verdict in verdicts) for kind in (KILLED, HUNG, SURVIVED, EQUAL)}
    told = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    yield f"seed {seed}, {len(verdicts)} mutants: {told}; score {score_of(verdicts):.1f} %"


def difference(verdict: Verdict, source: str) -> Iterator[str]:
    mutant = verdict.mutant
    yield f"survived, reached by {verdict.reached_by} tests: {mutant.module}:{mutant.line} in {mutant.function}"
    lines = source.splitlines(), mutant.in_source(source).splitlines()
    yield from list(difflib.unified_diff(*lines, mutant.module, mutant.module, lineterm="", n=2))[2:]
    yield ""


def as_json(verdict: Verdict) -> dict[str, object]:
    mutant = verdict.mutant
    return {
        "module": mutant.module,
        "function": mutant.function,
        "line": mutant.line,
        "kind": mutant.kind,
        "says": mutant.key[2],
        "outcome": verdict.outcome,
        "test": verdict.test,
        "reached_by": verdict.reached_by,
        "seconds": verdict.seconds,
    }


def told_in(path: Path, mutants: Sequence[Mutant], *, only_survivors: bool) -> list[Mutant]:
    """Those of an earlier run's mutants that the source still has, in whatever module they stand by now."""
    told = [one for one in json.loads(path.read_bytes())["mutants"] if not only_survivors or one["outcome"] == SURVIVED]
    names = {(one["function"], one["says"]) for one in told}
    found = [mutant for mutant in mutants if mutant.key[1:] in names]
    say(f"{len(found)} of the {len(told)} mutants of {path} are still there")
    return found


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="how many mutants (%(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="which ones (%(default)s)")
    parser.add_argument("--only", default="", metavar="MODULE", help="draw from modules with this in their path")
    parser.add_argument("--again", type=Path, metavar="FILE", help="no draw: the mutants of an earlier --json")
    parser.add_argument("--survivors", action="store_true", help="with --again: of these, the ones that survived")
    parser.add_argument("--at-least", type=float, default=0.0, metavar="PER_CENT", help="exit code 1 below this score")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every verdict there")
    parser.add_argument("--list", action="store_true", help="show what would be run, and stop")
    args = parser.parse_args(words)

    mutants, sources = candidates(ROOT / "src" / "atm", args.only)
    if args.again:
        drawn = told_in(args.again, mutants, only_survivors=args.survivors)
    else:
        drawn = draw(mutants, args.count, args.seed)
    if args.list:
        for mutant in drawn:
            print(f"{mutant.module}:{mutant.line} {mutant.function}: {mutant.label}")
        return 0
    verdicts = run(ROOT, drawn, sources, args.jobs)
    print("\n".join(report(verdicts, sources, args.seed)))
    if args.json:
        told = {"seed": args.seed, "score": score_of(verdicts), "mutants": [as_json(verdict) for verdict in verdicts]}
        args.json.write_text(json.dumps(told, indent=1) + "\n")
    return 0 if score_of(verdicts) >= args.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
