// Names repeated statements, so that Postgres plans them once for each connection.
import { createHash } from 'node:crypto'

/** The most statements that get a name; further ones are planned at each call. */
const NAMED_MAX = 500

/**
 * Makes a function that names repeated statements: planning the statement that accepts an email takes longer than
 * running it. Only statements that begin with `with` get a name: they list their columns, so a later migration
 * cannot change the result of a cached plan. A statement that begins with `with` is named and its plan kept; a comment before the `with`
 * keeps it unnamed, so that it is planned by what its transaction has set before (db/audiences/deleted.ts) or by how much there is
 * now (db/executions/writes.ts).
 */
export function createStatementNames() {
  const names = new Map<string, string>()
  return (text: string): string | undefined => {
    if (!/^\s*with\s/i.test(text)) return undefined
    const known = names.get(text)
    if (known || names.size >= NAMED_MAX) return known
    const name = `s${names.size}_${createHash('sha1').update(text).digest('base64url').slice(0, 16)}`
    names.set(text, name)
    return name
  }
}
