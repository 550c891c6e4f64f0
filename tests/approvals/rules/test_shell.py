"""A command line is taken apart as a shell would take it, or is called unclear; never something in between."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.approvals.rules.shell import LONGEST, parse_line


def words_in(line: str) -> list[list[str]]:
    parsed = parse_line(line)
    assert parsed.unclear == "", line
    return [command.words for command in parsed.commands]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", []),
        ("   \t ", []),
        ("# rm -rf /", []),
        ("ls", [["ls"]]),
        ("ls -l  a\tb", [["ls", "-l", "a", "b"]]),
        ("ls # rm", [["ls"]]),
        ("ls a#b", [["ls", "a#b"]]),
        ("a;b", [["a"], ["b"]]),
        ("a&b", [["a"], ["b"]]),
        ("a\nb", [["a"], ["b"]]),
        ("a # x\nb", [["a"], ["b"]]),
        ("a && b || c | d |& e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("(a; (b))", [["a"], ["b"]]),
        ("{ a; }", [["a"]]),
        ("! a", [["a"]]),
        (r"r\m -rf x", [["rm", "-rf", "x"]]),
        ("r''m", [["rm"]]),
        ("\"r\"'m'", [["rm"]]),
        ("r\\\nm x", [["rm", "x"]]),
        ('"a\\\nb"', [["ab"]]),
        (r'"a\"b\\c\$d\`e\x"', [['a"b\\c$d`e\\x']]),
        (r"'a\b'", [["a\\b"]]),
        ("echo ''", [["echo", ""]]),
        ("echo $ a$", [["echo", "$", "a$"]]),
        ('echo "a $ b$"', [["echo", "a $ b$"]]),
        (r"echo \$HOME", [["echo", "$HOME"]]),
        (r"echo a\;b", [["echo", "a;b"]]),
        ("echo {} {a}", [["echo", "{}", "{a}"]]),
        ("echo '{a,b}' {a','b} '{'a,b}", [["echo", "{a,b}", "{a,b}", "{a,b}"]]),
        ("ech\u00f6 '\u00a0x'", [["ech\u00f6", "\u00a0x"]]),
        ("rm \u202ex", [["rm", "\u202ex"]]),
        ("echo if", [["echo", "if"]]),
        ("'if' x", [["if", "x"]]),
    ],
    ids=repr,
)
def test_words_are_those_of_the_shell(line, words):
    assert words_in(line) == words


@pytest.mark.parametrize(
    "line",
    [
        *("echo $x", "echo ${x}", "echo $(rm x)", "echo `rm x`", 'echo "$x"', 'echo "`rm x`"', 'echo "$(rm x)"'),
        *("rm$IFS-rf", "rm${IFS}x", "$x", "echo $1", "echo $@", "echo $$", "echo $?", "echo $!", "echo $-", "echo $#"),
        *("echo $'\\x72m'", 'echo $"rm"', "echo $[1+1]", "echo $((1+1))", 'echo "${x:-y}"', 'echo "$[1]"'),
        *("{rm,-rf,x}", "{rm,-rf,{x}}", "{rm,'-rf',/}", "echo {1..9}", "echo a{b,c}d", "{{rm,x},y}"),
        *("cat <<EOF\nrm x\nEOF", "cat <<-EOF", "cat <<'E'\nx\nE", "diff <(a) <(b)", "tee >(sh)", "a < (b)"),
        *("if a; then b; fi", "for x in a; do b; done", "while a; do b; done"),
        *("case a in b) c;; esac", "until a; do b"),
        *("select x in a; do b; done", "function f { a; }", "f() { a; }", "f () (a)", "coproc a", "[[ -f a ]]"),
        *("repeat 3 rm x", "foreach x (a)\nrm x\nend", "begin; rm x; end", "and rm x", "not rm x"),
        *("a=(b c)", "echo a(b)", "(a", "a)", "a;;b"),
        *("'a", '"a', "a 'b\nc", '"a\\"', "echo \"a'b"),
        *("a >", "a > ; b", "a > > b", "a >\nb", "a > | b", "> (a)", "a >!/etc/x", "a >! b"),
        *("/bin/r?", "r* x", "[r]m x", "~/bin/x", "~root/x", "=rm x"),
        *("ls \u00a0x", "ls \u3000--x", "ls a\u2028b", "echo {HOME}>x", "env <->/dev/null", "ls <1-9>x", "ls {--x, y}"),
        "ls &>/dev/null ./x",
        *("rm\x00 x", "rm\rx", "a\x1b[2Jb", "a\x7fb", "a\x0bb", "a\x0cb", "rm\x01"),
    ],
    ids=repr,
)
def test_what_cannot_be_read_without_running_it_is_unclear(line):
    assert parse_line(line).unclear


def test_what_was_found_before_the_unclear_part_is_told():
    parsed = parse_line("git push; echo $x; rm y")
    assert [command.words for command in parsed.commands] == [["git", "push"], ["echo"]]
    assert parsed.unclear


@pytest.mark.parametrize(
    ("line", "assigned", "words"),
    [
        ("A=1", ["A"], []),
        ("A=1 B=2 ls", ["A", "B"], ["ls"]),
        ("PATH+=:/x ls", ["PATH"], ["ls"]),
        ("ls A=1", [], ["ls", "A=1"]),
        ("1A=x", [], ["1A=x"]),
        ("a-b=x", [], ["a-b=x"]),
        ("A='b c' ls", ["A"], ["ls"]),
    ],
    ids=repr,
)
def test_variables_that_are_set_for_a_command_are_no_words_of_it(line, assigned, words):
    (command,) = parse_line(line).commands
    assert (command.assigned, command.words) == (assigned, words)


@pytest.mark.parametrize(
    ("line", "redirected", "words"),
    [
        ("a > b", [(">", "b")], ["a"]),
        ("a>b", [(">", "b")], ["a"]),
        ("> b a", [(">", "b")], ["a"]),
        ("a 2>b", [(">", "b")], ["a"]),
        ("a x2>b", [(">", "b")], ["a", "x2"]),
        ("a \u0663>b", [(">", "b")], ["a", "\u0663"]),
        ("a '2'>b", [(">", "b")], ["a", "2"]),
        ("a >> b", [(">>", "b")], ["a"]),
        ("a >| b", [(">|", "b")], ["a"]),
        ("a &> b", [("&>", "b")], ["a"]),
        ("a &>> b", [("&>>", "b")], ["a"]),
        ("a >& b", [(">&", "b")], ["a"]),
        ("a 2>&1", [(">&", "1")], ["a"]),
        ("a <> b", [("<>", "b")], ["a"]),
        ("a < b > c", [("<", "b"), (">", "c")], ["a"]),
        ("a <<< 'b c'", [("<<<", "b c")], ["a"]),
        ("a > 'b c'", [(">", "b c")], ["a"]),
    ],
    ids=repr,
)
def test_redirections_are_told_with_their_files(line, redirected, words):
    (command,) = parse_line(line).commands
    assert (command.redirected, command.words) == (redirected, words)


@pytest.mark.parametrize(
    ("line", "signs"),
    [
        ("a && b", ["", "&&"]),
        ("a; b", ["", ";"]),
        ("a | b && c", ["", "|", "&&"]),
        ("a || b", ["", "|"]),
        ("a & b", ["", "&"]),
        ("(a) && b", ["", ")"]),
        ("(a && b); c", ["", "&&", ")"]),
        ("a &&\nb", ["", ";"]),
    ],
    ids=repr,
)
def test_it_is_known_what_a_command_waits_for(line, signs):
    assert [command.follows for command in parse_line(line).commands] == signs


def test_a_command_that_is_turned_round_is_known_as_such():
    assert [command.is_negated for command in parse_line("! a && b").commands] == [True, False]


def test_a_line_of_64_k_is_read_and_one_more_letter_is_not():
    assert words_in("a" * LONGEST) == [["a" * LONGEST]]
    assert parse_line("a" * (LONGEST + 1)).unclear


@pytest.mark.parametrize(
    "piece", ["(", "'", '"', "{", "a;", "a{,", "\\", "&", ">", "a=", "}", "{}", "#\n", "x "], ids=repr
)
def test_a_long_line_of_one_thing_is_finished_in_the_time_that_it_deserves(piece):
    line = (piece * LONGEST)[:LONGEST]
    begun = time.thread_time()
    parse_line(line)
    assert time.thread_time() - begun < 5.0


SIGNS = st.sampled_from([*"ab ;&|()<>{}[]$`'\"\\\n\t#=!~*?,.-/0", "rm", "$(", "<<", "&&", "é", "\x00", "\u202e"])


@given(st.lists(SIGNS, max_size=40).map("".join))
def test_it_never_raises_and_tells_the_same_twice(line):
    first, again = parse_line(line), parse_line(line)
    assert [(c.words, c.redirected) for c in first.commands] == [(c.words, c.redirected) for c in again.commands]
    assert first.unclear == again.unclear


# What needs quotes gets them from shlex; words that a shell takes for more than words when they stand first do not.
WORDS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
COMMANDS = st.lists(WORDS, max_size=4).map(lambda rest: ["prog", *rest])


@given(st.lists(COMMANDS, min_size=1, max_size=4), st.sampled_from([" && ", ";", "\n", " | ", "&", " || "]))
def test_words_that_were_quoted_are_understood_to_the_letter(commands, between):
    line = between.join(shlex.join(words) for words in commands)
    assert words_in(line) == commands


@given(WORDS, WORDS)
def test_a_file_that_was_quoted_is_the_file_that_is_written(word, target):
    if target.startswith("!"):
        target = f"x{target}"
    (command,) = parse_line(f"prog {shlex.quote(word)} > {shlex.quote(target)}").commands
    assert (command.words, command.redirected) == (["prog", word], [(">", target)])
