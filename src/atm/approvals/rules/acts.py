"""
What a command line would do: each program it starts, under the name that counts, and what kind of operation that is.

`/usr/bin/git -C x push` is `git push`, `sh -c "…"` is the line in the quotes, `find -delete` is `rm`. Unwrapping
explains a line and replaces nothing: a wrapper is a layer of its own, and each layer must be allowed. What takes its
program or its arguments from elsewhere is unclear, and so is a git command that may be an alias, an assignment
before a command, a redirection into a file, and a program that is not the one that PATH names.
"""

from __future__ import annotations

from atm.approvals.rules.act import SPEND, Act, ShellLine, files_in, normal
from atm.approvals.rules.code_on_lines import (
    awk_doubt,
    doubt_about,
    edits_in_place,
    is_evaluated,
    is_harmless_sed,
    sed_scripts,
    shell_words,
)
from atm.approvals.rules.git_acts import take_git
from atm.approvals.rules.options import (
    CHANGES_INSIDE,
    KNOWN_OPTIONS,
    MAY_DO_ANYTHING,
    READS,
    could_become_an_option,
    known_options,
    options_of,
)
from atm.approvals.rules.programs import (
    ALIASES_OF_REMOVAL,
    AWKS,
    BUILTINS,
    CLOUDS,
    CODE_FLAGS,
    EVALUATING,
    NETWORK,
    NETWORK_VERBS,
    OTHER_AGENTS,
    OVERWRITING,
    PRIVILEGED,
    READING_SHELLS,
    RUNNERS,
    RUNNING_OPTIONS,
    SHELLS,
    STRANGE,
    WRAPPERS,
    WRITING_LAST,
    known_name,
)
from atm.approvals.rules.shell import GlobWord, parse_line
from atm.vendors.known import of_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.approvals.rules.act import CallPlace
    from atm.approvals.rules.shell import ShellCommand

FIND_EXEC = "find -exec"

DEEPEST = 4
"""Shells within shells."""

MOST_FOLDERS = 8
"""Folders in which a command may run, after so many `cd` that may have failed."""

_MOVING = ("cd", "chdir", "pushd", "popd")


def acts_of(line: str, place: CallPlace) -> ShellLine:
    found = ShellLine()
    _take_line(found, line, place, 0)
    _judge_what_follows_a_change(found, place)
    return found


def _is_agent(name: str) -> bool:
    return name in OTHER_AGENTS or of_process(name) is not None


def _judge_what_follows_a_change(found: ShellLine, place: CallPlace) -> None:
    """Files and folders are looked at before the line runs: what a command of it makes was not there yet."""
    has_changed = has_new_index = False
    for act in found.acts:
        looks = act.words[:1] == ["git"] and _looks_into_repositories(act)
        if has_new_index and looks and not found.unclear and place.has_nested(place.root):
            found.doubt("git looks into repositories that an earlier command of the line may have added")
        has_new_index = has_new_index or (
            act.words[:1] == ["git"] and act.effect != READS and act.words[1:2] not in (["commit"], ["branch"])
        )
        if has_changed and act.is_elsewhere:
            found.doubt("git runs in a folder that an earlier command of the line may have made a repository")
        if has_changed and act.effect == CHANGES_INSIDE and act.words[0] not in ("git", "atm"):
            act.may_do_anything("an earlier command of the line may have made a link that leads elsewhere")
        has_changed = has_changed or (bool(act.words) and act.effect != READS and not _makes_no_links(act.words))


def _looks_into_repositories(act: Act) -> bool:
    """Does git start itself in repositories that its index names?"""
    verb = act.words[1] if len(act.words) > 1 else ""
    is_commit_of_all = verb == "commit" and any(option.name in ("-a", "--all") for option in act.options)
    return verb in ("status", "diff", "stash", "checkout", "switch", "add") or is_commit_of_all


def _makes_no_links(words: Sequence[str]) -> bool:
    return words[0] in ("mkdir", "touch", "rm", "rmdir", "atm") or list(words[:2]) in (
        ["git", "add"],
        ["git", "commit"],
    )


