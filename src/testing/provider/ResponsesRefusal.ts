/**
 * What OpenAI refuses of a request for a response.
 *
 * @since 0.1.0
 */
import * as Flaw from "./Flaw.ts"
import { checkFunction, checkStream, checkStrict, refuse, refuseFlaw } from "./OpenAiRefusal.ts"
import type { Refusal } from "./Protocol.ts"
import { first } from "./Refusals.ts"
import { checkItems } from "./ResponsesOrder.ts"
import { isNamed, ResponsesRequest } from "./ResponsesRequest.ts"

/** OpenAI refuses an unknown type of an item or a part at the place of the item or part, not at that of its field `type`. */
const refuseShape = (flaw: Flaw.Flaw): Refusal =>
  refuseFlaw(
    flaw._tag === "Unsupported" && flaw.at.at(-1) === "type" ? { ...flaw, at: flaw.at.slice(0, -1) } : flaw
  )

const checkPrevious = ({ previous_response_id: id }: ResponsesRequest): Refusal | undefined =>
  id === undefined || id === null
    ? undefined
    : refuse(`Previous response with id '${id}' not found.`, "previous_response_id", "previous_response_not_found")

const checkChoice = ({ tool_choice: choice, tools }: ResponsesRequest): Refusal | undefined => {
  if (choice === undefined || choice === null || typeof choice === "string") return undefined
  if (!isNamed(choice)) return undefined
  return (tools ?? []).some((tool) => isNamed(tool) && tool.name === choice.name)
    ? undefined
    : refuse(`Tool choice '${choice.type}' not found in 'tools' parameter.`, "tool_choice")
}

const checkTools = ({ tools }: ResponsesRequest): Refusal | undefined =>
  first(
    tools ?? [],
    (tool, index) => "parameters" in tool ? checkFunction(tool, `tools[${index}]`) : undefined
  )

const checkFormat = (request: ResponsesRequest): Refusal | undefined => {
  const format = request.text?.format
  if (format?.type === "json_schema") {
    return checkStrict("response_format", format, "text.format.schema", "invalid_json_schema")
  }
  return format?.type !== "json_object" || /json/i.test(JSON.stringify(request.input)) ? undefined : refuse(
    "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
    "input"
  )
}

/** Reads a body, or refuses it as OpenAI does. */
export const read = Flaw.reader(
  ResponsesRequest,
  refuseShape,
  (request) =>
    checkPrevious(request) ??
      checkItems(request) ??
      checkTools(request) ??
      checkChoice(request) ??
      checkFormat(request) ??
      checkStream(request)
)
