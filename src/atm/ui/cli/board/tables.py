"""What the verbs of `atm tasks` take: the tables for parser, help, completion and reference."""

from __future__ import annotations

from atm.ui.cli.arguments import MANY, NUMBER, TEAM, WHOLE, Argument, Command, Option
from atm.ui.cli.verb_options import MINE, command_of, option_of
from atm.ui.verbs.board import table

ID = Argument("id", table.ID.help, complete="task")
MAYBE_ID = Argument("id", table.ID.help, required=False, complete="task")

IMPORT = Command(
    "tasks import",
    "add all tasks of a plan; again: bring them up to it",
    text="A Markdown checklist, JSON or YAML. Dependencies are ids of the plan, titles or #numbers. All of it is "
    "added, or nothing. Again: what is new is added, what nobody has begun is changed, the rest stays.",
    arguments=(Argument("file", "the plan; - for standard input", complete="file"),),
    options=(
        Option("--format", value="KIND", choices=("markdown", "json", "yaml"), help="if the file's name does not say"),
        Option("--dry-run", help="check it and show what would become of it, and which commands it brings"),
        Option("--allow-checks", help="a person's yes to the commands in it"),
        *MINE,
    ),
    examples=("atm tasks import plan.md", "atm tasks import plan.yaml --dry-run"),
)
LIST = Command(
    "tasks list",
    "the board",
    options=(
        Option("--state", value="STATE", kind=MANY, help="only tasks in these states"),
        Option("--owner", value="NAME", help="only the tasks of this member"),
        Option("--limit", value="N", kind=WHOLE, help="at most so many"),
        Option("--all", help="also Claude Code's own bookkeeping"),
        TEAM,
    ),
    examples=("atm tasks list", "atm tasks list --state blocked unreachable", "atm tasks list --json"),
)
SHOW = Command(
    "tasks show", "everything about a task", arguments=(ID,), options=(TEAM,), examples=("atm tasks show 7",)
)
ALLOW = Command(
    "tasks allow",
    "a person's yes to the commands of a task",
    text="Those that do it and those that prove it, as `atm tasks show` shows them, as they are now.",
    arguments=(ID,),
    options=MINE,
    examples=("atm tasks allow 7",),
)
RELEASE = Command(
    "tasks release",
    "give a task back without blame",
    arguments=(MAYBE_ID,),
    options=(
        Option("--reason", value="TEXT", help="why"),
        Option("--silent", help="instead: take back what members hold who went silent"),
        Option("--reopen", help="the same as `atm tasks reopen`"),
        option_of(table.CLAIM_ID),
        *MINE,
    ),
    examples=("atm tasks release 7 --as bob", "atm tasks release --silent"),
)
CLARIFY = Command(
    "tasks clarify",
    "ask the lead or the user, or answer such a question",
    arguments=(ID,),
    options=(
        Option("--needs", value="WHO", choices=("lead", "user"), help="whose answer it needs"),
        Option("--question", value="TEXT", help="what you must know"),
        Option("--answer", value="TEXT", help="the answer; the task goes on"),
        *MINE,
    ),
    examples=(
        'atm tasks clarify 7 --needs lead --question "JSON or YAML?" --as bob',
        'atm tasks clarify 7 --answer "JSON"',
    ),
)
GRAPH = Command(
    "tasks graph",
    "draw what depends on what",
    options=(
        Option("--format", value="KIND", default="text", choices=("text", "dot", "svg"), help="text, dot or svg"),
        Option("--output", value="PATH", help="write to a file instead of standard output"),
        TEAM,
    ),
    examples=("atm tasks graph", "atm tasks graph --format svg --output board.svg"),
)
HISTORY = Command(
    "tasks history",
    "everything that happened, also to tasks that are gone",
    arguments=(MAYBE_ID,),
    options=(Option("--limit", value="N", kind=WHOLE, help="the last so many"), TEAM),
    examples=("atm tasks history 7", "atm tasks history --limit 20 --json"),
)
WATCH = Command(
    "tasks watch",
    "print changes of the board as they happen",
    options=(
        Option("--until-done", help="end when nothing is left that anybody could do"),
        Option("--timeout", value="SECONDS", kind=NUMBER, help="end after so many seconds"),
        TEAM,
    ),
    examples=("atm tasks watch", "atm tasks watch --until-done --json"),
)
BEAT = Command(
    "tasks beat",
    "say that you are still there, so that nobody takes your tasks away",
    text="Every board command says so too. A claim is released after 10 minutes of silence, never because it is old.",
    options=(
        Option("--pid", value="PID", kind=WHOLE, help="the process that stands for you: when it ends, you are gone"),
        Option("--while", value="PID", kind=WHOLE, help="the same, and go on saying so until it ends"),
        Option("--every", value="SECONDS", kind=NUMBER, default=60.0, help="how often, with --while"),
        Option("--context", value="PERCENT", kind=WHOLE, help="how much of your context is used"),
        *MINE,
    ),
    examples=("atm tasks beat --as bob", "atm tasks beat --as bob --while 4711"),
)

REVIEW = Command(
    "tasks review",
    "reviews: request, start, approve, changes",
    subcommands=tuple(map(command_of, table.REVIEWS)),
    examples=("atm tasks review request 7 --reviewer ann --as bob",),
)
PLAN = Command(
    "tasks plan",
    "plans that need approval: submit, approve, reject",
    subcommands=tuple(map(command_of, table.PLANS)),
    examples=("atm tasks plan submit 7 --file plan.md --as bob",),
)

VERBS = {
    "tasks add": ("doing", command_of(table.ADD)),
    "tasks edit": ("doing", command_of(table.EDIT)),
    "tasks import": ("adding", IMPORT),
    "tasks list": ("listing", LIST),
    "tasks show": ("listing", SHOW),
    "tasks claim": ("doing", command_of(table.CLAIM)),
    "tasks start": ("doing", command_of(table.START)),
    "tasks allow": ("working", ALLOW),
    "tasks complete": ("doing", command_of(table.COMPLETE)),
    "tasks fail": ("doing", command_of(table.FAIL)),
    "tasks release": ("doing", RELEASE),
    "tasks reopen": ("doing", command_of(table.REOPEN)),
    "tasks assign": ("doing", command_of(table.ASSIGN)),
    "tasks split": ("doing", command_of(table.SPLIT)),
    "tasks cancel": ("doing", command_of(table.CANCEL)),
    "tasks depend": ("doing", command_of(table.DEPEND)),
    "tasks comment": ("doing", command_of(table.COMMENT)),
    "tasks clarify": ("doing", CLARIFY),
    "tasks review": ("doing", REVIEW),
    "tasks plan": ("doing", PLAN),
    "tasks graph": ("listing", GRAPH),
    "tasks history": ("listing", HISTORY),
    "tasks watch": ("watching", WATCH),
    "tasks beat": ("working", BEAT),
}
"""Each verb, the module that does it, and its table. Those that every surface offers are in `ui/verbs`."""
