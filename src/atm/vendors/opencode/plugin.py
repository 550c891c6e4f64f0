"""
The plugin file for OpenCode, which has no hook commands: it starts `atm hook opencode EVENT` and passes on the answer.

One file serves both lines of OpenCode. Version 1 calls `server`, whose hooks it then runs; version 2 calls `setup`, and
so do late versions of 1, with empty hands. Both load `plugins/*.js` and read only the default export. No package is
imported: what they offer differs, and a plugin that cannot be loaded is passed over in silence.

OpenCode 1 in a terminal, or as a server, is woken from here too, through its own client: while a session is idle the
file of the member's inbox is looked at, and when it has changed `atm hook opencode mail.waiting` says what to wake it
with. No address is needed for that, which could be another process's.

Where there is a policy, `atm permit` is asked before every tool, and the tool is kept from running by an error; so
does whatever goes wrong on the way.

The first line says that the file is ours, in which version, and holds a checksum of the rest. A file that the user
changed by hand is known by that, and is neither replaced nor removed.
"""

from __future__ import annotations

import re

from atm.files.formats.json_record import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 4
_HEAD = re.compile(r"// atm plugin for OpenCode, version (\d+), checksum ([0-9a-f]{16})\n")


def plugin_text(program: Sequence[str], *, permits: bool = False) -> str:
    body = _BODY.replace("[PROGRAM]", encode(list(program))).replace("[PERMITS]", "true" if permits else "false")
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
import { stat } from "node:fs/promises"

const ATM = [PROGRAM]
const PERMITS = [PERMITS] // is atm asked before a tool runs?
const LONGEST_ASK = 600000 // milliseconds in which that is answered: somebody may be asked
const LONGEST_WAIT = 4500 // milliseconds, for an answer of atm and again for OpenCode to take it
const LARGEST_ANSWER = 1000000 // characters
const MOST_SESSIONS = 1000 // remembered at a time
const LOOK_EVERY = 500 // milliseconds between two looks at the inbox of an idle agent
const NEW_AFTER = 5000 // milliseconds after which a terminal without a session was opened without a prompt
const NOT_OURS = 60000 // milliseconds until atm is asked again, which knows of no member here

// A program that runs one prompt and ends is never woken: nobody would see what it was given.
const isTerminal = /[\\/]tui[\\/]worker\\.js$/.test(process.argv[1] ?? "")
const stays = isTerminal || ["serve", "web"].includes(process.argv[2])

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

// What atm wants to tell the agent at this moment, and which file to watch; empty texts for nothing, in time or not.
const ask = (payload) =>
  new Promise((resolve) => {
    let said = ""
    let child
    const timer = setTimeout(() => end(NOTHING), LONGEST_WAIT)
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
      child.on("error", () => end(NOTHING))
      child.on("close", () => end(answerIn(said)))
      child.stdin.on("error", () => {})
      child.stdout.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => {
        said += text
        if (said.length > LARGEST_ANSWER) end(NOTHING)
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      end(NOTHING)
    }
  })

// May this call run? Throws if it may not, or if nobody knows: OpenCode then tells the model why.
const permit = (payload) =>
  new Promise((resolve, reject) => {
    const no = (why) => reject(new Error(`atm: ${why}`))
    let said = ""
    const words = [...ATM.slice(1), "permit", "opencode", payload.event]
    const child = spawn(ATM[0], words, { cwd: payload.directory || undefined, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      no("nobody answered in time, and no answer means no")
    }, LONGEST_ASK)
    child.on("error", (error) => {
      clearTimeout(timer)
      no(`it could not be asked (${error.message}), and what is not judged is denied`)
    })
    child.on("close", (code) => {
      clearTimeout(timer)
      if (code !== 0) return no("it failed, and what is not judged is denied")
      if (!said.trim()) return resolve()
      try {
        const { permission, reason } = JSON.parse(said)
        if (permission === "allow") return resolve()
        no(textOf(reason) || "denied")
      } catch {
        no("its answer could not be read, and what is not judged is denied")
      }
    })
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (text) => {
      said += text
    })
    child.stdin.end(JSON.stringify(payload))
  })

const NOTHING = { context: "", watch: "" }
const textOf = (value) => (typeof value === "string" && value.trim() ? value : "")
const answerIn = (said) => {
  try {
    const { context, watch } = JSON.parse(said) ?? {}
    return { context: textOf(context), watch: textOf(watch) }
  } catch {
    return NOTHING
  }
}

const stampOf = async (file) => {
  try {
    const { mtimeMs, size, ino } = await stat(file)
    return `${mtimeMs} ${size} ${ino}`
  } catch {
    return "none"
  }
}

const remember = (map, key, value) => {
  if (map.size >= MOST_SESSIONS) map.delete(map.keys().next().value)
  map.set(key, value)
}

