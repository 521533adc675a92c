/**
 * What programs over modes come to, by the plainest means: lists that are copied when a mode is entered, and put back when it
 * is left.
 *
 * It knows nothing of the code that it is compared with, only the tables of what modes do.
 */
import {
  behind,
  type Between,
  type Book,
  known,
  type Move,
  type Name,
  type OfTool,
  type Op,
  type Page,
  paramsOf,
  type Program,
  type Say,
  settingsOf,
  type Simple,
  type Step
} from "./programs.ts"

const levels = ["none", "config", "thread", "fork"]

/** A turn of the conversation. `isAnswer` says that nothing is left to ask the model behind it. */
interface Turn {
  readonly who: string
  readonly text: string
  readonly calls?: ReadonlyArray<string>
  readonly isAnswer?: boolean
}

interface Piece {
  readonly place: string
  readonly name: string
  readonly text: string
  readonly persist: boolean
  owner: Frame | undefined
}

interface Pending {
  readonly to?: number
  readonly enter?: { readonly name: string; readonly params: Move["params"] }
}

interface Settings {
  readonly tools?: ReadonlyArray<string>
  readonly toolChoice?: "none" | "auto" | { readonly oneOf: ReadonlyArray<string> }
}

/** A mode that is entered. `whole` is what there is beside what it sees, once that was cut or edited. */
interface Frame {
  readonly name: Name
  readonly page: Page
  readonly params: object
  readonly values: Record<string, unknown>
  readonly finalizers: Array<() => void>
  readonly before: {
    readonly seen: ReadonlyArray<Turn>
    readonly wholes: ReadonlyArray<ReadonlyArray<Turn> | undefined>
    readonly pieces: ReadonlyArray<Piece>
    readonly settings: Settings
    readonly pending: Pending | undefined
  }
  asked: number
  whole: ReadonlyArray<Turn> | undefined
}

/** What was sent to the model. */
export interface Request {
  readonly system: string
  readonly messages: ReadonlyArray<string>
  readonly tools: ReadonlyArray<string>
}

/** How something ended that didn't end well: why, first reason first. */
class Stopped {
  readonly reasons: ReadonlyArray<string>
  constructor(...reasons: ReadonlyArray<string>) {
    this.reasons = reasons
  }
}

/** Says that a program goes on for too long to be worth anything. */
export class TooLong extends Error {}

const one = (reasons: ReadonlyArray<string>): string => reasons.length === 0 ? "ok" : [...new Set(reasons)].join("+")

export class Interpreter {
  readonly log: Array<string> = []
  readonly requests: Array<Request> = []
  readonly book: Book
  readonly isHeld: boolean
  seen: ReadonlyArray<Turn> = []
  stack: Array<Frame> = []
  pieces: Array<Piece> = []
  settings: Settings = {}
  pending: Pending | undefined
  asked: Array<Turn> = []
  moves = 0
  live = 0
  between = 0
  cuts = 0
  cleaning = 0
  isCutting = false
  isClosed = false
  isRunning = false
  scripts: Array<Array<Step>> = []
  models: Array<Say["model"]> = []

  constructor(book: Book, isHeld: boolean) {
    this.book = book
    this.isHeld = isHeld
  }

  // What can be seen

  top(): Frame | undefined {
    return this.stack[this.stack.length - 1]
  }

  values(): Record<string, unknown> | string {
    if (this.stack.length === 0) return "none"
    const values: Record<string, unknown> = {}
    for (const frame of this.stack) {
      if (frame.page.isolation === "fork") { for (const key of Object.keys(values)) delete values[key] }
      Object.assign(values, frame.values)
    }
    return values
  }

  depth({ owner }: Piece): number {
    return owner === undefined ? -1 : this.stack.indexOf(owner)
  }

