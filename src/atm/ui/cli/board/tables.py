"""What the verbs of `atm tasks` take: the tables for parser, help, completion and reference."""

from __future__ import annotations

from atm.domain.board.tasks import PRIORITIES
from atm.ui.cli.arguments import MANY, NUMBER, TEAM, WHOLE, Argument, Command, Option

ID = Argument("id", "the task's number")
AS = Option("--as", value="NAME", help="who you are (default: ATM_IDENTITY, settings)")
CLAIM = Option("--claim", value="ID", help="only if this claim is still in force (`claim.id` in the output of claim)")
MINE = (AS, TEAM)

_WISH = (
    Option("--description", value="TEXT", help="everything that whoever does it must know"),
    Option("--depends-on", value="ID", kind=MANY, help="tasks that must be completed first: numbers or titles"),
    Option("--priority", value="P", default="normal", choices=PRIORITIES, help="critical, high, normal or low"),
    Option("--files", value="GLOB", kind=MANY, help="files it will touch, to warn of overlaps"),
    Option("--owner", value="NAME", help="whose task it is; others cannot claim it"),
    Option("--quantum", value="PART", help="the part of the work that it belongs to"),
    Option("--reviewer", value="NAME", help="it must be reviewed, by this member"),
    Option("--plan", help="a plan must be approved before the work begins"),
    Option("--run", value="CMD", kind=MANY, help="commands that do it, one after the other: for `script` agents"),
    Option("--accept", value="CMD", kind=MANY, help="commands that must succeed before it counts as completed"),
    Option("--accept-tests", value="CMD", kind=MANY, help="the same, shown as tests"),
    Option("--accept-file", value="GLOB", kind=MANY, help="files that must exist by then"),
    Option("--accept-commit", value="BRANCH", kind=MANY, help="the commit must be part of this branch by then"),
    Option("--folder", value="PATH", help="where checks run (default: where whoever completes it works)"),
    Option("--max-retries", value="N", kind=WHOLE, help="attempts after the first one (default: 2)"),
)

