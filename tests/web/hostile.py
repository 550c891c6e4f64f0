"""Texts that attack: scripts, attributes, markup, markdown, directions, escapes, and far too much of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.tui.lantern import NOW, ago, member, open_merge, task
from tests.web import lantern_page as made
from tests.web.lantern_reads import DIFF

from atm.files.formats.times import to_iso
from atm.ui.views.team.seen import ApprovalSeen, AskedSeen, MailSeen, StalledSeen, TeamSeen

HUGE = "A" * 1_000_000
STRINGS = (
    "<script>window.hacked=1;alert(1)</script>",
    '<img src=x onerror="window.hacked=1;alert(1)">',
    '"><svg onload=alert(1)><style>*{display:none}</style>',
    "' onmouseover='window.hacked=1' x='",
    "javascript:window.hacked=1",
    "[click](javascript:alert(1)) **bold** ![x](//evil.invalid/x.png)",
    "{{constructor.constructor('window.hacked=1')()}} ${window.hacked=1}",
    "\u202egnp.exe\u202c \u2066a\u2069 \u200bzero\u200b \ufeff",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b2J\x08\x08\r\x00",
    "z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030d\u030e\u030falgo",
    "../../../api/logout?x=1#y",
    "__proto__",
    "constructor",
    "\ud800 half a character",
    "Donaudampfschifffahrtsgesellschaftskapit\u00e4nsm\u00fctze" * 8,
    "\u05e2\u05d5\u05e8\u05da\u05be\u05d4\u05e7\u05d5\u05d3",
)


def _about(at: int) -> str:
    return STRINGS[at % len(STRINGS)]


def team() -> TeamSeen:
    """One of everything, all of it named by somebody who means harm."""
    names = [f"{one}" for one in STRINGS]
    members = [
        replace(member(name, "codex", tasks=(str(at + 1),)), mail=MailSeen(1, 2, name)) for at, name in enumerate(names)
    ]
    states = ("in_progress", "blocked", "pending", "review", "completed", "planning", "failed")
    tasks = [
        task(
            at + 1,
            _about(at),
            states[at % 7],
            names[at],
            str(at) if at else "",
            problem=_about(at + 1),
            files=[_about(at)],
        )
        for at in range(len(STRINGS))
    ]
    tasks.append(task(90, HUGE, "in_progress", names[0]))
    tasks.append(replace(task(0, "an id that attacks", "pending"), id=STRINGS[1]))
    asked = [
        ApprovalSeen(
            f"a{at}",
            names[at],
            "human",
            one,
            one,
            one,
            one,
            [one],
            DIFF + one,
            str(at + 1),
            ago(60),
            to_iso(NOW + 900),
            "waiting",
            one,
        )
        for at, one in enumerate(STRINGS)
    ]
    asked.append(
        ApprovalSeen(
            "huge",
            names[0],
            "human",
            "x",
            "x",
            "rm -rf " + HUGE,
            "/",
            [],
            None,
            "1",
            ago(60),
            to_iso(NOW + 900),
            "waiting",
            "why",
        )
    )
    return replace(
        made.SEEN,
        members=members,
        tasks=tasks,
        approvals=asked,
        asked=[
            AskedSeen(str(at + 1), "question" if at % 2 else "plan", "user", names[at], ago(9), one)
            for at, one in enumerate((*STRINGS, HUGE)[:17])
            if at < len(names)
        ],
        stalled=[StalledSeen(str(at + 1), names[at], ago(99), "lead") for at in range(4)],
        merges=replace(
            made.SEEN.merges, open=[open_merge(str(at + 1), "conflict", one) for at, one in enumerate(STRINGS)]
        )
        if made.SEEN.merges
        else None,
        troubles=[*STRINGS],
    )


def threads() -> list[dict[str, Any]]:
    texts = [
        *STRINGS,
        HUGE,
        "\x1b" * 100_000,
        '{"type": "<b>x</b>", "from": "<script>alert(1)</script>", "__proto__": {"a": 1}}',
    ]
    return [
        {
            "key": f"{one[:60]}\nann",
            "people": [one[:60], "ann"],
            "messages": [
                {
                    "id": one[:60],
                    "sender": one[:60],
                    "at": ago(9),
                    "text": one,
                    "summary": one[:2000],
                    "journeys": {one[:60]: {"written": {"at": one[:60], "evidence": one[:2000]}}},
                    "stands": {"written": "yes", one[:60]: "no"},
                }
            ],
        }
        for one in texts
    ]
