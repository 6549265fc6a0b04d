// An execution that a goal takes out of a node may come to this node again.
import { expect, test } from 'vitest'
import type { Node } from '../../../rules/design/types.ts'
import { walkSegment } from '../../../rules/interpreter.ts'
import { factsOf, now } from './builders.ts'
import { designOf, sending, start } from './runners.ts'

const isDone = { type: 'rule', field: 'properties.done', operator: 'is_true' } as const
const goal: Node = { id: 'goal', type: 'goal', data: { condition: isDone } }
const mark: Node = { id: 'mark', type: 'update_contact', data: { set: { done: true } } }
const hello: Node = { id: 'hello', type: 'send_email', data: { template_id: 'welcome' } }
const rest: Node = { id: 'rest', type: 'delay', data: { ms: 60_000 } }

test('a send before which a goal was reached is made after it', () => {
  const tools = sending()
  const graph = designOf([mark, hello, goal], 't>mark', 'mark>hello', 'goal>hello')
  expect(walkSegment(graph, start, factsOf(), tools).next).toMatchObject({ status: 'COMPLETED' })
  expect(tools.sent).toEqual(['hello'])
})

test('a wait at whose begin a goal was reached begins after it', () => {
  const graph = designOf([mark, rest, goal], 't>mark', 'mark>rest', 'goal>rest')
  const { next } = walkSegment(graph, start, factsOf(), sending())
  expect(next).toMatchObject({ kind: 'wait', nodeId: 'rest', until: now + 60_000 })
})

test('a wait that is asked again when a goal is reached begins anew after it', () => {
  const graph = designOf([rest, goal], 't>rest', 'goal>rest')
  const facts = factsOf({
    contact: { email: 'a@example.test', first_seen: 0, properties: { done: true } },
  })
  const again = { kind: 'again', nodeId: 'rest', since: now - 30_000 } as const
  const { next } = walkSegment(graph, again, facts, sending())
  expect(next).toMatchObject({ kind: 'wait', nodeId: 'rest', until: now + 60_000 })
})
