/**
 * What a denied call tells the model.
 *
 * The model reads the denial with its reason as the call's result. A call that the provider runs has the reason alone, as the user gave
 * it: the provider is sent it as the user's answer, and has its own words for a denial.
 *
 * @since 0.1.0
 */
import type { Settled } from "./StateSchema.ts"

/** Returns the state of a denied call. `isProviders` says that the provider runs it. */
export const deniedState = (reason: string | undefined, isProviders: boolean): Settled => {
  const words = reason === undefined ? "This call was denied." : `This call was denied: ${reason}`
  return { _tag: "Settled", outcome: "Denied", result: isProviders ? reason ?? null : words }
}
