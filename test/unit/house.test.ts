// The house's own rules, where the linter cannot see them: file sizes, first lines, the README's tables.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { mayImport, readConfig, withTable } from '../../dev/rooms.mjs'
import {
  deliveryTransitions,
  domainTransitions,
  executionTransitions,
  workflowTransitions,
} from '../../rules/states.ts'

const ROOMS = [...Object.keys(mayImport)]
const LINES_MAX = 250

function filesOf(rooms: string[]): string[] {
  return rooms.flatMap((room) =>
    readdirSync(room, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|mjs)$/.test(file))
      .map((file) => join(room, file)),
  )
}

const sources = filesOf([...ROOMS, 'dev', 'bench', 'test'])

test('no file is over 250 lines', () => {
  const long = sources.filter(
    (file) => readFileSync(file, 'utf8').split('\n').length - 1 > LINES_MAX,
  )
  expect(long).toEqual([])
})

test('the first line of every file says its job', () => {
  const silent = sources.filter((file) => !/^(#!.*\n)?\/\/ \S/.test(readFileSync(file, 'utf8')))
  expect(silent).toEqual([])
})

test('folders are three deep at most', () => {
  expect(sources.filter((file) => file.split('/').length > 4)).toEqual([])
})

test("the README's table of states is the table of the code", () => {
  const tables = {
    workflow: workflowTransitions,
    execution: executionTransitions,
    delivery: deliveryTransitions,
    domain: domainTransitions,
  }
  const expected = Object.entries(tables).flatMap(([resource, transitions]) =>
    Object.entries(transitions).map(([state, next]) => {
      const to = (next as readonly string[]).map((name) => `\`${name}\``).join(', ')
      return `| ${resource} | \`${state}\` | ${to ? `${to} ` : ''}|`
    }),
  )
  const shown = readFileSync('README.md', 'utf8')
    .split('\n')
    .filter((line) => /^\| (workflow|execution|delivery|domain) \| `/.test(line))
  expect(shown).toEqual(expected)
})

test('the tests that the README names are there', () => {
  const rows = readFileSync('README.md', 'utf8')
    .split('\n## Decisions\n')[1]
    ?.split('\n## ')[0]
    ?.split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| gap'))
  const named = (rows ?? []).flatMap((row) =>
    [...(row.split(' | ').at(-1) ?? '').matchAll(/`([\w/*]+)`/g)].map(([, name]) => name ?? ''),
  )
  const known = [...filesOf(['test']), ...filesOf(['bench']).map((file) => `test/${file}`)]
  const missing = named.filter((name) => {
    const prefix = `test/${name.replace(/\*$/, '')}`
    return !known.some((file) => file.startsWith(prefix))
  })
  expect(named.length).toBeGreaterThan(10)
  expect(missing).toEqual([])
})

test('every state that is led to is a state', () => {
  const tables = [workflowTransitions, executionTransitions, deliveryTransitions, domainTransitions]
  for (const transitions of tables) {
    const known = Object.keys(transitions)
    for (const next of Object.values(transitions).flat()) expect(known).toContain(next)
  }
})

test('the linter enforces the table of rooms', () => {
  expect(readConfig()).toEqual(withTable(readConfig()))
})