def _take_line(found: ShellLine, line: str, place: CallPlace, depth: int) -> bool:
    """Does it change the folder for what comes after it?"""
    parsed = parse_line(line)
    if parsed.unclear:
        found.doubt(parsed.unclear)
    places, first = _Places(place), len(found.acts)
    for command in parsed.commands:
        places.come_to(command)
        _take(found, command, places, depth)
    if parsed.has_quoted_backslashes and not all(
        act.words[:1] and act.words[0] in _TEXTS for act in found.acts[first:]
    ):
        found.doubt("what a quoted backslash means depends on the shell")
    return places.has_moved


_TEXTS = ("grep", "egrep", "fgrep", "rg", "echo")
"""Programs to which another text is only another text."""


class _Places:
    """Where a command of a line runs: a `cd` may have failed, or been made in a shell of its own."""

    def __init__(self, place: CallPlace) -> None:
        self.now = place
        self._all = place.folders
        self.has_moved = False

    def come_to(self, command: ShellCommand) -> None:
        if command.follows != "&&":
            self.now = self.now.at(self._all)

    def move(self, found: ShellLine, words: Sequence[str], *, is_sure: bool) -> list[str]:
        """Where to."""
        self.has_moved = True
        if words[0] != "cd" or len(words) != 2 or words[1].startswith("-"):
            found.doubt("it changes to a folder that is not named")
            to = ["/"]
        else:
            to = self.now.every(words[1])
            names = [words[1] if words[1].startswith("/") else f"{one}/{words[1]}" for one in self.now.folders]
            if {self.now.real(normal(name)) for name in names} != {self.now.real(path) for path in to}:
                found.doubt("where it goes depends on links")  # a shell takes `..` by the words, a program by the files
            if isinstance(words[1], GlobWord):
                found.doubt("where it goes depends on which files are there")
            why = self.now.at(to).why_git_differs()
            if why:
                found.doubt(why)
        self._all = tuple(dict.fromkeys((*self._all, *to)))
        if len(self._all) > MOST_FOLDERS:
            found.doubt("it changes its folder very often")
            self._all = ("/",)
        self.now = self.now.at(to if is_sure and len(self._all) > 1 else self._all)
        return to


def _take(found: ShellLine, command: ShellCommand, places: _Places, depth: int) -> None:
    """Note one command."""
    for name in command.assigned:
        found.doubt(f"it sets {name}, which may change what programs do")
    words, first, place = command.words, len(found.acts), places.now
    if words and words[0] in _MOVING:
        act = Act(f"{words[0]} {' '.join(words[1:])}".rstrip())
        act.paths = places.move(found, words, is_sure=command.follows != "|" and not command.is_negated)
        act.needs = []  # to go somewhere is nothing yet
        found.acts.append(act)
    elif words:
        _take_words(found, words, place, depth)
    if command.redirected and not words and not command.ends_group:
        found.doubt(
            "some shells start a program for a redirection without a command"
        )  # zsh: cat, or what READNULLCMD is
    for operator, target in command.redirected:
        _redirect(found, operator, target, place, first)


def _redirect(found: ShellLine, operator: str, target: str, place: CallPlace, first: int) -> None:
    if (">" in operator and target == "/dev/null") or (operator == ">&" and target in ("1", "2")) or operator == "<<<":
        return
    if ">" in operator or operator == "<&" or isinstance(target, GlobWord) or target.startswith(("/dev/", "/proc/")):
        found.doubt(f"it redirects output or input ({operator} {target})")
    if len(found.acts) == first:
        found.acts.append(Act(f"{operator} {target}"))
    act, paths = found.acts[-1], place.every(target)
    act.paths += paths
    if any(path.startswith(("/dev/tcp/", "/dev/udp/")) for path in paths):
        act.uses_network()
        act.also(f"{operator} {target}")
    if ">" in operator:
        act.saves_to(paths, place)


# Programs.