  /** Adds a piece. A section takes the place of its namesake with the same owner; an empty one that hides no other takes that out. */
  put(pieces: Array<Piece>, piece: Piece): void {
    const named = piece.place !== "section"
      ? []
      : pieces.filter(({ name, place }) => place === "section" && name === piece.name)
    const at = pieces.findIndex((other) => named.includes(other) && other.owner === piece.owner)
    if (
      piece.place === "section" && piece.text === "" && named.every((other) => this.depth(other) >= this.depth(piece))
    ) {
      if (at >= 0) pieces.splice(at, 1)
    } else if (at < 0) pieces.push(piece)
    else pieces[at] = piece
  }

  system(): string {
    const of = (place: string) => this.pieces.filter((piece) => piece.place === place).map(({ text }) => text)
    const names = [...new Set(this.pieces.filter(({ place }) => place === "section").map(({ name }) => name))]
    const sections = names.map((name) =>
      this.pieces.filter((piece) => piece.place === "section" && piece.name === name)
        .reduce((inner, piece) => this.depth(piece) >= this.depth(inner) ? piece : inner).text
    )
    const mode = this.top()
    const around = this.stack.slice(0, -1).map(({ name }) => `"${name}"`).reverse()
    const note = mode === undefined ? [] : [
      `You are in mode "${mode.name}"${around.length === 0 ? "" : `, inside ${around.join(", ")}`}.${
        mode.page.isDescribed ? ` About ${mode.name}.` : ""
      }`
    ]
    return [...of("prepend"), "base", ...sections, ...note, ...of("append")].filter((text) => text !== "").join("\n\n")
  }

  look(): void {
    this.log.push(`= ${
      JSON.stringify([
        this.stack.map(({ name }) => name),
        sorted(this.values()),
        this.system(),
        sorted({ ...this.settings }),
        this.seen.map(toText)
      ])
    }`)
  }

  // The conversation

  append(turn: Turn): void {
    this.seen = [...this.seen, turn]
    for (const frame of this.stack) if (frame.whole !== undefined) frame.whole = [...frame.whole, turn]
  }

  /** Puts a turn in the place of the last one. */
  amend(turn: Turn): void {
    this.seen = [...this.seen.slice(0, -1), turn]
    for (const frame of this.stack) if (frame.whole !== undefined) frame.whole = [...frame.whole.slice(0, -1), turn]
  }

  /** Tells the model that goes on what happened, where it would find nothing to answer. */
  tell(note: string): void {
    const last = this.seen[this.seen.length - 1]
    if (last === undefined || last.isAnswer === true) this.append({ who: "note", text: note })
  }

  // Entering

  page(name: string): Page | undefined {
    return known.includes(name as Name) ? this.book[name as Name] : undefined
  }

  obstacle(page: Page, height: number): string | undefined {
    const around = this.stack[height - 1]
    const isFine = around === undefined || levels.indexOf(page.isolation) >= levels.indexOf(around.page.isolation)
    return isFine ? undefined : "Mode:LessIsolated"
  }

  enter(name: Name, given: object, note: boolean): Frame {
    const page = this.book[name]
    const params = page.isSingleShot ? {} : given
    const { pending, pieces, seen, settings, stack } = this
    const isDue = pending?.enter?.name === name && (pending.to ?? stack.length) === stack.length
    const frame: Frame = {
      name,
      page,
      params,
      values: { ...params },
      finalizers: [],
      before: {
        seen,
        wholes: stack.map(({ whole }) => whole),
        pieces: [...pieces],
        settings,
        pending
      },
      asked: this.asked.length,
      whole: undefined
    }
    if (isDue) this.pending = undefined
    this.stack = [...stack, frame]
    this.live++
    this.log.push(`set up ${name} ${JSON.stringify(params)}`)
    const failures = this.fails(() => this.setUp(frame))
    if (failures.length > 0) {
      const isInterrupted = failures.every((reason) => reason === "Interrupt")
      failures.push(...this.leaveAbove(frame, failures), ...this.leaveAbove(frame, this.close(frame)))
      const { before } = frame
      this.stack = stack
      this.live--
      this.seen = before.seen
      before.wholes.forEach((whole, index) => stack[index]!.whole = whole)
      this.pieces = this.pieces.filter(({ owner }) => owner !== frame)
      this.settings = before.settings
      this.pending = isDue && !isInterrupted ? undefined : before.pending
      throw new Stopped(...failures)
    }
    const { isSingleShot } = page
    if (note && !isSingleShot) this.tell(`You are now in mode "${name}".`)
    if (isSingleShot) {
      const reasons = this.leaveTo(this.stack.indexOf(frame), [], { isOver: true, note })
      if (reasons.length > 0) throw new Stopped(...reasons)
    }
    return frame
  }

