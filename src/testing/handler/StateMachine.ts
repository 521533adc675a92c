/**
 * A handler with states: each has its response, and conditions on the request that lead to the next.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { type Answer, decline, type Handler, type Reply, type ReplyFunction, stateful, toAnswer } from "../Handler.ts"
import { type Condition, predicateOf, truth } from "./Conditional.ts"

/**
 * A state of a `stateMachine`: its reply, and which state follows. `transitions` has a condition for each state that may follow: the first
 * that holds, in the order in which they are written, decides. If none holds, `defaultNext` follows. Without that the machine stays in its
 * state.
 *
 * @category models
 * @since 0.1.0
 */
export interface State<Name extends string, R = never> {
  readonly respond: Reply<R>
  readonly transitions?: { readonly [_ in Name]?: Condition<R> }
  readonly defaultNext?: Name
}

/**
 * A handler with states, whose history `MockModel.history` reads.
 *
 * @category models
 * @since 0.1.0
 */
export interface StateMachine<Name extends string, out R = never> extends Handler<R> {
  readonly initial: Name
}

type ServicesOf<F> = F extends (request: never) => Effect.Effect<unknown, unknown, infer R> ? R : never

/** A move to a state that isn't defined doesn't compile. */
type Known<States> = {
  readonly [Name in keyof States]: {
    readonly defaultNext?: keyof States
    readonly transitions?: States[Name] extends { readonly transitions: infer T }
      ? { readonly [_ in Exclude<keyof T, keyof States>]: never }
      : unknown
  }
}

type StateServices<S> = S extends { readonly respond: infer F; readonly transitions?: infer T }
  ? ServicesOf<F> | ServicesOf<T[keyof T]>
  : never

/**
 * Makes a handler with states. The state that the machine is in answers a request, and only then the machine moves.
 *
 * **Details**
 *
 * The history begins with the initial state and has one more for each move, also for one to the same state. Conditions are tested on the
 * request that was just answered. If a condition or the Effect of a reply fails or throws, the machine stays. A condition that
 * returns no boolean dies with a `TypeError`. A response of `MockResponse.fail` moves it as any other does.
 *
 * **Gotchas**
 *
 * JavaScript puts names that are whole numbers first, so the conditions of such states are tested first.
 *
 * **Example** (A conversation that goes back and forth)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { MockModel } from "troupe/testing"
 *
 * const machine = MockModel.stateMachine({
 *   initial: "greeting",
 *   states: {
 *     greeting: { respond: "Hello! How can I help?", transitions: { weather: /weather/i, capital: /capital/i } },
 *     weather: { respond: "It's sunny!", defaultNext: "greeting" },
 *     capital: { respond: "Which country?", defaultNext: "greeting" }
 *   }
 * })
 *
 * const say = (prompt: string) => Effect.map(LanguageModel.generateText({ prompt }), (response) => response.text)
 *
 * const program = Effect.gen(function*() {
 *   const said = [yield* say("I have a question about the weather."), yield* say("How is it in Oslo?")]
 *   return { said, history: yield* MockModel.history(machine) }
 * })
 *
 * const { history, said } = await Effect.runPromise(Effect.provide(program, MockModel.layer(machine)))
 *
 * said // => ["Hello! How can I help?", "It's sunny!"]
 * history // => ["greeting", "weather", "greeting"]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const stateMachine = <const States extends Readonly<Record<string, State<string, unknown>>>>(
  options: { readonly initial: NoInfer<keyof States & string>; readonly states: States & Known<States> }
): StateMachine<keyof States & string, StateServices<States[keyof States]>> => {
  type Name = keyof States & string
  const states = new Map(
    Object.entries<State<string, unknown>>(options.states).map(([name, state]) => [
      name,
      {
        answer: toAnswer(state.respond as ReplyFunction<unknown>),
        transitions: Object.entries<Condition<unknown> | undefined>(state.transitions ?? {}).flatMap((
          [target, condition]
        ) => condition === undefined ? [] : [{ target, holds: predicateOf(condition) }]),
        defaultNext: state.defaultNext
      }
    ])
  )
  const handler = stateful<unknown>(() => {
    const history: Array<string> = [options.initial]
    const answer: Answer<unknown> = (request, note) => {
      const name = history[history.length - 1]!
      const state = states.get(name)
      if (state === undefined) {
        return decline(
          `there is no state "${name}": there are ${Array.from(states.keys(), (name) => `"${name}"`).join(", ")}`
        )
      }
      const next = (index: number): Effect.Effect<string | undefined, Failure, unknown> => {
        const transition = state.transitions[index]
        if (transition === undefined) return Effect.succeed(state.defaultNext)
        const holds = transition.holds(request)
        const take = (holds: boolean) => truth(holds) ? Effect.succeed(transition.target) : next(index + 1)
        return Effect.isEffect(holds) ? Effect.flatMap(holds, take) : take(holds)
      }
      const isMoving = state.transitions.length > 0 || state.defaultNext !== undefined
      note?.(`state "${name}"`)
      const answered = state.answer(request, note)
      return !isMoving ? answered : Effect.flatMap(answered, (response) =>
        Effect.map(next(0), (target) => {
          if (target === undefined) return response
          note?.(`to "${target}"`)
          history.push(target)
          return response
        }))
    }
    return [answer, { history: () => history.slice() }]
  })
  return Object.assign(handler, { initial: options.initial }) as StateMachine<Name, StateServices<States[keyof States]>>
}

type Failure = Effect.Error<ReturnType<Answer<unknown>>>
