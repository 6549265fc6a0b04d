// What a design refers to outside itself, so that it can be loaded.
import { isJsonObject, type JsonObject } from '../json.ts'
import { nodeRegistry } from '../nodes/index.ts'
import type { NodeRegistry } from '../nodes/registry.ts'
import { exitConditions } from './settings.ts'
import { readShape } from './shape.ts'

interface DesignReferences {
  /** Ids or aliases. */
  templateIds: string[]
  /** Senders as written, `settings.default_from` among them. */
  fromAddresses: string[]
  /** Addresses of the team as written, to which mail goes. */
  teamAddresses: string[]
  audienceIds: string[]
  segmentIds: string[]
  workflowIds: string[]
}

interface Referring {
  nodes: readonly { type: string; data: object | null }[]
  settings?: { default_from?: unknown }
}

/** What a design, valid or not, refers to. Total: takes any JSON. */
export function designReferences(
  design: unknown,
  registry: NodeRegistry = nodeRegistry,
): DesignReferences {
  const { nodes, settings } = readShape(design)
  const workflowIds = nodes.flatMap(
    ({ type, data }) => (data && registry.find(type)?.names(data).workflowIds) ?? [],
  )
  const conditions = [
    ...nodes.flatMap(({ type, data }) => (data && registry.find(type)?.conditions(data)) ?? []),
    ...exitConditions(settings),
  ].map(({ value }) => value)
  const named = (key: 'audienceIds' | 'segmentIds', leaf: 'audience' | 'segment') => [
    ...conditions.flatMap((condition) => namedIn(condition, leaf)),
    ...nodes.flatMap(({ type, data }) => (data && registry.find(type)?.names(data)[key]) ?? []),
  ]
  const ofMail = mailReferences({ nodes, settings }, registry)
  return {
    ...ofMail,
    audienceIds: texts(named('audienceIds', 'audience')),
    segmentIds: texts(named('segmentIds', 'segment')),
    workflowIds: texts(workflowIds),
  }
}

/** What the mail of a design that runs is made from: each segment asks, so it looks at nothing else. */
export function mailReferences(
  { nodes, settings }: Referring,
  registry: NodeRegistry = nodeRegistry,
): Pick<DesignReferences, 'templateIds' | 'fromAddresses' | 'teamAddresses'> {
  const templateIds: unknown[] = []
  const fromAddresses: unknown[] = [settings?.default_from]
  const teamAddresses: unknown[] = []
  for (const { type, data } of nodes) {
    const named = data && registry.find(type)?.names(data as JsonObject)
    if (named?.templateIds) templateIds.push(...named.templateIds)
    if (named?.fromAddresses) fromAddresses.push(...named.fromAddresses)
    if (named?.teamAddresses) teamAddresses.push(...named.teamAddresses)
  }
  return {
    templateIds: texts(templateIds),
    fromAddresses: texts(fromAddresses),
    teamAddresses: texts(teamAddresses),
  }
}

/** What conditions of that type name, anywhere below a value whose depth is bounded; it may be no text. */
export function namedIn(value: unknown, leaf: 'audience' | 'segment'): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => namedIn(item, leaf))
  if (!isJsonObject(value)) return []
  const here = value['type'] === leaf ? [value[`${leaf}_id`]] : []
  return [...here, ...Object.values(value).flatMap((item) => namedIn(item, leaf))]
}

function texts(values: unknown[]): string[] {
  const given = values.filter((value) => typeof value === 'string' && value !== '')
  return [...new Set(given as string[])]
}
