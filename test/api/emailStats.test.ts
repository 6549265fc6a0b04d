// GET /v1/stats/emails: what counts in which hour or day, the groups, who may ask, and what is refused.
import { beforeAll, describe, expect, it } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { insertTracked } from '../../db/tracking/writes.ts'
import { tellOfComplaint } from '../../db/webhooks/complaints.ts'
import { limits } from '../../rules/limits.ts'
import { foldAllEmailStats } from '../../worker/emailStats.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { createBoundKey } from '../setup/boundKey.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Half past ten, so that the hour and the day begin at other times. */
const START = Date.UTC(2026, 4, 4, 10, 30)
let time = START
const api = await createTestApi({ now: () => new Date(time) })
const { db, workspaceId } = api
const [shop, blog] = [
  await insertTestDomain(api, 'shop.test'),
  await insertTestDomain(api, 'blog.test'),
]
const boundKey = (await createBoundKey(api, blog)).token
const other = await api.createKey({ workspaceName: 'other' })

type Bucket = { at: number; group?: string } & Record<string, number>
interface Stats {
  buckets: Bucket[]
  count: number
}

async function stats(query: string, token = api.key): Promise<Bucket[]> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await api.request<Stats>('GET', `/v1/stats/emails?${query}`, undefined, headers)
  expect([query, answer.status, answer.status === 200 ? '' : answer.text]).toEqual([query, 200, ''])
  expect(answer.body.count).toBe(answer.body.buckets.length)
  return answer.body.buckets
}

const zeros = {
  ...{ accepted: 0, sent: 0, delivered: 0, opened: 0, clicked: 0 },
  ...{ bounced: 0, complained: 0, unsubscribed: 0, suppressed: 0 },
}
const bucket = (at: number, counts: object, group?: string) => ({
  ...{ ...zeros, at },
  ...(group === undefined ? {} : { group }),
  ...counts,
})

async function send(from: string, to: string[], more: object = {}): Promise<string> {
  const mail = { from, to, subject: 'S', text: 'T', ...more }
  const { status, body, text } = await api.request<{ id: string }>('POST', '/v1/emails', mail)
  expect([status, status === 200 ? '' : text]).toEqual([200, ''])
  return body.id
}

async function visit(
  email_id: string,
  status: 'opened' | 'clicked',
  machine: string | null = null,
) {
  const event = { status, at: new Date(time), data: {}, machine }
  await transact.one(api.deps, ({ db: trx }) =>
    insertTracked(trx, workspaceId, { email_id, recipient: 'a@gmail.com' }, event, new Date(time)),
  )
}

beforeAll(async () => {
  await api.request('POST', '/v1/suppressions', { email: 'gone@x.test' })
  const tags = { kind: 'receipt', plan: 'pro' }
  const id = await send('a@shop.test', ['a@gmail.com', 'b@x.test', 'gone@x.test'], { tags })
  const values = { email_id: id, workspace_id: workspaceId, data: '{}', at: new Date(time) }
  await db
    .insertInto('email_events')
    .values([
      { ...values, recipient: 'a@gmail.com', status: 'delivered' },
      { ...values, recipient: 'b@x.test', status: 'bounced' },
    ])
    .execute()
  await visit(id, 'opened', 'proxy')
  time += HOUR_MS
  await visit(id, 'opened')
  await visit(id, 'clicked')
  time += HOUR_MS
  // Not the first time any more.
  await visit(id, 'opened')
  const { id: deliveryId } = await db
    .selectFrom('deliveries')
    .select('id')
    .where('recipient', '=', 'a@gmail.com')
    .executeTakeFirstOrThrow()
  for (let again = 0; again < 2; again++) {
    const complaint = { deliveryId, emailId: id, email: 'a@gmail.com', at: new Date(time) }
    await transact(api.deps, ({ db: trx }) => tellOfComplaint(trx, workspaceId, complaint))
  }
  time += DAY_MS
  await send('a@blog.test', ['a@gmail.com'], { tags: { kind: 'news' } })
})

const TEN = Date.UTC(2026, 4, 4, 10)
const ELEVEN = TEN + HOUR_MS
const NOON = TEN + 2 * HOUR_MS
const NEXT = NOON + DAY_MS
const TODAY = Date.UTC(2026, 4, 4)
const first = { accepted: 3, sent: 3, delivered: 1, bounced: 1, suppressed: 1 }
const opened = { opened: 1, clicked: 1 }

