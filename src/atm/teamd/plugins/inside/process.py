"""
The process of one plugin: `python -m atm.teamd.plugins.inside.process`, started by the daemon.

It says who the plugin is, runs its `init`, `run` and `shutdown`, beats from the plugin's own event loop so that a
blocked loop is noticed, and ends by itself when the daemon is gone. It leaves by `os._exit`: a thread or a task that
the plugin forgot keeps nobody alive.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator

from atm.plugins.rules.health import INIT
from atm.teamd.plugins.api import Plugin, PluginMetadata
from atm.teamd.plugins.discovery import load_plugin
from atm.teamd.plugins.order import PluginOrder, order_from
from atm.teamd.plugins.report import describe_error, introduction, tell_end
from atm.teamd.plugins.wire import HELLO, START, LineWriter, decode_line, read_lines

DONE, FAILED = 0, 1


def main(words: list[str]) -> int:
    source, target = move_streams()
    wire = LineWriter(target)
    if len(words) == 3 and words[0] == "--describe":
        return _describe(wire, words[1], words[2])
    lines = read_lines(source)
    order = _first_order(lines)
    if order is None:
        return FAILED
    try:
        plugin, metadata = load_plugin(order.target, order.name)
    except BaseException as error:  # noqa: BLE001 - also SystemExit: a plugin may do anything while it is imported
        tell_end(wire, INIT, error)
        return FAILED
    wire.send(HELLO, **introduction(metadata))
    return _live(plugin, metadata, order, wire, lines)


def move_streams() -> tuple[int, int]:
    """Keep standard input and output for the wire; what the plugin prints goes where its errors go."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target


def _first_order(lines: Iterator[bytes]) -> PluginOrder | None:
    for line in lines:
        decoded = decode_line(line)
        if decoded is not None and decoded[0] == START:
            return order_from(decoded[1])
    return None  # the daemon ended before it said anything


def _live(
    plugin: Plugin, metadata: PluginMetadata, order: PluginOrder, wire: LineWriter, lines: Iterator[bytes]
) -> int:
    from atm.teamd.plugins.inside.life import Life, end_everything

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    life = Life(plugin, metadata, order, wire)
    failure: BaseException | None
    try:
        failure = loop.run_until_complete(life.live(lines))
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt leave a loop in the middle
        failure = error
    if life.is_orphaned:
        end_everything()
    tell_end(wire, life.phase, failure)
    return DONE if failure is None else FAILED


def _describe(wire: LineWriter, name: str, target: str) -> int:
    try:
        _, metadata = load_plugin(target, name)
    except BaseException as error:  # noqa: BLE001 - as above
        wire.send(HELLO, error=describe_error(error))
        return FAILED
    wire.send(HELLO, **introduction(metadata))
    return DONE


if __name__ == "__main__":
    code = main(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    os._exit(code)
