// Where the job of one erasure stands, while another one ends: its place among counts by tag names nobody.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import { createTestApi } from '../setup/api.ts'
import { erasing } from '../setup/erasing.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'

const api = await createTestApi()
const { db, deps, workspaceId } = api
const { contact, beginErasing, newestJob } = erasing(api)

/** Tags that one page looks at (`commands/contacts/erasePage.ts`). */
const PAGE = 1_000

test('a job that is paused at the tag of somebody who is erased meanwhile names them no more', async () => {
  const [first, second] = [await contact(), await contact()]
  await sql`insert into email_stats (workspace_id, kind, hour, domain_id, value, accepted)
    select ${workspaceId}, 'tag', 1, 'dom', case n when ${PAGE} then 'who:' || ${second}::text else 'a:' || lpad(n::text, 5, '0') end, 1
    from generate_series(1, ${PAGE}) n
    union all select ${workspaceId}, 'tag', 2, 'dom', n || ':' || ${first}::text, 1 from generate_series(1, 10) n`.execute(
    db,
  )
  expect(await beginErasing(first)).toBe(204)
  const { id } = await newestJob()
  const job = async () => {
    const { rows } = await sql<{ place: string | null; done: number; status: string }>`
      select place, done, status from jobs where id = ${id}`.execute(db)
    return rows[0] ?? { place: null, done: 0, status: 'gone' }
  }
  while ((await job()).done < PAGE) await runJobPage(deps, { id })
  expect((await api.request('POST', `/v1/jobs/${id}/pause`)).status).toBe(200)
  expect(await beginErasing(second)).toBe(204)
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await job()).toMatchObject({ status: 'paused' })
  expect(await traces(db, second)).toEqual([])
  expect((await api.request('POST', `/v1/jobs/${id}/resume`)).status).toBe(200)
  expect(await carryOnErasing(deps)).toBe('completed')
  expect(await traces(db, first)).toEqual([])
  expect((await job()).done).toBeLessThan(2 * PAGE)
})
