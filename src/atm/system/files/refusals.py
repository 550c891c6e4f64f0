"""What the system says when it refuses, as errors that name the file and the next step."""

from __future__ import annotations

from atm.domain.errors import NoSuchTeam, WriteRefused


def refused(path: str, error: OSError) -> WriteRefused:
    where = error.filename if isinstance(error.filename, str) else path
    return WriteRefused(f"{where}: {error.strerror or error}", "check permissions and free space, then try again", path)


class explained:
    """`with explained(path):` turns every OSError inside into a WriteRefused."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise refused(self._path, error) from error


class in_team(explained):
    """The same for files in a team's folder, which may be gone: Claude Code removes it when a session ends."""

    __slots__ = ()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise NoSuchTeam(
                f"the folder of {self._path} is gone", "the team may have ended; see `atm teams`", self._path
            ) from error
        super().__exit__(kind, error, trace)