// One conversation of atm with all sessions of this OpenCode. `put` brings a text into a session, and may wake it.
const desk = (directory, serverUrl, put) => {
  const helpers = new Map() // sessions of subagents: their context is not the member's
  const asking = new Set() // one question after a tool call at a time; the next call asks again
  const births = new Map() // sessions that are being told who they are
  const tell = async (event, sessionID, wakes = false) => {
    if (typeof sessionID !== "string" || !sessionID || helpers.has(sessionID)) return
    const key = event === "tool.execute.after" ? sessionID : undefined
    if (asking.has(key)) return
    if (key) asking.add(key)
    try {
      const { context } = await ask({ event, sessionID, directory, serverUrl, ...(stays && { wakes: true }) })
      if (context) await within(put(sessionID, context, wakes))
    } finally {
      asking.delete(key)
    }
  }
  const born = async (sessionID, parentID, wakes) => {
    if (parentID) remember(helpers, sessionID, true)
    const told = tell("session.created", sessionID, wakes)
    remember(births, sessionID, told)
    await told
  }
  // A first prompt waits for it: what comes after the model was asked makes OpenCode ask once more.
  const begun = quietly((sessionID) => within(births.get(sessionID)))
  return { tell: quietly(tell), born: quietly(born), begun, isHelper: (sessionID) => helpers.has(sessionID) }
}

// Looks after the mail of an idle session: `rests` with it, until it `works`. `begin` makes one where there is none.
const watcher = (directory, put, begin) => {
  let resting = "" // the session that waits for a prompt; "" if there is none, undefined while one works
  let file = ""
  let stamp
  let isAsking = false
  let notBefore = Date.now() + NEW_AFTER
  const look = async () => {
    if (isAsking || resting === undefined || Date.now() < notBefore || (!resting && !isTerminal)) return
    isAsking = true
    try {
      const sessionID = resting
      const now = file ? await stampOf(file) : undefined // before the question: what comes meanwhile is seen then
      if (!file || now !== stamp) await offer(sessionID, now)
    } finally {
      isAsking = false
    }
  }
  const offer = async (sessionID, now) => {
    const { context, watch } = await ask({ event: "mail.waiting", sessionID, directory, wakes: true })
    if (watch) [file, stamp] = [watch, now]
    else if (!context) notBefore = Date.now() + NOT_OURS
    else if (sessionID) await within(put(sessionID, context, true))
    else if (resting === "") await within(begin())
    if (context && resting === sessionID) resting = undefined
  }
  const timer = stays ? setInterval(quietly(look), LOOK_EVERY) : undefined
  timer?.unref?.()
  const rests = (sessionID) => {
    resting = sessionID
    stamp = undefined
    notBefore = 0
  }
  const works = () => {
    resting = undefined
  }
  return { rests, works, end: () => clearInterval(timer) }
}

// OpenCode 1.
const server = async ({ client, directory, serverUrl } = {}) => {
  const lastPrompts = new Map()
  const ours = new Set() // what we woke somebody with: no prompt of a person
  const put = async (id, text, wakes) => {
    // Without the agent and the model of the last prompt, this one would switch the session back to the default.
    const last = lastPrompts.get(id)
    if (!wakes) {
      const body = { ...last, noReply: true, parts: [{ type: "text", text, synthetic: true }] }
      await client.session.prompt({ path: { id }, body })
      return
    }
    ours.add(text)
    await client.session.promptAsync({ path: { id }, body: { ...last, parts: [{ type: "text", text }] } })
  }
  let isBeginning = false // a session that we made: what it is greeted with is its first prompt
  const begin = async () => {
    isBeginning = true
    const id = (await client.session.create({ body: {} }))?.data?.id
    if (id) await client.tui.publish({ body: { type: "tui.session.select", properties: { sessionID: id } } })
    else isBeginning = false
  }
  const { tell, born, begun, isHelper } = desk(directory ?? "", serverUrl ? String(serverUrl) : "", put)
  const { rests, works, end } = watcher(directory ?? "", put, begin)
  const heard = {
    "session.created": ({ info }) => {
      const isOurs = isBeginning && !info?.parentID
      if (isOurs) isBeginning = false
      if (!info?.parentID) works()
      return born(info?.id, info?.parentID, isOurs)
    },
    "session.idle": async ({ sessionID }) => {
      await tell("session.idle", sessionID)
      if (!isHelper(sessionID)) rests(sessionID)
    },
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
      if (parts.length === 1 && ours.delete(parts[0].text)) return
      if (!isHelper(input.sessionID)) works()
      const known = {}
      if (typeof agent === "string") known.agent = agent
      if (model?.providerID && model?.modelID) known.model = { providerID: model.providerID, modelID: model.modelID }
      const shade = variant ?? model?.variant
      if (typeof shade === "string") known.variant = shade
      remember(lastPrompts, input.sessionID, known)
      await begun(input.sessionID)
      await tell("chat.message", input.sessionID)
    }),
    "tool.execute.after": quietly(async (input) => tell("tool.execute.after", input.sessionID)),
    ...(PERMITS && {
      "tool.execute.before": ({ tool, sessionID, callID }, { args } = {}) =>
        permit({ event: "tool.execute.before", tool, tool_input: args ?? {}, sessionID, callID, directory }),
    }),
    dispose: quietly(async () => end()),
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
  if (PERMITS) {
    const directory = ctx.location?.directory ?? ""
    const before = ({ tool, sessionID, callID, args, input }) =>
      permit({ event: "tool.execute.before", tool, tool_input: args ?? input ?? {}, sessionID, callID, directory })
    await ctx.tool.hook("execute.before", before) // where it has no such hook, the plugin fails to load, and says so
  }
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