def _take_words(found: ShellLine, words: Sequence[str], place: CallPlace, depth: int) -> None:
    while words and words[0] in ("!", "{"):  # behind `time`
        words = words[1:]
    if not words:
        return
    name = known_name(words[0])
    if depth > DEEPEST:
        found.doubt("it starts shells within shells")
    elif name in _MOVING:
        found.acts.append(_named(found, words, place))
        found.doubt("it changes its folder by other means than a plain cd")
    elif name in ("busybox", "toybox") and len(words) > 1:
        found.doubt(f"which program {name} is depends on its words")
        _take_words(found, words[1:], place, depth + 1)
    elif name in WRAPPERS or name in PRIVILEGED:
        _take_wrapped(found, name, words, place, depth)
    elif name in SHELLS:
        _take_shell(found, words, place, depth)
    elif name == "eval":
        found.doubt("eval evaluates what looks like words")
        _take_line(found, " ".join(words[1:]), place, depth + 1)
    elif name in ("xargs", "parallel"):
        _take_fed(found, words, place, depth)
    else:
        _take_program(found, name, words, place, depth)


def _program(found: ShellLine, word: str, place: CallPlace) -> str:
    """
    The name under which a program counts: its last name only where PATH leads to that very file outside of the
    worktree, where agents cannot have put it. A program by any other path is known by that path alone.
    """
    name = word.rpartition("/")[2]
    if name == word and (word in BUILTINS or word in EVALUATING):
        return name
    on_path = place.program(name)
    if name == word:
        if not on_path:
            found.doubt(f"no program {name} is found")
        elif place.is_within(on_path):
            found.doubt(f"{name} is a file of the worktree ({on_path})")
        return name
    real = place.real(place.whole(word))
    return name if on_path and real == place.real(on_path) and not place.is_within(real) else word


def _take_program(found: ShellLine, name: str, words: Sequence[str], place: CallPlace, depth: int) -> None:
    act = _named(found, words, place)
    found.acts.append(act)
    if name in STRANGE:
        found.doubt(f"{name} takes its commands from elsewhere, or changes what others mean")
    elif name in EVALUATING or (name in ("test", "[", "printf") and is_evaluated(words)):
        found.doubt(f"shells evaluate what looks like words of {name}")
    elif name in CODE_FLAGS:
        _look_at_code(found, act, name, words)
    elif name == "git":
        take_git(found, act, words, place)
    elif name == "find":
        _take_find(found, act, words, place, depth)
    elif name in ALIASES_OF_REMOVAL:
        act.removes(files_in(words[1:], place), place)
    elif name in CLOUDS or _is_agent(name) or (name == "atm" and words[1:2] in (["up"], ["spawn"], ["run"])):
        act.operation, act.is_sensitive = SPEND, True
    elif _is_network(name, words):
        act.uses_network()
    elif name in AWKS or name == "sed":
        _look_at_text_tool(found, act, name, words, place)
    else:
        act.overwrites(_targets(name, words, place), place)
    if _runs(name, words):
        found.doubt(f"{name} is told to start another program")
    if _verb(words) in RUNNERS.get(name, ()):
        _take_run(found, words, place, depth)
    _judge_operands(found, act, name, words, place)


_STORING = ("--accept", "--accept-tests", "--run")
"""Options of the commands for tasks whose values are command lines."""


def _stored_in(words: Sequence[str]) -> list[str]:
    """Argparse takes the beginning of an option, too."""
    found: list[str] = []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if len(name) > 3 and any(option.startswith(name) for option in _STORING):
            found.append(value if equals else following)
    return found


_READ_BY_NAME_ONLY = ("rm", "rmdir")
"""A link is removed by these, not what it leads to."""


