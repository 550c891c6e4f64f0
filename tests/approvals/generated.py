"""
Lines composed at random over the corpus: wrappers, quotes, expansions, options, assignments, redirections, globs, other
folders, pipes and lists, and the syntax of single shells.

Most of them begin with an everyday line and change little, because only a line that is allowed can prove anything.
"""

from __future__ import annotations

import random
import shlex
import tomllib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.approvals.judging import HERE, Case

POLICIES = {"sensible": 4, "sensible-wrappers": 4, "default-allow": 2, "plans": 2, "sensible-grammar": 1}
"""How often each of them is taken."""

PARTS = tomllib.loads((HERE / "parts.toml").read_text())
TARGETS, FOLDERS, HARMFUL, ASSIGNMENTS, WRAPPERS, WORDS, ENDS, BETWEEN, VALUES = (
    *(PARTS["targets"], PARTS["folders"], PARTS["harmful"], PARTS["assignments"], PARTS["wrappers"]),
    *(PARTS["words"], PARTS["ends"], PARTS["between"], PARTS["values"]),
)
OPTIONS: dict[str, list[str]] = PARTS["options"]
SIGNS = "'\"\\`$(){}[]<>|&;#!~*?= \t\n\r^%@-,:+" + "\u00a0\u2028\u200b\x0b\x0c\x1b\x7f\u3000"


class Line(NamedTuple):
    """One generated line."""

    text: str
    policy: str