describe.each(['not folded', 'folded'])('%s', (state) => {
  beforeAll(async () => {
    if (state === 'folded') expect(await foldAllEmailStats(api.deps)).toBeGreaterThan(0)
  })

  it('by hour: each in the hour in which it happened, empty hours left out', async () => {
    expect(await stats(`since=${START}&until=${time + 1}`)).toEqual([
      bucket(TEN, first),
      bucket(ELEVEN, opened),
      bucket(NOON, { complained: 1 }),
      bucket(NEXT, { accepted: 1, sent: 1 }),
    ])
  })

  it('by day, of UTC', async () => {
    expect(await stats(`since=${START}&until=${time + 1}&interval=day`)).toEqual([
      bucket(TODAY, { ...first, ...opened, complained: 1 }),
      bucket(TODAY + DAY_MS, { accepted: 1, sent: 1 }),
    ])
  })

  it('without a time: the last 24 hours, or 30 days', async () => {
    expect(await stats('')).toEqual([
      bucket(NOON, { complained: 1 }),
      bucket(NEXT, { accepted: 1, sent: 1 }),
    ])
    expect(await stats('interval=day')).toHaveLength(2)
  })

  it('until is not in it, when it is a whole hour', async () => {
    expect(await stats(`since=${TEN}&until=${ELEVEN}`)).toEqual([bucket(TEN, first)])
    expect(await stats(`since=${ELEVEN}&until=${ELEVEN + 1}`)).toEqual([bucket(ELEVEN, opened)])
  })

  it('grouped, each group by itself', async () => {
    const day = `since=${TODAY}&until=${TODAY + DAY_MS}&interval=day`
    const all = { ...first, ...opened, complained: 1 }
    expect(await stats(`${day}&group=domain`)).toEqual([bucket(TODAY, all, shop)])
    expect(await stats(`${day}&group=tag`)).toEqual([
      bucket(TODAY, all, 'kind:receipt'),
      bucket(TODAY, all, 'plan:pro'),
    ])
    expect(await stats(`${day}&group=workflow`)).toEqual([])
    expect(await stats(`${day}&group=broadcast`)).toEqual([])
    expect(await stats(`${day}&group=provider`)).toEqual([
      bucket(TODAY, { accepted: 1, sent: 1, delivered: 1, ...opened, complained: 1 }, 'google'),
      bucket(TODAY, { accepted: 2, sent: 2, bounced: 1, suppressed: 1 }, 'other'),
    ])
  })

  it('a key for one domain sees the mail of its domain alone, whatever the group', async () => {
    const range = `since=${START}&until=${time + 1}`
    const own = { accepted: 1, sent: 1 }
    expect(await stats(range, boundKey)).toEqual([bucket(NEXT, own)])
    expect(await stats(`${range}&group=tag`, boundKey)).toEqual([bucket(NEXT, own, 'kind:news')])
    expect(await stats(`${range}&group=domain`, boundKey)).toEqual([bucket(NEXT, own, blog)])
    expect(await stats(`${range}&group=provider`, boundKey)).toEqual([bucket(NEXT, own, 'google')])
  })

  it('another workspace sees nothing', async () => {
    expect(await stats(`since=${START}&until=${time + 1}`, other.token)).toEqual([])
  })
})

describe('refused', () => {
  const wrong = async (query: string) => {
    const { status, body } = await api.request('GET', `/v1/stats/emails?${query}`)
    return [status, body]
  }
  const text = (message: string, code = 'invalid_request') => [400, { message, code }]
  const number = 'must be a whole number of milliseconds since 1970 (UTC), at most 253402300799999'

  it.each([
    ['since=x', text(`since ${number}, not "x"`)],
    ['until=-1', text(`until ${number}, not "-1"`)],
    ['since=1.5', text(`since ${number}, not "1.5"`)],
    ['interval=week', text('interval must be one of hour, day, not "week"')],
    [
      'group=from',
      text('group must be one of domain, tag, workflow, broadcast, provider, not "from"'),
    ],
    ['since=5&until=5', text('until must be after since, which is 5, not 5')],
    ['until=0', text('until must be after since, which is 0, not 0')],
    [
      'since=0&until=253402300799999&interval=day',
      text(
        'since and until are 2932897 days apart, and one answer has at most 1000: ask for less time, or for interval=day',
        'too_many_buckets',
      ),
    ],
  ])('%s', async (query, expected) => {
    expect(await wrong(query)).toEqual(expected)
  })

  it('the longest time that is allowed', async () => {
    const until = limits.statTimesMax * HOUR_MS
    expect(await stats(`since=0&until=${until}`)).toEqual([])
    expect((await wrong(`since=0&until=${until + 1}`))[0]).toBe(400)
  })

  it('more buckets than an answer may have, of all groups', async () => {
    const rows = Array.from({ length: limits.statBucketsMax + 1 }, (_, i) => ({
      ...{ workspace_id: workspaceId, kind: 'tag' as const, domain_id: shop, value: `t:${i}` },
      ...{ hour: 24 + (i % 24), sent: 1 },
    }))
    for (let at = 0; at < rows.length; at += 1_000) {
      await db
        .insertInto('email_stats')
        .values(rows.slice(at, at + 1_000))
        .execute()
    }
    const range = `since=${DAY_MS}&until=${2 * DAY_MS}&group=tag`
    expect(await wrong(range)).toEqual(
      text(
        'there are more buckets, and one answer has at most 10000: ask for less time, or for interval=day',
        'too_many_buckets',
      ),
    )
    expect(await stats(`since=${DAY_MS}&until=${2 * DAY_MS - HOUR_MS}&group=tag`)).toHaveLength(
      9_585,
    )
  })
})
