// What the docs name is there: tests of decisions, files and folders, scripts of npm.
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pagePaths, readPage } from '../../dev/docs/pages.ts'
import { filesOf, rooms } from '../setup/sources.ts'

const pages = pagePaths()
const words = (text: string) => [...text.matchAll(/`([^`\n]+)`/g)].map(([, word]) => word ?? '')

/** Names of tests are paths below test/, or of a benchmark; `*` ends the beginning of several. */
function isTest(name: string): boolean {
  const known = [...filesOf(['test']), ...filesOf(['bench']).map((file) => `test/${file}`)]
  if (name.endsWith('*')) return known.some((file) => file.startsWith(`test/${name.slice(0, -1)}`))
  return known.includes(`test/${name}.test.ts`) || known.includes(`test/${name}.ts`)
}

test('every decision names a test that is there', () => {
  const rows = readPage('docs/decisions.md')
    .split('\n## Libraries\n')[0]
    ?.split('\n')
    .filter((line) => /^\| (?!question|---)/.test(line))
    .map((line) => words(line.split(' | ').at(-1) ?? ''))
  expect(rows?.length).toBeGreaterThan(30)
  expect(rows?.filter((names) => names.length === 0)).toEqual([])
  expect(rows?.flat().filter((name) => !isTest(name))).toEqual([])
})

/** Files that `npm start`, `npm run build` or an operator makes. */
const made = /^(\.data|dist)\//

test('every file and folder that a page names is there', () => {
  const tops = [...rooms, 'dev', 'bench', 'test', 'docs', '.data', 'dist'].join('|')
  const path = new RegExp(`^(${tops})/[\\w./-]*$`)
  // Decisions name tests by shorter names, which the test above knows.
  const others = pages.filter((page) => page !== 'docs/decisions.md')
  const named = others.flatMap((page) =>
    words(readPage(page))
      .filter((word) => path.test(word))
      .map((word) => ({ page, word })),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ word }) => !made.test(word) && !existsSync(word))).toEqual([])
})

test('every script of npm that a page names is there', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object }
  const named = pages.flatMap((page) =>
    [...readPage(page).matchAll(/\bnpm run (\w[\w:-]*)/g)].map(([, script]) => ({ page, script })),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter(({ script }) => !Object.hasOwn(scripts, script ?? ''))).toEqual([])
})

test('README is an entrance: under 150 lines', () => {
  expect(readPage('README.md').split('\n').length).toBeLessThan(150)
})
