"""
A command line of a shell, taken apart with care.

Only what can be read without running it is understood: words, quotes, pipes and lists, subshells, redirections. The
first thing beyond that (a variable, a substitution, a loop, a here-document) makes the line unclear. What was found up
to there is given all the same, so that a rule that forbids something still sees it; but an unclear line is never
allowed by a rule. Bash, dash, zsh and fish do not read a line alike, and it is not known here which of them will: where
they differ in which programs they start, the line is unclear too.
"""

from __future__ import annotations

LONGEST = 64 * 1024
"""Characters. Whoever writes a longer command has a reason that somebody should look at."""

_RESERVED = frozenset(
    (
        *("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select"),
        *("function", "coproc", "[[", "]]", "repeat", "foreach", "end", "begin", "and", "or", "not", "switch"),
    )
)
"""Of all shells: which one will read the line is not known here."""

_SKIPPED = ("!", "{", "}")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SPECIAL = "|&;()<>"
_WILD = frozenset("*?[")
_ESCAPES = frozenset("abcefnrtuvxXU01234567")
"""Signs of which fish makes another one when a backslash stands before them."""


class GlobWord(str):
    """A word with a wildcard that is not in quotes: the shell may put any names of files in its place."""

    __slots__ = ()


class ShellCommand:
    """One program with its words, as the shell would start it."""

    __slots__ = ("assigned", "ends_group", "follows", "is_negated", "redirected", "words")

    def __init__(self, follows: str = "") -> None:
        self.follows = follows
        """The sign between it and the command before; `)` if that one ran in a shell of its own."""
        self.is_negated = False
        self.ends_group = follows == ")"
        """Is it no command, but what stands behind the bracket of a group?"""
        self.words: list[str] = []
        self.assigned: list[str] = []
        """Names of variables that are set for it alone."""
        self.redirected: list[tuple[str, str]] = []
        """Operator and file."""

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.assigned or self.redirected)


class ParsedLine:
    """What a line would start, in order; and why it is not quite clear, if it is not."""

    __slots__ = ("commands", "has_quoted_backslashes", "unclear")

    def __init__(
        self, commands: list[ShellCommand], unclear: str = "", *, has_quoted_backslashes: bool = False
    ) -> None:
        self.commands = commands
        self.unclear = unclear
        self.has_quoted_backslashes = has_quoted_backslashes
        """Do two backslashes stand in single quotes? In fish they are one."""


class _Unclear(Exception):
    """Why a line is not understood."""


def parse_line(line: str) -> ParsedLine:
    """Never raises: what is not understood is said."""
    reader = _Reader(line)
    try:
        if len(line) > LONGEST:
            raise _Unclear(f"it has more than {LONGEST} characters")
        reader.read()
    except _Unclear as why:
        reader.end_command()
        return ParsedLine(reader.commands, str(why))
    return ParsedLine(reader.commands, reader.differs, has_quoted_backslashes=reader.has_quoted_backslashes)


