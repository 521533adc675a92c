/**
 * Who can be in control of a run: an agent and everybody that it can hand over to, directly or not, or a group.
 *
 * A roster depends on definitions alone. It is made once and serves any number of conversations at once.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import { memoize } from "effect/Function"
import * as Group from "../../handoff/Group.ts"
import * as Handoff from "../../handoff/Handoff.ts"
import * as HandoffPolicy from "../../handoff/HandoffPolicy.ts"
import type * as Runnable from "../../handoff/Runnable.ts"
import type * as ModeType from "../../modes/ModeType.ts"
import { type Defined, type Definition, definitionOf, type OwnModel, type Roster, TypeId } from "./AgentDefinition.ts"
import { addModes } from "./AgentModes.ts"
import { isAlike } from "./Codec.ts"
import { DuplicateAgent } from "./DuplicateName.ts"
import * as RequestTools from "./RequestTools.ts"
import { addHandoff } from "./ToolEntries.ts"

const isDefined = (self: object | undefined): self is Defined => self !== undefined && TypeId in self

/** An agent that can be reached, and the model that it takes where it has none of its own. */
interface Reached {
  readonly definition: Definition
  readonly model: OwnModel | undefined
}

/**
 * Gives everybody that can be reached by handoffs, those given included, each in the form that `adapt` gives it.
 *
 * An agent without a model of its own takes that of the one whose handoff leads to it first. Targets that are looked up
 * later are left out where `isWhole` is false: at the time an agent is made they may not be there.
 */
const reach = (
  from: string,
  starts: ReadonlyArray<Definition>,
  adapt: (definition: Definition) => Definition,
  isWhole: boolean
): ReadonlyMap<string, Definition> => {
  const seen = new Map<string, Definition>()
  const agents = new Map<string, Definition>()
  const waiting: Array<Reached> = starts.map((definition) => ({ definition, model: undefined }))
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { name } = next.definition
    const known = seen.get(name)
    if (known === next.definition) continue
    if (known !== undefined) throw new DuplicateAgent({ agent: name, from })
    seen.set(name, next.definition)
    const adapted = adapt(next.definition)
    const model = adapted.model ?? next.model
    agents.set(name, model === adapted.model ? adapted : { ...adapted, model })
    for (const entry of adapted.tools.values()) {
      if (entry._tag !== "Handoff") continue
      const { agent, isLazy } = Handoff.internalsOf(entry.handoff)
      const target = isLazy && !isWhole ? undefined : agent?.()
      if (isDefined(target)) waiting.push({ definition: definitionOf(target), model })
    }
  }
  return isWhole ? share(agents) : agents
}

/** Gives a definition other tools, and prepares its requests with them. */
const withTools = (
  self: Definition,
  { modes, tools }: Pick<Definition, "modes" | "tools">,
  shared?: ReadonlyMap<string, Tool.Any>
): Definition => ({ ...self, modes, tools, requests: RequestTools.make(tools, self.toolChoice, shared) })

/** The tools of all agents by name, or none if two of one name aren't decoded alike. */
const united = (agents: Iterable<Definition>): ReadonlyMap<string, Tool.Any> => {
  const tools = new Map<string, Tool.Any>()
  for (const agent of agents) {
    for (const { tool } of agent.tools.values()) {
      const known = tools.get(tool.name)
      if (known === undefined) tools.set(tool.name, tool)
      else if (!isAlike(known, tool)) return new Map()
    }
  }
  return tools
}

/** Lets agents that take turns send one toolkit, as `effect/ai` keeps the decoder of one only (`docs/decisions/0005`). */
const share = (agents: ReadonlyMap<string, Definition>): ReadonlyMap<string, Definition> => {
  if (agents.size === 1) return agents
  const shared = united(agents.values())
  if (shared.size === 0) return agents
  return new Map(Array.from(agents, ([name, agent]) => [name, withTools(agent, agent, shared)]))
}

const same = (definition: Definition): Definition => definition

const nothing = (): undefined => undefined