def _judge_operands(found: ShellLine, act: Act, name: str, words: Sequence[str], place: CallPlace) -> None:
    """Words that are no options, and count all the same."""
    known = known_options(act.words) if act.words else None
    if not (known is not None and known.all_harmless) or name in ("printf", "test", "["):
        rest = words[: words.index("--")] if "--" in words and known is not None and not known.passes_on else words
        if any(isinstance(word, GlobWord) and could_become_an_option(word) for word in rest[1:]):
            found.doubt("a pattern stands where the name of a file could become an option")
    operands = _operands(words[1:])
    listed = next((word for word in operands if word.startswith("@")), "")
    if listed and (known is None or known.effect == MAY_DO_ANYTHING):
        act.takes(listed, f"{name} may read options from a file")
    if known is None:
        return
    if name == "uniq" and (len(operands) > 1 or any(isinstance(word, GlobWord) for word in operands)):
        act.takes(operands[-1], "uniq writes its second file")
    elif name == "date" and not _is_told_a_date(act) and any(not word.startswith("+") for word in operands):
        act.takes(operands[0], "date sets the clock")
    elif name in ("make", "gmake", "npm") and any("=" in word for word in operands):
        act.takes(next(word for word in operands if "=" in word), f"{name} is given a variable")
    if name == "atm":
        found.stored += _stored_in(words)
        return
    if known.effect == MAY_DO_ANYTHING:
        if name == "go" and any("@" in word for word in operands):
            act.takes(
                next(word for word in operands if "@" in word), "go fetches a module of that version, and runs it"
            )
        wild = next((word for word in operands if isinstance(word, GlobWord) and _may_be_folders(name, word)), "")
        if wild:
            act.takes(wild, "a pattern may name a link that leads elsewhere")
        paths = [path for word in operands if "://" not in word for path in place.every(word)]
        if any(not place.is_within(path) for path in paths):
            act.takes(operands[-1], f"{name} is given files outside of the worktree")
    elif name != "git":
        if name == "sed" and not edits_in_place(words):
            act.reads_only()
        told = sed_scripts(words) if name == "sed" else None
        act.stays_inside(files_in(told[1] if told else words[1:], place), place)
        may_follow = [word for word in operands if isinstance(word, GlobWord) and not _names_links(name, word)]
        if act.effect == CHANGES_INSIDE and may_follow:
            act.may_do_anything("a pattern may name a link that leads elsewhere")
        if name in ("cp", "mv"):
            _judge_copies(act, name, words, operands, place)


def _may_be_folders(name: str, word: str) -> bool:
    """`tests/*.py` are files; ruff changes what it is given."""
    folder, _, last = word.rpartition("/")
    return name == "ruff" or "." not in last or any(sign in folder for sign in "*?[")


def _is_told_a_date(act: Act) -> bool:
    return any(option.name in ("-d", "--date") for option in act.options)


def _operands(words: Sequence[str]) -> list[str]:
    """Words that are no options: `-` is one, and so is everything behind `--`."""
    found: list[str] = []
    is_over = False
    for word in words:
        if is_over or word == "-" or not word.startswith("-"):
            found.append(word)
        is_over = is_over or word == "--"
    return found


def _names_links(name: str, word: str) -> bool:
    """Is a link that the pattern finds removed itself, and nothing behind it? Not if a folder on the way may be one."""
    folder, _, last = word.rpartition("/")
    return name in _READ_BY_NAME_ONLY and bool(last) and not any(sign in folder for sign in "*?[")


def _judge_copies(act: Act, name: str, words: Sequence[str], operands: Sequence[str], place: CallPlace) -> None:
    """A file goes into a folder under its own name, where a link may lie; of a whole folder the names are not seen."""
    if name == "cp" and any(_has_letter(words, letter) for letter in "rRa"):
        act.may_do_anything("the files of a folder may be written through links")
    for source in operands[:-1]:
        last = source.rstrip("/").rpartition("/")[2]
        act.stays_inside([path for to in place.every(operands[-1]) for path in (f"{to}/{last}",)], place)


def _is_network(name: str, words: Sequence[str]) -> bool:
    is_remote = name == "rsync" and any(":" in word for word in words[1:])
    return name in NETWORK or _verb(words) in NETWORK_VERBS.get(name, ()) or is_remote


def _named(found: ShellLine, words: Sequence[str], place: CallPlace, own: int = 0) -> Act:
    """An act under the name that counts. Rules that restrict see its last name, whatever path it was called by."""
    name, known, counts = words[0].rpartition("/")[2], known_name(words[0]), _program(found, words[0], place)
    act = Act(" ".join([name, *words[1:]]))
    if name != words[0]:
        act.texts.append(" ".join(words))
    if known != name:
        act.texts.append(" ".join([known, *words[1:]]))
    act.needs = [" ".join([counts, *words[1:]])]
    act.paths = files_in(words[1:], place)
    is_known = counts == name
    canonical = [known if is_known else counts, *words[1:]]
    act.runs([counts, *words[1:]], known_options(canonical) if is_known else None, own)
    return act


