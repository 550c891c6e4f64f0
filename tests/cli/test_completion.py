"""`atm completion`: the scripts, tried in the real shells."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from tests.cli.conftest import Terminal
from tests.optional import skip_without

ASK = """
. "$SCRIPT"
COMP_WORDS=(atm "$@"); COMP_CWORD=$#
_atm
[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offers(crew):
    """What bash would offer for the last word of a command line."""
    skip_without("bash")
    script = crew.folder / "atm.bash"
    script.write_text(crew("completion", "bash").out)

    def ask(*words):
        done = subprocess.run(
            ["bash", "-c", ASK, "bash", *words],
            env={**crew.environment, "SCRIPT": str(script)},
            cwd=crew.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        return set(done.stdout.splitlines())

    return ask


class TestBash:
    def test_the_script_can_be_sourced_and_is_registered(self, crew):
        skip_without("bash")
        done = subprocess.run(
            ["bash", "-euc", 'eval "$1"; complete -p atm', "bash", crew("completion", "bash").out],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == "complete -F _atm atm\n"
        assert done.stderr == ""

    def test_the_first_word_is_a_command(self, offers):
        assert {"send", "read", "doctor", "--help"} <= offers("")
        assert offers("rea") == {"read"}
        assert offers("re") == {"request", "read", "receipts"}

    def test_options_are_those_of_the_command(self, offers):
        assert offers("send", "ann", "--off") == {"--offline-action"}
        assert offers("inbox", "--w") == {"--watch"}

    def test_a_group_offers_its_subcommands_and_they_their_options(self, offers):
        assert {"create", "add-member", "remove-member", "list"} <= offers("teams", "")
        assert offers("teams", "add-member", "crew", "cat", "--mod") == {"--model"}

    def test_members_and_teams_are_offered_where_they_belong(self, offers):
        assert offers("send", "a") == {"ann"}
        assert offers("inbox", "--team", "") == {"crew"}
        assert offers("send", "ann", "hi", "--from", "b") == {"bob"}
        assert "crew" in offers("members", "")

    def test_choices_are_offered(self, offers):
        assert {"bash", "zsh", "fish"} <= offers("completion", "")

    def test_files_are_offered_after_file(self, offers, crew):
        (crew.folder / "notes.md").write_text("")
        assert offers("send", "ann", "--file", "no") == {"notes.md"}

    def test_a_file_with_a_blank_in_its_name_is_one_offer(self, offers, crew):
        (crew.folder / "my notes.md").write_text("")
        (crew.folder / "*").write_text("")
        assert len(offers("send", "ann", "--file", "my")) == 1
        assert len(offers("send", "ann", "--file", "*")) == 1

    def test_without_any_team_nothing_is_offered_and_nothing_breaks(self, offers, crew):
        shutil.rmtree(crew.home / ".claude")
        assert offers("inbox", "--team", "") == set()

    @pytest.mark.parametrize("name", ["$(touch pwned)", "`touch pwned`"])
    def test_a_name_is_never_run(self, offers, crew, name):
        """Any member can make a file beside the inboxes; pressing TAB must not run what its name says."""
        (crew.inbox("ann").parent / f"{name}.json").write_text("[]")
        (crew.home / ".claude/teams" / name).mkdir()
        for words in (("send", ""), ("inbox", "--team", ""), ("send", "x", "--from", "")):
            offers(*words)
        assert not (crew.folder / "pwned").exists()

    def test_keys_of_settings_are_offered(self, offers):
        assert "core.identity" in offers("config", "get", "core.")

    def test_help_offers_the_commands(self, offers):
        assert offers("help", "rece") == {"receipts"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_scripts_parse(crew, shell):
    skip_without(shell)
    script = crew.folder / f"atm.{shell}"
    script.write_text(crew("completion", shell).out)
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def with_names(crew, quickly, tasks):
    tasks("add", "Write the parser")
    return quickly("send", "ann", "hello", "--as", "bob", "--json").json["message_id"]


def test_bash_offers_tasks_messages_and_values(offers, with_names):
    assert offers("tasks", "show", "") == {"1"}
    assert offers("ack", with_names[:4]) == {with_names}
    assert offers("tasks", "add", "x", "--priority", "hi") == {"high"}
    assert offers("tasks", "review", "re") == {"request"}
    assert offers("--team", "") == {"crew"}
    assert offers("--team", "crew", "tasks", "li") == {"list"}
    assert offers("tasks", "--sta") == {"--state"}


def test_fish_offers_names_and_values_with_descriptions(crew, with_names):
    skip_without("fish")
    script = crew.folder / "atm.fish"
    script.write_text(crew("completion", "fish").out)

    def ask(line):
        command = ["fish", "-N", "-c", 'source $argv[1]; complete -C "$argv[2]"', str(script), line]
        done = subprocess.run(
            command, env=crew.environment, cwd=crew.folder, capture_output=True, text=True, check=False
        )
        assert done.stderr == ""
        return dict(one.partition("\t")[::2] for one in done.stdout.splitlines())

    assert ask("atm ta") == {"tasks": "the board: add, claim, review and complete tasks"}
    assert ask("atm tasks show ") == {"1": "Write the parser"}
    assert ask("atm ack ") == {with_names: "from bob"}
    assert set(ask("atm --team ")) == {"crew"}
    assert set(ask("atm --team crew send a")) == {"ann"}
    assert set(ask("atm tasks add x --priority h")) == {"high"}
    assert set(ask("atm tasks review re")) == {"request"}
    assert "blocked" in ask("atm tasks list --state ")


def await_words(terminal, words):
    terminal.read_until(lambda text: words in text)


def test_zsh_completes_on_the_first_tab_with_descriptions(crew, with_names):
    skip_without("zsh")
    (crew.folder / "_atm").write_text(crew("completion", "zsh").out)
    environment = {**crew.environment, "TERM": "dumb"}
    terminal = Terminal(["zsh", "-f", "-i"], environment, crew.folder, 150)
    try:
        terminal.type("PS1='READY '; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; print DO''NE\n")
        terminal.read_until(lambda text: "DONE" in text)
        for line, shows in (
            ("atm tasks re", "give a task back without blame"),
            ("atm tasks show ", "atm tasks show 1"),
            ("atm --team ", "atm --team crew"),
            ("atm ack ", f"atm ack {with_names}"),
            ("atm tasks add x --prio", "--priority"),
            ("atm tasks add x --priority hi", "--priority high"),
        ):
            terminal.type(f"{line}\t")
            await_words(terminal, shows)
            terminal.text = ""
            terminal.type("\x15")
    finally:
        terminal.close()


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_scripts_name_every_command(crew, shell):
    out = crew("completion", shell).out
    assert all(name in out for name in ("send", "receipts", "--offline-action" if shell == "zsh" else "offline-action"))


def test_json_carries_the_script(crew):
    assert crew("completion", "bash", "--json").json["script"] + "\n" == crew("completion", "bash").out


def test_an_unknown_shell_is_refused_with_the_nearest(crew):
    assert "did you mean 'fish'" in crew("completion", "fsh", code=1).err


def test_settings_that_ask_for_json_do_not_break_the_shells_start(crew, configure):
    """`eval "$(atm completion bash)"` stands in people's .bashrc."""
    configure(display={"format": "json"})
    assert crew("completion", "bash").out.startswith("# bash completion")


def test_broken_settings_do_not_break_the_shells_start(crew):
    (crew.folder / ".atm.toml").write_text("[core\n")
    assert crew("completion", "bash").out.startswith("# bash completion")
