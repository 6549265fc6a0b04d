// Requests made up from the interface description: never a 5xx, always the promised shape, and 2xx bodies as described.
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { errorCodes } from '../../api/http/errorCodes.ts'
import { createTestApi } from '../setup/api.ts'
import { type FuzzedRequest, fuzzedRequests } from '../setup/arbitrary.ts'
import { closed, readOperations } from '../setup/openapi.ts'
import { bodyOf, errorKey, fillPath, guardedRoutes } from '../setup/routes.ts'
import { seedTenant } from '../setup/tenant.ts'

const budget_ms = Number(process.env['FUZZ_MS'] ?? 10_000)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)

const api = await createTestApi()
const tenant = await seedTenant(api, 'test')
const operations = await readOperations(api)

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
const validators = new Map<string, ReturnType<typeof ajv.compile>>(
  operations.flatMap((operation) =>
    [...operation.responses].flatMap(([status, schema]) =>
      schema ? [[`${operation.name} ${status}`, ajv.compile(closed(schema))] as const] : [],
    ),
  ),
)

const codes = new Set<unknown>(errorCodes)
const seen = new Map<string, number>()

/** What is wrong with the answer; '' when nothing is. */
async function faultOf({ operation, target, body }: FuzzedRequest): Promise<string> {
  const { name, method, path } = operation
  const answer = await api.request(method, target, body)
  const { status, headers } = answer
  const outcome = `${name} ${status}` as const
  seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
  if (status >= 500) return `${status}: ${answer.text}`
  if (!headers.get('x-request-id')) return 'no X-Request-Id'
  if (!operation.responses.has(status)) return `${status} is not described: ${answer.text}`
  if (status === 204) {
    // What was there is gone: the next request finds all of it again.
    Object.assign(tenant, await seedTenant(api, 'test'))
    return answer.text
  }
  if (!headers.get('content-type')?.startsWith('application/json')) return 'not JSON'
  const validate = validators.get(outcome)
  if (!validate?.(answer.body)) return `${ajv.errorsText(validate?.errors ?? [])}: ${answer.text}`
  if (status < 300) return ''
  const text = answer.body[status === 403 ? 'message' : errorKey(path)]
  if (typeof text !== 'string' || text === '') return `no text: ${answer.text}`
  const { code } = answer.body
  return code === undefined || codes.has(code) ? '' : `unknown code: ${answer.text}`
}

test('the description has every route that needs a key', () => {
  const described = new Set(operations.map(({ name }) => name))
  const missing = guardedRoutes(api).filter(
    ({ name, path }) => !path.endsWith('/') && !described.has(name),
  )
  expect(missing).toEqual([])
})

test('every operation succeeds with a valid request, and answers as described', async () => {
  for (const operation of operations) {
    const body = bodyOf(operation)
    const target = fillPath(operation, tenant)
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
