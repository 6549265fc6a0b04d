// The emails of a segment: written together, each as it would be alone, and `email.sent` is told of each.

import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { writeEmail, writeEmails } from '../../commands/emails/write.ts'
import { transact } from '../../commands/transact.ts'
import type { NewEmail } from '../../db/emails/insert.ts'
import { newTestEmail } from '../setup/acceptedMail.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, onEvent, recordEvent } from '../setup/flows.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'
import { uniqueName } from '../setup/unique.ts'

const { db } = await createTestDatabase()
const workspace = await seedWorkspace(db)
const { workspaceId, domainId } = workspace
const addressMac = await addressMacOf(db)
const deps = { db, newId, now, addressMac, wake: () => undefined }
const at = new Date('2026-11-22T10:00:00.123Z')
const CHAIN_DEPTH = 3

const LONG = 'é'.repeat(60_000)

/** Three mails, of which one is too long to share a statement. */
const mails = (email: string): NewEmail[] =>
  (['marketing', 'transactional', 'marketing'] as const).map((category, n) => ({
    ...newTestEmail(domainId, {
      from: 'a@sender.test',
      to: [email],
      subject: `Number ${n} 😀`,
      html: n === 1 ? LONG : '<p>"Hi" \\ \n</p>',
      category,
      created_at: at,
      message_id: `m${n}@sender.test`,
      tags: { a: 'b' },
    }),
    recipients: [email],
    dueAt: at,
    expiresAt: new Date('2026-11-23T10:00:00.000Z'),
  }))

async function newContact(): Promise<{ id: string; email: string }> {
  const email = `${uniqueName('c')}@mail.test`
  const { contactId } = await recordEvent(db, workspaceId, { eventName: 'made', email })
  return { id: contactId, email }
}

/** What was written for a contact, without ids and its address. */
async function writtenFor({ email, id }: { email: string; id: string }): Promise<unknown> {
  const { rows } = await sql<{ stored: unknown }>`
    select jsonb_build_array(
      (select jsonb_agg(to_jsonb(m) - 'id' - 'unsubscribe_token' - 'to' order by m.subject) from emails m
        where m.to = array[${email}]),
      (select jsonb_agg(to_jsonb(d) - 'id' - 'email_id' - 'recipient' - 'address_hmac' - 'own_hmac'
        || jsonb_build_object('mac', d.address_hmac = ${addressMac(workspaceId, email)},
          'own', d.own_hmac = ${addressMac(workspaceId, email)}) order by m.subject)
        from deliveries d join emails m on m.id = d.email_id where d.recipient = ${email}),
      (select jsonb_agg(to_jsonb(e) - 'id' - 'email_id' - 'recipient' order by m.subject)
        from email_events e join emails m on m.id = e.email_id where e.recipient = ${email}),
      (select jsonb_agg(jsonb_build_array(a.event_name, a.depth, a.at, a.properties - 'email_id' - 'recipient')
        order by a.properties ->> 'subject') from automation_events a
        where a.contact_id = ${id} and a.event_name = 'email.sent'),
      (select jsonb_build_array(c.event_count, c.last_event) from contacts c where c.id = ${id})
    ) as stored`.execute(db)
  return rows[0]?.stored
}

const together = (contact: { id: string; email: string }) =>
  transact(deps, (inTrx) =>
    writeEmails({ ...inTrx, now: () => at }, workspaceId, mails(contact.email), {
      ...contact,
      chainDepth: CHAIN_DEPTH,
    }),
  )

test('mails that are written together are as each would be alone', async () => {
  const [one, other] = [await newContact(), await newContact()]
  await together(one)
  await transact(deps, async (inTrx) => {
    const told = { email: other.email, chainDepth: CHAIN_DEPTH }
    for (const mail of mails(other.email)) {
      await writeEmail({ ...inTrx, now: () => at }, workspaceId, mail, [told])
    }
  })
  const found = await writtenFor(one)
  expect(found).toEqual(await writtenFor(other))
  for (const name of ['mac', 'own']) expect(JSON.stringify(found)).toContain(`"${name}":true`)
})

test('each of them starts the workflows that begin with email.sent', async () => {
  const contact = await newContact()
  const flow = design({ start: onEvent('email.sent'), end: ['exit', {}] }, [['start', 'end']])
  const workflowId = await insertFlow(db, workspace, flow)
  await together(contact)
  const started = await db
    .selectFrom('executions')
    .select(['chain_depth', 'trigger_event_id'])
    .where('workflow_id', '=', workflowId)
    .execute()
  expect(started.map((row) => row.chain_depth)).toEqual([4, 4, 4])
  expect(new Set(started.map((row) => row.trigger_event_id)).size).toBe(3)
})
