// The schema of a design in the interface description: complete, and extended by another kind of node.
import { createRoute, z } from '@hono/zod-openapi'
import { expect, test } from 'vitest'
import { createRoutes, jsonRequest } from '../../../api/http/openapi.ts'
import { describeDesign } from '../../../api/workflows/designSchema.ts'
import { NewWorkflow } from '../../../api/workflows/schemas.ts'
import { nodeKinds } from '../../../rules/nodes/index.ts'
import { createRegistry, type NodeRegistry } from '../../../rules/nodes/registry.ts'
import { luckyDraw } from '../rules/madeUpKind.ts'

function describe(registry?: NodeRegistry) {
  const app = createRoutes()
  describeDesign(app, registry)
  const route = createRoute({
    method: 'post',
    path: '/',
    request: { body: jsonRequest(NewWorkflow) },
    responses: { 200: { description: '', content: { 'application/json': { schema: z.any() } } } },
  })
  app.openapi(route, (c) => c.json({}, 200))
  const root = createRoutes()
  root.route('/workflows', app)
  const document = root.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: '', version: '' },
  })
  return { document, schemas: document.components?.schemas ?? {} }
}

test('a request refers to the design, and every reference exists', () => {
  const { document, schemas } = describe()
  expect(schemas['NewWorkflow']).toMatchObject({
    properties: { design: { allOf: [{ $ref: '#/components/schemas/Design' }] } },
  })
  const refs = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)]
  const named = new Set(refs.map(([, name]) => name))
  expect([...named].filter((name) => !Object.hasOwn(schemas, name ?? ''))).toEqual([])
  expect(named.size).toBeGreaterThan(nodeKinds.length)
})

test('a kind that is added to the registry is described', () => {
  expect(describe().schemas).not.toHaveProperty('LuckyDrawNode')
  const { schemas } = describe(createRegistry([...nodeKinds, luckyDraw]))
  expect(schemas['DesignNode']).toMatchObject({
    oneOf: expect.arrayContaining([{ $ref: '#/components/schemas/LuckyDrawNode' }]),
  })
  expect(schemas['LuckyDrawNode']).toMatchObject({ description: luckyDraw.summary })
})

test('a draft may be any object', () => {
  const draft = { name: 'x', design: { nodes: [{ id: 1 }], settings: 'later' } }
  expect(NewWorkflow.parse(draft)).toEqual(draft)
  expect(NewWorkflow.safeParse({ name: 'x', design: [] }).success).toBe(false)
})
