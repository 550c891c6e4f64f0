"""Where a program keeps its conversations, and how a person goes on with one."""

from __future__ import annotations


class Conversations:
    """As tried with the program (docs/vendors.md)."""

    __slots__ = ("database", "files", "folder", "resume", "variable")

    def __init__(self, *, folder: str, files: str, resume: str, variable: str = "", database: str = "") -> None:
        self.folder = folder
        """With `{home}` in it."""
        self.files = files
        """Where a conversation lies in it: a pattern with `{id}`, or `{short}` where its id is cut."""
        self.variable = variable
        """That moves the folder."""
        self.database = database
        """A file in the folder with which it keeps conversations elsewhere: then nothing can be told."""
        self.resume = resume
        """The command that goes on with one, with `{}` for its id."""
