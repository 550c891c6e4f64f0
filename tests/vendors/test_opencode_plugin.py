"""The plugin for OpenCode in a real JavaScript engine, with a stub of `atm`: it never throws, and passes texts on."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.optional import needs

from atm.files.adapters.processes import began
from atm.vendors.opencode.plugin import VERSION, is_ours, is_untouched, plugin_text, says_the_same

needs_node = needs("node")


def test_the_first_line_says_whose_it_is_and_in_which_version():
    text = plugin_text(["atm"])
    assert text.startswith(f"// atm plugin for OpenCode, version {VERSION}, checksum ")
    assert is_ours(text)
    assert is_untouched(text)


def test_the_program_is_a_list_of_texts_whatever_is_in_its_path():
    for program in (["atm"], ['/a "b"\\c\u2028/atm'], ["/py thon", "-m", "atm"]):
        line = next(line for line in plugin_text(program).split("\n") if line.startswith("const ATM = "))
        assert json.loads(line.removeprefix("const ATM = ")) == program


def test_a_change_by_hand_is_seen_and_another_line_break_is_none():
    text = plugin_text(["atm"])
    assert is_untouched(text.replace("\n", "\r\n"))
    assert says_the_same(text.replace("\n", "\r\n"), text)
    assert not is_untouched(text + "// mine\n")
    assert is_ours(text + "// mine\n")
    assert not is_ours("// mine\n" + text)
    assert not is_ours("")


# In a real engine.

DRIVER = """
import { pathToFileURL } from "node:url"
const asked = []
process.on("unhandledRejection", (error) => { console.log("escaped", error); process.exit(9) })
const plugin = (await import(pathToFileURL(process.argv[2]).href)).default
const answer = async (...given) => { asked.push(given) }
const DIRECTORY = process.cwd()
let result
SCRIPT
console.log(JSON.stringify({ asked, result }))
"""


class Stub:
    """A stand-in for `atm`: notes how it was called, and says what it was told to say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = folder / "bin" / "atm"
        self.program.parent.mkdir()
        self.calls = folder / "calls.jsonl"
        self.does("true")

    def does(self, script: str) -> None:
        note = f'printf \'{{"words": "%s", "folder": "%s", "stdin": %s}}\\n\' "$*" "$PWD" "$said" >> {self.calls}'
        self.program.write_text(f"#!/bin/sh\nsaid=$(cat)\n{note}\n{script}\n")
        self.program.chmod(0o755)

    def says(self, text: str) -> None:
        (self.folder / "answer").write_text(text)
        self.does(f"cat {self.folder}/answer")

    @property
    def called(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.calls.read_text().splitlines()] if self.calls.exists() else []

    @property
    def events(self) -> list[str]:
        return [call["stdin"]["event"] for call in self.called]


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    return Stub(tmp_path)


@pytest.fixture
def run(stub: Stub, tmp_path: Path):
    """Run a script against the plugin; what it asked of OpenCode, and its result."""

    def go(script: str, *, program: list[str] | None = None) -> Any:
        (tmp_path / "package.json").write_text('{"type": "module"}')
        text = plugin_text(program or ["atm"])
        assert "LONGEST_WAIT = 4500" in text
        (tmp_path / "atm.js").write_text(text.replace("LONGEST_WAIT = 4500", "LONGEST_WAIT = 60000"))
        (tmp_path / "driver.mjs").write_text(DRIVER.replace("SCRIPT", script))
        done = subprocess.run(
            ["node", str(tmp_path / "driver.mjs"), str(tmp_path / "atm.js")],
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "PATH": f"{stub.program.parent}:{os.environ['PATH']}"},
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stderr == b""
        return json.loads(done.stdout)

    return go


LIMIT = """
import { existsSync } from "node:fs"
const timeIsUpWhen = (isSo) => {
  globalThis.setTimeout = (work) => {
    const looking = setInterval(() => {
      if (isSo()) {
        clearInterval(looking)
        work()
      }
    }, 10)
    return looking
  }
}
"""
ONE = """
const client = { session: { prompt: answer } }
const hooks = await plugin.server({ client, directory: DIRECTORY, serverUrl: new URL("http://localhost:4096/") })
"""
TWO = """
const hooked = {}
const queue = []
let wake
const events = {
  [Symbol.asyncIterator]: () => ({
    next: async () => {
      while (!queue.length) await new Promise((resolve) => { wake = resolve })
      return queue.shift()
    },
    return: async () => { result = "closed" },
  }),
}
const publish = (type, data) => { queue.push({ value: { type, data } }); wake?.() }
const end = () => { queue.push({ done: true }); wake?.() }
const ctx = {
  location: { directory: DIRECTORY },
  session: { synthetic: answer, hook: async (name, work) => { hooked[name] = work } },
  tool: { hook: async (name, work) => { hooked[name] = work } },
  event: { subscribe: () => events },
}
const cleanUp = await plugin.setup(ctx)
"""
MESSAGE = '{ message: { agent: "build", model: { providerID: "p", modelID: "m" } }, parts: [{ type: "text" }] }'


