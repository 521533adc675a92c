/**
 * What models are asked in a run.
 *
 * @since 0.1.0
 */
import type { MockRequest } from "../MockRequest.ts"

/** The requests of a run, in an order that agents who work at once don't change. */
export class Requests {
  readonly #heard: Array<readonly [place: string, prompt: unknown]> = []

  readonly hear = ({ path, prompt, state }: MockRequest): void => {
    this.#heard.push([`${path.join("/")} ${state?.steps ?? 0} ${JSON.stringify(prompt.content)}`, prompt.content])
  }

  get prompts(): ReadonlyArray<unknown> {
    return this.#heard.toSorted(([one], [other]) => one < other ? -1 : one > other ? 1 : 0).map(([, prompt]) => prompt)
  }
}
