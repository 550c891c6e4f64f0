"""
The tests, made ready once for several runners: pytest rewrites every assertion before a test can run, which takes one
runner twenty seconds, and each would do it for itself. What is rewritten is kept beside the tests.

    python -m tests.prepared RUNNERS
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def main(runners: int) -> int:
    files = sorted(TESTS.rglob("test_*.py"), key=lambda path: -path.stat().st_size)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", "-p", "no:xdist"]
    parts = [
        [str(path) for path in files[number::runners] if "node_modules" not in path.parts] for number in range(runners)
    ]
    started = [
        subprocess.Popen([*collect, *part], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for part in parts
        if part
    ]
    for one in started:
        one.wait()
    return 0  # what cannot be collected is said by the run itself


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
