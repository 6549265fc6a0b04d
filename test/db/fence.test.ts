// The claim of the release before cannot take mail: Postgres refuses it. What it had under way it may finish.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { releaseDeliveries } from '../../db/deliveries/leases.ts'
import { createTestApi } from '../setup/api.ts'
import { createLeavers } from '../setup/leavers.ts'

const api = await createTestApi()
const { db } = api
const { mail, leaver, claim } = await createLeavers(api)
const OLD = '00000000-0000-0000-0000-00000000000a'
const NEW = '00000000-0000-0000-0000-00000000000b'

beforeEach(() => sql`truncate deliveries`.execute(db))

/** The claim statement of the release before, as it was sent. */
const oldClaim = async () => {
  const { rows } = await sql<{ id: number }>`
    update deliveries d
    set state = 'sending', attempt = attempt + 1, lease_token = ${OLD}, lease_until = ${new Date(Date.now() + 60_000)}
    from (
      select due.id, due.state from unnest(${Array.from({ length: 64 }, (_, i) => i)}::smallint[]) as s (shard)
      cross join lateral (
        select id, state from deliveries
        where shard = s.shard and lease_until is null and settled_at is null and state in ('queued', 'deferred')
          and next_at <= ${new Date()}
        order by next_at limit 10 for update skip locked
      ) due limit 10
    ) due
    where d.id = due.id returning d.id
  `.execute(db)
  return rows
}

test('the claim of the release before is refused, for mail that was claimed and given back too', async () => {
  await mail(await leaver())
  await expect(oldClaim()).rejects.toThrow('deliveries_fence')
  const claimed = await claim(NEW)
  expect(claimed).toHaveLength(1)
  await transact.one({ db, wake: () => undefined }, (inTrx) =>
    releaseDeliveries(inTrx.db, claimed, NEW),
  )
  await expect(oldClaim()).rejects.toThrow('deliveries_fence')
  expect(await claim(NEW)).toHaveLength(1)
})

test('a claim of this release keeps its lease and marks', async () => {
  await mail(await leaver())
  const [one] = await claim(NEW)
  const later = new Date(Date.now() + 120_000)
  await sql`update deliveries set lease_until = ${later} where id = ${one?.id}`.execute(db)
  await sql`update deliveries set state = 'data_sent' where id = ${one?.id}`.execute(db)
})
