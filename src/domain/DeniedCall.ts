/**
 * What a denied call tells the model.
 *
 * The model reads the denial with its reason as the call's result. If the provider runs the call, the result is the reason alone, as the
 * user gave it: it is sent to the provider as the user's answer, and the provider has its own words for a denial.
 *
 * @since 0.1.0
 */
import type { Settled } from "./StateSchema.ts"

/** Returns the state of a denied call. `isProviders` says that the provider runs it. */
export const deniedState = (reason: string | undefined, isProviders: boolean): Settled => {
  const words = reason === undefined ? "This call was denied." : `This call was denied: ${reason}`
  return { _tag: "Settled", outcome: "Denied", result: isProviders ? reason ?? null : words }
}