  setUp(frame: Frame): void {
    const { name, page } = frame
    const { finalizers } = frame
    if (page.isSingleShot) {
      this.ops(page.setUp, frame)
      return this.stop(page.setUpEnds)
    }
    finalizers.push(() => this.finalize(frame))
    this.ops(page.setUp, frame)
    this.stop(page.setUpEnds)
    finalizers.push(() => void this.log.push(`finalize ${name} first`))
  }

  finalize({ name, page }: Frame): void {
    this.log.push(`finalize ${name} last`)
    if (this.isHeld) this.simples(page.finalizer)
    if (page.finalizerDies && this.isHeld) throw new Stopped(`die of ${name}`)
  }

  resume(): void {
    for (const frame of this.stack.slice(this.live)) {
      this.live++
      const { finalizers, name, params } = frame
      this.log.push(`resume ${name} ${JSON.stringify(params)}`)
      finalizers.splice(0, finalizers.length, () => this.finalize(frame))
      finalizers.push(() => void this.log.push(`finalize ${name} first`))
    }
  }

  // Leaving

  /** Runs finalizers, last in first out. */
  close(frame: Frame): ReadonlyArray<string> {
    const reasons: Array<string> = []
    for (const finalizer of frame.finalizers.splice(0).reverse()) {
      reasons.push(...this.fails(() => this.whileCleaning(finalizer)))
    }
    return reasons
  }

  /** Gives why something between steps fails. */
  fails(f: () => void): Array<string> {
    this.between++
    try {
      f()
      return []
    } catch (stopped) {
      if (!(stopped instanceof Stopped)) throw stopped
      return [...stopped.reasons]
    } finally {
      this.between--
    }
  }

  /** Leaves what a part of a mode's own has entered and left entered. */
  leaveAbove(frame: Frame, reasons: ReadonlyArray<string>): ReadonlyArray<string> {
    return this.leaveTo(this.stack.indexOf(frame) + 1, reasons, { isOver: true })
  }

  leaveTo(
    height: number,
    exit: ReadonlyArray<string>,
    why: { readonly isOver: boolean; readonly note?: boolean; readonly recovers?: boolean; readonly isRuns?: boolean }
  ): ReadonlyArray<string> {
    let reasons = exit
    let failedAbove = false
    while (this.stack.length > height) {
      const left = this.leaveTop(reasons, {
        ...why,
        failedAbove,
        recovers: why.recovers === true && exit.length > 0 && this.stack.length === height + 1
      })
      failedAbove ||= left.hasFailed
      reasons = left.reasons
      if (left.isKept) break
    }
    return reasons
  }

