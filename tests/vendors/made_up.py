"""
A vendor that nobody sells, all of it in one file: what a package of others would bring.

Its program speaks ACP, calls hooks of our names, and does what the text after `do:` in a prompt says.
"""

from __future__ import annotations

from atm.vendors.calls import FOUND, NO, YES, ToolCalls, ToolFields
from atm.vendors.conversations import Conversations
from atm.vendors.hooks import BLOCK, CONTEXT, HookTable
from atm.vendors.moments import END, PROMPT, START, STOP, TOOL
from atm.vendors.runtime import Runtime
from atm.vendors.screen import PERMISSION, Screen
from atm.vendors.settings import HOOKS, SERVER, SettingsOf, SettingsRow
from atm.vendors.settings_servers import ServerShape
from atm.vendors.vendor import Vendor


def _says(_: str, word: str, reason: str) -> dict[str, object] | None:
    return {"verdict": word, "because": reason} if word in (YES, NO) else None


VENDOR = Vendor(
    "acme",
    "Acme Agent",
    letters="AC",
    processes=("acme",),
    own_names=(".acme",),
    variables=("ACME_SHELL",),
    hooks=HookTable(
        events={"Begin": START, "Ask": PROMPT, "Did": TOOL, "Rest": STOP, "Bye": END},
        entered=("Begin", "Ask", "Did", "Rest", "Bye"),
        permits=("May",),
        carries={"Begin": CONTEXT, "Ask": CONTEXT, "Did": CONTEXT, "Rest": BLOCK},
        stay="stay",
        context=lambda _, text: {"hear": text},
    ),
    calls=ToolCalls(
        "Acme Agent",
        says=_says,
        tools={"bash": ToolFields(command="line"), "grep": ToolFields(paths=("path",), shown=FOUND)},
    ),
    runtime=Runtime(
        "acme",
        protocol="acp",
        program="acme",
        headless=("acme", "--acp"),
        terminal=("acme", "{prompt}"),
        resume=("--resume", "{resume}"),
        version=("acme", "--version"),
        brings="made up in a test",
        vendor="acme",
        ends_by_signal=True,
        goes_on=True,
        driver="atm.vendors.drivers.acp:AcpDriver",
    ),
    screen=Screen(
        asking=("may acme do this?",), questions=(("may acme do this?", PERMISSION),), suggestions=("tell acme",)
    ),
    settings=SettingsOf(
        programs=("acme",),
        root=lambda around: around.below_home(".acme"),
        user=(SettingsRow("settings.json", (HOOKS, SERVER)),),
        project=(SettingsRow(".acme/settings.json", (HOOKS, SERVER)),),
        server=ServerShape("mcpServers"),
        after_hooks=lambda _: ("Acme Agent wants to be restarted.",),
    ),
    conversations=Conversations(folder="{home}/.acme", files="talks/{id}.txt", resume="acme --resume {}"),
)

PROGRAM = '''\
#!{python}
"""The program of the vendor: one line of JSON is one message."""
import json, os, subprocess, sys, uuid

if "--version" in sys.argv:
    print("acme 1.2.3")
    sys.exit()

TALKS = os.path.expanduser("~/.acme/talks")
os.makedirs(TALKS, exist_ok=True)


def say(**message):
    print(json.dumps({{"jsonrpc": "2.0", **message}}), flush=True)


def heard(session, text):
    with open(f"{{TALKS}}/{{session}}.txt", "a") as talk:
        talk.write(text + "\\n")
    for line in text.splitlines():
        _, found, command = line.partition("do: ")
        if found:
            subprocess.run(command, shell=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=sys.stderr)


folder = os.getcwd()
for line in sys.stdin:
    asked = json.loads(line)
    method, params, id = asked.get("method"), asked.get("params", {{}}), asked.get("id")
    if method == "initialize":
        say(id=id, result={{"protocolVersion": 1}})
    elif method in ("session/new", "session/load"):
        folder = params["cwd"]
        session = params.get("sessionId") or str(uuid.uuid4())
        modes = {{"availableModes": [{{"id": "default"}}, {{"id": "plan"}}]}}
        say(id=id, result={{"sessionId": session, "modes": modes}})
    elif method == "session/set_mode":
        say(id=id, result={{}})
    elif method == "session/prompt":
        heard(params["sessionId"], "\\n".join(part.get("text", "") for part in params["prompt"]))
        said = {{"sessionUpdate": "agent_message_chunk", "content": {{"type": "text", "text": "DONE: as you said"}}}}
        say(method="session/update", params={{"sessionId": params["sessionId"], "update": said}})
        say(id=id, result={{"stopReason": "end_turn"}})
    elif id is not None and method:
        say(id=id, result={{}})
'''
