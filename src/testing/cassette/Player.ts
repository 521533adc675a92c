/**
 * Plays a tape: finds for what is asked what was recorded, whoever asks first.
 *
 * Each entry is played once. What was asked in the same words by the same agent is told apart by the calls that lead there,
 * which a replay has from the tape, and else goes in its order.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import * as Asked from "./Asked.ts"
import { CassetteDrift, CassetteExhausted } from "./CassetteError.ts"
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

const isPath = (self: Asking, that: Asking): boolean => Asked.text(self.path) === Asked.text(that.path)

const isPlace = (self: Asking, that: Asking): boolean => Asked.text(self.calls) === Asked.text(that.calls)

/** Entries of one kind that weren't played yet, and how many were asked for by whom. */
class Reel<Entry extends Asking> {
  left: ReadonlyArray<Entry>
  readonly all: ReadonlyArray<Entry>
  readonly #asked = new Map<string, number>()

  constructor(entries: ReadonlyArray<Entry>) {
    this.left = this.all = entries
  }

  count({ path }: Asking): number {
    const who = Asked.text(path)
    const count = (this.#asked.get(who) ?? 0) + 1
    this.#asked.set(who, count)
    return count
  }

  take(candidates: ReadonlyArray<Entry>, isBest: (entry: Entry) => boolean): Entry | undefined {
    const found = candidates.find(isBest) ?? candidates[0]
    if (found !== undefined) this.left = this.left.filter((entry) => entry !== found)
    return found
  }
}

/** A tape that is played. */
export class Player {
  readonly tape: string
  readonly #models: Reel<ModelEntry>
  readonly #tools: Reel<ToolEntry>
  readonly #handled = new Set<string>()

  constructor(tape: string, entries: Entries) {
    this.tape = tape
    this.#models = new Reel(entries.models)
    this.#tools = new Reel(entries.tools)
  }

  /** Gives what came of a request, or says why there is nothing. */
  model(asking: AskingModel): ModelEntry | CassetteDrift | CassetteExhausted {
    const count = this.#models.count(asking)
    const ofAgent = this.#models.left.filter((entry) => isPath(entry, asking))
    const same = ofAgent.filter((entry) => Asked.isMet(entry.asked, asking.asked))
    const found = this.#models.take(same, (entry) => isPlace(entry, asking))
    if (found !== undefined) return found
    const request = `Request ${count}${Shown.agent(asking)}`
    const expected = ofAgent.find((entry) => isPlace(entry, asking)) ?? ofAgent[0]
    if (expected === undefined) return this.#exhausted(this.#models, asking, request, Shown.request(asking.asked))
    return this.#drift(request, Shown.request(expected.asked), Shown.request(asking.asked, expected.asked))
  }

  /** Gives what came of a call, or says why there is nothing. */
  tool(calling: Calling): ToolEntry | CassetteDrift | CassetteExhausted {
    const { callId, name, normalize } = calling
    const ofTool = this.#tools.left.filter((entry) => isPath(entry, calling) && entry.name === name)
    const params = Asked.text(calling.params)
    const same = ofTool.filter((entry) => Asked.text(normalize(entry.params)) === params)
    const isCall = (entry: ToolEntry) => isPlace(entry, calling) && entry.callId === callId
    const found = this.#tools.take(same, isCall)
    if (found !== undefined) return found
    const request = `A call of tool "${name}"${Shown.agent(calling)}`
    const asked = Shown.call(name, calling.params)
    const expected = ofTool.find(isCall) ?? ofTool[0]
    return expected === undefined
      ? this.#exhausted(this.#tools, calling, request, asked)
      : this.#drift(request, Shown.call(name, normalize(expected.params)), asked)
  }

  /** Says that the calls of a tool are played, and so may be left over. */
  handles(name: string): void {
    this.#handled.add(name)
  }

  /**
   * Says what wasn't played, in words. Calls of tools that aren't played here aren't left over, nor are calls that were
   * interrupted: what interrupted them may come before they begin.
   */
  left(): ReadonlyArray<string> {
    const calls = this.#tools.left.filter(({ name, outcome }) => this.#handled.has(name) && outcome._tag !== "Hangs")
    return [
      ...this.#models.left.map((entry) =>
        said(`a request${Shown.agent(entry)}`, Shown.request({ messages: entry.asked.messages?.slice(-1) ?? [] }))
      ),
      ...calls.map((entry) => said(`a call of tool "${entry.name}"${Shown.agent(entry)}`, Asked.text(entry.params)))
    ]
  }

  #drift(request: string, recorded: string, asked: string): CassetteDrift {
    return new CassetteDrift({ tape: this.tape, request, recorded, asked, diff: Shown.difference(recorded, asked) })
  }

  #exhausted(reel: Reel<Asking>, asking: Asking, request: string, asked: string): CassetteExhausted {
    return new CassetteExhausted({
      tape: this.tape,
      request,
      recorded: reel.all.filter((entry) => isPath(entry, asking)).length,
      asked,
      others: [...new Set(reel.all.map(({ path }) => path.join("/")))]
    })
  }
}

const said = (what: string, text: string): string => text === "" ? what : `${what}: ${text.replaceAll("\n", " ")}`
