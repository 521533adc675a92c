/**
 * A conversation with the desk: turn after turn, the state carried on, approvals asked for in between.
 */
import { Context, Effect, FileSystem, Option, Path, Result, Schema, Stream } from "effect"
import { Agent, AgentEvent, AgentState } from "troupe"
import { desk } from "./agents/desk.ts"
import type { Configured } from "./model/configured.ts"
import type { Options } from "./options.ts"
import * as Terminal from "./terminal.ts"

/** Where a conversation is held: who sees what happens, who is spoken to, who answers. */
export class Room extends Context.Service<Room, {
  /** Sees everything that happens. */
  readonly see: (event: AgentEvent.AgentEvent) => Effect.Effect<void>
  /** Says a line to the people in front. */
  readonly tell: (line: string) => Effect.Effect<void>
  /** Says a line to whoever looks after the desk. */
  readonly warn: (line: string) => Effect.Effect<void>
  /** Asks for a line, none at the end of all input. */
  readonly ask: (prompt: string) => Effect.Effect<Option.Option<string>>
  /** Whether somebody sits at a terminal, who can be asked again. */
  readonly isAttended: boolean
}>()("desk/Room") {}

/** Error for a file that can't keep the conversation. */
export class StateFile extends Schema.TaggedError<StateFile>()("StateFile", {
  file: Schema.String,
  deed: Schema.Literals(["read", "keep"]),
  issue: Schema.String
}) {
  override get message(): string {
    return `Can't ${this.deed} the conversation in "${this.file}": ${this.issue}`
  }
}

/** Error for a model that can't be used as it is configured. */
export class UnusableModel extends Schema.TaggedError<UnusableModel>()("UnusableModel", { issue: Schema.String }) {
  override get message(): string {
    return this.issue
  }
}

/** Says in a line why a model can't be used as it is configured, if that is what an error says. */
type Explain = Configured["explain"]

/** A conversation that begins, with triage in control. */
const fresh = AgentState.make(desk.agents.triage.name)

/** Fails if a file can't be made in its folder: better now than after all that was to be kept in it. */
const checkFolder = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const folder = (yield* Path.Path).dirname(file)
  const fail = (issue: string) => new StateFile({ file, deed: "keep", issue })
  const { type } = yield* Effect.mapError(
    fs.stat(folder),
    (error) => fail(error.reason._tag === "NotFound" ? `there is no folder "${folder}"` : error.message)
  )
  if (type !== "Directory") return yield* fail(`"${folder}" is no folder`)
  yield* Effect.mapError(fs.access(folder, { writable: true }), (error) => fail(error.message))
})

/** Reads the conversation that a file keeps: a new one where there is no file yet. */
const load = Effect.fnUntraced(function*(file: string) {
  const fs = yield* FileSystem.FileSystem
  const fail = (issue: string) => new StateFile({ file, deed: "read", issue })
  if (!(yield* Effect.mapError(fs.exists(file), (error) => fail(error.message)))) {
    return yield* Effect.as(checkFolder(file), fresh)
  }
  const json = yield* Effect.mapError(fs.readFileString(file), (error) => fail(error.message))
  return yield* Effect.fromResult(Result.mapError(AgentState.fromJson(json), (error) => fail(error.message)))
})

const save = Effect.fnUntraced(function*(file: string | undefined, state: AgentState.AgentState) {
  if (file === undefined || state.status._tag === "Failed") return
  const fs = yield* FileSystem.FileSystem
  yield* Effect.mapError(
    fs.writeFileString(file, `${JSON.stringify(AgentState.toJson(state))}\n`),
    (error) => new StateFile({ file, deed: "keep", issue: error.message })
  )
})