ADD = Command(
    "tasks add",
    "add a task",
    arguments=(Argument("subject", "what is to be done, in a few words"),),
    options=(*_WISH, *MINE),
    examples=(
        'atm tasks add "Write the parser" --priority high --files "src/parser/**"',
        'atm tasks add "Write its tests" --depends-on 1 --accept "make test"',
    ),
)
IMPORT = Command(
    "tasks import",
    "add all tasks of a plan",
    text="A Markdown checklist, JSON or YAML. Dependencies are titles or #numbers. All of it is added, or nothing.",
    arguments=(Argument("file", "the plan; - for standard input", complete="file"),),
    options=(
        Option("--format", value="KIND", choices=("markdown", "json", "yaml"), help="if the file's name does not say"),
        Option("--dry-run", help="check it and show what would be added, and which commands it brings"),
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
CLAIM_NEXT = Command(
    "tasks claim",
    "take the most urgent task that is free, or the one you name",
    text="Your own unfinished task comes first. Exit code 3 if there is nothing to be had; the reason says why.",
    arguments=(Argument("id", "the task's number", required=False),),
    options=MINE,
    examples=("atm tasks claim --as bob", "atm tasks claim 7 --as bob --json"),
)
START = Command(
    "tasks start",
    "begin the work on a task, once its plan is approved",
    arguments=(ID,),
    options=MINE,
    examples=("atm tasks start 7 --as bob",),
)
COMPLETE = Command(
    "tasks complete",
    "finish a task: its checks run first",
    arguments=(ID,),
    options=(
        Option("--result", value="TEXT", help="what came out of it"),
        Option("--commit", value="REV", help="the commit that must be reachable (default: HEAD)"),
        Option("--no-verify", help="skip the checks; for the lead and humans, and recorded"),
        Option("--allow-checks", help="a person's yes to its commands, as `tasks show` shows them"),
        CLAIM,
        *MINE,
    ),
    examples=('atm tasks complete 7 --result "parser done, 40 tests" --as bob',),
)
ALLOW = Command(
    "tasks allow",
    "a person's yes to the commands of a task",
    text="Those that do it and those that prove it, as `atm tasks show` shows them, as they are now.",
    arguments=(ID,),
    options=MINE,
    examples=("atm tasks allow 7",),
)
FAIL = Command(
    "tasks fail",
    "say that an attempt went wrong",
    arguments=(ID,),
    options=(
        Option("--error", value="TEXT", help="what went wrong"),
        Option("--final", help="do not try it again"),
        CLAIM,
        *MINE,
    ),
    examples=('atm tasks fail 7 --error "the API is down" --as bob',),
)
RELEASE = Command(
    "tasks release",
    "give a task back without blame",
    arguments=(Argument("id", "the task's number", required=False),),
    options=(
        Option("--reason", value="TEXT", help="why"),
        Option("--silent", help="instead: take back what members hold who went silent"),
        Option("--reopen", help="instead: bring back a finished, failed or cancelled task (lead and humans)"),
        CLAIM,
        *MINE,
    ),
    examples=("atm tasks release 7 --as bob", "atm tasks release --silent", "atm tasks release 7 --reopen"),
)
ASSIGN = Command(
    "tasks assign",
    "give a task to somebody; whoever works on it stops",
    arguments=(ID,),
    options=(Option("--to", value="NAME", help="the new owner"), *MINE),
    examples=("atm tasks assign 7 --to bob",),
)
SPLIT = Command(
    "tasks split",
    "make several tasks of one, which then waits for its parts",
    arguments=(ID,),
    options=(Option("--into", value="SUBJECT", kind=MANY, help="the parts"), *MINE),
    examples=('atm tasks split 7 --into "Lexer" "Parser" "Printer" --as bob',),
)
CANCEL = Command(
    "tasks cancel",
    "take a task off the list of what is to be done",
    arguments=(ID,),
    options=(Option("--reason", value="TEXT", help="why"), *MINE),
    examples=('atm tasks cancel 7 --reason "not needed any more"',),
)
DEPEND = Command(
    "tasks depend",
    "add and remove dependencies",
    arguments=(ID,),
    options=(
        Option("--on", value="ID", kind=MANY, help="what it shall wait for"),
        Option("--off", value="ID", kind=MANY, help="what it need not wait for any more"),
        *MINE,
    ),
    examples=("atm tasks depend 7 --on 3 4", "atm tasks depend 7 --off 3"),
)
COMMENT = Command(
    "tasks comment",
    "add a remark",
    arguments=(ID, Argument("text", "the remark")),
    options=MINE,
    examples=('atm tasks comment 7 "the fixture is in tests/data" --as bob',),
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
REVIEW = Command(
    "tasks review",
    "reviews: request, start, approve, changes",
    subcommands=(
        Command(
            "tasks review request",
            "ask for a review of your work",
            arguments=(ID,),
            options=(Option("--reviewer", value="NAME", help="who shall review it"), *MINE),
            examples=("atm tasks review request 7 --reviewer ann --as bob",),
        ),
        Command(
            "tasks review start",
            "begin a review",
            arguments=(ID,),
            options=MINE,
            examples=("atm tasks review start 7",),
        ),
        Command(
            "tasks review approve",
            "approve the work",
            arguments=(ID,),
            options=(Option("--note", value="TEXT", help="a remark"), *MINE),
            examples=("atm tasks review approve 7 --as ann",),
        ),
        Command(
            "tasks review changes",
            "ask for changes: back to the owner",
            arguments=(ID,),
            options=(Option("--note", value="TEXT", help="what is to be changed"), *MINE),
            examples=('atm tasks review changes 7 --note "handle empty input" --as ann',),
        ),
    ),
    examples=("atm tasks review request 7 --reviewer ann --as bob",),
)
PLAN = Command(
    "tasks plan",
    "plans that need approval: submit, approve, reject",
    subcommands=(
        Command(
            "tasks plan submit",
            "say what you are going to do, and wait for approval",
            arguments=(ID,),
            options=(
                Option("--text", value="TEXT", help="the plan"),
                Option("--file", value="PATH", help="a file with the plan; - for standard input"),
                *MINE,
            ),
            examples=("atm tasks plan submit 7 --file plan.md --as bob",),
        ),
        Command(
            "tasks plan approve",
            "approve a plan (lead and humans)",
            arguments=(ID,),
            options=(Option("--note", value="TEXT", help="a remark"), *MINE),
            examples=("atm tasks plan approve 7",),
        ),
        Command(
            "tasks plan reject",
            "reject a plan and say why (lead and humans)",
            arguments=(ID,),
            options=(Option("--feedback", value="TEXT", help="what is wrong with it"), *MINE),
            examples=('atm tasks plan reject 7 --feedback "too broad"',),
        ),
    ),
    examples=("atm tasks plan submit 7 --file plan.md --as bob",),
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
    arguments=(Argument("id", "the task's number", required=False),),
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

VERBS = {
    "tasks add": ("adding", ADD),
    "tasks import": ("adding", IMPORT),
    "tasks list": ("listing", LIST),
    "tasks show": ("listing", SHOW),
    "tasks claim": ("working", CLAIM_NEXT),
    "tasks start": ("working", START),
    "tasks allow": ("working", ALLOW),
    "tasks complete": ("working", COMPLETE),
    "tasks fail": ("working", FAIL),
    "tasks release": ("working", RELEASE),
    "tasks assign": ("working", ASSIGN),
    "tasks split": ("adding", SPLIT),
    "tasks cancel": ("working", CANCEL),
    "tasks depend": ("adding", DEPEND),
    "tasks comment": ("talking", COMMENT),
    "tasks clarify": ("talking", CLARIFY),
    "tasks review": ("talking", REVIEW),
    "tasks plan": ("talking", PLAN),
    "tasks graph": ("listing", GRAPH),
    "tasks history": ("listing", HISTORY),
    "tasks watch": ("watching", WATCH),
    "tasks beat": ("working", BEAT),
}
"""Each verb, the module that does it, and its table."""
