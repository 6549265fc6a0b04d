// Claims as the lane of a worker does, and as plainly as can be, and times each claim. It is a process of its own, so that no loader runs in it
// (but on a Node older than 24), and with the memory that is recommended for a worker.
import { type Kysely, sql } from 'kysely'
import { claimSettings } from '../db/deliveries/claim.ts'
import type { Database } from '../db/schema.ts'
import { limits } from '../rules/limits.ts'
import { CLAIM_LIMIT } from './claimQueues.ts'
import { createLaneClaims } from './laneClaims.ts'
import { serve } from './remote.ts'
import { openAsWorker } from './workerConnections.ts'

const LEASE = '00000000-0000-0000-0000-000000000001'

type Db = Kysely<Database>
interface Sides {
  subject: () => Promise<number>
  reference: () => Promise<number>
  /** The reference with a commit that does not wait for the disk, as that of the subject. */
  unflushedReference: () => Promise<number>
}
/** Whose claim. */
export type ClaimSide = keyof Sides
let sides: Sides | undefined

/** Claims go on from one to the next, as those of a lane. */
async function claimer(claiming: Db): Promise<() => Promise<number>> {
  const known = new Map(Array.from({ length: 300 }, (_, n) => [`d${n * 3}.test`, n % 30]))
  const claims = await createLaneClaims(claiming)
  return async () => {
    const asked = {
      limit: CLAIM_LIMIT,
      rooms: { known, other: 25 },
      leaseToken: LEASE,
      leaseMs: 3_600_000,
    }
    return (await claims.claim({ ...asked, now: new Date() })).count
  }
}

async function plainClaim(db: Db): Promise<number> {
  const now = new Date()
  const first = Math.floor(Math.random() * limits.shards)
  const shards = Array.from({ length: limits.shards }, (_, n) => (first + n) % limits.shards)
  const { rows } = await sql`
    /* plain */ update plain_queue d
    set state = 'sending', attempt = attempt + 1, lease_token = ${LEASE}::uuid, fence = ${LEASE}::uuid,
        lease_until = ${new Date(now.getTime() + 3_600_000)}
    from (
      select due.id, due.state from unnest(${shards}::smallint[]) as s (shard)
      cross join lateral (
        select id, state from plain_queue
        where shard = s.shard and lease_until is null and settled_at is null and state in ('queued', 'deferred')
          and next_at <= ${now}
        order by next_at limit 13
        for update skip locked
      ) due
      limit ${CLAIM_LIMIT}
    ) due
    where d.id = due.id
    returning d.id, d.email_id, d.workspace_id, d.domain_id, d.recipient, d.shard, d.attempt, d.expires_at,
      d.resent, d.last_response, d.slot_day::text, due.state as was`.execute(db)
  return rows.length
}

const plainUnflushed = (db: Db) =>
  db.transaction().execute(async (trx) => {
    await sql`select set_config('synchronous_commit', 'off', true)`.execute(trx)
    return plainClaim(trx)
  })

const handlers = {
  /** Connects to a database of `claimQueues.ts`, and finds as many lines of its queue as a lane remembers. */
  async begin({ url }: { url: string }): Promise<void> {
    const db = openAsWorker(url)
    sides = {
      subject: await claimer(openAsWorker(url, claimSettings)),
      reference: () => plainClaim(db),
      unflushedReference: () => plainUnflushed(db),
    }
  },
  /** Makes so many claims, one after the other. @returns how long each took, and how many deliveries it has claimed */
  async claim({ side, claims }: { side: ClaimSide; claims: number }) {
    if (!sides) throw new Error('it has not begun')
    const each: { ms: number; count: number }[] = []
    for (let n = 0; n < claims; n++) {
      const began = performance.now()
      const count = await sides[side]()
      each.push({ ms: performance.now() - began, count })
    }
    return each
  },
}

export type Claimer = typeof handlers

serve(handlers)
