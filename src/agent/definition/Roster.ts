/**
 * The agents that can be in control of a run: an agent and all that it can reach by handoffs, or a group's members and all that they can
 * reach.
 *
 * A roster depends on definitions alone, so it is made once and serves any number of conversations (`docs/decisions/0005`).
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import { constUndefined, identity, memoize } from "effect/Function"
import { initial } from "../../domain/Beginning.ts"
import { lazy } from "../../domain/Lazy.ts"
import * as Group from "../../handoff/Group.ts"
import * as Handoff from "../../handoff/Handoff.ts"
import * as HandoffPolicy from "../../handoff/policy/Policy.ts"
import type * as Runnable from "../../handoff/Runnable.ts"
import type * as ModeType from "../../modes/ModeType.ts"
import { type Defined, type Definition, definitionOf, type Roster, type ToolEntry, TypeId } from "./AgentDefinition.ts"
import { addModes } from "./AgentModes.ts"
import { isAlike, isSame } from "./Codec.ts"
import { AmbiguousTool, DuplicateAgent } from "./DuplicateName.ts"
import * as RequestTools from "./RequestTools.ts"
import { addHandoff } from "./ToolEntries.ts"

const hasDefinition = (self: object | undefined): self is Defined => self !== undefined && TypeId in self

/**
 * Finds all agents that can be reached by handoffs, including the given ones. `adapt` changes each.
 *
 * An agent without a model of its own gets the model of the agent whose handoff leads to it first. While an agent is being made, targets
 * that are looked up later may not exist yet: unless the search `isWhole`, it leaves them out.
 */
const reach = (
  from: string,
  starts: ReadonlyArray<Definition>,
  adapt: (definition: Definition) => Definition,
  isWhole: boolean
): ReadonlyMap<string, Definition> => {
  const seen = new Map<string, Definition>()
  const agents = new Map<string, Definition>()
  const waiting = starts.map((definition) => ({ definition, model: undefined as Definition["model"] }))
  for (const { definition, model: inherited } of waiting) {
    const { name } = definition
    const known = seen.get(name)
    if (known === definition) continue
    if (known !== undefined) throw new DuplicateAgent({ agent: name, from })
    seen.set(name, definition)
    const adapted = adapt(definition)
    const model = adapted.model ?? inherited
    agents.set(name, model === adapted.model ? adapted : { ...adapted, model })
    for (const entry of adapted.tools.values()) {
      if (entry._tag !== "Handoff") continue
      const { agent, isLazy } = Handoff.internalsOf(entry.handoff)
      const target = isLazy && !isWhole ? undefined : agent?.()
      if (hasDefinition(target)) waiting.push({ definition: definitionOf(target), model })
    }
  }
  return isWhole ? share(describe(agents)) : agents
}

/** Gives a definition other tools, and prepares its requests with them. */
const withTools = (
  self: Definition,
  { modes, tools }: Pick<Definition, "modes" | "tools">,
  shared?: ReadonlyMap<string, Tool.Any>
): Definition => ({ ...self, modes, tools, requests: RequestTools.make(tools, self.toolChoice, shared) })

/** The tools of all agents by name, or none if two tools of one name are decoded in different ways. */
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

/** Lets agents that take turns send one toolkit, because `effect/ai` keeps the decoder of only one (`docs/decisions/0005`). */
const share = (agents: ReadonlyMap<string, Definition>): ReadonlyMap<string, Definition> => {
  if (agents.size === 1) return agents
  const shared = united(agents.values())
  if (shared.size === 0) return agents
  return new Map(Array.from(agents, ([name, agent]) => [name, withTools(agent, agent, shared)]))
}

/** Gives each handoff without a description the description of its target. */
const describeIn = (agents: ReadonlyMap<string, Definition>, self: Definition): Definition => {
  const described = Array.from(self.tools).flatMap(([name, entry]): ReadonlyArray<readonly [string, ToolEntry]> => {
    if (entry._tag !== "Handoff") return []
    const description = agents.get(entry.handoff.target)?.description
    const handoff = description && Handoff.internalsOf(entry.handoff).describedBy?.(description)
    return handoff ? [[name, { ...entry, tool: Handoff.internalsOf(handoff).tool, handoff }]] : []
  })
  return described.length === 0
    ? self
    : withTools(self, { modes: self.modes, tools: new Map([...self.tools, ...described]) })
}

const describe = (agents: ReadonlyMap<string, Definition>): ReadonlyMap<string, Definition> =>
  new Map(Array.from(agents, ([name, agent]) => [name, describeIn(agents, agent)]))

/** Makes the roster of a single agent, which has no policy besides its handoffs. */
const ofAgent = (definition: Definition, isWhole: boolean): Roster => {
  const { maxHandoffs, name } = definition
  const agents = reach(name, [definition], identity, isWhole)
  return {
    first: agents.get(name)!,
    initial: initial(name),
    agents,
    maxHandoffs,
    picker: undefined,
    group: undefined,
    decide: constUndefined,
    transforms: []
  }
}

/** Adds the handoffs that a group's policy offers an agent to the agent's own. */
const adaptTo = (group: Group.Any): (definition: Definition) => Definition => {
  const { policy } = Group.internalsOf(group)
  const offers = policy === undefined ? [] : HandoffPolicy.internalsOf(policy).offers
  return (definition) => {
    const { modes, name } = definition
    if (!Object.hasOwn(group.agents, name)) return definition
    const tools = new Map(definition.tools)
    for (const { from, handoff } of offers) {
      const known = tools.get(handoff.toolName)
      const isOwn = known?._tag === "Handoff" && known.handoff.target === handoff.target
      if (handoff.target === name || isOwn || !(from?.includes(name) ?? true)) continue
      addHandoff(tools, name, handoff)
    }
    return tools.size === definition.tools.size ? definition : withTools(definition, { modes, tools })
  }
}

