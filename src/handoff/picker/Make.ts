/**
 * An agent picked by a user's function.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Wanted from "../../domain/Wanted.ts"
import * as MaybeEffect from "../MaybeEffect.ts"
import { type AgentPicker, fromNames, type PickRequest } from "./Picker.ts"

/**
 * Picks the agent whose name a function returns, directly or in an Effect.
 *
 * If the run can't reach an agent with that name, it fails with `HandoffTargetNotFound`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make: {
  <const Name extends string>(pick: (request: PickRequest) => Name): AgentPicker<Name>
  <const Name extends string, E, R>(
    pick: (request: PickRequest) => Effect.Effect<Name, E, R>
  ): AgentPicker<Name, E, R>
} = <Name extends string>(
  pick: (request: PickRequest) => Name | Effect.Effect<Name, unknown, unknown>
): AgentPicker<Name, never, never> =>
  fromNames(
    [],
    (request) =>
      MaybeEffect.call(() => pick(request), (picked) => Wanted.name("`AgentPicker.make`", picked)) as Effect.Effect<
        Name
      >
  )
