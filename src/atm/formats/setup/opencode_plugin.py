"""
The plugin file for OpenCode, which has no hook commands: it starts `atm hook opencode EVENT` and passes on the answer.

One file serves both lines of OpenCode. Version 1 calls `server`, whose hooks it then runs; version 2 calls `setup`, and
so do late versions of 1, with empty hands. Both load `plugins/*.js` and read only the default export. No package is
imported: what they offer differs, and a plugin that cannot be loaded is passed over in silence.

The first line says that the file is ours, in which version, and holds a checksum of the rest. A file that the user
changed by hand is known by that, and is neither replaced nor removed.
"""

from __future__ import annotations

import re

from atm.formats.files.json_record import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 1
_HEAD = re.compile(r"// atm plugin for OpenCode, version (\d+), checksum ([0-9a-f]{16})\n")


def plugin_text(program: Sequence[str]) -> str:
    body = _BODY.replace("[PROGRAM]", encode(list(program)))
    return f"// atm plugin for OpenCode, version {VERSION}, checksum {_checksum(body)}\n{body}"


def is_ours(text: str) -> bool:
    return _HEAD.match(_with_plain_breaks(text)) is not None


def is_untouched(text: str) -> bool:
    """Is it to the letter what some version of atm wrote? Line breaks may have been changed on the way by git."""
    text = _with_plain_breaks(text)
    head = _HEAD.match(text)
    return head is not None and head[2] == _checksum(text[head.end() :])


def says_the_same(text: str, wanted: str) -> bool:
    return _with_plain_breaks(text) == wanted


def _with_plain_breaks(text: str) -> str:
    return text.replace("\r\n", "\n")


