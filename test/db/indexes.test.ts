// Every query of every list: its text, and that it finds its rows by an index among many rows of others.
import type { CompiledQuery } from 'kysely'
import { expect, test } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { listOperations } from '../../api/http/operation.ts'
import type { Trx } from '../../db/connect.ts'
import { listMarketingTimes } from '../../db/executions/facts.ts'
import { findExecutionsByIds } from '../../db/executions/reads.ts'
import { claimFill, deleteMembers, listContactIds } from '../../db/segments/fills.ts'
import { findKept, findKeptKeys } from '../../db/segments/kept.ts'
import {
  claimDueLooks,
  listMemberRows,
  listPageFacts,
  writeMembers,
} from '../../db/segments/members.ts'
import { findSegmentConditions } from '../../db/segments/reads.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { createTestApi } from '../setup/api.ts'
import { noteQueries } from '../setup/askedQueries.ts'
import { expectGolden } from '../setup/golden.ts'
import { seedListRows } from '../setup/listRows.ts'
import { type Operation, readOperations } from '../setup/openapi.ts'
import { fillPath } from '../setup/routes.ts'
import { seedTenant } from '../setup/tenant.ts'

/** Tables that always stay small. */
const SMALL = new Set(['workspaces', 'users', 'temporal_namespaces'])
/** Rows that an index found and a filter dropped: a few for a page, never many. */
const DROPPED_MAX = 100
/** The first page and some that follow; an owner has three. */
const PAGES = 4

const api = await createTestApi()
const tenant = await seedTenant(api, 'test')
await seedListRows(api, tenant)
const operations = await readOperations(api)

/** The HMAC of an address that gets much marketing mail, among many others. */
const capped = Buffer.alloc(16, 1)

const of26 = (prefix: string, n: number) => `${prefix}_${String(n).padStart(26, '0')}`
const soon = new Date(Date.UTC(2026, 0, 1, 2))
const some = [1, 2, 3].map((n) => of26('seg', n))

/** What is asked of segments beside the lists of the API. */
const segmentQueries: Record<string, (trx: Trx, workspaceId: WorkspaceId) => Promise<unknown>> = {
  'those that are kept': async (trx, ws) => findKept(trx, ws, await findKeptKeys(trx, ws)),
  'conditions by way of others': (trx, ws) => findSegmentConditions(trx, ws, some),
  'what is known of a contact': (trx, ws) => listMemberRows(trx, ws, [of26('ct', 500)], some),
  'those who are due': (trx) =>
    claimDueLooks(trx, { now: soon, until: soon, limit: 100, after: '' }),
  'a fill that is due': (trx) => claimFill(trx, { now: soon, until: soon }),
  'contacts of a page': (trx, ws) =>
    listContactIds(trx, ws, { after: of26('ct', 3_000), limit: 100 }),
  'facts of a page': (trx, ws) => {
    const contacts = [501, 502].map((n) => ({ id: of26('ct', n), email: `c-${n}@example.test` }))
    const asked = { id: of26('seg', 1), generation: 1, eventNames: ['e'], audienceIds: ['aud_1'] }
    return listPageFacts(trx, ws, contacts, asked)
  },
  'members of a page': (trx, ws) => {
    const row = { contact_id: of26('ct', 501), segment_id: of26('seg', 1), generation: 2 }
    const found = { ...row, is_member: true, next_look_at: null, looked_at: 0, is_row: true }
    return writeMembers(trx, ws, [found, { ...found, contact_id: of26('ct', 502), is_row: false }])
  },
  'members that are forgotten': (trx, ws) =>
    deleteMembers(trx, ws, of26('seg', 1), [of26('ct', 501), of26('ct', 502)]),
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Rows Removed by Filter'?: number
  'Actual Loops': number
  Plans?: PlanNode[]
}

/** The application over a database handle that records its queries. */
const { db, asked } = noteQueries(api.pool)
const app = createApp({ ...api.deps, db })

async function ask(
  path: string,
  key: string,
): Promise<{ queries: CompiledQuery[]; cursor: string | null }> {
  asked.length = 0
  const response = await app.request(path, { headers: { authorization: `Bearer ${key}` } })
  const text = await response.text()
  expect([path, response.status, response.status === 200 ? '' : text]).toEqual([path, 200, ''])
  // The look-ups of the API key and of limits belong to no list, nor the note of the key's use, which follows some answer or other.
  const isOfKey = (text: string) =>
    text.includes('token_hash') ||
    text.includes('"rate_limits"') ||
    text.startsWith('update "api_keys" set "last_used_at"')
  const queries = asked.filter((query) => !isOfKey(query.sql))
  // A file of CSV has no pages.
  const isFile = response.headers.get('content-type')?.startsWith('text/csv')
  return { queries, cursor: isFile ? null : (JSON.parse(text).cursor ?? null) }
}

/** A key for the tenant's domain alone, and the operations whose queries it changes. */
const { token: boundKey, keyId } = await api.createKey({ workspaceName: 'test' })
await api.db
  .updateTable('api_keys')
  .set({ domain_id: tenant.ids['domains'] ?? null })
  .where('id', '=', keyId)
  .execute()
