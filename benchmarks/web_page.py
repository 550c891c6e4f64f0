"""The page: from news of a large team to the paint that shows them. Without a browser it is not measured."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace

from benchmarks.cases import Bench
from benchmarks.rows import Row

ROUNDS, QUICK_ROUNDS = 60, 10
LARGE, QUICK_LARGE = (50, 1000), (10, 100)
MOST = 100.0
VIEWS = {"overview": "", "board": "/board", "list": "/board/list", "agents": "/agents"}
WHY = "the browser shares two cores with the server that it is told by"
HEAR = """
(() => {
  // From the moment at which the browser hands the event over to the one at which the next frame has been painted.
  window.paints = [];
  const listen = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (kind, ear) {
    listen.call(this, kind, kind !== "change" ? ear : (event) => {
      const begun = performance.now();
      ear(event);
      requestAnimationFrame(() => { const after = new MessageChannel();
        after.port1.onmessage = () => window.paints.push(performance.now() - begun); after.port2.postMessage(0); });
    });
  };
})()
"""


@dataclass(frozen=True, slots=True)
class PageFigures:
    """Milliseconds, by view; empty where there is no browser."""

    size: tuple[int, int]
    paints: dict[str, list[float]]


def measure_page(bench: Bench) -> PageFigures:
    quick = bench.effort.rounds < 10
    rounds, size = (QUICK_ROUNDS, QUICK_LARGE) if quick else (ROUNDS, LARGE)
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        bench.say("the page: not measured; `make browser` brings what it takes")
        return PageFigures(size, {})
    bench.say(f"the page: {rounds} updates of {size[0]} agents and {size[1]} tasks, in each of {len(VIEWS)} views")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        found = {name: _paints(browser, path, rounds, size) for name, path in VIEWS.items()}
        browser.close()
    return PageFigures(size, found)


def _paints(browser: object, path: str, rounds: int, size: tuple[int, int]) -> list[float]:
    from tests.web import lantern_page as made
    from tests.web.browser.conftest import until
    from tests.web.made_server import MadeServer

    with MadeServer(made.crowd(*size)) as server:
        page = browser.new_page(viewport={"width": 1440, "height": 900})  # type: ignore[attr-defined]
        page.add_init_script(HEAR)
        page.goto(f"{server.url}/t/crowd{path}")
        page.wait_for_selector("#main .strip")
        until(page, "document.querySelector('.side-foot').innerText.includes('live')")
        for at in range(rounds):
            assert server.seen is not None
            tasks = [*server.seen.tasks]
            which = (at * 37) % len(tasks)
            state = "completed" if tasks[which].state != "completed" else "in_progress"
            tasks[which] = replace(tasks[which], state=state, subject=f"changed {at}")
            server.change(replace(server.seen, tasks=tasks))
            until(page, f"window.paints.length >= {at + 1}")
        found: list[float] = page.evaluate("window.paints")
        page.close()
    return sorted(found)


def page_targets(found: PageFigures) -> list[Row]:
    return [
        Row(
            f"the page ({name}) of {found.size[0]} agents and {found.size[1]} tasks: news → painted, p95",
            f"{paints[int(0.95 * (len(paints) - 1))]:.0f} ms",
            f"median {paints[len(paints) // 2]:.0f} ms",
            f"≤ {MOST:.0f} ms",
            paints[int(0.95 * (len(paints) - 1))] <= MOST,
            WHY,
        )
        for name, paints in found.paints.items()
    ]
