"""What is refused: by the system, as errors that name the file and the next step; and by us, where links lead away."""

from __future__ import annotations

from atm.core.errors import NoSuchTeam, WriteRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.ports.disk import Disk


def refused(path: str, error: OSError) -> WriteRefused:
    where = error.filename if isinstance(error.filename, str) else path
    return WriteRefused(f"{where}: {error.strerror or error}", "check permissions and free space, then try again", path)


def untold(what: str) -> None:
    """For adapters of whom nobody wants to hear what they could do without (see `mail.services.mailroom.Troubles`)."""
    del what


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


class RealRoot:
    """
    A folder whose own place hardly ever changes.

    What lies in it is looked at part by part, so a link is seen at once wherever another program puts one below the
    root; only then all of the path is resolved. The root itself is resolved again when another one lies there.
    """

    __slots__ = ("_disk", "_known", "_root")

    def __init__(self, disk: Disk, root: str) -> None:
        self._disk = disk
        self._root = root
        self._known: tuple[tuple[int, int] | None, str] | None = None

    @property
    def known(self) -> str:
        """Its real path, as it was last looked up."""
        return self._known[1] if self._known is not None else self._look()

    def _look(self) -> str:
        found = self._disk.look(self._root)
        lies_there = (found.dev, found.ino) if found is not None else None
        if self._known is None or self._known[0] != lies_there or lies_there is None:
            self._known = (lies_there, self._disk.real_path(self._root))
        return self._known[1]

    def inside(self, relative: str) -> str:
        """The real path of what has this path below the root; also of what is not there (yet)."""
        path = real = self._look()
        for part in relative.split("/"):
            path = f"{path}/{part}"
            found = self._disk.look(path)
            if found is None:
                break  # nothing further down can be a link
            if found.kind == "link":
                return self._disk.real_path(f"{self._root}/{relative}")
        return f"{real}/{relative}"
