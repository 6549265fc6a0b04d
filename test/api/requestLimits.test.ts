// Limits of requests: of a key and of a workspace, in every answer's headers, and changed while the API runs.
import { afterEach, expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { listenForKeys } from '../../commands/api-keys/keyNews.ts'
import { createTestApi } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { limitTo, off } from '../setup/limits.ts'

/** Stands still unless a test moves it: no token comes back by itself. */
let time = Date.now()
const api = await createTestApi({ now: () => new Date(time) })
const { db, workspaceId } = api
const other = await api.createKey({ workspaceName: 'other' })

afterEach(async () => {
  await db.deleteFrom('rate_limits').execute()
})

const ask = async (app: typeof api.app, token: string, path = '/v1/audiences') => {
  const answer = await app.request(path, { headers: { authorization: `Bearer ${token}` } })
  const read = (name: string) => {
    const value = answer.headers.get(name)
    return value === null ? null : Number(value)
  }
  return {
    status: answer.status,
    body: (await answer.json()) as Record<string, unknown>,
    limit: read('ratelimit-limit'),
    remaining: read('ratelimit-remaining'),
    reset: read('ratelimit-reset'),
    retryAfter: read('retry-after'),
  }
}

const told = ({ limit, remaining, reset }: Awaited<ReturnType<typeof ask>>) => [
  limit,
  remaining,
  reset,
]
/** An application that has read the limits as they are now. */
const fresh = () => createApp(api.deps)

it('says nothing and refuses nothing while nothing is limited', async () => {
  const answer = await ask(fresh(), api.key)
  expect([answer.status, ...told(answer)]).toEqual([200, null, null, null])
})

it('lets a burst through, then as many as the time refills, and says so in every answer', async () => {
  const { token, keyId } = await api.createKey({ permission: 'read_only' })
  await limitTo(db, workspaceId, { perSecond: 2, burst: 3 }, keyId)
  const app = fresh()
  expect(told(await ask(app, token))).toEqual([3, 2, 1])
  // Whatever the answer is: a path that is none, and what the key may not do.
  const unknown = await ask(app, token, '/v1/nothing')
  expect([unknown.status, ...told(unknown)]).toEqual([404, 3, 1, 1])
  const forbidden = await ask(app, token, '/v1/api-keys')
  expect([forbidden.status, ...told(forbidden)]).toEqual([403, 3, 0, 2])
  const refused = await ask(app, token)
  expect([refused.status, ...told(refused), refused.retryAfter]).toEqual([429, 3, 0, 2, 1])
  expect(refused.body).toEqual({
    message: 'This API key may make 2 requests a second, 3 at once; try again in 1 s',
    code: 'rate_limited',
  })
  // Another key of the workspace goes on, and has no such headers.
  expect(told(await ask(app, api.key))).toEqual([null, null, null])
  time += 500
  expect((await ask(app, token)).status).toBe(200)
  expect((await ask(app, token)).status).toBe(429)
  time += 3_600_000
  expect(told(await ask(app, token))).toEqual([3, 2, 1])
})

it('refuses in the shape of the mount', async () => {
  await limitTo(db, workspaceId, { perSecond: 0.001 })
  const app = fresh()
  await ask(app, api.key)
  const { status, body, retryAfter } = await ask(app, api.key, '/v1/workflows')
  expect([status, retryAfter]).toEqual([429, 1_000])
  expect(Object.keys(body)).toEqual(['error', 'code'])
})

it('counts a workspace over all of its keys, and no other workspace', async () => {
  const { token, keyId } = await api.createKey()
  await limitTo(db, workspaceId, { perSecond: 0.1, burst: 3 })
  await limitTo(db, workspaceId, { perSecond: 0.1, burst: 1 }, keyId)
  const app = fresh()
  // The tighter of the two is told.
  expect(told(await ask(app, token))).toEqual([1, 0, 10])
  // A request that the key's bucket refuses takes nothing of the workspace's.
  for (let i = 0; i < 5; i++) expect((await ask(app, token)).status).toBe(429)
  expect(told(await ask(app, api.key))).toEqual([3, 1, 20])
  expect((await ask(app, api.key)).status).toBe(200)
  const { status, body } = await ask(app, api.key)
  expect([status, body['message']]).toEqual([
    429,
    'This workspace may make 0.1 requests a second, 3 at once; try again in 10 s',
  ])
  expect((await ask(app, other.token)).status).toBe(200)
})

it('wrong keys take no token', async () => {
  await limitTo(db, workspaceId, { perSecond: 0.1, burst: 1 })
  const app = fresh()
  for (let i = 0; i < 5; i++) expect((await ask(app, `${api.key}x`)).status).toBe(403)
  expect((await ask(app, api.key)).status).toBe(200)
})

it('running processes see a change, by its news or by looking', async () => {
  const news = listenForKeys(api.url, (err) => {
    throw err
  })
  const apps = [createApp({ ...api.deps, keyNews: news }), fresh()]
  await eventually(() => expect(news.isHeard()).toBe(true))
  for (const app of apps) expect((await ask(app, api.key)).limit).toBe(null)
  await limitTo(db, workspaceId, { perSecond: 1_000, burst: 1_000 })
  for (const app of apps)
    await eventually(async () => expect((await ask(app, api.key)).limit).toBe(1_000))
  await limitTo(db, workspaceId, { burst: 500 })
  for (const app of apps)
    await eventually(async () => expect((await ask(app, api.key)).limit).toBe(500))
  await limitTo(db, workspaceId, off)
  for (const app of apps)
    await eventually(async () => expect((await ask(app, api.key)).limit).toBe(null))
  await news.stop()
})

it('many at once: exactly the burst', async () => {
  await limitTo(db, workspaceId, { perSecond: 1, burst: 20 })
  const app = fresh()
  const answers = await Promise.all(Array.from({ length: 60 }, () => ask(app, api.key)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(40)
})
