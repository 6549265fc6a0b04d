// The docs hold together: tables are those of the code, links lead somewhere, and README leads to every page.
import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { pagePaths, readPage, tablesOf, withTables, writePage } from '../../dev/docs/pages.ts'
import { docTables } from '../../dev/docs/tables.ts'
import { anchorsOf, fencesOf, type Link, linksOf } from '../setup/docs.ts'

const pages = pagePaths()

test.each(pages)('the tables of %s are those of the code', (page) => {
  const filled = withTables(readPage(page))
  if (process.env['UPDATE_GOLDEN'] === '1') writePage(page, filled)
  expect(readPage(page), `npm run docs writes the tables of ${page}`).toBe(filled)
})

test('every table that comes from code stands in a page', () => {
  const placed = new Set(pages.flatMap((page) => tablesOf(readPage(page))))
  expect(Object.keys(docTables).filter((name) => !placed.has(name))).toEqual([])
})

test('a table that nobody knows, and a place that is not closed, are named', () => {
  expect(() => withTables('<!-- table: made-up -->\n<!-- /table -->\n')).toThrow(/made-up/)
  expect(() => withTables('<!-- table: node-kinds -->\n')).toThrow(/needs its/)
})

const anchors = new Map(pages.map((page) => [page, anchorsOf(page)]))

/** Why a link leads nowhere; null when it leads somewhere. */
function fault({ target, page, line }: Link): string | null {
  if (/^(https?|mailto):/.test(target)) return null
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : posix.normalize(posix.join(posix.dirname(page), path))
  const from = `${page}:${line}: ${target}`
  if (file.startsWith('..') || !existsSync(file)) return `${from}: there is no file ${file}`
  if (!anchor) return null
  const known = anchors.get(file)
  if (!known) return `${from}: ${file} is no page of the docs`
  return known.has(anchor) ? null : `${from}: ${file} has no heading or id ${anchor}`
}

test('every link inside the docs leads somewhere', () => {
  const links = pages.flatMap(linksOf)
  expect(links.length).toBeGreaterThan(0)
  expect(links.map(fault).filter((found) => found !== null)).toEqual([])
  const lost = (target: string) => fault({ target, page: 'README.md', line: 1 })
  expect(lost('docs/made-up.md')).toMatch(/no file/)
  expect(lost('docs/workflows.md#made-up')).toMatch(/no heading/)
})

test('README leads to every page', () => {
  const linked = new Set(linksOf('README.md').map(({ target }) => target.split('#')[0]))
  const others = pages.filter((page) => page !== 'README.md')
  expect(others.filter((page) => !linked.has(page))).toEqual([])
})

test('every fence says its language', () => {
  const silent = fencesOf().filter(({ language }) => language === '')
  expect(silent.map(({ page, line }) => `${page}:${line}`)).toEqual([])
})
