// Metrics tell of how many deleted audiences something is left, and since when.
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createLog } from '../../runtime/log.ts'
import { watchDeletedAudiences } from '../../worker/deletedAudienceMetrics.ts'
import { createTestApi } from '../setup/api.ts'
import { forgetAll, insertContacts } from '../setup/deletedAudiences.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api

/** A deleted audience that has so many contacts yet. */
async function deleted(contacts: number): Promise<string> {
  const { body } = await api.request('POST', '/v1/audiences', { name: 'A' })
  const id = String(body['id'])
  await insertContacts(db, workspaceId, id, contacts)
  expect((await api.request('DELETE', `/v1/audiences/${id}`)).status).toBe(204)
  return id
}

test('metrics tell what is left, and since when', async () => {
  const told = async (now: Date) => {
    const registry = new Registry()
    watchDeletedAudiences(registry, { db, log: createLog('test', 'silent'), now: () => now })
    const values = (await registry.getMetricsAsJSON()).map(async ({ name, values }) => [
      name,
      values[0]?.value,
    ])
    return Object.fromEntries(await Promise.all(values))
  }
  expect(await told(new Date())).toEqual({
    dripline_deleted_audiences: 0,
    dripline_deleted_audiences_oldest_seconds: 0,
  })
  const [first] = [await deleted(1), await deleted(0)]
  const { deleted_at } = await db
    .selectFrom('audiences')
    .select('deleted_at')
    .where('id', '=', first)
    .executeTakeFirstOrThrow()
  expect(await told(new Date(Number(deleted_at) + 90_000))).toEqual({
    dripline_deleted_audiences: 2,
    dripline_deleted_audiences_oldest_seconds: 90,
  })
  await forgetAll(deps, { page: 100 })
  expect(await told(new Date())).toMatchObject({ dripline_deleted_audiences: 0 })
})