class _Reader:
    """One walk through the line, a character at a time."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0
        self._word: list[str] = []
        self._in_word = False
        self._is_plain = True
        """Does the word so far stand there without quotes?"""
        self._braces = ""
        """What was seen of braces in the word so far."""
        self._depth_of_braces = 0
        self._is_glob = False
        """Has the word so far a wildcard without quotes?"""
        self._differs = ""
        """Where shells read the line differently. The rest is read as bash does, so that rules that forbid see it."""
        self._has_ampersand = False
        """Was there `&>`? What stands behind it is another command for shells that do not know it."""
        self._is_closed = False
        """Was the last word a closing brace?"""
        self._operator = ""
        """A redirection whose file comes next."""
        self._command = ShellCommand()
        self._depth = 0
        self.has_quoted_backslashes = False
        self.commands: list[ShellCommand] = []

    @property
    def differs(self) -> str:
        return self._differs

    def _note_difference(self, why: str) -> None:
        self._differs = self._differs or why

    def read(self) -> None:
        while self._at < len(self._line):
            sign = self._line[self._at]
            if sign in " \t":
                self._end_word()
            elif sign == "\n":
                self._separate()
            elif sign == "#" and not self._in_word:
                self._at = self._line.find("\n", self._at)
                if self._at < 0:
                    break
                continue
            elif sign in _SPECIAL:
                self._read_operator(sign)
                continue
            else:
                self._read_sign(sign)
                continue
            self._at += 1
        self._separate()
        if self._depth:
            raise _Unclear("a bracket is not closed")

    # Words.

    def _read_sign(self, sign: str) -> None:
        if sign == "\\":
            self._read_escaped()
        elif sign == "'":
            end = self._line.find("'", self._at + 1)
            if end < 0:
                raise _Unclear("a quote is not closed")
            text = self._line[self._at + 1 : end]
            if (len(text) - len(text.rstrip("\\"))) % 2:
                self._note_difference("where a quote ends depends on the shell")  # fish reads \' as a quote in quotes
            self.has_quoted_backslashes = self.has_quoted_backslashes or "\\\\" in text  # fish makes one of two
            self._take(text, is_plain=False)
            self._at = end + 1
        elif sign == '"':
            self._at += 1
            self._read_quoted()
        elif sign == "$" and self._starts_something():
            raise _Unclear("it holds a variable or a substitution")
        elif sign == "`":
            raise _Unclear("it holds a substitution")
        elif (sign < " " and sign != "\t") or sign == "\x7f":
            raise _Unclear("it holds a control character")
        elif sign.isspace():
            raise _Unclear("it holds a blank that some shells take for a space")
        else:
            self._take(sign)
            self._at += 1

    def _read_escaped(self) -> None:
        following = self._line[self._at + 1 : self._at + 2]
        if following in _ESCAPES:
            self._note_difference(f"what \\{following} means depends on the shell")
        if following != "\n":  # a line that goes on
            self._take(following, is_plain=False)
        self._at += 2

    def _starts_something(self) -> bool:
        """Does a `$` begin more than itself? Zsh knows `$=NAME`, `$~NAME` and others."""
        return self._line[self._at + 1 : self._at + 2] not in ("", " ", "\t", "\n")

    def _read_quoted(self) -> None:
        self._take("", is_plain=False)
        while True:
            sign = self._line[self._at : self._at + 1]
            if not sign:
                raise _Unclear("a quote is not closed")
            if sign == '"':
                self._at += 1
                return
            if sign == "`" or (sign == "$" and self._line[self._at + 1 : self._at + 2] not in ('"', " ", "")):
                raise _Unclear("it holds a variable or a substitution")
            if sign == "\\" and self._line[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                following = self._line[self._at + 1]
                self._take("" if following == "\n" else following, is_plain=False)
                self._at += 2
                continue
            self._take(sign, is_plain=False)
            self._at += 1

    def _take(self, text: str, *, is_plain: bool = True) -> None:
        self._in_word = True
        self._is_plain = self._is_plain and is_plain
        self._word.append(text)
        if is_plain:
            self._look_for_braces(text)
            self._is_glob = self._is_glob or text in _WILD

    def _look_for_braces(self, sign: str) -> None:
        """`{a,b}` and `{1..3}` are several words, also with braces within braces. Only signs without quotes count."""
        if sign == "{":
            self._depth_of_braces += 1
            self._braces = self._braces or sign
        elif self._braces and (sign == "," or (sign == "." and self._braces[-1] == ".")):
            self._braces = "{,"
        elif sign == "}" and self._braces == "{,":
            raise _Unclear("it holds words in braces")
        elif sign == "}" and self._depth_of_braces:
            self._depth_of_braces -= 1
            self._braces = self._braces if self._depth_of_braces else ""
        elif self._braces in ("{", "{."):
            self._braces = "{." if sign == "." else "{"

    def _end_word(self) -> None:
        if not self._in_word:
            return
        word, is_plain = "".join(self._word), self._is_plain
        if self._braces == "{,":
            self._note_difference("a brace that is not closed may be closed by a later word in some shells")
        word = GlobWord(word) if self._is_glob else word
        self._word, self._in_word, self._is_plain, self._braces, self._is_glob = [], False, True, "", False
        self._depth_of_braces = 0
        if is_plain and word in ("{", "}") and (self._command.words or self._operator):
            self._note_difference("a brace among the words ends a list in some shells")
        elif self._has_ampersand and not self._operator:
            self._note_difference("a word behind &> belongs to another command in some shells")
        elif self._is_closed and not self._operator:
            self._note_difference("a word behind a closing brace means more in some shells")
        elif is_plain and word.startswith("=") and len(word) > 1:
            self._note_difference("a word that begins with = is another one in some shells")
        self._is_closed = (is_plain and word == "}") or (self._is_closed and bool(self._operator))
        if self._operator:
            if word.startswith("!"):
                raise _Unclear("which file is written depends on the shell")
            self._command.redirected.append((self._operator, word))
            self._operator = ""
        elif self._command.words:
            self._command.words.append(word)
        else:
            self._take_first(word, is_plain)

    def _take_first(self, word: str, is_plain: bool) -> None:
        name = _assigned_name(word)
        if name:
            self._command.assigned.append(name)
        elif is_plain and word in _SKIPPED:
            self._command.is_negated = self._command.is_negated or word == "!"
            self._command.ends_group = self._command.ends_group or word == "}"
        elif is_plain and word in _RESERVED:
            raise _Unclear(f"it is more than a list of commands ({word})")
        elif (word != "[" and any(sign in word for sign in "*?[")) or word.startswith(("~", "=")):
            raise _Unclear("which program is meant depends on files")
        else:
            self._command.words.append(word)

    # Operators.

    def _read_operator(self, sign: str) -> None:
        two = self._line[self._at : self._at + 2]
        if sign in "<>" or two == "&>":
            self._read_redirection()
        elif sign == "(":
            if self._in_word or self._command.words or self._operator:
                raise _Unclear("it defines a function or an array")
            self._depth += 1
            self._at += 1
        elif sign == ")":
            self._separate(")")
            self._depth -= 1
            self._at += 1
            if self._depth < 0:
                raise _Unclear("a bracket is closed that was not opened")
        else:
            if two == ";;":
                raise _Unclear("it is more than a list of commands (case)")
            self._separate(two if two == "&&" else sign)
            self._at += 2 if two in ("&&", "||", "|&") else 1

    def _read_redirection(self) -> None:
        number = "".join(self._word) if self._in_word and self._is_plain else ""
        if number.startswith("{"):
            raise _Unclear("a redirection sets a variable in some shells")
        if _is_range(self._line, self._at):
            raise _Unclear("it holds a pattern of numbers, as some shells know them")
        if number.isascii() and number.isdecimal():
            self._word, self._in_word = [], False
        else:
            self._end_word()
        for operator in ("<<<", "&>>", "<<", "<>", "<&", ">>", ">|", ">&", "&>", "<", ">"):
            if self._line.startswith(operator, self._at):
                break
        self._at += len(operator)
        self._has_ampersand = self._has_ampersand or operator.startswith("&")
        if operator == "<<":
            raise _Unclear("it holds a here-document")
        if self._line[self._at : self._at + 1] == "(":
            raise _Unclear("it holds a substitution")
        if self._operator:
            raise _Unclear("a redirection leads nowhere")
        self._operator = operator

    def _separate(self, sign: str = ";") -> None:
        self._end_word()
        if self._operator:
            raise _Unclear("a redirection leads nowhere")
        was_closed = self._command.is_empty and self._command.follows == ")"
        self.end_command(")" if was_closed else sign)

    def end_command(self, sign: str = "") -> None:
        self._is_closed = self._has_ampersand = False
        if not self._command.is_empty:
            self.commands.append(self._command)
        self._command = ShellCommand(sign)


def _is_range(line: str, at: int) -> bool:
    """`<->` and `<1-9>` are patterns for names of numbers in zsh."""
    if line[at : at + 1] != "<":
        return False
    end = at + 1
    while end < len(line) and line[end] in "0123456789-":
        end += 1
    return "-" in line[at + 1 : end] and line[end : end + 1] == ">"


def _assigned_name(word: str) -> str:
    """`NAME` of `NAME=value`; empty if it is none."""
    name, equals, _ = word.partition("=")
    name = name.removesuffix("+").partition("[")[0]
    is_name = bool(name) and _NAME.issuperset(name) and not name[0].isdecimal()
    return name if equals and is_name else ""
