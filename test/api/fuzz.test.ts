// Random requests from the interface description: never a 5xx, always the promised error shape, and 2xx bodies as
// described.
import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { lacksAddress } from '../../api/http/missingAddress.ts'
import { makeReady } from '../setup/actedOn.ts'
import { createTestApi } from '../setup/api.ts'
import { type FuzzedRequest, fuzzedRequests } from '../setup/arbitrary.ts'
import { readOperations } from '../setup/openapi.ts'
import { bodyOf, fillPath, guardedRoutes } from '../setup/routes.ts'
import { seedTenant } from '../setup/tenant.ts'

const budget_ms = Number(process.env['FUZZ_MS'] ?? 10_000)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)

const api = await createTestApi()
const tenant = await seedTenant(api, 'test')
const operations = await readOperations(api)

const seen = new Map<string, number>()

/** What is wrong with the answer; '' if nothing is. */
async function faultOf({ operation, target, body }: FuzzedRequest): Promise<string> {
  const { name, method } = operation
  // It throws for an answer that differs from the description.
  const { status, headers, text } = await api.request(method, target, body)
  const outcome = `${name} ${status}` as const
  seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
  if (status >= 500) return `${status}: ${text}`
  if (!headers.get('x-request-id')) return 'no X-Request-Id'
  if (status === 204) {
    // The request deleted something: make it again for the next request. A workspace has a limit of webhooks.
    await sql`truncate webhooks cascade`.execute(api.db)
    Object.assign(tenant, await seedTenant(api, 'test'))
  }
  return ''
}

test('the description has every route that needs a key', () => {
  const described = new Set(operations.map(({ name }) => name))
  const missing = guardedRoutes(api).filter(
    (route) => !lacksAddress(route) && !described.has(route.name),
  )
  expect(missing).toEqual([])
})

test('every operation succeeds with a valid request, and answers as described', async () => {
  for (const operation of operations) {
    const body = bodyOf(operation)
    const target = fillPath(operation, tenant)
    await makeReady(api.db, operation.name)
    const fault = await faultOf({ operation, target, body: body && JSON.stringify(body) })
    expect([operation.name, fault]).toEqual([operation.name, ''])
  }
  const succeeded = [...seen.keys()].filter((outcome) => / 2\d\d$/.test(outcome))
  expect(succeeded).toHaveLength(operations.length)
})

const name = `made-up requests are answered as described (FUZZ_SEED=${seed})`

test(name, { timeout: budget_ms + 60_000 }, async () => {
  const requests = fc.oneof(
    ...operations.map((operation) => ({
      arbitrary: fuzzedRequests(operation, tenant),
      weight: operation.method === 'DELETE' ? 1 : 5,
    })),
  )
  const property = fc.asyncProperty(requests, async (request) => {
    const fault = await faultOf(request)
    if (fault)
      throw new Error(`${request.operation.method} ${request.target} ${request.body}: ${fault}`)
  })
  await fc.assert(property, {
    seed,
    numRuns: 1_000_000,
    interruptAfterTimeLimit: budget_ms,
    markInterruptAsFailure: false,
    endOnFailure: true,
  })
  const total = [...seen.values()].reduce((sum, count) => sum + count, 0)
  process.stderr.write(`fuzz: ${total} requests, ${seen.size} outcomes, FUZZ_SEED=${seed}\n`)
  expect(total).toBeGreaterThan(operations.length)
})
