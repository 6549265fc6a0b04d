// Makes a list of node kinds usable: finds a kind by the type that a node writes.
import type { NodeKind } from './define.ts'

export interface NodeRegistry {
  readonly kinds: readonly NodeKind[]
  /** Undefined for a type that is not known. */
  find(type: string): NodeKind | undefined
}

/** @throws Error when two kinds have the same type */
export function createRegistry(kinds: readonly NodeKind[]): NodeRegistry {
  const byType = new Map(kinds.map((kind) => [kind.type, kind]))
  if (byType.size < kinds.length) throw new Error('two node kinds have the same type')
  return { kinds, find: (type) => byType.get(type) }
}
