// docs/workflows.md is whole: a section with an example for each node kind, every operator in use, every snippet valid.
import { describe, expect, test } from 'vitest'
import { type Condition, operators } from '../../rules/conditions/types.ts'
import { type ConditionScope, validateCondition } from '../../rules/conditions/validate.ts'
import type { DesignContext } from '../../rules/design/context.ts'
import { settingsProblems } from '../../rules/design/settings.ts'
import type { JsonObject } from '../../rules/json.ts'
import { nodeKinds, nodeRegistry } from '../../rules/nodes/index.ts'
import { type Fence, fencesOf } from '../setup/docs.ts'
import { pageWorkflows, WORKFLOWS_PAGE } from '../setup/pageExamples.ts'

const fences = fencesOf([WORKFLOWS_PAGE])
const jsons = fences.filter(({ language }) => language === 'json')
const snippets = (info: string) => jsons.filter((fence) => fence.info.split(' ')[0] === info)
const parsed = (fence: Fence) => JSON.parse(fence.text) as JsonObject
const at = ({ page, line }: Fence) => `${page}:${line}`

/** What snippets may name: they stand alone, so that nothing of the design around them is there. */
const anyNode = new Proxy(new Set<string>(), {
  get: (set, key) => (key === 'has' ? () => true : Reflect.get(set, key)),
})
const context: DesignContext = {
  templates: new Map([['welcome', { status: 'published', hasSubject: true, from: null }]]),
  verifiedDomains: new Set(['demo.test']),
  audiences: anyNode,
  workflows: anyNode,
}
const surroundings = {
  path: 'data',
  waitNodes: anyNode,
  storedNames: anyNode,
  sendNodes: anyNode,
  settings: { default_from: 'Acme <hello@demo.test>' },
  context,
}

test('every JSON of the page is of a kind that some test reads', () => {
  const read = ['workflow', 'event', 'start', 'node', 'condition', 'settings', 're_entry', 'answer']
  const others = jsons.filter(({ info }) => !read.includes(info.split(' ')[0] ?? ''))
  expect(others.map(at)).toEqual([])
  for (const fence of jsons) expect(() => parsed(fence), at(fence)).not.toThrow()
})

test.each(snippets('node').map((fence) => [at(fence), fence] as const))(
  'the node at %s is valid',
  (_at, fence) => {
    const { id, type, data } = parsed(fence)
    const kind = nodeRegistry.find(String(type))
    if (!kind) throw new Error(`there is no node kind ${type}`)
    const where = { ...surroundings, nodeId: String(id), data: data as JsonObject }
    expect(kind.check(where)).toEqual([])
  },
)

test.each(snippets('condition').map((fence) => [at(fence), fence] as const))(
  'the condition at %s is valid',
  (_at, fence) => {
    const scope = (fence.info.split(' ')[1] ?? 'node') as ConditionScope
    const where = { nodeId: null, scope }
    expect(validateCondition(parsed(fence), '', where)).toEqual([])
  },
)

test('the settings and rules of re-entry that it shows are valid', () => {
  for (const fence of snippets('settings')) {
    const where = { ...surroundings, nodeId: null, data: parsed(fence) }
    expect(settingsProblems(where), at(fence)).toEqual([])
  }
  for (const fence of snippets('re_entry')) {
    const data = { kind: 'event', event_name: 'a', re_entry: parsed(fence) }
    const where = { ...surroundings, nodeId: 't', data }
    expect(nodeRegistry.find('trigger')?.check(where), at(fence)).toEqual([])
  }
})

describe('every node kind', () => {
  const workflows = pageWorkflows()
  const types = new Set(workflows.flatMap(({ body }) => body.design.nodes.map(({ type }) => type)))
  test.each(nodeKinds.map(({ type }) => type))(
    '%s has a section with an example, and is part of a workflow',
    (type) => {
      const inSection = (fence: Fence) => fence.headings.includes(`\`${type}\``)
      const examples = snippets('node').filter(
        (fence) => inSection(fence) && parsed(fence)['type'] === type,
      )
      expect(
        examples.length,
        `${WORKFLOWS_PAGE} has no section \`${type}\` with a \`json node\` example`,
      ).toBeGreaterThan(0)
      expect([...types], `no workflow of ${WORKFLOWS_PAGE} has a node of the kind`).toContain(type)
    },
  )
  test('the handles that it says are those that it has', () => {
    for (const kind of nodeKinds) {
      const nodes = workflows.flatMap(({ body }) => body.design.nodes)
      const used = nodes.filter(({ type }) => type === kind.type)
      const named = Object.keys(kind.handleTexts).filter((handle) => !handle.startsWith('<'))
      const isOpen = Object.keys(kind.handleTexts).some((handle) => handle.startsWith('<'))
      for (const { data } of used) {
        const { required, optional } = kind.handles(data as JsonObject)
        const has = [...required, ...optional]
        expect(isOpen ? has : has.sort(), kind.type).toEqual(
          isOpen ? expect.arrayContaining(named) : [...named].sort(),
        )
      }
    }
  })
})

/** Every operator inside a value. */
function operatorsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { operator, ...rest } = value as { operator?: unknown }
  return [
    ...(typeof operator === 'string' ? [operator] : []),
    ...Object.values(rest).flatMap(operatorsIn),
  ]
}
function conditionTypesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const { type } = value as { type?: unknown }
  return [
    ...(typeof type === 'string' ? [type] : []),
    ...Object.values(value).flatMap(conditionTypesIn),
  ]
}

test('every operator, and every kind of condition, is in an example', () => {
  const all = [...jsons.map(parsed), ...pageWorkflows().map(({ body }) => body)]
  const shown = new Set(all.flatMap(operatorsIn))
  expect(operators.filter((operator) => !shown.has(operator))).toEqual([])
  const kinds: Condition['type'][] = [
    'and',
    'or',
    'not',
    'rule',
    'event_count',
    'email_activity',
    'audience',
    'segment',
  ]
  const types = new Set(all.flatMap(conditionTypesIn))
  expect(kinds.filter((type) => !types.has(type))).toEqual([])
})
