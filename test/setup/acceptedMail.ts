// Writes emails as the API accepts them, for tests of what comes after.

import { transact } from '../../commands/transact.ts'
import type { Db } from '../../db/connect.ts'
import { insertEmail, type NewEmail } from '../../db/emails/insert.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { addressMacOf } from './addressMac.ts'
import { newId, now } from './harness.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** Columns that differ from those of `newTestEmail`. */
export interface Columns {
  html?: string | Buffer | null
  text?: string | null
  to?: string[]
  [column: string]: unknown
}

/** A transactional email to b@mail.test that is due now and not written. */
export function newTestEmail(
  domainId: string,
  change: Columns = {},
  attachments: NewEmail['attachments'] = [],
): NewEmail {
  const id = newId('email')
  const to = change.to ?? ['b@mail.test']
  const at = now()
  return {
    row: {
      id,
      type: 'transactional',
      category: 'transactional',
      from: 'a@sender.test',
      to,
      cc: [],
      bcc: [],
      reply_to: [],
      subject: 'Hello',
      html: null,
      text: null,
      template_id: null,
      domain_id: domainId,
      headers: {},
      tags: {},
      metadata: {},
      message_id: `${id}@sender.test`,
      workflow_id: null,
      execution_id: null,
      node_id: null,
      unsubscribe_token: null,
      track_opens: false,
      track_clicks: false,
      tracking_host: null,
      scheduled_at: null,
      created_at: at,
      ...change,
    },
    recipients: to,
    team: [],
    simulated: [],
    attachments,
    dueAt: at,
    expiresAt: new Date(at.getTime() + DAY_MS),
  }
}

/** Accepts an email as `newTestEmail` makes it. @returns its id */
export async function acceptMail(
  { db, workspaceId, domainId }: { db: Db; workspaceId: WorkspaceId; domainId: string },
  change: Columns,
  attachments: NewEmail['attachments'] = [],
): Promise<string> {
  const email = newTestEmail(domainId, change, attachments)
  const { row, recipients } = email
  const mac = await addressMacOf(db)
  const own = recipients.map((address) => mac(workspaceId, address))
  const macs = { left: row.category === 'marketing' ? own : [], own }
  await transact.one({ db, wake: () => {} }, (inTrx) =>
    insertEmail(inTrx.db, workspaceId, email, macs),
  )
  return row.id
}
