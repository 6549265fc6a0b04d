// The house's own rules, where the linter cannot see them: file sizes, first lines, depth of folders, states, rooms.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readConfig, withTable } from '../../dev/rooms.mjs'
import {
  deliveryTransitions,
  domainTransitions,
  executionTransitions,
  workflowTransitions,
} from '../../rules/states.ts'
import { filesOf, rooms } from '../setup/sources.ts'

const LINES_MAX = 250
/** The lines of a file in which it may say why it is longer. */
const HEAD_LINES = 5

const sources = filesOf([...rooms, 'dev', 'bench', 'test'])

test('no file is over 250 lines without a reason at its head', () => {
  const long = sources.filter((file) => {
    const lines = readFileSync(file, 'utf8').split('\n')
    const reason = lines
      .slice(0, HEAD_LINES)
      .some((line) => /^\/\/ Long because \S+ \S+/.test(line))
    return lines.length - 1 > LINES_MAX && !reason
  })
  expect(long).toEqual([])
})

test('the first line of every file says its job', () => {
  const silent = sources.filter((file) => !/^(#!.*\n)?\/\/ \S/.test(readFileSync(file, 'utf8')))
  expect(silent).toEqual([])
})

test('folders are three deep at most', () => {
  expect(sources.filter((file) => file.split('/').length > 4)).toEqual([])
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