class Composer:
    """The same lines for the same seed."""

    def __init__(self, seed: int, cases: Sequence[Case]) -> None:
        self._random = random.Random(seed)
        self._good: dict[str, list[str]] = {name: [] for name in POLICIES}
        self._bad: dict[str, list[str]] = {name: [] for name in POLICIES}
        for case in cases:
            if case.folder == "w":
                (self._good if case.expected == "allow" else self._bad)[case.policy].append(case.line)
        for lines in (self._good, self._bad):
            lines["sensible-wrappers"] += lines["sensible"]
        self._gentle: list[Callable[[str], str]] = [
            *(self._quote, self._quote, self._end_gently, self._join_gently, self._add_gently, self._wrap_gently),
            *(self._enter_gently, self._end_gently, self._join_gently, self._cluster),
        ]
        self._harsh: list[Callable[[str], str]] = [
            *(self._wrap, self._wrap, self._end, self._end, self._join, self._add, self._add, self._add, self._assign),
            *(self._enter, self._noise, self._noise, self._noise, self._path, self._glue, self._cluster, self._cut),
            *(self._option,) * 6,
        ]

    def lines(self, count: int) -> list[Line]:
        found: dict[Line, None] = {}
        while len(found) < count:
            line = self._compose()
            if "\0" not in line.text and line.text.strip():
                found[line] = None
        return [*found]

    def _compose(self) -> Line:
        pick = self._random
        policy = pick.choices([*POLICIES], [*POLICIES.values()])[0]
        text = pick.choice(self._bad[policy] if pick.random() < 0.1 else self._good[policy])
        for _ in range(pick.choices((0, 1, 2, 3), (1, 5, 4, 2))[0]):
            text = pick.choice(self._gentle if pick.random() < 0.5 else self._harsh)(text)
        return Line(text, policy)

    # One change each.

    def _one(self, *of: str) -> str:
        return self._random.choice(of)

    def _good_line(self) -> str:
        return self._random.choice(self._good["sensible"])

    def _at_a_word(self, text: str, change: Callable[[str], str]) -> str:
        words = text.split(" ")
        at = self._random.randrange(len(words))
        return " ".join([*words[:at], change(words[at]), *words[at + 1 :]])

    def _insert(self, text: str, word: str) -> str:
        words = text.split(" ")
        at = self._random.randint(1, len(words))
        return " ".join([*words[:at], word, *words[at:]])

    def _quote(self, text: str) -> str:
        def change(word: str) -> str:
            at = self._random.randint(0, len(word))
            return self._one(
                f"'{word}'",
                f'"{word}"',
                f"{word[:at]}''{word[at:]}",
                f'{word[:at]}""{word[at:]}',
                f"{word[:at]}\\{word[at:]}",
            )

        return self._at_a_word(text, change)

    def _end_gently(self, text: str) -> str:
        return f"{text} {self._one('2>/dev/null', '2>&1', '>/dev/null', '1>&2', '> /dev/null 2>&1', '< /dev/null')}"

    def _end(self, text: str) -> str:
        end = self._one(*ENDS).format(target=self._one(*TARGETS))
        return self._one(f"{text} {end}", f"{text} {end}", f"{end} {text}", self._insert(text, end))

    def _join_gently(self, text: str) -> str:
        return f"{text}{self._one(*BETWEEN[:6])}{self._good_line()}"

    def _join(self, text: str) -> str:
        other = self._one(*HARMFUL) if self._random.random() < 0.6 else self._good_line()
        return self._one(f"{text}{self._one(*BETWEEN)}{other}", f"{other}{self._one(*BETWEEN)}{text}")

    def _add_gently(self, text: str) -> str:
        return self._insert(text, self._one(*WORDS[:16]))

    def _add(self, text: str) -> str:
        return self._insert(text, self._one(*WORDS))

    def _wrap_gently(self, text: str) -> str:
        return self._fill(
            self._one("({line})", "{{ {line}; }}", "timeout 5 {line}", "bash -c {quoted}", "{line};", "! {line}"), text
        )

    def _wrap(self, text: str) -> str:
        return self._fill(self._one(*WRAPPERS), text)

    def _fill(self, template: str, text: str) -> str:
        return template.format(line=text, quoted=shlex.quote(text), target=self._one(*TARGETS))

    def _assign(self, text: str) -> str:
        said = self._one(*ASSIGNMENTS)
        return self._one(
            f"{said} {text}", f"env {said} {text}", f"export {said}; {text}", f"{said}; {text}", f"{said} && {text}"
        )

    def _enter_gently(self, text: str) -> str:
        return f"cd {self._one('src', 'sub', '.', './src', 'sub/deep')} && {text}"

    def _enter(self, text: str) -> str:
        folder = self._one(*FOLDERS)
        forms = [
            "cd {0} && {1}",
            "cd {0}; {1}",
            "cd {0} || {1}",
            "(cd {0}) ; {1}",
            "(cd {0} && {1})",
            "pushd {0} && {1}",
            "cd {0}\n{1}",
        ]
        forms += ["cd -P {0} && {1}", "! cd {0} && {1}", "cd {0} & {1}", "cd {0} | {1}", "cd src && cd ../{0} && {1}"]
        if text.startswith("git "):
            forms += ["git -C {0} " + text[4:].replace("{", "{{").replace("}", "}}")] * 3
        return self._one(*forms).format(folder, text)

    def _noise(self, text: str) -> str:
        at = self._random.randint(0, len(text))
        return f"{text[:at]}{self._one(*SIGNS)}{text[at:]}"

    def _cut(self, text: str) -> str:
        at = self._random.randrange(len(text))
        return text[:at] + text[at + 1 :]

    def _path(self, text: str) -> str:
        first, space, rest = text.partition(" ")
        forms = (
            "./{0}",
            "tools/{0}",
            "/usr/bin/{0}",
            "/bin/{0}",
            "/out/bin/{0}",
            "/usr/bin/../../out/bin/{0}",
            "~/bin/{0}",
            "\\{0}",
            "/usr/bin/../bin/{0}",
            "//usr/bin/{0}",
            "/proc/self/root/usr/bin/{0}",
            "{0}.exe",
            "./src/../{0}",
            "={0}",
            '"{0}"',
        )
        form = self._one(*forms)
        return f"{form.replace('{0}', first)}{space}{rest}"

    def _cluster(self, text: str) -> str:
        """Letters more in a cluster, and long options that are cut short or get a value."""

        def change(word: str) -> str:
            if word.startswith("--"):
                return self._one(
                    word[: self._random.randint(3, max(3, len(word)))],
                    f"{word}=/out/x",
                    f"{word}=./e",
                    f"--no-{word[2:]}",
                )
            if word.startswith("-"):
                return f"{word}{self._one('O./e', 'o/out/x', 'l', 'n', 'a', 'O', 'x', 'c', 'f', 'z', '1', 'v')}"
            return f"{word} -{self._one(*'abcdfghilmnopqrstuvwxzOCRSIT1')}"

        return self._at_a_word(text, change)

    def _option(self, text: str) -> str:
        """A long option of that very program: whole or cut short, with a value or without."""
        known = [name for name in OPTIONS if f"{name} " in f"{text} "]
        if not known:
            return self._add(text)
        program = self._one(*known)
        option = self._one(*OPTIONS[program])
        if not option.startswith("-"):
            option = f"--{option[: self._random.choice((99, 99, 3, 5, 8))]}"
        value = self._one(*VALUES)
        option = self._one(option, option, f"{option}={value}", f"{option} {value}", f"'{option}={value}'")
        before, _, after = f"{text} ".partition(f"{program} ")
        return f"{before}{program} {option} {after}".rstrip()

    def _glue(self, text: str) -> str:
        """Two words become one, or one becomes two."""
        at = self._random.randint(0, len(text))
        return self._one(
            text.replace(" ", "", 1), f"{text[:at]} {text[at:]}", text.replace(" ", "\\ ", 1), text.replace(" ", "\t")
        )


def smaller(text: str) -> list[str]:
    """Lines with one part less, the shortest first."""
    words = text.split(" ")
    parts = [" ".join(words[:at] + words[at + 1 :]) for at in range(len(words))] if len(words) > 1 else []
    if len(text) < 60:
        parts += [text[:at] + text[at + 1 :] for at in range(len(text))]
    return sorted({part for part in parts if part.strip()}, key=len)