/** Makes the roster of an agent alone: it begins, and no policy stands above the handoffs. */
const ofAgent = (definition: Definition, isWhole: boolean): Roster => {
  const agents = reach(definition.name, [definition], same, isWhole)
  return {
    first: agents.get(definition.name)!,
    agents,
    maxHandoffs: definition.maxHandoffs,
    picker: undefined,
    decide: nothing,
    transforms: []
  }
}

/** Adds what the group's policy offers an agent beside its own handoffs. */
const adaptTo = (group: Group.Any): (definition: Definition) => Definition => {
  const { policy } = Group.internalsOf(group)
  const offers = policy === undefined ? [] : HandoffPolicy.internalsOf(policy).offers
  return (definition) => {
    const { name } = definition
    if (!Object.hasOwn(group.agents, name)) return definition
    const tools = new Map(definition.tools)
    for (const { from, handoff } of offers) {
      const known = tools.get(handoff.toolName)
      const isOwn = known?._tag === "Handoff" && known.handoff.target === handoff.target
      if (handoff.target === name || isOwn || !(from?.includes(name) ?? true)) continue
      addHandoff(tools, name, handoff)
    }
    return tools.size === definition.tools.size ? definition : withTools(definition, { modes: definition.modes, tools })
  }
}

/** Makes the roster of a group: its members and everybody that they can hand over to. */
const ofGroup = (group: Group.Any, isWhole: boolean): Roster => {
  const { maxHandoffs, picker, policy, start } = Group.internalsOf(group)
  const members = Object.values<object>(group.agents).filter(isDefined).map(definitionOf)
  const agents = reach(group.name, members, adaptTo(group), isWhole)
  const internals = policy === undefined ? undefined : HandoffPolicy.internalsOf(policy)
  return {
    first: agents.get(start)!,
    agents,
    maxHandoffs,
    picker,
    decide: internals?.decide ?? nothing,
    transforms: internals?.transforms ?? []
  }
}

/** Throws where a handoff by name leads to nobody, as far as everybody who can be reached is known. */
const checkNames = (group: Group.Any, { agents }: Roster): void => {
  const handoffs = Array.from(agents.values()).flatMap((agent) =>
    Array.from(agent.tools.values()).flatMap((entry) => entry._tag === "Handoff" ? [entry.handoff] : [])
  )
  if (handoffs.some((handoff) => Handoff.internalsOf(handoff).isLazy)) return
  for (const { target } of handoffs) {
    if (!agents.has(target)) {
      throw new Group.UnknownMember({ group: group.name, member: target, available: [...agents.keys()] })
    }
  }
}

const make = (self: Runnable.Any, isWhole: boolean): Roster =>
  Group.isGroup(self) ? ofGroup(self, isWhole) : ofAgent(definitionOf(self as Runnable.Any & Defined), isWhole)

/** Gives the roster of an agent or a group, made when it is first asked for. */
export const rosterOf = memoize((self: Runnable.Any): Roster => make(self, true))

const extended = new WeakMap<Roster, Map<ModeType.Any, Roster>>()

const extendBy = (roster: Roster, mode: ModeType.Any): Roster => {
  const known = extended.get(roster)?.get(mode)
  if (known !== undefined) return known
  const agents = share(
    new Map(Array.from(roster.agents, ([name, agent]) => [name, withTools(agent, addModes(name, agent, [mode]))]))
  )
  const more = { ...roster, agents, first: agents.get(roster.first.name)! }
  extended.set(roster, (extended.get(roster) ?? new Map<ModeType.Any, Roster>()).set(mode, more))
  return more
}

/** Gives every agent of a roster more modes, each made once. Throws where one of them has another of that name. */
export const extend = (roster: Roster, modes: ReadonlyArray<ModeType.Any>): Roster => modes.reduce(extendBy, roster)

/** Throws where a roster can't be, as far as that is known before agents that are looked up later are there. */
export const check = (self: Runnable.Any): void => {
  const roster = make(self, false)
  if (Group.isGroup(self)) checkNames(self, roster)
}