  leaveTop(
    exit: ReadonlyArray<string>,
    { failedAbove, isOver, isRuns = false, note = false, recovers }: {
      readonly failedAbove: boolean
      readonly isOver: boolean
      readonly isRuns?: boolean | undefined
      readonly note?: boolean | undefined
      readonly recovers: boolean
    }
  ): { readonly isKept: boolean; readonly hasFailed: boolean; readonly reasons: ReadonlyArray<string> } {
    const frame = this.top()!
    const { name, page } = frame
    const failures: Array<string> = []
    let isRecovered = false
    if (recovers && exit.length > 0 && page.recovers !== "no" && !page.isSingleShot) {
      this.log.push(`recover ${name}`)
      if (page.recovers === "yes") isRecovered = true
      else failures.push(`recover of ${name}`)
    }
    let wish: Move | undefined
    if (!page.isSingleShot) {
      this.log.push(`clean up ${name} after ${this.isCutting ? "Interrupt" : one(exit)}`)
      const cleaned = this.fails(() =>
        this.whileCleaning(() => {
          this.ops(page.cleanUp, frame)
          this.stop(page.cleanUpEnds)
        })
      )
      const reasons = this.leaveAbove(frame, cleaned)
      failures.push(...reasons)
      if (reasons.length === 0 && page.exit !== "nothing" && page.exit.to !== "exit") wish = page.exit
      if (isOver && wish !== undefined) wish = wish.to === "stay" ? undefined : { ...wish, to: "switch" }
      const refusal = wish === undefined ? undefined : this.refusal(pendingOf(wish, this.stack.length) ?? {})
      if (refusal !== undefined) {
        failures.push(isRuns ? "Agent:ModeFailed" : refusal)
        wish = undefined
      }
    }
    const isKept = !isOver && (wish?.to === "stay" || wish?.to === "push")
    if (!isKept) failures.push(...this.leaveAbove(frame, this.close(frame)))
    if (wish !== undefined) this.pending = pendingOf(wish, this.stack.length)
    if (!isKept) this.drop(frame, note)
    else if (note && wish?.to === "stay") this.tell(`You are still in mode "${name}".`)
    const hasFailed = failures.length > 0
    return { isKept, hasFailed, reasons: [...(isRecovered && !hasFailed && !failedAbove ? [] : exit), ...failures] }
  }

  /** Takes a mode off the stack, and undoes what its isolation says. */
  drop(frame: Frame, goesOn: boolean): void {
    const { before, name, page: { isolation } } = frame
    this.stack = this.stack.slice(0, -1)
    this.live--
    if (this.pending !== undefined) {
      const { enter, to = 0 } = this.pending
      if (to > this.stack.length || (enter === undefined && to === this.stack.length)) this.pending = undefined
    }
    if (isolation === "config" || isolation === "fork") this.settings = before.settings
    const outer = this.top()
    const pieces: Array<Piece> = []
    for (const piece of this.pieces) {
      if (piece.owner === frame && (!piece.persist || isolation === "fork")) continue
      this.put(pieces, piece.owner === frame ? { ...piece, owner: outer } : piece)
    }
    this.pieces = pieces
    if (isolation === "fork") {
      this.seen = before.seen
      before.wholes.forEach((whole, index) => this.stack[index]!.whole = whole)
      if (goesOn) { for (const turn of this.asked.slice(frame.asked)) this.append(turn) }
    } else if (frame.whole !== undefined) this.seen = frame.whole
    if (goesOn) this.tell(`Mode "${name}" was left.`)
  }

  // Moves

  schedule(move: Move): void {
    const pending = pendingOf(move, this.stack.length)
    if (move.to === "exit" && this.stack.length === 0) throw new Stopped("Mode:NoMode")
    const refusal = pending === undefined ? undefined : this.refusal(pending)
    if (refusal !== undefined) throw new Stopped(refusal)
    this.pending = pending
  }

  refusal({ enter, to = this.stack.length }: Pending): string | undefined {
    if (enter === undefined) return undefined
    const page = this.page(enter.name)
    if (page === undefined) return "Mode:UnknownMode"
    return this.obstacle(page, to) ?? (isWrong(page, enter.params) ? "Mode:ParamsRejected" : undefined)
  }

  takeAll(goesOn: boolean): void {
    while (this.pending !== undefined) {
      const { pending } = this
      if (++this.moves > 32 || this.refusal(pending) !== undefined) {
        this.pending = undefined
        throw new Stopped("Agent:ModeFailed")
      }
      const reasons = this.leaveTo(pending.to ?? this.stack.length, [], { isOver: false, note: goesOn, isRuns: true })
      if (reasons.length > 0) throw new Stopped(...reasons)
      if (pending.enter === undefined || this.pending !== pending) continue
      this.enter(pending.enter.name as Name, paramsOf[pending.enter.params], goesOn)
    }
  }

