/**
 * Plays a tape: finds the recorded answer to each request and call, in whatever order they come.
 *
 * Each entry is played once. Equal requests of the same agent are distinguished by the calls that lead to them, since a replay takes the
 * ids of calls from the tape. Otherwise they are played in the order of the tape.
 *
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Equal from "effect/Equal"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Asked from "./Asked.ts"
import { CassetteDrift, CassetteExhausted } from "./CassetteError.ts"
import { beside, cutOff } from "./Crash.ts"
import type { Asking, Entries, ModelEntry, ToolEntry } from "./Entry.ts"
import * as Shown from "./Shown.ts"

/** A call of a tool that is asked for. `normalize` makes recorded parameters comparable with its own. */
export interface Calling extends Asking {
  readonly callId: string | undefined
  readonly name: string
  readonly params: Schema.Json
  readonly normalize: (params: Schema.Json) => Schema.Json
}

/** A request to a model. */
export interface AskingModel extends Asking {
  readonly asked: Asked.Asked
}

/** What a tape has for what is asked, or why it has nothing. */
type Played<Entry> = Result.Result<Entry, CassetteDrift | CassetteExhausted>

const isHanging = (entry: ModelEntry | ToolEntry): boolean =>
  ("name" in entry ? entry.outcome : entry.answer)._tag === "Hangs"

const isPlace = (self: Asking, that: Asking): boolean => Equal.equals(self.calls, that.calls)

/** Entries of one kind that weren't played yet, and how many each agent has asked for. */
class Reel<Entry extends Asking> {
  readonly #all: Readonly<Record<string, Arr.NonEmptyArray<Entry>>>
  readonly #left: Record<string, ReadonlyArray<Entry>>
  readonly #asked = new Map<string, number>()

  constructor(entries: ReadonlyArray<Entry>) {
    this.#all = Arr.groupBy(entries, ({ path }) => Asked.text(path))
    this.#left = { ...this.#all }
  }

