// A revoked key stops working when the command has committed, whoever called the command.
import { expect, it, onTestFinished } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import type { KeyNews } from '../../commands/api-keys/keyCache.ts'
import { listenForKeys } from '../../commands/api-keys/keyNews.ts'
import { revokeApiKey } from '../../commands/api-keys/revoke.ts'
import { deleteDomain } from '../../commands/domains/delete.ts'
import { transact } from '../../commands/transact.ts'
import { wholeWorkspace } from '../../rules/reach.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import { startProxy } from '../setup/silentProxy.ts'
import { uniqueName } from '../setup/unique.ts'

// The clock stands still, so that remembered keys do not expire by themselves.
const at = new Date()
const api = await createTestApi({ now: () => at })

const statusOf = async (token: string) =>
  (await api.request('GET', '/v1/emails', undefined, { authorization: `Bearer ${token}` })).status

/** Asks an application beside the one of the tests, which hears of keys as given. */
function elsewhere(keyNews: KeyNews) {
  const app = createApp({ ...api.deps, keyNews })
  return async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await app.request('/v1/emails', { headers })).status
  }
}

/** Makes two keys and uses them, so that they are remembered: one restricted to the domain, one not. */
async function usedKeys(domainId: string) {
  const [ofDomain, plain] = [await api.createKey(), await api.createKey()]
  await api.db
    .updateTable('api_keys')
    .set({ domain_id: domainId })
    .where('id', '=', ofDomain.keyId)
    .execute()
  expect([await statusOf(ofDomain.token), await statusOf(plain.token)]).toEqual([200, 200])
  return { ofDomain, plain }
}

it('deleting a domain revokes its keys at once, and no others', async () => {
  const domainId = await insertTestDomain(api, `${uniqueName('revoked')}.test`)
  const { ofDomain, plain } = await usedKeys(domainId)
  expect((await api.request('DELETE', `/v1/domains/${domainId}`)).status).toBe(204)
  expect([await statusOf(ofDomain.token), await statusOf(plain.token)]).toEqual([403, 200])
})

it('a revoked key stops working at once', async () => {
  const { token, keyId } = await api.createKey()
  expect(await statusOf(token)).toBe(200)
  expect((await api.request('DELETE', `/v1/api-keys/${keyId}`)).status).toBe(204)
  expect(await statusOf(token)).toBe(403)
})

it('the hook runs after the commit, for each workspace, and not after a rollback', async () => {
  const revoked: string[] = []
  const deps = { ...api.deps, keysRevoked: (workspaceId: string) => void revoked.push(workspaceId) }
  const domainId = await insertTestDomain(api, `${uniqueName('revoked')}.test`)
  const { keyId } = await api.createKey()
  const { workspaceId } = api
  const reach = wholeWorkspace(workspaceId)
  await transact(deps, async (inTrx) => {
    await revokeApiKey(inTrx, reach, { id: keyId })
    await deleteDomain(inTrx, reach, { id: domainId })
    expect(revoked).toEqual([])
  })
  expect(revoked).toEqual([workspaceId])

  const other = await insertTestDomain(api, `${uniqueName('revoked')}.test`)
  const work = transact(deps, async (inTrx) => {
    await deleteDomain(inTrx, reach, { id: other })
    throw new Error('no')
  })
  await expect(work).rejects.toThrow('no')
  expect(isRefusal(await revokeApiKey(deps, reach, { id: keyId }))).toBe(true)
  expect(revoked).toEqual([workspaceId])
})

it('two applications over the same deps do not share remembered keys', async () => {
  const other = createApp(api.deps)
  const { token, keyId } = await api.createKey()
  const headers = { authorization: `Bearer ${token}` }
  expect((await other.request('/v1/emails', { headers })).status).toBe(200)
  const full = { authorization: `Bearer ${api.key}` }
  await other.request(`/v1/api-keys/${keyId}`, { method: 'DELETE', headers: full })
  expect((await other.request('/v1/emails', { headers })).status).toBe(403)
})

it('another process that remembers the key hears of it', async () => {
  const news = listenForKeys(api.url, (err) => {
    throw err
  })
  const statusThere = elsewhere(news)
  await eventually(() => expect(news.isHeard()).toBe(true))
  const { token, keyId } = await api.createKey()
  expect(await statusThere(token)).toBe(200)
  expect((await api.request('DELETE', `/v1/api-keys/${keyId}`)).status).toBe(204)
  await eventually(async () => expect(await statusThere(token)).toBe(403))
  await news.stop()
})

it('a process whose connection fell silent hears of nothing, and soon trusts no key that it remembers', async () => {
  const url = new URL(api.url)
  const proxy = await startProxy(url.host)
  url.host = proxy.address
  const news = listenForKeys(url.href, () => undefined, { look_ms: 50, answer_ms: 1_000 })
  onTestFinished(() => news.stop())
  const statusThere = elsewhere(news)
  await eventually(() => expect(news.isHeard()).toBe(true))
  const { token, keyId } = await api.createKey()
  expect(await statusThere(token)).toBe(200)
  proxy.fallSilent()
  expect((await api.request('DELETE', `/v1/api-keys/${keyId}`)).status).toBe(204)
  await eventually(async () => expect(await statusThere(token)).toBe(403))
  expect(news.isHeard()).toBe(false)
})

it('a key that is revoked while the body of its request comes does nothing any more', async () => {
  const { token, keyId } = await api.createKey()
  let send: (text: string) => void = () => undefined
  let end = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      send = (text) => controller.enqueue(new TextEncoder().encode(text))
      end = () => controller.close()
    },
  })
  const made = api.app.request('/v1/api-keys', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
    duplex: 'half',
  } as RequestInit)
  send('{"name": "another", ')
  expect((await api.request('DELETE', `/v1/api-keys/${keyId}`)).status).toBe(204)
  send('"permission": "full_access"}')
  end()
  expect((await made).status).toBe(403)
  const others = api.db.selectFrom('api_keys').select('id').where('name', '=', 'another')
  expect(await others.execute()).toEqual([])
})

it('a token that is given a grace while the body of its request comes makes no key that outlives it, and gets no new token', async () => {
  const { token, keyId } = await api.createKey()
  const begin = (path: string) => {
    let send: (text: string) => void = () => undefined
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        send = (text) => {
          controller.enqueue(new TextEncoder().encode(text))
          controller.close()
        }
      },
    })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit
    return { answer: api.app.request(path, init), send }
  }
  const making = begin('/v1/api-keys')
  const rotating = begin(`/v1/api-keys/${keyId}/rotate`)
  const rotated = await api.request('POST', `/v1/api-keys/${keyId}/rotate`, { grace_ms: 60_000 })
  expect(rotated.status).toBe(201)
  making.send('{"name": "outlives", "permission": "full_access"}')
  rotating.send('{"grace_ms": 0}')
  expect((await rotating.answer).status).toBe(403)
  const made = await making.answer
  expect([made.status, await made.json()]).toMatchObject([
    201,
    { expires_at: at.getTime() + 60_000 },
  ])
})