await api.db
  .updateTable('webhooks')
  .set({ domain_id: tenant.ids['domains'] ?? null })
  .where('id', '=', tenant.ids['webhooks'] ?? '')
  .execute()
await api.db
  .updateTable('jobs')
  .set({ domain_id: tenant.ids['domains'] ?? null })
  .where('id', '=', tenant.ids['jobs'] ?? '')
  .execute()
const narrowed = new Set(
  listOperations(api.app)
    .filter(({ bound }) => bound === 'own')
    .map(({ method, path }) => `${method} ${path}`),
)

/** Filters beside those by a status, of which the description lists the values. */
const furtherFilters: Record<string, string[]> = {
  'GET /v1/stats/emails': [
    '',
    '&group=domain',
    '&group=tag',
    '&group=workflow',
    '&group=provider',
  ].map((group) => `interval=day&since=1767200000000&until=1767400000000${group}`),
  'GET /v1/emails': [
    'to=own@example.test',
    'from=own@b.test',
    `domain_id=${tenant.ids['domains']}`,
    'tag=k:v',
    'type=broadcast',
    'type=transactional',
    `workflow_id=${tenant.ids['workflows']}`,
    'since=0&until=4000000000000',
    'status=bounced&to=own@example.test&from=own@b.test&tag=k:v&type=broadcast&since=0',
  ],
}

/** First pages, later pages and each filter of these reading operations. */
async function readAll(
  asking: readonly Operation[],
  key: string,
): Promise<Map<string, CompiledQuery[]>> {
  const found = new Map<string, CompiledQuery[]>()
  for (const operation of asking.filter(({ method }) => method === 'GET')) {
    const { parameters, name } = operation
    const path = fillPath(operation, tenant)
    const queries: CompiledQuery[] = []
    const statuses = parameters.find((one) => one.name === 'status')?.schema.enum ?? []
    const filters = [
      ...statuses.map((status) => `status=${status}`),
      ...(furtherFilters[name] ?? []),
    ]
    for (const query of ['?', ...filters.map((filter) => `?${filter}&`)]) {
      let cursor: string | null = null
      for (let page = 0; page < PAGES; page++) {
        const more = cursor ? `cursor=${encodeURIComponent(cursor)}` : ''
        const read = await ask(`${path}${query}${more}`, key)
        queries.push(...read.queries)
        cursor = read.cursor
        if (cursor === null) break
      }
    }
    found.set(name, queries)
  }
  return found
}

/** Every list, then those that show less to a key for one domain. */
async function readEverything(): Promise<Map<string, CompiledQuery[]>> {
  const found = await readAll(operations, tenant.key)
  asked.length = 0
  await findExecutionsByIds(db, tenant.workspaceId, [tenant.ids['executions'] ?? ''])
  found.set('executions that Temporal lists', [...asked])
  const ofDomain = operations.filter(({ name }) => narrowed.has(name))
  for (const [name, queries] of await readAll(ofDomain, boundKey)) {
    found.set(`${name}, with a key for one domain`, queries)
  }
  asked.length = 0
  const look = { hmac: capped, since: new Date(Date.UTC(2025, 0)), limit: 3 }
  expect(await listMarketingTimes(db as unknown as Trx, tenant.workspaceId, look)).toHaveLength(3)
  found.set('marketing mail that a cap counts', [...asked])
  for (const [name, ask] of Object.entries(segmentQueries)) {
    asked.length = 0
    await ask(db as unknown as Trx, tenant.workspaceId)
    found.set(`segments: ${name}`, [...asked])
  }
  return found
}

function* nodesOf(node: PlanNode): Generator<PlanNode> {
  yield node
  for (const inner of node.Plans ?? []) yield* nodesOf(inner)
}

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

test('lists send the queries of the golden file, each by an index', async () => {
  const found = await readEverything()
  const sections = [...found].map(([name, queries]) => {
    const texts = [...new Set(queries.map((query) => oneLine(query.sql)))]
    return `-- ${name}\n${texts.map((text) => `${text};\n`).join('')}`
  })
  expectGolden('queries.sql', sections.join('\n'))

  const faults: string[] = []
  const seen = new Set<string>()
  for (const [name, queries] of found) {
    for (const query of queries) {
      const key = `${query.sql} ${JSON.stringify(query.parameters)}`
      if (seen.has(key)) continue
      seen.add(key)
      const { rows } = await api.pool.query(`explain (analyze, format json) ${query.sql}`, [
        ...query.parameters,
      ])
      for (const node of nodesOf(rows[0]['QUERY PLAN'][0].Plan)) {
        const table = node['Relation Name'] ?? ''
        if (SMALL.has(table)) continue
        const dropped = (node['Rows Removed by Filter'] ?? 0) * node['Actual Loops']
        if (node['Node Type'] === 'Seq Scan' || dropped > DROPPED_MAX) {
          const what = `${node['Node Type']} on ${table}, ${dropped} rows dropped`
          faults.push(`${name}: ${what}: ${oneLine(query.sql)}`)
        }
      }
    }
  }
  expect(faults).toEqual([])
  expect(seen.size).toBeGreaterThan(60)
})
