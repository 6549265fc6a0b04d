// The pages of the docs, and how the tables that come from code stand in them.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { docTables } from './tables.ts'

const TOP = join(import.meta.dirname, '..', '..')

/** README.md and every page of docs/, as paths from the top of the tree. */
export function pagePaths(): string[] {
  const pages = readdirSync(join(TOP, 'docs')).filter((name) => name.endsWith('.md'))
  return ['README.md', ...pages.sort().map((name) => `docs/${name}`)]
}

/** @param path from the top of the tree */
export function readPage(path: string): string {
  return readFileSync(join(TOP, path), 'utf8')
}

/** @param path from the top of the tree */
export function writePage(path: string, text: string): void {
  writeFileSync(join(TOP, path), text)
}

const PLACE = /^<!-- table: (.+?) -->\n[\s\S]*?^<!-- \/table -->$/gm

/** The names of the tables that a page has a place for. */
export function tablesOf(text: string): string[] {
  return [...text.matchAll(PLACE)].map(([, name]) => name ?? '')
}

/**
 * The page with each of its tables as the code has it now.
 * @throws Error for a table that nobody knows, and for a place that is opened and not closed
 */
export function withTables(text: string): string {
  const opened = text.match(/^<!-- table:/gm)?.length ?? 0
  const closed = text.match(/^<!-- \/table -->$/gm)?.length ?? 0
  if (opened !== tablesOf(text).length || opened !== closed) {
    throw new Error('every <!-- table: NAME --> needs its <!-- /table -->, each on its own line')
  }
  return text.replace(PLACE, (_place, name: string) => {
    const table = Object.hasOwn(docTables, name) ? docTables[name] : undefined
    if (!table) throw new Error(`there is no table ${name}; known: ${Object.keys(docTables)}`)
    return `<!-- table: ${name} -->\n${table()}\n<!-- /table -->`
  })
}