def _checksum(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


_BODY = """\
// Written by `atm init`, taken away by `atm init --remove`. Do not change it: atm would leave it alone from then on.
import { spawn } from "node:child_process"

const ATM = [PROGRAM]
const LONGEST_WAIT = 4500 // milliseconds, for an answer of atm and again for OpenCode to take it
const LARGEST_ANSWER = 1000000 // characters
const MOST_SESSIONS = 1000 // remembered at a time

// Nothing here may throw or hang: it runs inside the agent.
const quietly = (work) => async (...given) => {
  try {
    await work(...given)
  } catch {}
}

const within = (promise) => {
  let timer
  const end = new Promise((resolve) => {
    timer = setTimeout(resolve, LONGEST_WAIT)
  })
  return Promise.race([promise, end]).finally(() => clearTimeout(timer))
}

// What atm wants to tell the agent at this moment; an empty text for nothing, in time or not at all.
const ask = (payload) =>
  new Promise((resolve) => {
    let said = ""
    let child
    const timer = setTimeout(() => end(""), LONGEST_WAIT)
    const end = (answer) => {
      clearTimeout(timer)
      resolve(answer)
      try {
        child?.stdout?.destroy() // what it started may still hold the other end
        child?.kill("SIGKILL")
      } catch {}
    }
    try {
      const words = [...ATM.slice(1), "hook", "opencode", payload.event]
      const cwd = payload.directory || undefined // where atm finds the settings of the repository
      child = spawn(ATM[0], words, { cwd, stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      child.on("error", () => end(""))
      child.on("close", () => end(contextIn(said)))
      child.stdin.on("error", () => {})
      child.stdout.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => {
        said += text
        if (said.length > LARGEST_ANSWER) end("")
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      end("")
    }
  })

const contextIn = (said) => {
  try {
    const context = JSON.parse(said)?.context
    return typeof context === "string" && context.trim() ? context : ""
  } catch {
    return ""
  }
}

const remember = (map, key, value) => {
  if (map.size >= MOST_SESSIONS) map.delete(map.keys().next().value)
  map.set(key, value)
}

// One conversation of atm with all sessions of this OpenCode. `put` brings a text into a session.
const desk = (directory, serverUrl, put) => {
  const helpers = new Map() // sessions of subagents: their context is not the member's
  const asking = new Set() // one question after a tool call at a time; the next call asks again
  const tell = async (event, sessionID) => {
    if (typeof sessionID !== "string" || !sessionID || helpers.has(sessionID)) return
    const key = event === "tool.execute.after" ? sessionID : undefined
    if (asking.has(key)) return
    if (key) asking.add(key)
    try {
      const context = await ask({ event, sessionID, directory, serverUrl })
      if (context) await within(put(sessionID, context))
    } finally {
      asking.delete(key)
    }
  }
  const born = async (sessionID, parentID) => {
    if (parentID) remember(helpers, sessionID, true)
    await tell("session.created", sessionID)
  }
  return { tell: quietly(tell), born: quietly(born) }
}

// OpenCode 1.
const server = async ({ client, directory, serverUrl } = {}) => {
  const lastPrompts = new Map()
  const put = async (id, text) => {
    // Without the agent and the model of the last prompt, this one would switch the session back to the default.
    const body = { ...lastPrompts.get(id), noReply: true, parts: [{ type: "text", text, synthetic: true }] }
    await client.session.prompt({ path: { id }, body })
  }
  const { tell, born } = desk(directory ?? "", serverUrl ? String(serverUrl) : "", put)
  const heard = {
    "session.created": ({ info }) => born(info?.id, info?.parentID),
    "session.idle": ({ sessionID }) => tell("session.idle", sessionID),
    "session.compacted": ({ sessionID }) => tell("session.compacted", sessionID),
    "session.deleted": ({ info }) => tell("session.deleted", info?.id),
    "permission.asked": ({ sessionID }) => tell("permission.asked", sessionID),
    "permission.updated": ({ sessionID }) => tell("permission.asked", sessionID),
    "question.asked": ({ sessionID }) => tell("question.asked", sessionID),
  }
  return {
    event: quietly(async ({ event }) => {
      if (Object.hasOwn(heard, event.type)) await heard[event.type](event.properties ?? {})
    }),
    "chat.message": quietly(async (input, output) => {
      const { agent, model, variant } = output?.message ?? {}
      const parts = output?.parts ?? []
      if (parts.length && parts.every((part) => part.synthetic)) return // our own, or another plugin's
      const known = {}
      if (typeof agent === "string") known.agent = agent
      if (model?.providerID && model?.modelID) known.model = { providerID: model.providerID, modelID: model.modelID }
      const shade = variant ?? model?.variant
      if (typeof shade === "string") known.variant = shade
      remember(lastPrompts, input.sessionID, known)
      await tell("chat.message", input.sessionID)
    }),
    "tool.execute.after": quietly(async (input) => tell("tool.execute.after", input.sessionID)),
  }
}

// OpenCode 2: other names, told to atm in the words of 1.
const setup = async (ctx) => {
  if (typeof ctx?.session?.synthetic !== "function") return // a late OpenCode 1, which has called `server` too
  // `resume: false` puts the text into the context without waking the model. It is not waited for: a prompt is held
  // while its hook runs, and could not take another input meanwhile.
  const put = async (sessionID, text) => void quietly(() => ctx.session.synthetic({ sessionID, text, resume: false }))()
  const { tell, born } = desk(ctx.location?.directory ?? "", "", put)
  const idOf = (data) => data.sessionID ?? data.info?.id ?? data.id
  const heard = {
    "session.created": (data) => born(idOf(data), data.parentID ?? data.info?.parentID),
    "session.execution.succeeded": (data) => tell("session.idle", idOf(data)),
    "session.execution.failed": (data) => tell("session.idle", idOf(data)),
    "session.execution.interrupted": (data) => tell("session.idle", idOf(data)),
    "session.compaction.ended": (data) => tell("session.compacted", idOf(data)),
    "session.deleted": (data) => tell("session.deleted", idOf(data)),
    "permission.asked": (data) => tell("permission.asked", idOf(data)),
  }
  await quietly(() => ctx.session.hook("prompt", quietly(async ({ sessionID }) => tell("chat.message", sessionID))))()
  const toolEnded = quietly(async ({ sessionID }) => tell("tool.execute.after", sessionID))
  await quietly(() => ctx.tool.hook("execute.after", toolEnded))()
  let events
  const listen = quietly(async () => {
    events = ctx.event.subscribe()[Symbol.asyncIterator]()
    for (let next = await events.next(); !next.done; next = await events.next()) {
      const { type, data, properties } = next.value ?? {}
      if (Object.hasOwn(heard, type)) quietly(heard[type])(data ?? properties ?? {})
    }
  })
  listen()
  return quietly(async () => events?.return?.())
}

export default { id: "atm", server, setup }
"""
