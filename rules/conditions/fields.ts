// The names that conditions, matches and variables read facts by: `properties.plan`, `event.items[].sku`.

import type { Json } from '../json.ts'
import { limits } from '../limits.ts'
import { type PathPart, parsePath, readPath } from '../paths.ts'
import type { ConditionFacts } from './types.ts'

const fieldRoots = [
  'contact',
  'properties',
  'event',
  'trigger',
  'wait_events',
  'steps',
  'execution',
] as const

export type FieldRoot = (typeof fieldRoots)[number]

export interface Field {
  root: FieldRoot
  /** The path below the root; at least one part. */
  path: PathPart[]
}

/** Fields that were parsed: the same few are read for each event and each node. Emptied when it is full. */
const parsed = new Map<string, Field | null>()
const PARSED_MAX = 5_000

/** A field's root and path, or null when it names nothing that facts hold. */
export function parseField(text: string): Field | null {
  const known = parsed.get(text)
  if (known !== undefined) return known
  const field = parse(text)
  if (parsed.size >= PARSED_MAX) parsed.clear()
  if (text.length <= limits.pathCharsMax) parsed.set(text, field)
  return field
}

function parse(text: string): Field | null {
  const parts = parsePath(text)
  const [head, ...path] = parts ?? []
  const root = fieldRoots.find((name) => name === head?.name)
  if (!root || !head || head.each > 0 || path[0] === undefined) return null
  const known = fixedFields[root]
  if (known && !(path.length === 1 && path[0].each === 0 && known.includes(path[0].name)))
    return null
  return { root, path }
}

/** Roots that hold a fixed set of values; the others are free-form. */
const fixedFields: Partial<Record<FieldRoot, readonly string[]>> = {
  contact: ['email', 'first_seen'],
  execution: ['step_count'],
}

/** Roots whose first name is that of a node, or of what one keeps. */
const keyedRoots: Partial<Record<FieldRoot, string>> = {
  wait_events: 'node id',
  steps: 'store_as',
}

/** How the fields of some roots are written, for messages: `contact.email, contact.first_seen or event.<name>`. */
export function fieldsOf(roots: readonly FieldRoot[]): string {
  const names = roots.flatMap(
    (root) =>
      fixedFields[root]?.map((name) => `${root}.${name}`) ??
      (root in keyedRoots ? [`${root}.<${keyedRoots[root]}>.<name>`] : [`${root}.<name>`]),
  )
  return `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

/** Every value that a field names, undefined where it is missing; more than one only for `[]`. */
export function readField(field: Field, facts: ConditionFacts): (Json | undefined)[] {
  return readPath(rootValue(field.root, facts), field.path)
}

function rootValue(root: FieldRoot, facts: ConditionFacts): Json {
  switch (root) {
    case 'contact':
      return { email: facts.contact.email, first_seen: facts.contact.first_seen }
    case 'properties':
      return facts.contact.properties
    case 'event':
      return facts.event
    case 'trigger':
      return facts.trigger
    case 'wait_events':
      return facts.waitEvents
    case 'steps':
      return facts.steps
    case 'execution':
      return { step_count: facts.execution.step_count }
  }
}

/** The one value of a field without `[]`; undefined when it is missing, or the text is no field. */
export function readOne(text: string, facts: ConditionFacts): Json | undefined {
  const field = parseField(text)
  return field ? readField(field, facts)[0] : undefined
}

/** True when a field says `[]` somewhere, and so may name several values. */
export function isMany(field: Field): boolean {
  return field.path.some((part) => part.each > 0)
}