  // Talking to the agent

  say({ model, steps, text }: Say): void {
    this.scripts.push([...steps])
    this.models.push(model)
    const isAround = this.isRunning
    try {
      if (this.between > 0) {
        this.append({ who: `mode ${this.top()!.name}`, text })
        if (!isAround) this.restart([])
      } else {
        const turn = { who: "user", text }
        this.moves = 0
        try {
          this.resume()
          this.takeAll(false)
        } finally {
          this.append(turn)
          this.restart([turn])
        }
        this.isRunning = true
      }
      this.drive()
      this.suspend()
    } catch (stopped) {
      if (stopped instanceof Stopped) this.suspend()
      throw stopped
    } finally {
      this.isRunning = isAround
      this.scripts.pop()
      this.models.pop()
    }
  }

  /** Begins a run: what was asked before is none of its questions. */
  restart(asked: ReadonlyArray<Turn>): void {
    this.asked = [...asked]
    for (const frame of this.stack) frame.asked = 0
  }

  /** Where nobody holds the conversation, the end of a run lets go of what is live of its modes. */
  suspend(): void {
    if (this.isHeld || this.between > 0) return
    for (const frame of this.stack.slice(0, this.live).reverse()) {
      this.live--
      this.close(frame)
    }
  }

  drive(): void {
    while (true) {
      const last = this.seen[this.seen.length - 1]
      if (last?.isAnswer === true) return
      if (last === undefined) throw new Stopped("Agent:InputRejected")
      if (this.pending !== undefined && this.between === 0) {
        this.takeAll(true)
        continue
      }
      this.ask()
    }
  }

  offered(): ReadonlyArray<string> {
    const narrowed = [
      ...this.stack.map(({ page }) => page.tools),
      ...(this.settings.tools ? [this.settings.tools] : [])
    ]
    const isLeft = (tool: string) =>
      narrowed.every((tools) => tools === "all" || (tools === "act" ? tool === "act" : tools.includes(tool)))
    const top = this.top()
    const invokable = known.filter((name) => this.book[name].isInvokable)
    const enterable = this.between > 0 ? [] : invokable.filter((name) => {
      const page = this.book[name]
      const height = page.invocation === "switch" ? this.stack.length - 1 : this.stack.length
      return top?.name !== name && this.obstacle(page, height) === undefined
    })
    return [
      ...["act", "other", ...enterable.map((name) => `enter_${name}_mode`)].filter(isLeft),
      ...(this.between === 0 && top !== undefined && invokable.includes(top.name) ? ["exit_current_mode"] : [])
    ]
  }

  chosen(): ReadonlyArray<string> {
    const offered = this.offered()
    const { toolChoice } = this.settings
    if (toolChoice === "none") return []
    if (toolChoice === undefined || toolChoice === "auto") return offered
    const chosen = toolChoice.oneOf.filter((tool) => offered.includes(tool))
    return chosen.length === 0 ? offered : chosen
  }

