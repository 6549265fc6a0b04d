// The designs that are drawn for kills of the worker: each is valid, the same for its seed, and together they have every kind of node.
import { expect, test } from 'vitest'
import { parseTemplate } from '../../mail/content/template.ts'
import { validateDesign } from '../../rules/design/validate.ts'
import { nodeKinds } from '../../rules/nodes/index.ts'
import { drawDesign, type World } from '../setup/drawnDesigns.ts'

const now = Date.UTC(2026, 2, 10, 12)
const world: World = {
  audiences: ['aud_1', 'aud_2'],
  child: 'wf_1',
  parked: 'wf_2',
  template: 'welcome',
  url: 'http://127.0.0.1:8080',
  now,
}
const context = {
  templates: new Map([['welcome', { status: 'published' as const, hasSubject: true, from: null }]]),
  verifiedDomains: new Set(['sender.test']),
  audiences: new Set(world.audiences),
  workflows: new Set([world.child, world.parked]),
  now,
  liquidProblem: (text: string) => (parseTemplate(text).ok ? null : 'no Liquid'),
}
const SEEDS = 1_000

test('each drawn design is valid, and the same for its seed', () => {
  for (let seed = 0; seed < SEEDS; seed++) {
    const drawn = drawDesign(seed, world, 'begin')
    expect(validateDesign(drawn.design, context), `seed ${seed}`).toEqual([])
    expect(drawDesign(seed, world, 'begin')).toEqual(drawn)
  }
})

test('together they have every kind of node, and every way to end a wait', () => {
  const kinds = new Set<string>()
  const ends = new Set<string>()
  for (let seed = 0; seed < SEEDS; seed++) {
    const { design, acts } = drawDesign(seed, world, 'begin')
    for (const { type } of design.nodes) kinds.add(type)
    for (const act of Object.values(acts)) {
      ends.add(typeof act.ends === 'string' ? act.ends : 'goal')
    }
  }
  expect([...kinds].sort()).toEqual(nodeKinds.map(({ type }) => type).sort())
  expect([...ends].sort()).toEqual(['condition', 'event', 'exited', 'goal', 'moved'])
})
