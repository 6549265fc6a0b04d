// What is known of emails before they are accepted: the sending domain of each, and which of its recipients are contacts.
import { expect, test } from 'vitest'
import { listSendFacts } from '../../db/emails/sendFacts.ts'
import { createTestDatabase } from '../setup/database.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'

const { db } = await createTestDatabase()
const { workspaceId, domainId } = await seedWorkspace(db)
const other = await seedWorkspace(db)

/** @returns their ids, in the order of the addresses */
async function insertContacts(workspace: typeof workspaceId, emails: readonly string[]) {
  const ids = emails.map(() => newId('contact'))
  const [at, last_event] = [now(), '']
  const times = { first_seen: at, last_seen: at, created_at: at, updated_at: at }
  const rows = emails.map((email, i) => ({ id: ids[i] ?? '', workspace_id: workspace, email }))
  await db
    .insertInto('contacts')
    .values(rows.map((row) => ({ ...row, ...times, last_event, properties: '{}' })))
    .execute()
  return ids
}

test('each email has its own domain and contacts, in the order of their ids, whatever the others ask for', async () => {
  await insertContacts(workspaceId, ['z@mail.test', 'a@mail.test', 'm@mail.test'])
  await insertContacts(other.workspaceId, ['theirs@mail.test'])
  const asked = [
    { domainName: 'sender.test', addresses: ['m@mail.test', 'nobody@mail.test', 'z@mail.test'] },
    { domainName: 'gone.test', addresses: ['a@mail.test'] },
    { domainName: 'sender.test', addresses: ['nobody@mail.test', 'theirs@mail.test'] },
    { domainName: 'sender.test', addresses: ['a@mail.test', 'z@mail.test', 'm@mail.test'] },
  ]
  const facts = await listSendFacts(db, workspaceId, asked)
  expect(facts.map(({ contactEmails }) => contactEmails)).toEqual([
    ['z@mail.test', 'm@mail.test'],
    ['a@mail.test'],
    [],
    ['z@mail.test', 'a@mail.test', 'm@mail.test'],
  ])
  const domain = {
    id: domainId,
    status: 'SUCCESS',
    open_tracking_enabled: expect.any(Boolean),
    click_tracking_enabled: expect.any(Boolean),
    tracking_host: null,
  }
  expect(facts.map((one) => one.domain)).toEqual([domain, null, domain, domain])
})

test('a domain that is deleted is none', async () => {
  await db
    .updateTable('domains')
    .set({ deleted_at: now() })
    .where('id', '=', other.domainId)
    .execute()
  const asked = [{ domainName: 'sender.test', addresses: ['theirs@mail.test'] }]
  expect(await listSendFacts(db, other.workspaceId, asked)).toEqual([
    { domain: null, contactEmails: ['theirs@mail.test'] },
  ])
})
