// What submitted mail is found by later is noted once for each statement, also where several mails share one.
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { idOf, logIn, messageOf, sendOn, startTestSubmission } from '../setup/submission.ts'

const api = await createTestApi()
const { db } = api
await insertTestDomain(api, 'sender.test')
const server = await startTestSubmission(api)

const MAILS = 20

test('mails that share a commit are each found by the id of their client, and by whom their header names', async () => {
  const clients = await Promise.all(
    Array.from({ length: MAILS }, () => logIn(server.port, api.key)),
  )
  const ids = await Promise.all(
    clients.map(async (client, n) => {
      const headers = { To: `ada@example.test, left${n}@person.test` }
      const given = n % 2 === 0 ? { ...headers, 'Message-ID': `<${n}@app.test>` } : headers
      return idOf(await sendOn(client, messageOf(given)))
    }),
  )
  for (const client of clients) client.close()
  const { rows } = await sql<{
    id: string
    by_name: number
    by_message_id: number
    commit: string
  }>`
    select m.id, m.xmin::text as commit,
      (select count(*)::int from header_names h where h.email_id = m.id) as by_name,
      (select count(*)::int from submitted_message_ids i where i.email_id = m.id) as by_message_id
    from emails m where m.id = any(${ids}) order by array_position(${ids}, m.id)`.execute(db)
  expect(rows.map((row) => [row.by_name, row.by_message_id])).toEqual(
    ids.map((_, n) => [1, n % 2 === 0 ? 1 : 0]),
  )
  expect(new Set(rows.map(({ commit }) => commit)).size).toBeLessThan(MAILS)
})