@needs_node
def test_both_lines_of_opencode_find_what_they_look_for(run):
    done = run("result = [plugin.id, typeof plugin.server, typeof plugin.setup, Object.keys(plugin)]")
    assert done["result"] == ["atm", "function", "function", ["id", "server", "setup"]]


@needs_node
def test_a_prompt_is_told_and_the_answer_comes_into_the_session_without_a_reply(run, stub, tmp_path):
    stub.says('{"context": "mail from ann: \\u00fcber"}')
    done = run(ONE + f'await hooks["chat.message"]({{ sessionID: "ses_1" }}, {MESSAGE})')
    (call,) = stub.called
    assert call["words"] == "hook opencode chat.message"
    assert call["folder"] == str(tmp_path)
    assert call["stdin"] == {
        "event": "chat.message",
        "sessionID": "ses_1",
        "directory": str(tmp_path),
        "serverUrl": "http://localhost:4096/",
    }
    body = {
        "agent": "build",
        "model": {"providerID": "p", "modelID": "m"},
        "noReply": True,
        "parts": [{"type": "text", "text": "mail from ann: über", "synthetic": True}],
    }
    assert done["asked"] == [[{"path": {"id": "ses_1"}, "body": body}]]


@needs_node
def test_events_of_the_day_are_told_by_their_names(run, stub):
    run(
        ONE
        + """
for (const [type, properties] of [
  ["session.created", { info: { id: "s" } }], ["session.idle", { sessionID: "s" }],
  ["session.compacted", { sessionID: "s" }], ["permission.asked", { sessionID: "s" }],
  ["message.part.updated", { sessionID: "s" }], ["session.deleted", { info: { id: "s" } }],
]) await hooks.event({ event: { type, properties } })
await hooks["tool.execute.after"]({ sessionID: "s", tool: "bash" }, {})
"""
    )
    assert stub.events == [
        *("session.created", "session.idle", "session.compacted", "permission.asked", "session.deleted"),
        "tool.execute.after",
    ]


@needs_node
def test_the_first_prompt_waits_until_the_session_knows_who_it_is(run, stub):
    """What comes after the model was asked would make OpenCode ask it once more."""
    slowly = """sleep 0.5; echo '{"context": "you are bob"}'"""
    stub.does(f"""case "$*" in *session.created) {slowly} ;; *) echo '{{"context": "mail"}}' ;; esac""")
    done = run(
        ONE
        + f"""
hooks.event({{ event: {{ type: "session.created", properties: {{ info: {{ id: "s" }} }} }} }})
await hooks["chat.message"]({{ sessionID: "s" }}, {MESSAGE})
"""
    )
    assert [asked["body"]["parts"][0]["text"] for (asked,) in done["asked"]] == ["you are bob", "mail"]


@needs_node
def test_a_subagent_is_not_the_member(run, stub):
    stub.says('{"context": "mail"}')
    done = run(
        ONE
        + f"""
await hooks.event({{ event: {{ type: "session.created", properties: {{ info: {{ id: "c", parentID: "s" }} }} }} }})
await hooks["chat.message"]({{ sessionID: "c" }}, {MESSAGE})
await hooks["tool.execute.after"]({{ sessionID: "c" }}, {{}})
"""
    )
    assert stub.called == []
    assert done["asked"] == []


@needs_node
def test_a_text_that_a_plugin_put_in_is_no_prompt(run, stub):
    """Else our own text would be a prompt, whose answer would be a prompt."""
    run(ONE + 'await hooks["chat.message"]({ sessionID: "s" }, { parts: [{ type: "text", synthetic: true }] })')
    assert stub.called == []


@needs_node
def test_tool_calls_that_end_together_ask_once(run, stub):
    stub.does("sleep 0.2")
    run(ONE + 'await Promise.all([1, 2, 3, 4].map(() => hooks["tool.execute.after"]({ sessionID: "s" }, {})))')
    assert len(stub.called) == 1


