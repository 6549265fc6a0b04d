// Looks at members of segments that are due: very many of one workspace do not keep those of others waiting.
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { claimDueLooks } from '../../db/segments/members.ts'
import { createTestDatabase } from '../setup/database.ts'

const { db } = await createTestDatabase()
const DUE = Date.UTC(2026, 2, 2, 9)
const LIMIT = 100

beforeEach(() => sql`truncate segment_members`.execute(db))

async function insert(count: number, at_ms: number, workspace = sql`'ws_many'`) {
  await db.transaction().execute(async (trx) => {
    // Their contacts are not needed.
    await sql`set local session_replication_role = replica`.execute(trx)
    await sql`
    insert into segment_members (contact_id, segment_id, workspace_id, generation, is_member, next_look_at, looked_at)
    select 'ct_' || ${at_ms}::bigint || '_' || i, 'seg_1', ${workspace}, 1, false, ${new Date(at_ms)}, now()
    from generate_series(1, ${count}::int) i`.execute(trx)
  })
}

const claim = (after: string | null) =>
  claimDueLooks(db, {
    now: new Date(DUE + 1_000),
    until: new Date(DUE + 60_000),
    limit: LIMIT,
    after,
  })

/** Claims until that workspace has one. @returns how many claims it took */
async function claimsUntil(workspace: string, most: number): Promise<number> {
  let after: string | null = null
  for (let claims = 1; claims <= most; claims++) {
    const found = await claim(after)
    if (found.looks.some((look) => look.workspace_id === workspace)) return claims
    after = found.oldest === LIMIT ? found.after : null
  }
  return Number.POSITIVE_INFINITY
}

test.each(['ws_a', 'ws_z'])(
  'of %s, which is due later, is taken in the second claim',
  async (name) => {
    await insert(2_000, DUE)
    await insert(1, DUE + 1, sql`${name}::text`)
    expect(await claimsUntil(name, 2)).toBe(2)
  },
)

test('workspaces with looks of other days make the turns longer, and hide nobody', async () => {
  await insert(2_000, DUE)
  await insert(120, DUE + 86_400_000, sql`'ws_later_' || i`)
  await insert(1, DUE + 1, sql`'ws_z'`)
  expect(await claimsUntil('ws_z', 5)).toBeLessThanOrEqual(5)
})

test('each is taken once', async () => {
  await insert(250, DUE)
  await insert(90, DUE + 1, sql`'ws_' || i % 3`)
  const taken: string[] = []
  let after: string | null = null
  for (;;) {
    const found = await claim(after)
    taken.push(...found.looks.map(({ contact_id }) => contact_id))
    if (found.oldest < LIMIT) break
    after = found.after
  }
  expect([taken.length, new Set(taken).size]).toEqual([340, 340])
})
