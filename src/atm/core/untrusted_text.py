"""
Text that somebody else wrote, made safe to show: on a terminal, in an agent's context, in a line of ours (D22).

Control characters, escape sequences and direction overrides become visible marks: nothing in a name or a message can
move the cursor, set a title, hide text or ring the bell. No character without a shape of its own is left (category Cf,
variation selectors, tags, fillers). For agents, no `<` is left that could begin a tag, nor an entity that could begin a
frame. All of it changes what is shown, never what is kept; only `without_frames` is for texts that another program will
show.

On the path of `atm send`: imports nothing, neither `re` nor `unicodedata`, and makes the large table when first needed.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "\ufffd"
"""Stands where something was that hides or reorders text."""

TAKEN_OUT = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200C, 0x200D), (0xFE00, 0xFE0F)),
    (0xE0100, 0xE01EF),
)
"""
First and last of what goes without a mark, because ordinary writing is full of it: soft hyphen, the joiners and the
variation selectors of emoji and of many scripts, the vowels of Khmer and the separators of Mongolian that nobody sees.
"""

MARKED = (
    *((0x80, 0x9F), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891), (0x8E2, 0x8E2)),
    *((0x115F, 0x1160), (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)),
    *((0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x110BD, 0x110BD), (0x110CD, 0x110CD)),
    *((0x13430, 0x1343F), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE00FF), (0xE01F0, 0xE0FFF)),
)
"""
First and last of what becomes a mark: C1 controls (some terminals take 0x9b for ESC [), directions, spaces without
width, fillers, annotations, tags, and halves of characters, which cannot be printed at all. Places that Unicode keeps
for more of the same are among them. A test compares both tables with `unicodedata`.
"""

FRAMES = (
    # Claude Code, and the model's own
    *("teammate-message", "cross-session-message", "system-reminder", "system-instruction", "system-prompt"),
    *("command-name", "command-message", "command-args", "command-contents", "local-command-", "task-notification"),
    *("bash-input", "bash-stdout", "bash-stderr", "user-prompt-submit-hook", "session-start-hook", "hook-output"),
    *("user-memory-input", "auto-memory-update", "new-diagnostics", "persisted-output", "ide-opened-file"),
    *("ide-selection", "ide-diagnostics", "function-results", "function-calls", "tool-result", "tool-use-error"),
    "antml:",
    # Codex
    *("user-instructions", "environment-context", "user-shell-command", "turn-aborted", "subagent-notification"),
    *("collaboration-mode", "proposed-plan"),
    # Gemini and Antigravity
    *("hook-context", "session-context", "loaded-context", "state-snapshot", "user-request", "user-information"),
    *("additional-metadata", "ephemeral-message"),
    # Cursor
    *("user-query", "attached-files"),
)
"""How the names begin that vendors' programs frame texts with, `_` written as `-`. None is a word of ordinary code."""

_LONGEST_FRAME = 32

HARMLESS = "\u2039"
"""
Stands where a `<` was that could begin a tag: `‹`.

No entity: Gemini CLI writes `&lt;` for every `<` of what a hook says, and leaves `&` as it is. Our own frame arrives
spelled like that, and a forged one with an entity in it would look the same.
"""

MOST_JUDGED = 20_000
"""More `<` in one text are not looked at one by one, a second for a million of them: all are made harmless."""

PLAIN_IN_SHELLS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/@:,=%")

_CONTROLS: dict[int, int | None] = {**{c: 0x2400 + c for c in range(32) if c not in (9, 10)}, 0x7F: 0x2421}
_FIRST_PICTURE, _LAST_PICTURE = "\u2400", "\u2421"
_BRACKETS = {ord("["): "(", ord("]"): ")"}
_everything: dict[int, int | None] = {}


def one_line(text: str) -> str:
    """For names, summaries and table cells."""
    if text.isascii() and text.isprintable():
        return text
    return _visible(text.replace("\n", " ").replace("\t", " "))


def many_lines(text: str) -> str:
    """For message bodies: newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _visible(text.replace("\r\n", "\n"))


def line_for_agents(text: str, most: int | None = None) -> str:
    """One line in an agent's context, of at most so many characters before tags are made harmless."""
    return _for_agents(one_line(text)[:most])


def text_for_agents(text: str) -> str:
    """A body in an agent's context: what is put around it is the only tag."""
    body = many_lines(text)
    if body.count("<") > MOST_JUDGED:
        return _without_entities(body.replace("<", HARMLESS))
    return _for_agents(body)


def line_in_brackets(text: str, most: int | None = None) -> str:
    """The same as `line_for_agents`, to stand between our `[` and `]`."""
    return line_for_agents(text, most).translate(_BRACKETS)


def without_frames(text: str) -> str:
    """
    A text that another program will show to its model, inside a frame of its own and as it is.

    Only what could end that frame or begin another one changes, `FRAMES`; ordinary code stays byte for byte.
    """
    return _with_harmless(text, _begins_a_frame)


def shell_word(text: str) -> str:
    """A path or a name as one word of a command that people paste: nothing in it ends the word or begins another."""
    return text if text and PLAIN_IN_SHELLS.issuperset(text) else "'" + text.replace("'", "'\\''") + "'"


def shell_words(*texts: str) -> str:
    """
    Names as the last words of a command of ours that people paste.

    Other programs have members such as `--force`. Quotes do not help there: `--` says that no option follows.
    """
    words = " ".join(shell_word(text) for text in texts)
    return f"-- {words}" if any(text.startswith("-") for text in texts) else words


def _visible(text: str) -> str:
    return text.translate(_CONTROLS if text.isascii() else _beyond_ascii())


def _beyond_ascii() -> dict[int, int | None]:
    """Made when first needed: most texts have no use for it."""
    if not _everything:
        table = {**_CONTROLS, 0x2028: 0x20, 0x2029: 0x20}
        for first, last in MARKED:
            table.update(dict.fromkeys(range(first, last + 1), ord(MARK)))
        for first, last in TAKEN_OUT:
            table.update(dict.fromkeys(range(first, last + 1)))
        _everything.update(table)  # at once: another thread must not find half of it
    return _everything


def _for_agents(text: str) -> str:
    return _without_entities(_with_harmless(text, _begins_a_tag))


def _without_entities(text: str) -> str:
    """Frames that are spelled with an entity. Others stay: mail speaks of HTML, and `&lt;b&gt;` is code there."""
    at = text.find("&")
    if at < 0:
        return text
    parts, done = [], 0
    while at >= 0:
        behind = _behind_entity(text, at)
        if behind and _begins_a_frame(text, behind):
            parts += [text[done:at], HARMLESS]
            done = behind
        at = text.find("&", at + 1)
    return "".join([*parts, text[done:]])


def _behind_entity(text: str, at: int) -> int:
    """Where the entity ends that stands for `<` here; 0 if there is none. `&#0060` is one too, for some readers."""
    end, spelled = at + 1, "lt"
    if text[end : end + 1] == "#":
        is_hex = text[end + 1 : end + 2] in ("x", "X")
        end, spelled = (end + 2, "3c") if is_hex else (end + 1, "60")
        while text[end : end + 1] == "0":
            end += 1
    if text[end : end + 2].casefold() != spelled:
        return 0
    return end + 3 if text[end + 2 : end + 3] == ";" else end + 2


def _with_harmless(text: str, is_harmful: Callable[[str, int], bool]) -> str:
    """Each `<` as `HARMLESS` if it is harmful. What is looked at behind one ends at the next: the time is linear."""
    at = text.find("<")
    if at < 0:
        return text
    parts, done = [], 0
    while at >= 0:
        if is_harmful(text, at + 1):
            parts += [text[done:at], HARMLESS]
            done = at + 1
        at = text.find("<", at + 1)
    return "".join([*parts, text[done:]])


def _begins_a_tag(text: str, at: int) -> bool:
    """
    Could what follows a `<` make it one?

    `x<5` could not. Behind a space it takes more than a letter: `a < b` is a comparison, `< b>` and `< system-reminder`
    are not. At the end of a text it could: nobody knows what we write behind it.
    """
    start = _behind_space(text, at)
    if start == len(text) or text[start] in "/!?":
        return True
    if not text[start].isalpha():
        return False
    if not any(sign.isspace() for sign in text[at:start]):
        return True
    word, end = _word(text, start)
    end = _behind_space(text, end)
    return word.startswith(FRAMES) or text[end : end + 1] == ">" or text[end : end + 2] == "/>"


def _begins_a_frame(text: str, at: int) -> bool:
    at = _behind_space(text, at)
    if text[at : at + 1] == "/":
        at = _behind_space(text, at + 1)
    return _word(text, at)[0].startswith(FRAMES)


def _word(text: str, at: int) -> tuple[str, int]:
    """The beginning of the name that stands here, and where the name ends. Hidden characters in it do not count."""
    signs: list[str] = []
    while at < len(text) and (text[at].isalnum() or text[at] in "-_:." or _is_hidden(text[at])):
        if len(signs) < _LONGEST_FRAME and not _is_hidden(text[at]):
            signs.append("-" if text[at] == "_" else text[at].casefold())
        at += 1
    return "".join(signs), at


def _behind_space(text: str, at: int) -> int:
    while at < len(text) and (text[at].isspace() or _is_hidden(text[at])):
        at += 1
    return at


def _is_hidden(sign: str) -> bool:
    """Nothing to see, or the mark or picture that we put in its place."""
    if sign.isascii():
        return not sign.isprintable()
    return sign == MARK or _FIRST_PICTURE <= sign <= _LAST_PICTURE or ord(sign) in _beyond_ascii()