@needs_node
@pytest.mark.parametrize(
    "answer",
    ["", "no json", "{", "[]", "null", "5", '{"context": 5}', '{"context": "  "}', '{"context": null}', '{"x": "y"}'],
)
def test_an_answer_that_is_none_puts_nothing_into_the_session(run, stub, answer):
    stub.says(answer)
    done = run(ONE + f'await hooks["chat.message"]({{ sessionID: "s" }}, {MESSAGE})')
    assert len(stub.called) == 1
    assert done["asked"] == []


@needs_node
def test_a_program_that_is_gone_fails_or_is_deaf_hinders_nobody(run, stub, tmp_path):
    prompt = ONE + f'await hooks["chat.message"]({{ sessionID: "s" }}, {MESSAGE})'
    assert run(prompt, program=[str(tmp_path / "gone" / "atm")])["asked"] == []
    stub.does('echo \'{"context": "half"\'; exit 1')
    assert run(prompt)["asked"] == []
    stub.program.write_text("#!/bin/sh\nexec <&-\nexit 3\n")
    assert (
        run(prompt + f'\nawait hooks["chat.message"]({{ sessionID: "x".repeat(5000000) }}, {MESSAGE})')["asked"] == []
    )


@needs_node
def test_a_program_that_hangs_is_ended_and_not_waited_for(run, stub, tmp_path, eventually):
    stub.program.write_text(f"#!/bin/sh\ncd {tmp_path}\necho $$ > half\nmv half pid\nexec sleep 600\n")
    limit = LIMIT + 'timeIsUpWhen(() => existsSync("pid"))\n'
    assert run(limit + ONE + f'await hooks["chat.message"]({{ sessionID: "s" }}, {MESSAGE})')["asked"] == []
    eventually(lambda: began(int((tmp_path / "pid").read_text())) == "")


@needs_node
def test_a_flood_is_cut_off(run, stub):
    stub.does('yes \'{"context": "x"}\'')
    assert run(ONE + f'await hooks["chat.message"]({{ sessionID: "s" }}, {MESSAGE})')["asked"] == []


@needs_node
def test_an_opencode_that_refuses_or_never_answers_hinders_nobody(run, stub):
    stub.says('{"context": "mail"}')
    prompt = f'await hooks["chat.message"]({{ sessionID: "s" }}, {MESSAGE})'
    run(ONE.replace("answer", 'async () => { throw new Error("busy") }') + prompt)
    limit = LIMIT + "timeIsUpWhen(() => asked.length)\n"
    run(limit + ONE.replace("answer", "() => { asked.push(1); return new Promise(() => {}) }") + prompt)
    run("const hooks = await plugin.server({})\n" + prompt)
    assert len(stub.called) == 3


@needs_node
def test_nonsense_from_opencode_does_not_throw(run, stub):
    run(
        ONE
        + """
for (const odd of [undefined, null, 5, "x", {}, { event: null }, { event: {} }, { event: { type: "session.idle" } },
  { event: { type: "__proto__" } }, { event: { type: "session.created", properties: { info: null } } },
  { sessionID: 7 }, { sessionID: "" }]) {
  for (const hook of Object.values(hooks)) await hook(odd, odd)
}
await plugin.server()
for (const odd of [undefined, null, 5, {}, { session: {} }, { session: { hook: 1 } }]) await plugin.setup(odd)
"""
    )
    assert stub.called == []


@needs_node
def test_the_second_line_tells_the_same_in_its_own_way(run, stub, tmp_path):
    stub.says('{"context": "mail"}')
    done = run(
        TWO
        + """
await hooked["prompt"]({ sessionID: "s" })
await hooked["execute.after"]({ sessionID: "s", tool: "bash" })
publish("session.created", { sessionID: "child", parentID: "s" })
publish("session.execution.succeeded", { sessionID: "s" })
publish("session.execution.succeeded", { sessionID: "child" })
publish("session.step.started", { sessionID: "s" })
while (asked.length < 3) await new Promise((resolve) => setTimeout(resolve, 5))
end()
await cleanUp()
"""
    )
    assert stub.events == ["chat.message", "tool.execute.after", "session.idle"]
    assert stub.called[0]["stdin"]["directory"] == str(tmp_path)
    assert done["asked"] == [[{"sessionID": "s", "text": "mail", "resume": False}]] * 3
    assert done["result"] == "closed"


@needs_node
def test_the_second_line_may_lack_or_break_anything(run, stub):
    stub.says('{"context": "mail"}')
    run(
        """
const broken = () => { throw new Error("no") }
await plugin.setup({ session: { synthetic: broken } })
const all = { session: { synthetic: broken, hook: broken }, tool: { hook: broken }, event: { subscribe: broken } }
await plugin.setup(all)
let prompted
const session = { synthetic: async () => broken(), hook: async (name, work) => { prompted = work } }
const end = await plugin.setup({ session })
await prompted({ sessionID: "s" })
await prompted(null)
await end()
"""
    )
    assert stub.events == ["chat.message"]


