"""What is in front in a pane: a table of screens as the agents draw them, and the doubts that all mean no."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.delivery.ports.terminals import Pane
from atm.vendors.known import every
from atm.vendors.panes import (
    DEAD,
    DIALOG,
    DRAFT,
    FOREIGN,
    FRONTS,
    LOCKED,
    MODE,
    READY,
    SHELL,
    SYNCHRONIZED,
    UNKNOWN,
    composer_holds,
    composer_holds_a_chip,
    composer_holds_only,
    fault_of,
    front_of,
    program_name,
    runs_what_is_typed,
    shows,
)
from atm.vendors.screens import OF_OTHERS

TAG = "atm:3f0c1f4e"
LINE = f"[{TAG} from bob] the parser is done; look at src/parser.py when you can"
RULE = "─" * 60


def pane(command: str = "claude", *foreground: str) -> Pane:
    return Pane(id="%1", pid=7, command=command, foreground=foreground)


CLAUDE_NEW = f"""
● I have fixed the parser. Do you want me to commit it?

{RULE}
❯\xa0
{RULE}
  ⏵⏵ auto mode on (shift+tab to cycle) · ← for ag…
"""
CLAUDE_OLD = """
 > hello
⏺ Hello! How can I help you today?

╭──────────────────────────────────────────────╮
│ >                                            │
╰──────────────────────────────────────────────╯
  ? for shortcuts
"""
CLAUDE_BUSY = f"""
❯ fix the parser

✻ Pondering… (12s · esc to interrupt)

{RULE}
❯
{RULE}
  ? for shortcuts
"""
CLAUDE_PLACEHOLDER = f'{RULE}\n❯ Try "edit <filepath> to..."\n{RULE}\n  ? for shortcuts\n'
CLAUDE_SURVEY = f"""
● How is Claude doing this session? (optional)
  1: Bad    2: Fine   3: Good   0: Dismiss

{RULE}
❯
{RULE}
"""
CLAUDE_TALKS_ABOUT_DIALOGS = f"""
● The dialog reads "Do you want to proceed?" and offers
  1. Yes
  2. No, and tell Claude what to do differently (esc)
  with the footer "Esc to cancel · Tab to amend". I have taught the detector both.

{RULE}
❯
{RULE}
  ? for shortcuts
"""
CLAUDE_NAMED_RULE = f"──────────── parser ─────\n❯\n{RULE}\n  ⏵⏵ bypass permissions on (shift+tab to cycle)\n"
CODEX_READY = """
• Done. The parser handles both.

› Ask Codex to do anything

  gpt-6 medium · ~/repo · 87% context left
"""
CODEX_BUSY = """
› fix it

• Working (12s • esc to interrupt)

› Summarize recent commits

  100% context left
"""
GEMINI_READY = """
✦ I have updated the file.

╭──────────────────────────────────────────────────────────╮
│ >   Type your message or @path/to/file                   │
╰──────────────────────────────────────────────────────────╯
~/repo        no sandbox (see /docs)        gemini-2.5-pro (99% context left)
"""
GEMINI_BUSY = """
⠏ Reading files… (esc to cancel, 5s)

╭──────────────────────────────────────────────────────────╮
│ >   Type your message or @path/to/file                   │
╰──────────────────────────────────────────────────────────╯
"""
GEMINI_HALF_BLOCKS = """
▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄
 >   Type your message or @path/to/file
▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
"""
GEMINI_YOLO = """
╭──────────────────────────────╮
│ *   Type your message or @path/to/file │
╰──────────────────────────────╯
"""
AGY_READY = f"  Antigravity CLI 1.2.7\n  /Volumes/data/repo\n\n{RULE}\n>\n{RULE}\n? for shortcuts"
CURSOR_READY = "╭──────────────────────╮\n│ > Add a follow-up    │\n╰──────────────────────╯\n"

READY_SCREENS = {
    "claude, idle after a question in prose": CLAUDE_NEW,
    "claude, the older box": CLAUDE_OLD,
    "claude, at work": CLAUDE_BUSY,
    "claude, with its placeholder": CLAUDE_PLACEHOLDER,
    "claude, with a survey above": CLAUDE_SURVEY,
    "claude, after talk about dialogs": CLAUDE_TALKS_ABOUT_DIALOGS,
    "claude, a name in the rule and permissions bypassed": CLAUDE_NAMED_RULE,
    "codex, idle": CODEX_READY,
    "codex, at work": CODEX_BUSY,
    "gemini, idle": GEMINI_READY,
    "gemini, at work": GEMINI_BUSY,
    "gemini, half blocks": GEMINI_HALF_BLOCKS,
    "gemini, yolo": GEMINI_YOLO,
    "antigravity, idle": AGY_READY,
    "cursor, idle": CURSOR_READY,
}

CLAUDE_BASH = f"""
{RULE}
 Bash command

   rm -rf build
   Remove the build folder

 Do you want to proceed?
 ❯ 1. Yes
   2. Yes, and don't ask again for rm commands in /repo
   3. No, and tell Claude what to do differently (esc)

 Esc to cancel · Tab to amend
"""
CLAUDE_EDIT_OLD = """
╭──────────────────────────────────────────────╮
│ Edit file                                    │
│ ╭──────────────────────────────────────────╮ │
│ │ > quoted line of the file                │ │
│ ╰──────────────────────────────────────────╯ │
│ Do you want to make this edit to a.py?       │
│ ❯ 1. Yes                                     │
│   2. Yes, allow all edits (shift+tab)        │
│   3. No, and tell Claude what to do (esc)    │
╰──────────────────────────────────────────────╯
"""
CLAUDE_TRUST = """
 Accessing workspace:
 /repo
 Quick safety check: Is this a project you created or one you trust?
 Security guide

 ❯ 1. Yes, I trust this folder
   2. No, exit

 Enter to confirm · Esc to cancel
"""
CLAUDE_NARROW = """
 Do you want to
 allow Claude to
 fetch this
 content?
 ❯ 1. Yes
   2. No, and tell
      Claude what to
      do differently
"""
CLAUDE_PLAN = "Would you like to proceed?\n\n ❯ 1. Yes, and auto-accept edits\n   2. No, keep planning\n"
CLAUDE_QUESTION = f"""
{RULE}
 ☐ Runner
Which runner?
❯ 1. pytest
  2. unittest
  3. Type something.
Enter to select · ↑/↓ to navigate · Esc to cancel
"""
CLAUDE_MODEL = "Select model\n  1. Default\n❯ 2. Sonnet ✔\n\n Enter to confirm · Esc to exit\n"
CLAUDE_LOGIN = " Select login method:\n\n ❯ 1. Claude account with subscription\n   2. Anthropic Console account\n"
CLAUDE_CODE_ENTRY = """
 Browser didn't open? Use the url below to sign in
 https://claude.ai/oauth/authorize?code=true
 Paste code here if prompted

 >
"""
CLAUDE_BYPASS = "WARNING: Claude Code running in Bypass Permissions mode\n❯ 1. No, exit\n  2. Yes, I accept\n"
CODEX_APPROVAL = """
› try again

• Running open /tmp/foo.png

  Would you like to run the following command?

  Reason: may I open it?

  $ open /tmp/foo.png

› 1. Yes, proceed (y)
  2. Yes, and don't ask again for commands that start with `open` (p)
  3. No, and tell Codex what to do differently (esc)

  Press enter to confirm or esc to cancel
"""
CODEX_TRUST = """
> You are in /repo

  Do you trust the contents of this directory?

› 1. Yes, continue
  2. No, quit

  Press enter to continue
