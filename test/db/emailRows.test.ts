// Emails that are written together keep their own values, however much they have in common with those beside them.
import { expect, test } from 'vitest'
import { transact } from '../../commands/transact.ts'
import { insertEmails, type PlainEmail } from '../../db/emails/insertMany.ts'
import { newTestEmail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { seedWorkspace } from '../setup/harness.ts'

const { db } = await createTestDatabase()
const { workspaceId, domainId } = await seedWorkspace(db)

const HOUR_MS = 3_600_000
const base = (newTestEmail(domainId) as PlainEmail).row
/** One change for each column in which emails of one request may differ. */
const changes: Partial<PlainEmail['row']>[] = [
  {},
  { from: 'Other <other@sender.test>' },
  { cc: ['cc@x.test'] },
  { bcc: ['bcc@x.test', 'more@x.test'] },
  { reply_to: ['reply@x.test'] },
  { headers: { 'X-One': '1' } },
  { tags: { kind: 'é"\\' } },
  { metadata: { deep: [1, { two: null }] } },
  { track_opens: !base.track_opens },
  { track_clicks: !base.track_clicks },
  { tracking_host: 'links.test' },
  { created_at: new Date(base.created_at.getTime() - HOUR_MS) },
  { to: ['one@x.test', 'two@x.test'] },
  { subject: 'another' },
]

test('each comes back as it was given', async () => {
  // Each beside one without a change, and beside one with the same change.
  const own = { unsubscribe_token: 'token' }
  const emails = [...changes.flatMap((change) => [{}, change, change]), own, {}].map((one) => {
    const email = newTestEmail(domainId) as PlainEmail
    return {
      ...email,
      row: { ...base, id: email.row.id, message_id: email.row.message_id, ...one },
    }
  })
  await transact({ db, wake: () => undefined }, ({ db: trx }) =>
    insertEmails(trx, workspaceId, emails, () => ({ left: [], own: [] })),
  )
  const rows = await db
    .selectFrom('emails')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .execute()
  const found = new Map(rows.map(({ workspace_id: _, ...row }) => [row.id, row]))
  for (const { row } of emails) expect(found.get(row.id)).toMatchObject(row)
  expect(found.size).toBe(emails.length)
})
