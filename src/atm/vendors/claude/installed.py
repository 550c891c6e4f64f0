"""Which Claude Code is installed: `claude --version`, asked once for each binary and remembered."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

from atm.files.adapters.disk import make_private, open_private
from atm.files.formats.json_record import NotJson, decode_object, indent, to_bytes, to_text
from atm.files.formats.times import to_iso
from atm.vendors.claude.version import SchemaVersion, schema_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.files.formats.layout import Layout

LONGEST_ANSWER = 5.0
"""Seconds. A binary that does not say its version by then is treated as unknown, not waited for."""


def detect(layout: Layout, environment: Mapping[str, str]) -> SchemaVersion:
    """The schema of the installed Claude Code. The cache is good while the binary is the same file."""
    binary = shutil.which("claude", path=environment.get("PATH"))
    if binary is None:
        return schema_for("")
    real = os.path.realpath(binary)
    try:
        found = os.stat(real)
    except OSError:  # gone, or shut, since we looked
        return schema_for("")
    mark = f"{found.st_size}-{found.st_mtime_ns}"
    cached = _cached(layout.claude_version, real, mark)
    if cached is not None:
        return schema_for(cached)
    answer = _ask(binary, environment)
    _remember(layout, real, mark, answer)
    return schema_for(answer)


def _cached(path: str, binary: str, mark: str) -> str | None:
    try:
        with open(path, "rb") as file:
            fields = decode_object(to_text(file.read()))
    except (OSError, NotJson):
        return None
    version = fields.get("version_text")
    same = fields.get("binary") == binary and fields.get("mark") == mark
    return version if same and isinstance(version, str) else None


def _ask(binary: str, environment: Mapping[str, str]) -> str:
    try:
        result = subprocess.run(
            [binary, "--version"],
            capture_output=True,
            timeout=LONGEST_ANSWER,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.decode("utf-8", "replace")[:200].strip()


def _remember(layout: Layout, binary: str, mark: str, answer: str) -> None:
    path, schema = layout.claude_version, schema_for(answer)
    content = {
        "binary": binary,
        "mark": mark,
        "version_text": answer,
        "claude_version": schema.claude_version,
        "schema": schema.maturity.value,
        "detected_at": to_iso(time.time()),
    }
    try:
        make_private(os.path.dirname(path), layout.private_roots)
        temporary = f"{path}.{os.getpid()}.new"
        with open(temporary, "wb", opener=open_private) as file:
            file.write(to_bytes(indent(content) + "\n"))
        os.replace(temporary, path)
    except OSError:
        return  # asked again next time