"""
CODEX_UPDATE = (
    "✨ Update available!\n\n› 1. Update now\n  2. Skip\n  3. Skip until next version\n\n  Press enter to continue"
)
CODEX_KEY = "  Paste or type your API key below.\n\n>\n"
GEMINI_CONFIRM = """
╭──────────────────────────────────────────────╮
│ ?  Shell ls -la                              │
│ Allow execution of: 'ls'?                    │
│ ● 1. Yes, allow once                         │
│   2. Yes, allow always ...                   │
│   3. No, suggest changes (esc)               │
╰──────────────────────────────────────────────╯
"""
GEMINI_AUTH = "How would you like to authenticate for this project?\n● 1. Login with Google\n  2. Use Gemini API Key\n"
GEMINI_TRUST = "Do you trust this folder?\n● 1. Trust folder (repo)\n  2. Trust parent folder\n  3. Don't trust\n"
AGY_TRUST = "Do you trust the contents of this project?\n\n> Yes, I trust this folder\n  No, exit\n"
OPENCODE_PERMISSION = (
    "┃  △ Permission required\n┃    ← Edit a.py\n┃\n┃  Allow once   Allow always   Reject   ⇆ select  enter confirm\n"
)
AIDER_CONFIRM = "> /run ls\n\nRun shell command? (Y)es/(N)o/(D)on't ask again [Yes]: \n"
PLAIN_YES_NO = "> install it\n\nProceed? [Y/n] \n"
PLAIN_PASSWORD = "> deploy\n\nPassword: \n"
PICKER = "? Pick one\n❯ alpha\n  beta\n(Use arrow keys)\n"
MENU_OF_WORDS = "Overwrite a.py?\n❯ Yes\n  No\n"

DIALOG_SCREENS = {
    "claude, a command": CLAUDE_BASH,
    "claude, an edit, with a prompt mark inside": CLAUDE_EDIT_OLD,
    "claude, trust": CLAUDE_TRUST,
    "claude, in a narrow pane": CLAUDE_NARROW,
    "claude, a plan": CLAUDE_PLAN,
    "claude, a question": CLAUDE_QUESTION,
    "claude, models": CLAUDE_MODEL,
    "claude, login": CLAUDE_LOGIN,
    "claude, a field for a code": CLAUDE_CODE_ENTRY,
    "claude, bypass": CLAUDE_BYPASS,
    "codex, a command": CODEX_APPROVAL,
    "codex, trust": CODEX_TRUST,
    "codex, update": CODEX_UPDATE,
    "codex, a field for a key": CODEX_KEY,
    "gemini, a command": GEMINI_CONFIRM,
    "gemini, login": GEMINI_AUTH,
    "gemini, trust": GEMINI_TRUST,
    "antigravity, trust without numbers": AGY_TRUST,
    "opencode, permission": OPENCODE_PERMISSION,
    "aider, confirm": AIDER_CONFIRM,
    "any, yes or no": PLAIN_YES_NO,
    "any, a password": PLAIN_PASSWORD,
    "any, a picker": PICKER,
    "any, a menu of words": MENU_OF_WORDS,
}

OTHER_SCREENS = {
    "claude, bash mode": (f"{RULE}\n!\n{RULE}\n  ! for bash mode\n", SHELL),
    "claude, bash mode by its mark alone": (f"{RULE}\n! ls\n{RULE}\n", SHELL),
    "gemini, shell mode": ("╭────────────╮\n│ !  \n╰────────────╯\nshell mode enabled (esc to disable)\n", SHELL),
    "gemini, shell mode by its words alone": ("╭────────────╮\n│ >  \n╰────────────╯\nshell mode enabled\n", SHELL),
    "claude, a draft": (f"{RULE}\n❯ please also\n{RULE}\n  ? for shortcuts\n", DRAFT),
    "gemini, a draft": ("╭────────────╮\n│ > rename the │\n╰────────────╯\n", DRAFT),
    "codex, a paste of somebody's": ("› [Pasted Content 1234 chars]\n\n  87% context left\n", DRAFT),
    "an empty screen": ("\n\n\n", UNKNOWN),
    "still starting": ("Connecting to provider…\n", UNKNOWN),
    "a transcript without a composer": ("● Reading the file\n  ⎿ 300 lines\n", UNKNOWN),
    "markdown, whose bullets and quotes are no composers": ("* one\n* two\n  > quoted\n", UNKNOWN),
}


@pytest.mark.parametrize("name", READY_SCREENS)
def test_a_composer_in_front_is_ready(name):
    assert front_of(pane(), READY_SCREENS[name]) == READY


@pytest.mark.parametrize("name", DIALOG_SCREENS)
def test_a_question_in_front_is_a_dialog(name):
    assert front_of(pane(), DIALOG_SCREENS[name]) == DIALOG


@pytest.mark.parametrize("name", OTHER_SCREENS)
def test_everything_else_is_not_ready(name):
    screen, front = OTHER_SCREENS[name]
    assert front_of(pane(), screen) == front


@pytest.mark.parametrize("name", DIALOG_SCREENS)
@pytest.mark.parametrize("above", [CLAUDE_NEW, CODEX_READY, GEMINI_READY])
def test_a_dialog_below_an_old_composer_is_a_dialog(name, above):
    assert front_of(pane(), above + DIALOG_SCREENS[name]) == DIALOG


@pytest.mark.parametrize("name", DIALOG_SCREENS)
def test_a_dialog_below_a_frame_that_quotes_a_composer_is_a_dialog(name):
    """Hostile text inside a dialog cannot hide the question below it."""
    assert front_of(pane(), f"{RULE}\n❯ \n{RULE}\n  ? for shortcuts\n" + DIALOG_SCREENS[name]) == DIALOG


MARKS = [(word, vendor.name) for vendor in every() if vendor.screen for word in vendor.screen.asking]
MARKS += [(word, vendor.name) for vendor in every() if vendor.screen for word in vendor.screen.asking_near]
MARKS += [(word, "others") for word in (*OF_OTHERS.asking, *OF_OTHERS.asking_near)]


@pytest.mark.parametrize(("words", "vendor"), MARKS)
def test_every_mark_of_the_table_is_found_however_it_is_wrapped(words, vendor):
    wrapped = "\n".join(f"│ {words.upper()[at : at + 5]} │" for at in range(0, len(words), 5))
    assert front_of(pane(), f"> go on\n\n{wrapped}\n") == DIALOG, vendor


def test_what_the_composer_itself_says_is_nobodys_question():
    pasted = f"{RULE}\n❯ [{TAG}] bob asks: do you want to\n  proceed? (y/n), esc to cancel\n{RULE}\n  ? for shortcuts\n"
    assert front_of(pane(), pasted) == DRAFT
    assert composer_holds(pasted, TAG)


class TestSuggestions:
    SCREEN = f"{RULE}\n❯ yes, commit it\n{RULE}\n  ? for shortcuts\n"

    def test_faint_words_in_the_composer_are_no_draft(self):
        assert front_of(pane(), self.SCREEN, self.SCREEN.replace("yes, commit it", " " * 14)) == READY

    def test_a_faint_prompt_mark_is_still_a_prompt_mark(self):
        assert front_of(pane(), self.SCREEN, self.SCREEN.replace("❯ yes, commit it", " " * 16)) == READY

    def test_without_knowing_what_is_faint_they_count(self):
        assert front_of(pane(), self.SCREEN) == DIALOG

    def test_another_screen_tells_nothing(self):
        assert front_of(pane(), self.SCREEN, "\n") == DIALOG


class TestPrograms:
    SHELL_NAMES = (
        *("sh", "bash", "zsh", "fish", "dash", "ksh", "tcsh", "pwsh", "nu", "xonsh", "cmd"),
        *("-bash", "-zsh", "/bin/bash", "pwsh.exe", "python3", "node"),
    )

    @pytest.mark.parametrize("command", SHELL_NAMES)
    def test_a_shell_is_a_shell_whatever_it_shows(self, command):
        foreground = (command,) if command in ("python3", "node") else ()
        assert front_of(pane(command, *foreground), CLAUDE_NEW) == SHELL

    @pytest.mark.parametrize("command", ["ssh", "sudo", "docker", "vim", "less", "tmux", "screen", ""])
    def test_programs_that_are_never_agents_are_foreign(self, command):
        assert front_of(pane(command), CLAUDE_NEW) == FOREIGN

    @pytest.mark.parametrize(
        ("command", "line"),
        [
            ("node", "node --no-warnings /usr/bin/gemini"),
            ("python3.11", "python3.11 -m atm.testing.scripted_agent"),
            ("bun", "bun run agent"),
            ("2.1.97", "/home/a/.local/share/claude/versions/2.1.97"),
            ("codex", ""),
        ],
    )
    def test_an_interpreter_with_a_script_is_an_agent(self, command, line):
        assert front_of(pane(command, *([line] if line else [])), CLAUDE_NEW) == READY

    @pytest.mark.parametrize("line", ["python3", "python3 -q", "node", "node --inspect", "python3 -"])
    def test_an_interpreter_without_one_waits_for_code(self, line):
        assert front_of(pane(line.split()[0], line), "> ") == SHELL

    def test_a_command_line_that_nobody_knows_leaves_it_to_the_screen(self):
        assert front_of(pane("python3"), ">>> ") == UNKNOWN

    def test_names_are_compared_without_their_folder(self):
        assert program_name("/usr/bin/-bash") == "bash"
        assert program_name(r"C:\Program Files\pwsh.exe") == "pwsh"
        assert not runs_what_is_typed("claude")


@pytest.mark.parametrize(
    ("fact", "front"),
    [("is_dead", DEAD), ("in_mode", MODE), ("is_synchronized", SYNCHRONIZED), ("is_locked", LOCKED)],
)
def test_a_pane_that_takes_no_keys_of_its_own_is_not_ready(fact, front):
    closed = pane()
    setattr(closed, fact, True)
    assert front_of(closed, CLAUDE_NEW) == front


def test_every_front_has_words():
    assert all(FRONTS.values())


class TestFindingTheTag:
    @pytest.mark.parametrize("width", [8, 11, 20, 33, 79, 200])
    @pytest.mark.parametrize("frame", ["{}", "│ {} │", "  {}", "┃ {}"])
    def test_it_is_found_wherever_the_line_was_wrapped(self, width, frame):
        rows = [frame.format(LINE[at : at + width]) for at in range(0, len(LINE), width)]
        assert shows("\n".join(["above", *rows, "below"]), TAG)

    def test_another_tag_is_not_found(self):
        assert not shows(LINE, "atm:3f0c1f4f")
        assert not shows(LINE, "")
        assert not shows("", TAG)

    @given(st.text(max_size=200), st.integers(1, 40))
    def test_any_line_with_the_tag_shows_it(self, text, width):
        line = f"{TAG} {text}".replace("\n", " ")
        assert shows("\n".join(line[at : at + width] for at in range(0, len(line), width)), TAG)


class TestTheComposer:
    def test_it_holds_what_was_pasted_in_however_many_rows(self):
        screen = f"{RULE}\n❯ {LINE[:20]}\n  {LINE[20:40]}\n  {LINE[40:]}\n{RULE}\n  ? for shortcuts\n"
        assert composer_holds(screen, TAG)
        assert composer_holds_only(screen, LINE)

    def test_it_holds_it_in_a_box(self):
        screen = f"╭──────────╮\n│ > {LINE[:16]} │\n│   {LINE[16:]} │\n╰──────────╯\n"
        assert composer_holds(screen, TAG)
        assert composer_holds_only(screen, LINE)

    def test_it_no_longer_holds_what_went_up_into_the_transcript(self):
        screen = f"❯ {LINE}\n\n{RULE}\n❯\n{RULE}\n"
        assert shows(screen, TAG)
        assert not composer_holds(screen, TAG)

    def test_a_dialog_has_none(self):
        assert not composer_holds(f"❯ {LINE}\n" + CLAUDE_BASH, TAG)

    @pytest.mark.parametrize("row", ["❯ wait, {}", "❯ {} and also", "❯ {}\n  and also"])
    def test_it_is_told_when_somebody_else_wrote_there_too(self, row):
        screen = f"{RULE}\n{row.format(LINE)}\n{RULE}\n"
        assert composer_holds(screen, TAG)
        assert not composer_holds_only(screen, LINE)

    def test_a_small_composer_shows_a_part(self):
        assert composer_holds_only(f"{RULE}\n❯ {LINE[30:50]}\n  {LINE[50:]}\n{RULE}\n", LINE)

    def test_a_row_of_the_text_that_looks_like_a_prompt_does_not_hide_the_tag(self):
        line = f"[{TAG}] see below > this"
        assert composer_holds(f"{RULE}\n❯ [{TAG}] see below\n  > this\n{RULE}\n", TAG)
        assert composer_holds_only(f"{RULE}\n❯ [{TAG}] see below\n  > this\n{RULE}\n", line)

    @pytest.mark.parametrize(
        "chip", ["[Pasted text #1 +3 lines]", "[Pasted Content 1234 chars]", "[Pasted Text: 6 lines]"]
    )
    def test_a_chip_stands_for_a_long_paste(self, chip):
        screen = f"{RULE}\n❯ {chip}\n{RULE}\n"
        assert composer_holds_a_chip(screen)
        assert composer_holds_only(screen, LINE)
        assert not composer_holds_only(f"{RULE}\n❯ {chip} and mine\n{RULE}\n", LINE)

    def test_an_empty_one_holds_nothing(self):
        assert not composer_holds(CLAUDE_NEW, TAG)
        assert not composer_holds_only(CLAUDE_NEW, LINE)
        assert not composer_holds_a_chip(CLAUDE_NEW)


class TestLines:
    @pytest.mark.parametrize("line", [LINE, f"[{TAG}] $(touch x) `ls` ; rm -rf / !history 日本語 é 🎉", f"Mail {TAG} "])
    def test_a_line_that_can_only_be_read_may_be_pasted(self, line):
        assert fault_of(line, TAG) == ""

    @pytest.mark.parametrize("sign", ["\n", "\r", "\t", "\x1b", "\x1b[201~", "\0", "\x7f", "\x9b", "\u2028", "\ud800"])
    def test_a_line_with_control_characters_may_not(self, sign):
        assert fault_of(f"[{TAG}] a{sign}b", TAG)

    @pytest.mark.parametrize("beginning", ["!", "/", "#", "@", "&", "$", "?", "-", " ", "\\"])
    def test_a_line_that_begins_like_a_command_may_not(self, beginning):
        assert fault_of(f"{beginning}{TAG} exit", TAG)

    @pytest.mark.parametrize("beginning", ["1. ", "2) ", "Yes, ", "no ", "[x] "])
    def test_a_line_that_begins_like_an_answer_may_not(self, beginning):
        assert fault_of(f"{beginning}{TAG}", TAG)

    def test_a_line_that_ends_with_a_backslash_may_not(self):
        assert fault_of(f"[{TAG}] C:\\ ", TAG)

    @pytest.mark.parametrize("tag", ["", "atm:other"])
    def test_a_line_without_its_mark_may_not(self, tag):
        assert fault_of(LINE, tag)


@given(st.text(max_size=400), st.text(max_size=400))
def test_no_screen_is_too_odd(screen, written):
    assert front_of(pane(), screen, written) in FRONTS
    composer_holds_only(screen, written)
    fault_of(screen, "x")