  /** Counts what is asked for by an agent. */
  count({ path }: Asking): number {
    const who = Asked.text(path)
    const count = (this.#asked.get(who) ?? 0) + 1
    this.#asked.set(who, count)
    return count
  }

  /** Returns the entries of an agent that weren't played yet. */
  of({ path }: Asking): ReadonlyArray<Entry> {
    return this.#left[Asked.text(path)] ?? []
  }

  /** Returns all entries of an agent, played or not. */
  all({ path }: Asking): ReadonlyArray<Entry> {
    return this.#all[Asked.text(path)] ?? []
  }

  /** Returns the names of all agents. */
  get agents(): ReadonlyArray<string> {
    return Object.values(this.#all).map(([entry]) => entry.path.join("/") || "no agent")
  }

  /** Returns all that is left. */
  get left(): ReadonlyArray<Entry> {
    return Object.values(this.#left).flat()
  }

  /** Takes the best of the entries that are the same as what is asked for, or else the first of them. */
  take(asking: Asking, isSame: (entry: Entry) => boolean, isBest: (entry: Entry) => boolean): Entry | undefined {
    const left = this.of(asking)
    const found = left.find((entry) => isBest(entry) && isSame(entry)) ?? left.find(isSame)
    if (found !== undefined) this.#left[Asked.text(asking.path)] = left.filter((entry) => entry !== found)
    return found
  }
}

/** A tape that is played. */
export class Player {
  readonly tape: string
  readonly #models: Reel<ModelEntry>
  readonly #tools: Reel<ToolEntry>
  readonly #handled = new Set<string>()
  readonly #entries: Entries
  readonly #ended = new Set<ModelEntry | ToolEntry>()

  constructor(tape: string, all: Entries) {
    const entries = cutOff(all)
    this.tape = tape
    this.#models = new Reel(entries.models)
    this.#tools = new Reel(entries.tools)
    this.#entries = entries
  }

  /** Returns the recorded answer to a request, or why there is none. */
  model(asking: AskingModel): Played<ModelEntry> {
    const count = this.#models.count(asking)
    const isSame = (entry: ModelEntry) => Asked.isMet(entry.asked, asking.asked)
    const found = this.#models.take(asking, isSame, (entry) => isPlace(entry, asking))
    if (found !== undefined) return Result.succeed(found)
    const ofAgent = this.#models.of(asking)
    const request = `Request ${count}${Shown.agent(asking)}`
    const expected = ofAgent.find((entry) => isPlace(entry, asking)) ?? ofAgent[0]
    if (expected === undefined) {
      const recorded = this.#models.all(asking).length
      return this.#exhausted(request, Shown.request(asking.asked), recorded, this.#models.agents)
    }
    return this.#drift(
      request,
      Shown.request(expected.asked, asking.asked),
      Shown.request(asking.asked, expected.asked)
    )
  }

  /** Returns the recorded outcome of a call, or why there is none. */
  tool(calling: Calling): Played<ToolEntry> {
    const { callId, name, normalize } = calling
    const isSame = (entry: ToolEntry) => entry.name === name && Equal.equals(normalize(entry.params), calling.params)
    const isCall = (entry: ToolEntry) => isPlace(entry, calling) && entry.callId === callId
    const found = this.#tools.take(calling, isSame, isCall)
    if (found !== undefined) return Result.succeed(found)
    const ofTool = this.#tools.of(calling).filter((entry) => entry.name === name)
    const request = `A call of tool "${name}"${Shown.agent(calling)}`
    const asked = Shown.call(name, calling.params)
    const expected = ofTool.find(isCall) ?? ofTool[0]
    return expected === undefined
      ? this.#exhausted(
        request,
        asked,
        this.#tools.all(calling).filter((entry) => entry.name === name).length,
        this.#tools.agents
      )
      : this.#drift(request, Shown.call(name, normalize(expected.params)), asked)
  }

  /**
   * Checks whether a call may crash now: of what ran beside it on the tape, all that had ended before the crash has ended here too, and the
   * rest has begun.
   */
  mayCrash(entry: ToolEntry): boolean {
    return beside(this.#entries, entry).every((other) =>
      isHanging(other) || ("name" in other && !this.#handled.has(other.name)) || this.#ended.has(other) ||
      (other.at > entry.at && !this.#isLeft(other))
    )
  }

  #isLeft(entry: ModelEntry | ToolEntry): boolean {
    return "name" in entry ? this.#tools.of(entry).includes(entry) : this.#models.of(entry).includes(entry)
  }

  /** Notes that a request or a call has ended. */
  end(entry: ModelEntry | ToolEntry): void {
    this.#ended.add(entry)
  }

  /** Says that the calls of a tool are played, and so may be left over. */
  handles(name: string): void {
    this.#handled.add(name)
  }

  /**
   * Says what wasn't played, in words. Calls of tools that aren't played here aren't left over, nor is what was interrupted: in a replay
   * the interruption may come before it begins.
   */
  left(): ReadonlyArray<string> {
    const calls = this.#tools.left.filter(({ name, outcome }) => this.#handled.has(name) && outcome._tag !== "Hangs")
    return [
      ...this.#models.left.filter(({ answer }) => answer._tag !== "Hangs").map((entry) =>
        said(`a request${Shown.agent(entry)}`, Shown.request({ messages: entry.asked.messages?.slice(-1) ?? [] }))
      ),
      ...calls.map((entry) => said(`a call of tool "${entry.name}"${Shown.agent(entry)}`, Asked.text(entry.params)))
    ]
  }

  #drift(request: string, recorded: string, asked: string): Played<never> {
    const diff = Shown.difference(recorded, asked)
    return Result.fail(new CassetteDrift({ tape: this.tape, request, recorded, asked, diff }))
  }

  #exhausted(request: string, asked: string, recorded: number, others: ReadonlyArray<string>): Played<never> {
    return Result.fail(new CassetteExhausted({ tape: this.tape, request, recorded, asked, others }))
  }
}

const said = (what: string, text: string): string => text === "" ? what : `${what}: ${text.replaceAll("\n", " ")}`