  ask(): void {
    if (this.between === 0) this.moves = 0
    if (this.requests.length >= 40) throw new TooLong()
    this.requests.push({
      system: this.system(),
      messages: begun(this.seen.flatMap(toMessages)),
      tools: [...this.chosen()].sort()
    })
    const model = this.models[this.models.length - 1]
    if (model === "fails") throw new Stopped("Agent:ModelCallFailed")
    if (model === "hangs" && this.cuts > 0 && this.cleaning === 0) {
      this.isCutting = true
      throw new Stopped("Interrupt")
    }
    const text = `answer ${this.requests.length}`
    const step = this.scripts[this.scripts.length - 1]!.shift()
    if (step === undefined) {
      this.append({ who: "assistant", text, isAnswer: true })
      return
    }
    const isActing = step.acts.length > 0
    if (!isActing && step.asks.length === 0) {
      this.append({ who: "assistant", text, isAnswer: true })
      return
    }
    this.append({ who: "assistant", text, calls: [] })
    const asked = step.asks.map((asked) => this.askFor(asked))
    const last = asked.findLastIndex(({ move }) => move !== undefined)
    const areMore = isActing && this.offered().includes("act")
    const results = asked.map(({ move, result, tool }, index) => {
      const unless = areMore ? ", unless another call of this step asks for another move" : ""
      if (move === undefined) return `${tool}: ${result}`
      if (index === last) return `${tool}: ${move.enters ? "Entering" : "Leaving"} mode "${move.mode}"${unless}.`
      return `${tool}: Mode "${move.mode}" isn't ${
        move.enters ? "entered" : "left"
      } by this call: the last move that is asked for counts.`
    })
    if (isActing) results.push(this.act(step.acts))
    this.amend({ who: "assistant", text, calls: results })
  }

  askFor(asked: Step["asks"][number]): {
    readonly tool: string
    readonly result?: string
    readonly move?: { readonly enters: boolean; readonly mode: string }
  } {
    const tool = asked === "exit" ? "exit_current_mode" : `enter_${asked}_mode`
    const offered = this.offered()
    const invokable = known.filter((name) => this.book[name].isInvokable)
    if (asked === "exit" ? invokable.length === 0 : !invokable.includes(asked)) return { tool, result: "there is none" }
    if (!offered.includes(tool)) return { tool, result: "not offered" }
    const height = this.stack.length
    if (asked === "exit") {
      this.pending = { to: height - 1 }
      return { tool, move: { enters: false, mode: this.top()!.name } }
    }
    const enter = { name: asked, params: "one" } as const
    this.pending = this.book[asked].invocation === "switch" ? { to: Math.max(0, height - 1), enter } : { enter }
    return { tool, move: { enters: true, mode: asked } }
  }

  act(acts: ReadonlyArray<OfTool>): string {
    if (!this.offered().includes("act")) return "act: not offered"
    for (const op of acts) {
      if (op._tag === "Refused") {
        const isSession = op.what === "enterMode" || op.what === "exitMode"
        if (!this.isHeld && isSession) continue
        const refusal = isSession
          ? `Session:${this.isClosed ? "SessionClosed" : "ReentrantOperation"}`
          : "Mode:StepUnderWay"
        this.log.push(`! ${refusal}`)
      } else this.simples([op])
    }
    return "act: done"
  }

  // What is done

  whileCleaning(f: () => void): void {
    this.cleaning++
    try {
      f()
    } finally {
      this.cleaning--
    }
  }

  stop(how: "well" | "fail" | "die" | "interrupt"): void {
    if (how !== "well") throw new Stopped(how === "interrupt" ? "Interrupt" : how)
  }

  /** Does something whose refusal by what holds the conversation is no failure. */
  attempt(f: () => void): void {
    try {
      f()
    } catch (stopped) {
      if (!(stopped instanceof Stopped)) throw stopped
      const [reason, ...others] = new Set(stopped.reasons)
      if (others.length > 0 || !/^(Mode|Session):/.test(reason!)) throw stopped
      this.log.push(`! ${reason}`)
    }
    this.look()
  }

  simples(ops: ReadonlyArray<Simple>): void {
    for (const op of ops) this.attempt(() => this.simple(op))
  }