def _verb(words: Sequence[str]) -> str:
    return next((word for word in words[1:] if not word.startswith("-")), "")


def _targets(name: str, words: Sequence[str], place: CallPlace) -> list[str]:
    """What a program writes: all files of some, the last one of others."""
    if name not in OVERWRITING and name not in WRITING_LAST and not (name == "sort" and _has_letter(words, "o")):
        return []
    files = files_in([word for word in words[1:] if not word.startswith(("if=", "bs=", "count="))], place)
    is_first = _has_letter(words, "t") or any(word.startswith("--t") for word in words[1:])
    is_last = name in WRITING_LAST and not is_first and not (name == "install" and _has_letter(words, "d"))
    return files[-len(place.folders) :] if is_last else files


def _has_letter(words: Sequence[str], letter: str) -> bool:
    options = [word for word in words[1:] if word.startswith("-")]
    return any(word.startswith(f"--{letter}") if word.startswith("--") else letter in word for word in options)


def _runs(name: str, words: Sequence[str]) -> bool:
    """Is it given an option whose value is a command? The beginning of a long one is enough for most programs."""
    options = RUNNING_OPTIONS.get(name, ())
    return any(
        (not option.startswith("--") and word.startswith(option))
        or (len(word) > 4 and option.startswith("--") and option.startswith(word.partition("=")[0]))
        for word in words[1:]
        for option in options
    )


def _take_run(found: ShellLine, words: Sequence[str], place: CallPlace, depth: int) -> None:
    """`poetry run …`: whoever allows that allows what it starts, unless that is for a person."""
    inner = words[words.index(_verb(words)) + 1 :]
    if not inner or inner[0].startswith("-"):
        found.doubt(f"what {words[0]} starts cannot be seen")
        return
    first, outer = len(found.acts), " ".join(words)
    _take_words(found, inner, place, depth + 1)
    for act in found.acts[first:]:
        act.texts.append(outer)


def _take_wrapped(found: ShellLine, name: str, words: Sequence[str], place: CallPlace, depth: int) -> None:
    """A layer of its own, then what it starts."""
    inner = _inside(name, words)
    if name == "command" and words[1:2] in (["-v"], ["-V"]):
        inner = ()  # tells where a program is
    own = len(words) - len(inner or ())
    layer = _named(found, words, place, own)
    found.acts.append(layer)
    if inner is None:
        found.doubt(f"what {name} starts cannot be seen")
        return
    layer.paths = []
    if any(isinstance(word, GlobWord) for word in words[1:own]):
        found.doubt(f"a pattern among the words of {name} may become what it starts")
    is_privileged = name in PRIVILEGED
    odd = next((option.name for option in layer.options if not option.is_harmless), "")
    if not is_privileged and (odd or layer.effect == MAY_DO_ANYTHING):
        found.doubt(f"what {name} does with {odd or 'what it is given'} is not known to be harmless")
    for name_set in [word.partition("=")[0] for word in words[1:own] if "=" in word and not word.startswith("-")]:
        found.doubt(f"it sets {name_set}, which may change what programs do")
    if is_privileged:
        layer.is_sensitive = True
    first = len(found.acts)
    if inner:
        _take_words(found, inner, place, depth + 1)
    for act in found.acts[first:]:
        act.texts += [text for text in layer.texts if text not in act.texts]
        act.is_sensitive = act.is_sensitive or is_privileged


def _inside(name: str, words: Sequence[str]) -> Sequence[str] | None:
    """The words of the program that a wrapper starts; none for itself alone; None if that cannot be seen."""
    with_value, plain = {**WRAPPERS, **PRIVILEGED}[name]
    at = 1
    while at < len(words) and (words[at].startswith("-") or (name in ("env", "sudo") and "=" in words[at])):
        word = words[at]
        if word in with_value:
            at += 1
        elif (
            word.startswith("-")
            and word not in plain
            and not any(word.startswith(one) and len(word) > len(one) for one in with_value)
        ):
            return None
        at += 1
    return words[at + 1 :] if name == "timeout" else words[at:]