/** Lets the agent answer, or go on where it stopped, in view of the room. Gives the last state, whatever happened. */
const run = Effect.fnUntraced(
  function*(
    state: AgentState.AgentState,
    input: string | undefined,
    { explain, file }: { readonly file: string | undefined; readonly explain: Explain }
  ) {
    const room = yield* Room
    let last = state
    const events = input === undefined ? Agent.stream(desk, state) : Agent.stream(desk, input, { state })
    // An observer, unlike the reader of a stream, sees the end of an interrupted run too.
    yield* Stream.runDrain(events).pipe(
      Agent.observe((event) => {
        if (AgentEvent.isRunEnd(event)) last = event.state
        return room.see(event)
      }),
      Effect.catchTag("AgentError", ({ message, reason }) => {
        const issue = reason._tag === "ModelCallFailed" ? explain(reason.error) : Option.none()
        return Option.isSome(issue) ? Effect.fail(new UnusableModel({ issue: issue.value })) : room.warn(message)
      }),
      Effect.onInterrupt(() => Effect.ignore(save(file, last)))
    )
    yield* save(file, last)
    return last
  }
)

type Decision = "approve" | "deny" | undefined

const isYes = (line: string): boolean => /^\s*(y|yes)\s*$/i.test(line)
const isNo = (line: string): boolean => /^\s*(n|no)?\s*$/i.test(line)

/** How somebody decides later what awaits approval now. */
const howToDecide = (file: string | undefined, words: string | undefined): string =>
  file !== undefined
    ? `npm start -- --state ${JSON.stringify(file)} asks again, with --yes approves it, with --no denies it`
    : words !== undefined
    ? "run with --yes to approve it, or with --no to deny it"
    : "nothing keeps this conversation; begin one with --state FILE to decide later"

const greeting = `Halden's support desk. What is it about? (Ctrl-D or "exit" ends the conversation.)`

/** Talks with the desk as the options say, until its model can't be used. Gives the last state. */
export const hold = Effect.fn("Session.hold")(function*(options: Options, explain: Explain) {
  const room = yield* Room
  const { state: file, words } = options
  const where = { file, explain }
  let state = file === undefined ? fresh : yield* load(file)
  /** A line that was no answer to what was asked, where nobody can be asked again: the customer's next words. */
  let left = Option.none<string>()

  const decide = Effect.fnUntraced(function*(approval: AgentState.PendingApproval) {
    if (options.approval !== "ask") return options.approval
    if (words !== undefined && !room.isAttended) return undefined
    while (true) {
      const answer = yield* room.ask(`Approve ${Terminal.called(approval.name, approval.params)}? [y/N] `)
      if (Option.isNone(answer)) return undefined
      if (isYes(answer.value)) return "approve"
      if (isNo(answer.value)) return "deny"
      if (!room.isAttended) {
        left = answer
        return "deny"
      }
      yield* room.tell(`Please answer "y" or "n". (Ctrl-D leaves it undecided.)`)
    }
  })

  /** Resolves what awaits approval, as long as somebody decides, and goes on. */
  const resolve = Effect.gen(function*() {
    let pending = AgentState.pendingApprovals(state)
    while (pending.length > 0) {
      const before = state
      for (const approval of pending) {
        const decision: Decision = yield* decide(approval)
        if (decision === undefined) continue
        state = yield* Effect.fromResult(
          decision === "approve"
            ? AgentState.approve(state, approval.callId)
            : AgentState.deny(state, approval.callId, "a colleague decided against it")
        )
      }
      if (state === before) break
      state = yield* run(state, undefined, where)
      pending = AgentState.pendingApprovals(state)
    }
  })

  const hear = Effect.fnUntraced(function*(input: string) {
    state = yield* run(state, input, where)
    yield* resolve
  })

  yield* resolve
  if (words !== undefined) yield* hear(words)
  else if (options.approval === "ask" || file === undefined) {
    if (room.isAttended) yield* room.tell(greeting)
    while (true) {
      const line = Option.isSome(left) ? left : yield* room.ask(`${state.agent}> `)
      left = Option.none()
      if (Option.isNone(line) || /^\s*(exit|quit)\s*$/i.test(line.value)) break
      if (line.value.trim() !== "") yield* hear(line.value)
    }
  }
  for (const { callId, name } of AgentState.pendingApprovals(state)) {
    yield* room.tell(`${name} (${callId}) awaits approval: ${howToDecide(file, words)}`)
  }
  return state
})
