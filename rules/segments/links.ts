// Which segments name which: whether one names itself by way of others, and who is concerned when one changes.
import { limits } from '../limits.ts'

/** Of each segment those that its condition names. */
type Links = ReadonlyMap<string, readonly string[]>

/** All segments that one names, by way of others too; itself when it does so. */
export function readBy(links: Links, id: string): Set<string> {
  const found = new Set<string>()
  const open = [...(links.get(id) ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue
    found.add(next)
    open.push(...(links.get(next) ?? []))
  }
  return found
}

/** All segments that name one, by way of others too. */
export function readersOf(links: Links, id: string): string[] {
  return [...links.keys()].filter((other) => other !== id && readBy(links, other).has(id))
}

export type LinkFault = { kind: 'cycle'; by: string[] } | { kind: 'wide' }

/** What keeps a segment from naming what it names; null: nothing. `by` of a cycle: those through which it names itself. */
export function linkFault(links: Links, id: string): LinkFault | null {
  const found = readBy(links, id)
  if (found.has(id)) {
    return {
      kind: 'cycle',
      by: [...found].filter((other) => readBy(links, other).has(id) && other !== id).sort(),
    }
  }
  const isWide = [id, ...readersOf(links, id)].some(
    (one) => readBy(links, one).size > limits.segmentsReadMax,
  )
  return isWide ? { kind: 'wide' } : null
}