  simple(op: Simple): void {
    const top = this.top()
    switch (op._tag) {
      case "Set":
        if (top === undefined) throw new Stopped("Mode:NoMode")
        top.values[op.key] = op.value
        return
      case "Piece": {
        const { name, persist, place, text } = op
        this.put(this.pieces, { name, persist, place, text, owner: top })
        return
      }
      case "Configure": {
        const settings: Settings = settingsOf[op.settings]
        const invokable = known.filter((name) => this.book[name].isInvokable)
        const tools = ["act", "other", ...invokable.map((name) => `enter_${name}_mode`)]
        if (settings.tools?.some((tool) => !tools.includes(tool)) === true) throw new Stopped("Mode:UnknownSetting")
        this.settings = { ...this.settings, ...settings }
        return
      }
      case "View": {
        if (top === undefined) throw new Stopped("Mode:NoMode")
        if (top.page.isolation !== "thread" && top.page.isolation !== "fork") throw new Stopped("Mode:NoView")
        const last = this.seen[this.seen.length - 1]
        const open = last?.calls?.length === 0 ? [last] : []
        const settled = this.seen.slice(0, this.seen.length - open.length)
        if (settled.length > 100) throw new TooLong()
        top.whole ??= this.seen
        this.seen = [...editOf(op.edit, settled, (text): Turn => ({ who: "summary", text })), ...open]
        return
      }
      case "Schedule":
        return this.schedule(op.move)
    }
  }

  ops(ops: ReadonlyArray<Between>, frame: Frame): void {
    for (const op of ops) {
      switch (op._tag) {
        case "Say":
          this.attempt(() => this.say(op))
          break
        case "Inner": {
          const inner = behind(frame.name, op.place)
          if (inner === undefined) break
          this.attempt(() =>
            this.within(inner, paramsOf.none, false, () => {
              for (const each of op.body) {
                if (each._tag === "Say") this.attempt(() => this.say(each))
                else this.simples([each])
              }
            })
          )
          break
        }
        case "Above": {
          const isScoped = op.isScoped || !this.isHeld
          const inner = behind(frame.name, op.place, known)
          if (inner === undefined) break
          this.attempt(() => {
            this.check(inner, paramsOf.none)
            const entered = this.enter(inner, paramsOf.none, false)
            if (isScoped) {
              frame.finalizers.push(() => {
                const height = this.stack.indexOf(entered)
                if (height < 0 || height >= this.live) return
                const reasons = this.leaveTo(height, [], { isOver: true })
                if (reasons.length > 0) throw new Stopped(...reasons)
              })
            }
          })
          break
        }
        default:
          this.simples([op])
      }
    }
  }

  check(name: Name, params: object): void {
    const page = this.book[name]
    const refusal = this.obstacle(page, this.stack.length) ??
      (isWrongParams(page, params) ? "Mode:ParamsRejected" : undefined)
    if (refusal !== undefined) throw new Stopped(refusal)
  }

  within(name: Name, params: object, isScoped: boolean, body: () => void): void {
    this.check(name, params)
    const frame = this.enter(name, params, false)
    let exit: ReadonlyArray<string> = []
    try {
      body()
    } catch (stopped) {
      if (!(stopped instanceof Stopped)) throw stopped
      exit = stopped.reasons
    }
    const height = this.stack.indexOf(frame)
    const reasons = height < 0 ? exit : this.leaveTo(height, exit, { isOver: true, recovers: !isScoped })
    if (this.isCutting && this.cleaning === 0) throw new Stopped("Interrupt")
    if (reasons.length > 0) throw new Stopped(...reasons)
  }

  body(ops: ReadonlyArray<Op>): void {
    for (const op of ops) this.op(op)
  }

