"""
Our MCP server in other programs' JSON settings: one member called `atm` in the object that holds their servers.

Everything else stays to the letter, comments included where the program takes them; `json_comments` says how. What was
done is read again before it is believed: all but our member must say what it said.
"""

from __future__ import annotations

from atm.files.formats.json_comments import Commented
from atm.files.formats.json_pieces import Box, laid_out, replaced
from atm.files.formats.json_record import NotJson, decode_object, encode, indent, scan
from atm.vendors.server_entries import SERVER_NAME, ServerEntry, command_of, read_command
from atm.vendors.settings_hooks import NotEditable, is_blank, why_not

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.core.plain import Plain
    from atm.files.formats.json_pieces import Part, Piece


class ServerShape:
    """How a program writes its servers down."""

    __slots__ = ("holder", "is_one_list", "more", "takes_comments", "type")

    def __init__(
        self,
        holder: str,
        *,
        type: str = "",
        is_one_list: bool = False,
        more: dict[str, object] | None = None,
        takes_comments: bool = False,
    ) -> None:
        self.holder = holder
        """The member of the file that holds all servers by their names."""
        self.type = type
        self.is_one_list = is_one_list
        """Is the command one list of words, or a program and its `args`?"""
        self.more = more or {}
        self.takes_comments = takes_comments

    def command(self, words: Sequence[str]) -> dict[str, object]:
        return {"command": list(words)} if self.is_one_list else {"command": words[0], "args": list(words[1:])}

    def entry(self, words: Sequence[str]) -> dict[str, object]:
        return {**({"type": self.type} if self.type else {}), **self.command(words), **self.more}

    def read(self, entry: Plain) -> ServerEntry:
        """Whose entry it is, whatever it says."""
        if not isinstance(entry, dict):
            return read_command(None)
        command, args = entry.get("command"), entry.get("args")
        if isinstance(command, str):
            command = [command, *(args if isinstance(args, list) else [])]
        is_off = entry.get("enabled") is False or entry.get("disabled") is True
        return read_command(command, is_off=is_off)

    def found_in(self, text: str) -> ServerEntry | None:
        return server_in(text, self)

    def put_into(self, text: str, program: tuple[str, ...], words: tuple[str, ...]) -> str:
        return with_server(text, program, words, self)

    def taken_from(self, text: str) -> str:
        return without_server(text, self)

    def leaves_nothing(self, text: str) -> bool:
        return holds_nothing(text, self)


def server_in(text: str, shape: ServerShape) -> ServerEntry | None:
    """The server called `atm`, ours or not; None if there is none."""
    if is_blank(text):
        return None
    servers = decode_object(_read(text, shape).plain).get(shape.holder)
    return shape.read(servers[SERVER_NAME]) if isinstance(servers, dict) and SERVER_NAME in servers else None


def holds_nothing(text: str, shape: ServerShape) -> bool:
    """Is there nothing in the file that its owner could miss?"""
    if is_blank(text):
        return True
    source = _read(text, shape)
    return not source.has_comments() and decode_object(source.plain) == {}


def with_server(text: str, program: tuple[str, ...], words: tuple[str, ...], shape: ServerShape) -> str:
    """The same file with our server. The caller has made sure that nobody else's of that name is there."""
    command = list(command_of(program, words))
    if is_blank(text):
        return indent({shape.holder: {SERVER_NAME: shape.entry(command)}}) + "\n"
    source = _read(text, shape)
    place = ServerPlace(source, shape)
    if place.member is not None:
        pieces = _updated(source, place.member, shape.command(command))
    elif place.servers is not None:
        pieces = source.added_members(place.servers, {SERVER_NAME: shape.entry(command)})
    else:
        pieces = source.added_members(source.root, {shape.holder: {SERVER_NAME: shape.entry(command)}})
    return _checked(source, replaced(text, pieces), shape)


def without_server(text: str, shape: ServerShape) -> str:
    """The same file without any server of ours, nor the object that we made to hold it."""
    while (found := server_in(text, shape)) is not None and found.is_ours:
        source = _read(text, shape)
        text = _checked(source, replaced(text, _cut(source, ServerPlace(source, shape))), shape)
    return text


class ServerPlace:
    """Where the servers stand in a file, and ours among them. Of two with one name programs see the last."""

    __slots__ = ("holder", "member", "servers")

    def __init__(self, source: Commented, shape: ServerShape) -> None:
        self.holder = source.root.last(shape.holder)
        self.servers: Box | None = None
        self.member: Part | None = None
        if self.holder is not None:
            if source.plain[self.holder.value_at] != "{":
                raise NotEditable(f"its {shape.holder!r} is not an object, so there is no place for servers in it")
            self.servers = Box(source.plain, self.holder.value_at)
            self.member = self.servers.last(SERVER_NAME)


def _updated(source: Commented, member: Part, command: dict[str, object]) -> list[Piece]:
    """Only what starts it is put right: what else the user wrote into our entry is theirs."""
    entry = Box(source.plain, member.value_at)
    pieces: list[Piece] = []
    for key, value in command.items():
        part = entry.last(key)
        if part is None:
            pieces += source.added_members(entry, {key: value})
        elif scan(source.plain, part.value_at)[0] != value:
            is_short = "\n" not in source.text[part.value_at : part.end]
            new = encode(value) if is_short else laid_out(source.plain, value, source.lead_of(part))
            pieces.append((part.value_at, part.end, new))
    return pieces


def _cut(source: Commented, place: ServerPlace) -> list[Piece]:
    holder, servers, member = place.holder, place.servers, place.member
    assert holder is not None
    assert servers is not None
    assert member is not None
    is_alone = len(servers.parts) == 1 and servers.is_ours_when_empty
    has_comments = source.has_comments(holder.start, member.start) or source.has_comments(member.end, holder.end)
    return source.cut(source.root, holder) if is_alone and not has_comments else source.cut(servers, member)


def _read(text: str, shape: ServerShape) -> Commented:
    try:
        decode_object(text)
    except NotJson as error:
        source = Commented(text, is_plain=not shape.takes_comments)
        if not _is_object(source.plain):
            raise NotEditable(why_not(source.plain, error)) from None
        return source
    return Commented(text, is_plain=True)


def _is_object(plain: str) -> bool:
    try:
        decode_object(plain)
    except NotJson:
        return False
    return True


def _checked(before: Commented, after: str, shape: ServerShape) -> str:
    try:
        is_right = _others(_read(after, shape), shape) == _others(before, shape)
    except NotEditable:
        is_right = False
    if not is_right:
        raise NotEditable("it is laid out so that it could not be changed safely")
    return after


def _others(source: Commented, shape: ServerShape) -> dict[str, Plain]:
    """All that is not ours."""
    settings = decode_object(source.plain)
    servers = settings.pop(shape.holder, None)
    rest = {key: value for key, value in servers.items() if key != SERVER_NAME} if isinstance(servers, dict) else {}
    return {**settings, shape.holder: rest}
