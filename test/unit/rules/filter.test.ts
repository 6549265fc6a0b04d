// Filters: who goes on, and how the execution of the others ends.
import { expect, test } from 'vitest'
import type { Node } from '../../../rules/design/types.ts'
import { factsOf } from './builders.ts'
import { ended, exists, runOne } from './runners.ts'

const node: Node = { id: 'n', type: 'filter', data: { condition: exists } }

test('those for whom it holds go on', () => {
  const { steps, next } = runOne(node, ['default'], factsOf({ event: { a: 1 } }))
  expect(steps[1]).toEqual({
    nodeId: 'n',
    type: 'filter',
    handle: 'default',
    why: 'event.a exists is true',
  })
  expect(next).toEqual(ended('default'))
})

test('of the others the execution ends, completed', () => {
  const { steps, next } = runOne(node, ['default'])
  expect(steps.slice(1)).toEqual([
    { nodeId: 'n', type: 'filter', handle: null, why: 'event.a exists is false' },
  ])
  expect(next).toEqual(ended('filtered'))
})
