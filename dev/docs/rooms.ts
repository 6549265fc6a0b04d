// The table of which room may import which, from the table that the linter enforces.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { mayImport } from '../rooms.mjs'
import { code, codes, markdownTable } from './markdown.ts'

const TOP = join(import.meta.dirname, '..', '..')
/** The linter's table may name a file before it is written. */
const isThere = (name: string) => existsSync(join(TOP, name.replace(/\/\*\*$/, '')))

/** Each room with the rooms, folders and files that it may import. */
export function roomsTable(): string {
  const rows = Object.entries(mayImport).map(([room, others]) => [
    code(`${room}/`),
    others.length === 0 ? 'nothing' : codes(others.filter(isThere)),
  ])
  return markdownTable(['room', 'may import'], rows)
}
