"""
The tests, made ready once for several runners: pytest rewrites every assertion before a test can run, which takes one
runner twenty seconds, and each would do it for itself. What is rewritten is kept beside the tests.

    python -m tests.prepared RUNNERS

Only rewritten: collecting the tests, which pytest would do in the same breath, takes twice as long and helps nobody.
For that we reach behind its doors; where a newer pytest has others there, each runner does it for itself as ever.
"""

from __future__ import annotations

import py_compile
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

TESTS = Path(__file__).parent


def main(runners: int) -> int:
    ours = {*TESTS.rglob("*.py")} - {*TESTS.rglob("node_modules/**/*.py")}
    files = sorted(ours, key=lambda path: -path.stat().st_size)
    try:
        with ProcessPoolExecutor(runners) as pool:
            list(pool.map(prepare, [files[number::runners] for number in range(runners)]))
    except Exception:  # noqa: BLE001 - what cannot be prepared is said by the run itself, or prepared there
        return 0
    return 0


def prepare(files: list[Path]) -> None:
    from _pytest.assertion import AssertionState, rewrite
    from _pytest.config import get_config

    config = get_config()
    config.parse(["-c", "/dev/null", "--rootdir", str(TESTS)])  # pytest's own settings, and no plugin of ours
    state = AssertionState(config, "rewrite")
    for path in files:
        if path.name != "conftest.py" and not path.name.startswith("test_"):
            py_compile.compile(str(path))  # what they share: some machines forbid Python to keep what it compiled
            continue
        kept = rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)
        kept.parent.mkdir(exist_ok=True)
        if rewrite._read_pyc(path, kept) is None:
            of_source, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, of_source, kept)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