@needs_node
def test_a_late_first_line_that_sets_up_with_empty_hands_gets_nothing_twice(run, stub):
    assert run("result = await plugin.setup({ agent: {}, command: {} }) ?? null")["result"] is None


# Waking an idle session.

WAKING = """
import { writeFileSync } from "node:fs"
process.argv[1] = "/$bunfs/root/src/cli/tui/worker.js"
const until = async (isSo) => { while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5)) }
const noted = (name) => async (given) => { asked.push([name, given]) ; return { data: { id: "ses_new" } } }
const client = {
  session: { prompt: noted("prompt"), promptAsync: noted("promptAsync"), create: noted("create") },
  tui: { publish: noted("publish") },
}
const again = await import(pathToFileURL(process.argv[2]).href + "?terminal")
const hooks = await again.default.server({ client, directory: DIRECTORY })
const event = (type, properties) => hooks.event({ event: { type, properties } })
const calls = () => readFileSync(process.argv[2].replace("atm.js", "calls.jsonl"), "utf8")
"""


@pytest.fixture
def wake(run, stub, tmp_path):
    """A script against the plugin in a terminal; `atm` gives out the file `mail` once, and else says what to watch."""
    answer = f'if [ -s {tmp_path}/mail ]; then cat {tmp_path}/mail; rm {tmp_path}/mail; else printf "%s" \''
    silence = json.dumps({"watch": str(tmp_path / "inbox.json")})
    stub.does(f'case "$*" in *mail.waiting) {answer}{silence}\'; fi;; *created) echo \'{{"context": "hello"}}\';; esac')

    def go(script: str) -> Any:
        return run('import { readFileSync } from "node:fs"\n' + WAKING + script + "\nawait hooks.dispose()")

    return go


@needs_node
def test_mail_for_an_idle_session_wakes_it_through_the_client_of_its_own_process(wake, tmp_path):
    done = wake(
        f"""
await event("session.idle", {{ sessionID: "s" }})
await until(() => calls().includes("mail.waiting"))
writeFileSync("{tmp_path}/mail", '{{"context": "a letter"}}')
writeFileSync("{tmp_path}/inbox.json", "[1]")
await until(() => asked.length)
"""
    )
    assert done["asked"] == [
        ["promptAsync", {"path": {"id": "s"}, "body": {"parts": [{"type": "text", "text": "a letter"}]}}]
    ]


@needs_node
def test_our_own_wake_up_is_no_prompt_of_a_person(wake, stub, tmp_path):
    wake(
        f"""
writeFileSync("{tmp_path}/mail", '{{"context": "a letter"}}')
await event("session.idle", {{ sessionID: "s" }})
await until(() => asked.length)
await hooks["chat.message"]({{ sessionID: "s" }}, {{ message: {{}}, parts: [{{ type: "text", text: "a letter" }}] }})
"""
    )
    assert "chat.message" not in stub.events


@needs_node
def test_a_session_that_works_and_one_of_a_helper_are_not_asked_about(wake, stub):
    wake(
        """
await event("session.created", { info: { id: "helper", parentID: "s" } })
await event("session.idle", { sessionID: "s" })
await hooks["chat.message"]({ sessionID: "s" }, { message: {}, parts: [{ type: "text", text: "a prompt" }] })
await event("session.idle", { sessionID: "helper" })
await new Promise((resolve) => setTimeout(resolve, 1500))
"""
    )
    assert "mail.waiting" not in stub.events


@needs_node
def test_a_terminal_without_a_session_begins_one_and_its_greeting_wakes_it(wake, tmp_path):
    done = wake(
        f"""
writeFileSync("{tmp_path}/mail", '{{"context": "mail waits"}}')
await until(() => asked.length >= 2)
await event("session.created", {{ info: {{ id: "ses_new" }} }})
"""
    )
    names = [name for name, _ in done["asked"]]
    assert names == ["create", "publish", "promptAsync"]
    assert done["asked"][2][1]["body"]["parts"][0]["text"] == "hello"


@needs_node
def test_a_program_that_runs_one_prompt_and_ends_is_never_woken(run, stub):
    stub.says('{"context": "a letter"}')
    run(
        ONE
        + """
await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s" } } })
await new Promise((resolve) => setTimeout(resolve, 1500))
"""
    )
    assert "mail.waiting" not in stub.events
