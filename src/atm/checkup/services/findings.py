"""Findings of the check-up, what is wrong and the command that mends it; and checks, which find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from atm.core.errors import AtmError
from atm.core.untrusted_text import shell_word

PROBLEM, WARNING, NOTE = "problem", "warning", "note"
OK, TROUBLE, FAILED = "ok", "trouble", "failed"
FIX = "atm doctor --fix"
CHECK_FAILED = "check-failed"
CONSEQUENCES = (CHECK_FAILED, "unreadable-ledger", "unreadable-board", "cannot-write")


def owner_word(name: str) -> str:
    """Somebody as `chown` takes them: with the group that is theirs, where they have a name to find it by."""
    return name if name.isdecimal() else f"{shell_word(name)}:"


@dataclass(slots=True)
class Finding:
    """Something that is not as it should be."""

    code: str
    severity: str
    message: str
    command: str
    path: str = ""
    mend: Callable[[], object] | None = field(default=None, repr=False)
    mended: bool = False
    subject: str = ""
    """What it is about, where the path only names an example: by this it is known again after mending."""

    covers: tuple[str, ...] = ()
    """Paths that cannot be used because of it: whatever else fails there is mended by the same command."""

    @property
    def identity(self) -> tuple[str, str]:
        return self.code, self.subject or self.path

    @property
    def is_serious(self) -> bool:
        return self.severity in (PROBLEM, WARNING) and not self.mended


def name_causes(findings: list[Finding]) -> None:
    """What could not be looked at because of another finding is mended as that one is."""
    for finding in findings:
        if finding.code in CONSEQUENCES:
            causes = [one for one in findings for path in one.covers if f"{finding.path}/".startswith(f"{path}/")]
            finding.command = causes[0].command if causes else finding.command


@dataclass(slots=True)
class Check:
    """One thing that was looked at, whatever came of it."""

    name: str
    detail: str = ""
    findings: list[Finding] = field(default_factory=list)
    has_failed: bool = False
    """It could not be carried out to its end: what it did not find says nothing."""

    def look(self, at: Callable[[], Iterable[Finding | str]]) -> None:
        """Take what a look finds; a text is a detail. One that fails is a finding itself, and ends no other."""
        try:
            for one in at():
                if isinstance(one, str):
                    self.detail = one
                else:
                    self.findings.append(one)
        except AtmError as error:
            self._fail(str(error), error.path)
        except OSError as error:
            path = error.filename if isinstance(error.filename, str) else ""
            self._fail(f"{path}: {error.strerror or error}" if path else str(error), path)
        except Exception as error:  # noqa: BLE001 - a bug in one check must not hide what the others find
            self._fail(f"{type(error).__name__}: {error}; this is a bug in atm, please report it", "")

    def _fail(self, why: str, path: str) -> None:
        self.has_failed = True
        command = f"ls -la {shell_word(path)}" if path else "ATM_DEBUG=1 atm doctor"
        what = f"{self.name} could not be checked: {why}"
        self.findings.append(Finding(CHECK_FAILED, PROBLEM, what, command, path, subject=f"{self.name} {path}"))

    @property
    def state(self) -> str:
        if self.has_failed:
            return FAILED
        return TROUBLE if any(finding.is_serious for finding in self.findings) else OK
