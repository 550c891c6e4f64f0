"""
The rival: mail as most people would write it, with `filelock` and `json`.

A lock file beside the inbox, the whole file read and written anew, fsync, rename. It does less than `atm send`: no
lock that Claude Code respects, no ledger, no fsync of the folder, no care for writers without a lock. It uses nothing
of atm and is installed beside it, so that both start from the same interpreter. Three styles: how people write it, how
it is quickest, and the quickest with as many fsyncs as `atm send` has.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from datetime import UTC, datetime
from typing import Any, TextIO

from filelock import FileLock

Row = dict[str, Any]


def new_row(sender: str, text: str) -> Row:
    """The fields that `atm send` writes, in the same order."""
    message_id = str(uuid.uuid4())
    return {
        "from": sender,
        "text": text,
        "summary": text[:60],
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "message_id": message_id,
        "msgV": 1,
        "msg_id": message_id,
        "type": "message",
        "read": False,
    }


def append(path: str, row: Row, style: str) -> None:
    """Add one row and make it durable."""
    with FileLock(f"{path}.lock"):
        rows = read(path)
        rows.append(row)
        temporary = f"{path}.new"
        with open(temporary, "w", encoding="utf-8") as file:
            STYLES[style](rows, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        if style == DURABLE:
            sync_folder(os.path.dirname(path))
            log(f"{path}.log", row)


def sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def log(path: str, row: Row) -> None:
    """A line in a book beside the inbox."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: str) -> list[Row]:
    try:
        with open(path, encoding="utf-8") as file:
            rows: list[Row] = json.load(file)
    except FileNotFoundError:
        return []
    return rows


def dump(rows: list[Row], file: TextIO) -> None:
    """As everybody writes it. With `indent=2`, which would keep the layout of the file, it is slower still."""
    json.dump(rows, file)


def dumps(rows: list[Row], file: TextIO) -> None:
    """The quickest that `json` can do: in one piece, so that it is encoded in C."""
    file.write(json.dumps(rows))


DURABLE = "durable"
STYLES = {"dump": dump, "dumps": dumps, DURABLE: dumps}
NAMES = {"dump": "`json.dump`", "dumps": "`json.dumps`", DURABLE: "`json.dumps` and as many fsyncs"}
"""In words."""


def send(path: str, sender: str, text: str, style: str) -> str:
    """Send one message; its id."""
    row = new_row(sender, text)
    append(path, row, style)
    return str(row["message_id"])


def main() -> None:
    """As a program: `baseline STYLE INBOX SENDER TEXT`."""
    style, path, sender, text = sys.argv[1:]
    print(send(path, sender, text, style))