const ofGroup = (group: Group.Any, isWhole: boolean): Roster => {
  const { maxHandoffs, picker, policy, start } = Group.internalsOf(group)
  const members = Object.values<object>(group.agents).filter(hasDefinition).map(definitionOf)
  const agents = reach(group.name, members, adaptTo(group), isWhole)
  const internals = policy === undefined ? undefined : HandoffPolicy.internalsOf(policy)
  return {
    first: agents.get(start)!,
    initial: initial(start),
    agents,
    maxHandoffs,
    picker,
    group: group.name,
    decide: internals?.decide ?? constUndefined,
    transforms: internals?.transforms ?? []
  }
}

/** Throws if a handoff names an unknown agent. If some targets are looked up later, that can't be checked yet. */
const checkNames = (group: Group.Any, { agents }: Roster): void => {
  const handoffs = [...agents.values()].flatMap(({ tools }) =>
    [...tools.values()].flatMap((entry) => entry._tag === "Handoff" ? [entry.handoff] : [])
  )
  if (handoffs.some((handoff) => Handoff.internalsOf(handoff).isLazy)) return
  for (const { target } of handoffs) {
    if (!agents.has(target)) {
      throw new Group.UnknownMember({ group: group.name, member: target, available: [...agents.keys()] })
    }
  }
}

const make = (self: Runnable.Any, isWhole: boolean): Roster =>
  // What isn't a group is an agent, and each agent has its definition.
  Group.isGroup(self) ? ofGroup(self, isWhole) : ofAgent(definitionOf(self as Runnable.Any & Defined), isWhole)

/** Checks whether the handler of a tool comes from the environment, by the tool's name. */
const isFoundByName = (entry: ToolEntry): boolean =>
  entry._tag === "Handled" && entry.handle === undefined &&
  (!Tool.isProviderDefined(entry.tool) || entry.tool.requiresHandler)

/** Checks agents that run together. Throws if two different tools would share the environment's handler for their name. */
const handlerCheck = () => {
  const handled = new Map<string, { readonly agent: string; readonly tool: Tool.Any }>()
  return (agent: string, entry: ToolEntry): void => {
    if (!isFoundByName(entry)) return
    const { tool } = entry
    const known = handled.get(tool.id)
    if (known === undefined) handled.set(tool.id, { agent, tool })
    else if (!isSame(known.tool, tool)) throw new AmbiguousTool({ tool: tool.name, agents: [known.agent, agent] })
  }
}

/** Makes the rosters of agents and groups that run together, and checks them with all agents that they call as tools. */
const makeTogether = (selves: ReadonlyArray<Runnable.Any>, isWhole: boolean): ReadonlyArray<Roster> => {
  const checkHandler = handlerCheck()
  const rosters: Array<Roster> = []
  // Iterating over a set includes what is added meanwhile.
  const all = new Set(selves)
  for (const self of all) {
    const roster = make(self, isWhole)
    rosters.push(roster)
    for (const { name, tools } of roster.agents.values()) {
      for (const entry of tools.values()) {
        if (entry._tag === "Agent") all.add(entry.agent)
        checkHandler(name, entry)
      }
    }
  }
  return rosters
}

/** Returns the roster of an agent or a group, made on first use, when all targets exist. */
export const rosterOf = memoize((self: Runnable.Any): Roster => makeTogether([self], true)[0]!)

/** Throws if a roster is invalid, as far as that is known before all targets exist. */
export const check = (self: Runnable.Any): void => {
  const roster = makeTogether([self], false)[0]!
  if (Group.isGroup(self)) checkNames(self, roster)
}

/** Throws if agents and groups can't run together, as far as that is known, and returns the check to make before they run. */
export const checkTogether = (selves: ReadonlyArray<Runnable.Any>): () => void => {
  makeTogether(selves, false)
  return lazy(() => makeTogether(selves, true))
}

/** Checks rosters whose agents run together, with all agents that they call as tools, once modes were added to one of them. */
export const checkRosters = (selves: ReadonlyArray<Roster>): void => {
  const checkHandler = handlerCheck()
  const rosters = new Set(selves)
  for (const { agents } of rosters) {
    for (const { name, tools } of agents.values()) {
      for (const entry of tools.values()) {
        if (entry._tag === "Agent") rosters.add(entry.roster())
        checkHandler(name, entry)
      }
    }
  }
}

const extendBy = memoize((roster: Roster) =>
  memoize((mode: ModeType.Any): Roster => {
    const agents = share(
      new Map(Array.from(roster.agents, ([name, agent]) => [name, withTools(agent, addModes(name, agent, [mode]))]))
    )
    const extended = { ...roster, agents, first: agents.get(roster.first.name)! }
    checkRosters([extended])
    return extended
  })
)

/**
 * Adds modes to every agent of a roster. Throws if an agent has another mode or tool with one of their names, or calls an agent that has
 * such a tool.
 */
export const extend = (roster: Roster, modes: ReadonlyArray<ModeType.Any>): Roster =>
  modes.reduce((extended, mode) => extendBy(extended)(mode), roster)
