// A key works no more once the command that ends it has committed, whoever called the command; no route sees to it.
import { expect, it } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import type { ApiDeps } from '../../api/http/env.ts'
import { revokeApiKey } from '../../commands/api-keys/revoke.ts'
import { deleteDomain } from '../../commands/domains/delete.ts'
import { transact } from '../../commands/transact.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { uniqueName } from '../setup/unique.ts'

// Time stands still: what is remembered of a key does not run out by itself.
const at = new Date()
const api = await createTestApi({ now: () => at })

const statusOf = async (token: string) =>
  (await api.request('GET', '/v1/emails', undefined, { authorization: `Bearer ${token}` })).status

/** Keys that were used, so that they are remembered: one of the domain, one of none. */
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

it('deleting a domain ends its keys at once, and no others', async () => {
  const domainId = await insertTestDomain(api, `${uniqueName('revoked')}.test`)
  const { ofDomain, plain } = await usedKeys(domainId)
  expect((await api.request('DELETE', `/v1/domains/${domainId}`)).status).toBe(204)
  expect([await statusOf(ofDomain.token), await statusOf(plain.token)]).toEqual([403, 200])
})

it('revoking a key ends it at once', async () => {
  const { token, keyId } = await api.createKey()
  expect(await statusOf(token)).toBe(200)
  expect((await api.request('DELETE', `/v1/api-keys/${keyId}`)).status).toBe(204)
  expect(await statusOf(token)).toBe(403)
})

it('says so after the commit, for each workspace, and not when it rolled back', async () => {
  const revoked: string[] = []
  const deps = { ...api.deps, keysRevoked: (workspaceId: string) => void revoked.push(workspaceId) }
  const domainId = await insertTestDomain(api, `${uniqueName('revoked')}.test`)
  const { keyId } = await api.createKey()
  const { workspaceId } = api
  await transact(deps, async (inTrx) => {
    await revokeApiKey(inTrx, workspaceId, { id: keyId })
    await deleteDomain(inTrx, workspaceId, { id: domainId })
    expect(revoked).toEqual([])
  })
  expect(revoked).toEqual([workspaceId])

  const other = await insertTestDomain(api, `${uniqueName('revoked')}.test`)
  const work = transact(deps, async (inTrx) => {
    await deleteDomain(inTrx, workspaceId, { id: other })
    throw new Error('no')
  })
  await expect(work).rejects.toThrow('no')
  expect(isRefusal(await revokeApiKey(deps, workspaceId, { id: keyId }))).toBe(true)
  expect(revoked).toEqual([workspaceId])
})

it('each application over the same deps remembers keys of its own', async () => {
  const deps: Omit<ApiDeps, 'keysRevoked'> = api.deps
  const other = createApp(deps)
  const { token, keyId } = await api.createKey()
  const headers = { authorization: `Bearer ${token}` }
  expect((await other.request('/v1/emails', { headers })).status).toBe(200)
  const full = { authorization: `Bearer ${api.key}` }
  await other.request(`/v1/api-keys/${keyId}`, { method: 'DELETE', headers: full })
  expect((await other.request('/v1/emails', { headers })).status).toBe(403)
})
