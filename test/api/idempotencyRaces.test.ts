// Twenty times the same request at once, over several API processes: one of them does the work.
import { expect, it } from 'vitest'
import { withoutSecrets } from '../../api/http/answerSecrets.ts'
import { createApp } from '../../api/http/app.ts'
import { makeReady } from '../setup/actedOn.ts'
import { createTestApi } from '../setup/api.ts'
import { bodyOf, fillPath, postsOf } from '../setup/routes.ts'
import { storedRows } from '../setup/storedRows.ts'
import { seedTenant } from '../setup/tenant.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const tenant = await seedTenant(api, 'test')
/** Each knows nothing of what the others do. */
const processes = Array.from({ length: 5 }, () => createApp(api.deps))
const AT_ONCE = 20

/** Of each of these a request writes one row at most. */
const single = [
  'emails',
  'audiences',
  'audience_contacts',
  'automation_events',
  'domains',
  'domain_keys',
  'executions',
  'suppressions',
  'templates',
  'workflows',
]

it.each(postsOf(api).kept)('$name', async (route) => {
  const path = fillPath(route, tenant)
  const body = bodyOf(route)
  const ask = async (place: number, key: string) => {
    const answer = await processes[place % processes.length]?.request(path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${api.key}`,
        'idempotency-key': key,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    if (!answer) throw new Error('no process')
    const text = await answer.text()
    return { status: answer.status, text, replayed: answer.headers.get('idempotent-replayed') }
  }
  for (let round = 0; round < 3; round++) {
    await makeReady(api.db, route.name)
    const key = uniqueName('race')
    const before = await storedRows(api.db)
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => ask(i, key)))
    const done = answers.filter(({ status, replayed }) => status < 300 && !replayed)
    const others = answers.filter((answer) => !done.includes(answer))
    // Of the second round on, some have nothing left to do but refuse: a name is taken, a run is over.
    if (done.length === 0) {
      expect(others.every(({ status }) => status === 409)).toBe(true)
      expect(round).toBeGreaterThan(0)
      continue
    }
    expect(done).toHaveLength(1)
    const [first] = done
    const kept = { status: first?.status, text: withoutSecrets(first?.text ?? '') }
    for (const { status, text, replayed } of others) {
      if (replayed) expect({ status, text }).toEqual(kept)
      else expect([status, text]).toEqual([409, expect.stringContaining('idempotency_in_progress')])
    }
    const after = await storedRows(api.db)
    expect(after['idempotency_keys']).toBe((before['idempotency_keys'] ?? 0) + 1)
    for (const table of single) {
      expect([table, (after[table] ?? 0) - (before[table] ?? 0)]).toEqual([
        table,
        expect.toBeOneOf([0, 1]),
      ])
    }
    const again = await ask(0, key)
    expect(again).toEqual({ ...kept, replayed: 'true' })
    expect(await storedRows(api.db)).toEqual(after)
  }
})