  op(op: Op): void {
    switch (op._tag) {
      case "Say":
        return this.attempt(() => this.say(op))
      case "Enter":
        return this.attempt(() => {
          const page = this.page(op.mode)
          if (page === undefined) throw new Stopped("Mode:UnknownMode")
          this.check(op.mode as Name, paramsOf[op.params])
          this.enter(op.mode as Name, paramsOf[op.params], false)
        })
      case "Exit":
        return this.attempt(() => {
          const top = this.top()
          if (top === undefined) throw new Stopped("Mode:NoMode")
          if (op.name !== "" && op.name !== top.name) throw new Stopped("Mode:NotOnTop")
          const reasons = this.leaveTo(this.stack.length - 1, [], { isOver: false })
          if (reasons.length > 0) throw new Stopped(...reasons)
        })
      case "Stop":
        return this.stop(op.how)
      case "Within":
        return this.attempt(() => this.within(op.mode, paramsOf[op.params], op.isScoped, () => this.body(op.body)))
      case "Caught":
        try {
          this.body(op.body)
        } catch (stopped) {
          if (!(stopped instanceof Stopped) || this.isCutting) throw stopped
          this.log.push(`caught ${one(stopped.reasons)}`)
        }
        return
      case "Cut":
        this.cuts++
        try {
          this.body(op.body)
          this.log.push("cut at the end")
        } catch (stopped) {
          if (!(stopped instanceof Stopped)) throw stopped
          this.log.push(this.isCutting ? "cut" : `not cut: ${one(stopped.reasons)}`)
        }
        this.cuts--
        this.isCutting = false
        return
      default:
        return this.simples([op])
    }
  }

  /** Goes through a program, and gives what there was at its end, before what was still entered is left. */
  session(program: Program): void {
    for (const op of program) {
      if (op._tag === "Reopen") {
        this.live = 0
        this.resume()
        this.look()
        continue
      }
      try {
        this.op(op)
      } catch (stopped) {
        if (!(stopped instanceof Stopped)) throw stopped
        this.log.push(`stopped by ${one(stopped.reasons)}`)
      }
      this.look()
    }
    this.isClosed = true
    this.log.push(`closed ${one(this.leaveTo(0, [], { isOver: true }))}`)
  }

  /** Goes through what is said, run by run. */
  talk(talk: ReadonlyArray<Say>): void {
    for (const said of talk) {
      try {
        this.say(said)
        this.log.push("ended ok")
      } catch (stopped) {
        if (!(stopped instanceof Stopped)) throw stopped
        this.log.push(`ended ${one(stopped.reasons)}`)
      }
    }
  }
}

const isWrongParams = ({ isSingleShot }: Page, params: object): boolean =>
  !isSingleShot && "n" in params && typeof params.n !== "number"

const isWrong = (page: Page, params: Move["params"]): boolean => isWrongParams(page, paramsOf[params])

const pendingOf = ({ mode, params, to }: Move, height: number): Pending | undefined => {
  switch (to) {
    case "stay":
      return undefined
    case "exit":
      return height === 0 ? undefined : { to: height - 1 }
    case "push":
      return { enter: { name: mode, params } }
    case "switch":
      return { to: Math.max(0, height - 1), enter: { name: mode, params } }
  }
}

/** What a view shows in the place of turns. */
export const editOf = <A>(
  edit: "clear" | "last" | "summary" | "double",
  turns: ReadonlyArray<A>,
  summary: (text: string) => A
): ReadonlyArray<A> => {
  switch (edit) {
    case "clear":
      return []
    case "last":
      return turns.slice(-1)
    case "summary":
      return [summary(`${turns.length} turns`)]
    case "double":
      return [...turns, ...turns]
  }
}

/** Gives an object whose keys are in order. */
export const sorted = (value: { readonly [key: string]: unknown } | string): unknown =>
  typeof value === "string" ? value : Object.entries(value).toSorted(([a], [b]) => a < b ? -1 : 1)

const toText = ({ calls = [], text, who }: Turn): string => [`${who}: ${text}`, ...calls].join(" | ")

const toMessages = ({ calls = [], text, who }: Turn): ReadonlyArray<string> => [
  who === "assistant"
    ? [`assistant: ${text}`, ...calls.map((call) => call.split(":")[0]!)].join(" | ")
    : `user: ${text}`,
  ...(calls.length === 0 ? [] : [`tool: ${calls.join(" | ")}`])
]

/** A prompt that a user's words don't begin has an opening in front. */
const begun = (messages: ReadonlyArray<string>): ReadonlyArray<string> =>
  messages[0]?.startsWith("user: ") === true ? messages : ["user: [The conversation begins here.]", ...messages]