def _take_shell(found: ShellLine, words: Sequence[str], place: CallPlace, depth: int) -> None:
    """A layer of its own, then the line that it is given."""
    told, first = shell_words(words), len(found.acts)
    name = known_name(words[0])
    layer = _named(found, words, place, len(words) if told.line is None else 1)
    found.acts.append(layer)
    if told.line is not None:
        layer.paths = []
        options = options_of(words[1 : told.own], KNOWN_OPTIONS.get(name))
        odd = next((option.name for option in options if not option.is_harmless), "")
        if odd or name not in KNOWN_OPTIONS or layer.effect == MAY_DO_ANYTHING:
            found.doubt(f"files or options of its own decide what {words[0]} does{f' ({odd})' if odd else ''}")
        if name in READING_SHELLS and not any(word in ("-f", "-fc", "--no-config", "-N") for word in words):
            found.doubt(f"files of its own are read by {name} before the line")
        _take_line(found, told.line, place, depth + 1)
        for act in found.acts[first + 1 :]:
            act.texts += [text for text in layer.texts if text not in act.texts]
    else:
        layer.script, layer.effect = told.script, MAY_DO_ANYTHING
    if told.doubt:
        found.doubt(told.doubt)


def _take_fed(found: ShellLine, words: Sequence[str], place: CallPlace, depth: int) -> None:
    """The program is named, its arguments come from a pipe."""
    inner = [word for word in words[1:] if not word.startswith("-")]
    while inner and (inner[0].isdecimal() or inner[0] in ("{}", "%")):
        inner = inner[1:]
    found.acts.append(_named(found, words, place) if words[0] != FIND_EXEC else Act(" ".join(words)))
    found.doubt(f"what {words[0]} is given cannot be seen")
    if inner:
        _take_words(found, inner, place.at(["/"]), depth + 1)


def _look_at_code(found: ShellLine, act: Act, name: str, words: Sequence[str]) -> None:
    """An interpreter runs a file, which has a name; or what stands on the line or comes through a pipe."""
    why = doubt_about(name, words)
    if why:
        found.doubt(why)
    elif _is_network(name, words):
        act.uses_network()
    if "-m" in words[1:-1]:
        module = words[words.index("-m") + 1 :]
        act.texts.append(" ".join(module))
        if _is_network(known_name(module[0]), module):
            act.uses_network()


def _look_at_text_tool(found: ShellLine, act: Act, name: str, words: Sequence[str], place: CallPlace) -> None:
    """Small programs stand on nearly every line of these two: the harmless ones are known."""
    if name != "sed":
        why = awk_doubt(words)
        if why:
            found.doubt(why)
        if "inplace" in words:
            act.overwrites(files_in(words[1:], place), place)
        return
    told = sed_scripts(words)
    if told is None or not all(map(is_harmless_sed, told[0])):
        found.doubt("sed can run other programs, and write files")
    if told is None or edits_in_place(words):
        act.overwrites(files_in(told[1] if told else words[1:], place), place)


def _take_find(found: ShellLine, act: Act, words: Sequence[str], place: CallPlace, depth: int) -> None:
    starts = files_in(_until(words[1:], lambda one: one[:1] in ("-", "(", "!")) or ["."], place)
    if "-delete" in words:
        act.also(" ".join(["rm", *starts]))
        act.removes([f"{path}/x" for path in starts], place)
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = _until(words[at + 1 :], lambda one: one in (";", "+"))
            _take_fed(found, [FIND_EXEC, *inner], place, depth)
        elif word.startswith(("-fprint", "-fls")) and words[at + 1 :]:
            act.saves_to(place.every(words[at + 1]), place)


def _until(words: Sequence[str], is_end: Callable[[str], bool]) -> list[str]:
    taken: list[str] = []
    for word in words:
        if is_end(word):
            break
        taken.append(word)
    return taken
