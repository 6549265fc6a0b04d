// Designs that are wrong in as many places as fit into the size limit: their problems stay few and short.
import { describe, expect, test } from 'vitest'
import { validateDesign } from '../../../rules/design/validate.ts'
import { limits } from '../../../rules/limits.ts'
import { didYouMean } from '../../../rules/shown.ts'
import { welcomeContext } from './builders.ts'

const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))
const long = (i: number) => `${'w'.repeat(57)}${i}`
const start = { id: 't', type: 'trigger', data: { kind: 'event', event_name: 'a' } }
const unseen = '\u202e'

const designs: Record<string, object> = {
  'edges to unknown nodes': {
    nodes: times(300, (i) => ({ id: long(i), type: 'exit', data: {} })),
    edges: times(600, (i) => ({ id: `e${i}`, source: `x${long(i)}`, target: `y${long(i)}` })),
  },
  'unknown handles of a node with thousands of branches': {
    nodes: [
      { id: 'b', type: 'branch', data: { branches: times(2_000, (i) => ({ id: long(i) })) } },
    ],
    edges: times(600, (i) => ({
      id: `e${i}`,
      source: 'b',
      target: 'b',
      sourceHandle: `x${long(i)}`,
    })),
  },
  'rules that ask after unknown mail': {
    nodes: [
      ...times(46, (i) => ({ id: long(i), type: 'send_email', data: {} })),
      ...times(46, (i) => ({
        id: `c${i}`,
        type: 'condition',
        data: { condition: { type: 'and', rules: times(199, () => ({ type: 'email_activity' })) } },
      })),
    ],
    edges: [],
  },
  'thousands of variables under one long key': {
    nodes: [
      start,
      {
        id: 'u',
        type: 'update_contact',
        data: {
          set: {
            [unseen + 'k'.repeat(44_000)]: Object.fromEntries(
              times(5_000, (i) => [`v${i}`, { var: 'wait_events.n.a' }]),
            ),
          },
        },
      },
    ],
    edges: [],
  },
  'one variable under a long key': {
    nodes: [
      start,
      {
        id: 'u',
        type: 'update_contact',
        data: { set: { [unseen + 'k'.repeat(44_000)]: { var: 'wait_events.n.a' } } },
      },
    ],
    edges: [],
  },
  'thousands of unknown settings': {
    nodes: [start],
    edges: [],
    settings: Object.fromEntries(times(15_000, (i) => [`${unseen}s${i}`, 1])),
  },
}

describe.each(Object.entries(designs))('%s', (_, design) => {
  const problems = validateDesign(design, welcomeContext)

  test('are within the size that is looked at', () => {
    expect(Buffer.byteLength(JSON.stringify(design))).toBeLessThan(limits.designBytesMax)
  })

  test('are told by a bounded number of problems', () => {
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.length).toBeLessThanOrEqual(limits.problemsShownMax + 1)
  })

  test('in texts of a bounded length, with nothing unseen', () => {
    const longest = Math.max(...problems.map(({ path, message }) => path.length + message.length))
    expect(longest).toBeLessThan(2_000)
    expect(problems.filter(({ path, message }) => (path + message).includes(unseen))).toEqual([])
  })
})

test('the last problem says how many there are', () => {
  const problems = validateDesign(designs['thousands of unknown settings'], welcomeContext)
  expect(problems.at(-1)).toMatchObject({
    code: 'too_many',
    message: expect.stringMatching(/^the design has 15\d{3} problems; these are the first 500$/),
  })
})

describe('a hint', () => {
  test('is given for a name that is near', () => {
    expect(didYouMean('send_emial', ['delay', 'send_email'])).toBe('; did you mean send_email?')
    expect(didYouMean('nothing like it', ['delay', 'send_email'])).toBe('')
  })

  test('is not looked for among long names, for a long word, or among many names', () => {
    expect(didYouMean('a'.repeat(24), [`${'a'.repeat(25)}`])).toBe('')
    expect(didYouMean('a'.repeat(25), ['a'.repeat(24)])).toBe('')
    const many = times(51, (i) => `send_email${i}`)
    expect(didYouMean('send_email', many)).toBe('')
    expect(didYouMean('send_email', many.slice(1))).not.toBe('')
  })
})
