"""The verbs of the board that change something."""

from __future__ import annotations

from atm.board.rules.tasks import PRIORITIES
from atm.ui.verbs.verb import COMMAND, FLAG, MANY, TOOL, WHOLE, Parameter, Verb

ID = Parameter("id", "the task's number or title, or how it begins", is_word=True, is_required=True)
MAYBE_ID = Parameter("id", ID.help, is_word=True)
CLAIM_ID = Parameter(
    "claim_id",
    "only if this claim is still in force (`claim.id` in the output of claim)",
    option="--claim",
    value="ID",
)
NOTE = Parameter("note", "a remark")

CHECKS = (
    Parameter(
        "accept_commands",
        "commands that must succeed before it counts as completed",
        kind=MANY,
        value="CMD",
        option="--accept",
    ),
    Parameter("accept_tests", "the same, shown as tests", kind=MANY, value="CMD", only=COMMAND),
    Parameter("accept_files", "files that must exist by then", kind=MANY, value="GLOB", option="--accept-file"),
    Parameter(
        "accept_commits",
        "the commit must be part of this branch by then",
        kind=MANY,
        value="BRANCH",
        option="--accept-commit",
        only=COMMAND,
    ),
)

CLAIM = Verb(
    "board_claim",
    "tasks claim",
    MAYBE_ID,
    Parameter("review", "begin its review instead", kind=FLAG, only=TOOL),
    home="board.working",
    title="Claim a task",
    summary="take the most urgent task that is free, or the one you name",
    about="Take or begin a task: this one, else your own, else the most urgent; or reason says why not.",
    text="Your own unfinished task comes first. Exit code 3 if there is nothing to be had; the reason says why.",
    examples=("atm tasks claim --as bob", "atm tasks claim 7 --as bob --json"),
    is_work=True,
    is_idempotent=True,
)
START = Verb(
    "board_start",
    "tasks start",
    ID,
    home="board.working",
    title="Start a task",
    summary="begin the work on a task, once its plan is approved",
    about="Begin a task, claimed if need be; refused while its plan is not approved.",
    examples=("atm tasks start 7 --as bob",),
    is_work=True,
    is_idempotent=True,
    within="board_claim",
)
COMPLETE = Verb(
    "board_complete",
    "tasks complete",
    ID,
    Parameter("result", "what came out of it"),
    Parameter("commit", "the commit that must be reachable (default: HEAD)", value="REV", brief="for its checks"),
    Parameter("no_verify", "skip the checks; for the lead and humans, and recorded", kind=FLAG, only=COMMAND),
    Parameter("allow_checks", "a person's yes to its commands, as `tasks show` shows them", kind=FLAG, only=COMMAND),
    CLAIM_ID,
    home="board.working",
    title="Complete a task",
    summary="finish a task: its checks run first",
    about="Finish a task. Its checks run first; while they are under_way, call again.",
    examples=('atm tasks complete 7 --result "parser done, 40 tests" --as bob',),
    is_idempotent=True,
)
FAIL = Verb(
    "board_fail",
    "tasks fail",
    ID,
    Parameter("error", "what went wrong", is_required=True, otherwise="no reason was given"),
    Parameter("final", "do not try it again", kind=FLAG),
    CLAIM_ID,
    home="board.working",
    title="Fail a task",
    summary="say that an attempt went wrong",
    about="An attempt went wrong: back to the board; with final, or after the last retry, for good.",
    examples=('atm tasks fail 7 --error "the API is down" --as bob',),
)
RELEASE = Verb(
    "board_release",
    "",
    ID,
    Parameter("reason", "why"),
    CLAIM_ID,
    home="board.working",
    title="Release a task",
    summary="give a task back without blame",
    about="Give a task back without blame.",
)
REOPEN = Verb(
    "board_reopen",
    "tasks reopen",
    ID,
    Parameter("reason", "why", option="--note", is_required=True, otherwise="reopened"),
    *CHECKS,
    home="board.working",
    title="Reopen a task",
    summary="bring back a completed, failed or cancelled task",
    about="Bring a completed, failed or cancelled task back to the board; accept_* replace its checks.",
    text=(
        "It is pending again, with a fresh count of attempts; its history and what each attempt printed are kept. "
        "Checks that are given take the place of those it had. What was merged stays on the target: the next work "
        "begins there, on a new branch. For the lead and humans."
    ),
    examples=("atm tasks reopen 7", 'atm tasks reopen 7 --accept "make test" --note "the check was wrong"'),
    for_bosses=True,
    is_destructive=True,
)
ASSIGN = Verb(
    "board_assign",
    "tasks assign",
    ID,
    Parameter("to", "the new owner", value="NAME", is_required=True),
    home="board.working",
    title="Assign a task",
    summary="give a task to somebody; whoever works on it stops",
    about="Give a task to a member; whoever works on it stops.",
    examples=("atm tasks assign 7 --to bob",),
    is_idempotent=True,
)
CANCEL = Verb(
    "board_cancel",
    "tasks cancel",
    ID,
    Parameter("reason", "why", is_required=True, otherwise="cancelled"),
    home="board.working",
    title="Cancel a task",
    summary="take a task off the list of what is to be done",
    about="Nobody shall do it; what depends on it becomes unreachable.",
    examples=('atm tasks cancel 7 --reason "not needed any more"',),
    is_destructive=True,
    is_idempotent=True,
)
ADD = Verb(
    "board_add",
    "tasks add",
    Parameter("subject", "what is to be done, in a few words", is_word=True, is_required=True, longest=500),
    Parameter("description", "everything that whoever does it must know"),
    Parameter("depends_on", "tasks that must be completed first: numbers or titles", kind=MANY, value="ID"),
    Parameter("priority", "critical, high, normal or low", value="P", default="normal", choices=PRIORITIES),
    Parameter("files", "files it will touch, to warn of overlaps", kind=MANY, value="GLOB", brief="globs"),
    Parameter("owner", "whose task it is; others cannot claim it", value="NAME"),
    Parameter("quantum", "the part of the work that it belongs to", value="PART", only=COMMAND),
    Parameter("runtime", "what its agent should run with: claude, codex, script ...", value="NAME", only=COMMAND),
    Parameter("reviewer", "it must be reviewed, by this member", value="NAME", brief=""),
    Parameter("needs_plan", "a plan must be approved before the work begins", kind=FLAG, option="--plan"),
    Parameter(
        "run", "commands that do it, one after the other: for `script` agents", kind=MANY, value="CMD", only=COMMAND
    ),
    *CHECKS,
    Parameter("folder", "where checks run (default: where whoever completes it works)", value="PATH", only=COMMAND),
    Parameter("max_retries", "attempts after the first one (default: 2)", kind=WHOLE, value="N", only=COMMAND),
    Parameter("timeout", "how long one attempt may take: 90s, 10m, 1h30m, none", value="TIME", only=COMMAND),
    home="board.planning",
    title="Add a task",
    summary="add a task",
    about="Add a task. depends_on: ids or titles. owner: who alone can claim it. accept_*: what proves it; for leads.",
    examples=(
        'atm tasks add "Write the parser" --priority high --files "src/parser/**"',
        'atm tasks add "Write its tests" --depends-on 1 --accept "make test"',
    ),
)
EDIT = Verb(
    "board_edit",
    "tasks edit",
    ID,
    Parameter("subject", "its new title", option="--title", longest=500),
    Parameter("description", "all that is to be known about it"),
    Parameter("priority", "how urgent it is", value="LEVEL", choices=PRIORITIES),
    Parameter("files", "what it touches, as globs", kind=MANY, value="GLOB"),
    Parameter("timeout", "how long one attempt may take: 90s, 10m, 1h30m, none", value="TIME", only=COMMAND),
    *CHECKS,
    home="board.planning",
    title="Edit a task",
    summary="change a task: title, description, priority, files, timeout, checks",
    about="Change an open task; what is given takes the place of what was.",
    text=(
        'What is given takes the place of what was there; one empty word clears it (--files ""). For the lead, humans '
        "and whoever added it; whoever works on it is told. The checks of a task that somebody works on are the "
        "lead's and humans' to change."
    ),
    examples=(
        'atm tasks edit 7 --title "Write the parser" --priority high',
        'atm tasks edit parser --accept "make test"',
    ),
    for_bosses=True,
    is_idempotent=True,
)
SPLIT = Verb(
    "board_split",
    "tasks split",
    ID,
    Parameter("into", "the parts", kind=MANY, value="SUBJECT", brief="subjects", is_required=True),
    home="board.planning",
    title="Split a task",
    summary="make several tasks of one, which then waits for its parts",
    about="Make several tasks of one, which waits for them.",
    examples=('atm tasks split 7 --into "Lexer" "Parser" "Printer" --as bob',),
)
DEPEND = Verb(
    "board_depend",
    "tasks depend",
    ID,
    Parameter("on", "what it shall wait for", kind=MANY, value="ID"),
    Parameter("off", "what it need not wait for any more", kind=MANY, value="ID"),
    home="board.planning",
    title="Dependencies",
    summary="add and remove dependencies",
    about="Block a task by others (on) or unblock it (off).",
    examples=("atm tasks depend 7 --on 3 4", "atm tasks depend 7 --off 3"),
    is_idempotent=True,
)
COMMENT = Verb(
    "board_comment",
    "tasks comment",
    ID,
    Parameter("text", "the remark", is_word=True, is_required=True),
    home="board.talking",
    title="Comment",
    summary="add a remark",
    about="Add a remark to a task.",
    examples=('atm tasks comment 7 "the fixture is in tests/data" --as bob',),
)
ASK = Verb(
    "board_ask",
    "",
    ID,
    Parameter("question", "what you must know", is_required=True),
    Parameter("whom", "whose answer it needs", value="WHO", choices=("lead", "user"), brief="default lead"),
    home="board.talking",
    title="Ask",
    summary="ask the lead or the user",
    about="A task waits for an answer; the lead is told.",
)
ANSWER = Verb(
    "board_answer",
    "",
    ID,
    Parameter("text", "the answer; the task goes on", is_required=True),
    home="board.talking",
    title="Answer",
    summary="answer a question about a task",
    about="Answer what was asked about a task; it goes on, and whoever asked is told.",
    for_bosses=True,
)
REQUEST_REVIEW = Verb(
    "review_request",
    "tasks review request",
    ID,
    Parameter("reviewer", "who shall review it", value="NAME"),
    home="board.talking",
    title="Request review",
    summary="ask for a review of your work",
    about="Your work on a task is done and the reviewer, or the lead, shall look.",
    examples=("atm tasks review request 7 --reviewer ann --as bob",),
)
START_REVIEW = Verb(
    "review_start",
    "tasks review start",
    ID,
    home="board.talking",
    title="Start a review",
    summary="begin a review",
    about="Begin to review a task that is not yours.",
    examples=("atm tasks review start 7",),
    within="board_claim",
)
APPROVE_WORK = Verb(
    "review_approve",
    "tasks review approve",
    ID,
    NOTE,
    home="board.talking",
    title="Approve work",
    summary="approve the work",
    about="The work is good: its owner can complete it.",
    examples=("atm tasks review approve 7 --as ann",),
)
REQUEST_CHANGES = Verb(
    "review_changes",
    "tasks review changes",
    ID,
    Parameter("note", "what is to be changed", is_required=True, otherwise=""),
    home="board.talking",
    title="Request changes",
    summary="ask for changes: back to the owner",
    about="The work needs changes: back to its owner.",
    examples=('atm tasks review changes 7 --note "handle empty input" --as ann',),
)
SUBMIT_PLAN = Verb(
    "plan_submit",
    "tasks plan submit",
    ID,
    Parameter("text", "the plan", is_required=True),
    Parameter("file", "a file with the plan; - for standard input", value="PATH", only=COMMAND),
    home="board.talking",
    title="Submit a plan",
    summary="say what you are going to do, and wait for approval",
    about="Say how you will do a claimed task; no answer means no.",
    examples=("atm tasks plan submit 7 --file plan.md --as bob",),
)
APPROVE_PLAN = Verb(
    "plan_approve",
    "tasks plan approve",
    ID,
    NOTE,
    home="board.talking",
    title="Approve a plan",
    summary="approve a plan (lead and humans)",
    about="Approve the plan of a task; its owner is told and begins. Read it with board_show, part plan.",
    examples=("atm tasks plan approve 7",),
    for_bosses=True,
)
REJECT_PLAN = Verb(
    "plan_reject",
    "tasks plan reject",
    ID,
    Parameter("feedback", "what is wrong with it", is_required=True, otherwise=""),
    home="board.talking",
    title="Reject a plan",
    summary="reject a plan and say why (lead and humans)",
    about="Reject the plan of a task and say why; its owner is told.",
    examples=('atm tasks plan reject 7 --feedback "too broad"',),
    for_bosses=True,
)

REVIEWS = (REQUEST_REVIEW, START_REVIEW, APPROVE_WORK, REQUEST_CHANGES)
PLANS = (SUBMIT_PLAN, APPROVE_PLAN, REJECT_PLAN)
ALL = (
    *(CLAIM, START, COMPLETE, FAIL, RELEASE, ASSIGN, CANCEL, REOPEN),
    *(ADD, EDIT, SPLIT, DEPEND, COMMENT, ASK, ANSWER),
    *REVIEWS,
    *PLANS,
)
