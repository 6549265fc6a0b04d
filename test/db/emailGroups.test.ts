// Emails that are accepted at the same time: they share a commit, are written as each would be alone, and the fault of one
// is not that of the others.
// Long because emails share a commit in two ways, asked for and made by what is known, whose rows are compared.

import { sql } from 'kysely'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createEmailGroups } from '../../commands/emails/groups.ts'
import type { KnownDomain } from '../../commands/emails/knownDomains.ts'
import { macsOf } from '../../commands/emails/write.ts'
import { transact } from '../../commands/transact.ts'
import { insertEmail, type NewEmail } from '../../db/emails/insert.ts'
import type { PlainEmail } from '../../db/emails/insertMany.ts'
import { listSendFacts } from '../../db/emails/sendFacts.ts'
import { inScope } from '../../db/scope.ts'
import { apiSettings } from '../../db/settings.ts'
import { upsertSuppression } from '../../db/suppressions/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { type Columns, newTestEmail } from '../setup/acceptedMail.ts'
import { addressMacOf } from '../setup/addressMac.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'

const { db, url } = await createTestDatabase({ settings: apiSettings, shared: true })
const { workspaceId, domainId } = await seedWorkspace(db)
const wake = () => undefined
const addressMac = await addressMacOf(db)
const deps = { db, wake, newId, now, addressMac }
const at = new Date('2026-11-22T10:00:00.123Z')
const until = new Date('2026-11-23T10:00:00.000Z')

const suppress = (email: string, expires_at: Date | null) =>
  transact(deps, ({ db: trx }) =>
    upsertSuppression(
      trx,
      workspaceId,
      { email, reason: 'manual', source_id: null, expires_at },
      at,
    ),
  )

/** An email whose columns hold what JSON and SQL may take for something else. */
const email = (change: Columns = {}, recipients = ['b@mail.test']): NewEmail => {
  const columns = {
    from: 'Shop <a@sender.test>',
    to: ['"B, and \\"C\\"" <b@mail.test>', 'c@mail.test'],
    bcc: ['{d@mail.test}'],
    subject: 'Grüße 😀 \\u0041',
    html: '<p>"Hi" \\ \n\t\r\n</p>',
    headers: { 'X-A': 'b' },
    metadata: { deep: [{ a: null, b: '\\' }], number: 1.5 },
    message_id: 'm@sender.test',
    track_opens: true,
    created_at: at,
  }
  const made = newTestEmail(domainId, { ...columns, ...change })
  return { ...made, recipients, dueAt: at, expiresAt: until }
}

/** All that was written for emails, in their order, without what differs each time. */
async function written(ids: string[]): Promise<unknown[]> {
  const { rows } = await sql<{ stored: unknown }>`
    select jsonb_build_array(to_jsonb(m) - 'id' - 'unsubscribe_token',
      (select jsonb_agg(to_jsonb(d) - 'id' - 'email_id' order by d.id) from deliveries d where d.email_id = m.id),
      (select jsonb_agg(to_jsonb(e) - 'id' - 'email_id' order by e.id) from email_events e where e.email_id = m.id)
    ) as stored
    from emails m where m.id = any(${ids}::text[]) order by array_position(${ids}::text[], m.id)
  `.execute(db)
  return rows.map(({ stored }) => stored)
}

/** The transactions that wrote the emails. */
async function commitsOf(ids: string[]): Promise<Set<string>> {
  const { rows } = await sql<{ xmin: string }>`
    select xmin::text from emails where id = any(${ids}::text[])`.execute(db)
  expect(rows).toHaveLength(ids.length)
  return new Set(rows.map(({ xmin }) => xmin))
}

const idsOf = (emails: NewEmail[]) => emails.map(({ row }) => row.id)

test('emails of a group are written as each would be alone', async () => {
  await suppress('gone@mail.test', null)
  await suppress('back@mail.test', at)
  const make = () => [
    email(),
    email({ html: null, text: 'plain', metadata: {} }, [
      'Gone@Mail.Test',
      'back@mail.test',
      'x@y.test',
    ]),
    email({
      workflow_id: 'wf_1',
      execution_id: 'exec_1',
      node_id: 'n',
      unsubscribe_token: newId('email'),
    }),
    email({ tracking_host: 'links.test', tags: { a: '"' } }, ['z@mail.test', 'a@mail.test']),
  ]
  const [alone, grouped] = [make(), make()]
  for (const one of alone) {
    await transact.one(deps, (inTrx) =>
      insertEmail(inTrx.db, workspaceId, one, macsOf(inTrx, workspaceId)(one)),
    )
  }
  const groups = createEmailGroups(deps)
  await Promise.all(grouped.map((one) => groups.write(workspaceId, one)))
  expect(await commitsOf(idsOf(grouped))).toHaveProperty('size', 1)
  expect(await written(idsOf(grouped))).toEqual(await written(idsOf(alone)))
})

test('emails that come while a commit is under way share the next one', async () => {
  const groups = createEmailGroups(deps)
  const emails = Array.from({ length: 40 }, () => email())
  const [first, ...others] = emails.map((one) => () => groups.write(workspaceId, one))
  const begun = first?.()
  await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([begun, ...others.map((write) => write())])
  expect(await commitsOf(idsOf(emails))).toHaveProperty('size', 2)
})

test('one that Postgres refuses takes no other with it', async () => {
  const groups = createEmailGroups(deps)
  const taken = email()
  await groups.write(workspaceId, taken)
  const emails = [email(), email({ id: taken.row.id }), email({ subject: 'a\u0000b' }), email()]
  const ends = await Promise.allSettled(emails.map((one) => groups.write(workspaceId, one)))
  expect(ends.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'fulfilled',
  ])
  expect(await written([emails[0]?.row.id ?? '', emails[3]?.row.id ?? ''])).toHaveLength(2)
})

/** Holds the table of emails until it is called. */
async function holdEmails(): Promise<() => Promise<void>> {
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query('begin; lock table emails in exclusive mode')
  let released = false
  const release = async () => {
    if (!released) await holder.end()
    released = true
  }
  onTestFinished(release)
  return release
}

/** Backends that wait for the table. */
async function listWaiting(): Promise<number[]> {
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
    db,
  )
  return rows.map(({ pid }) => pid)
}

/** The one that waits, when it is another one than before. */
const nextWaiting = (before?: number) =>
  eventually(async () => {
    const [pid, ...others] = await listWaiting()
    expect([pid, others]).toEqual([expect.any(Number), []])
    expect(pid).not.toBe(before)
    return pid
  })

test('a group goes on for the clients that stay, and is given up when the last one has gone', async () => {
  const groups = createEmailGroups(deps)
  const release = await holdEmails()
  const clients = Array.from({ length: 4 }, () => ({ gone: new AbortController(), mail: email() }))
  const owner = { kind: 'workspace', workspaceId } as const
  const write = ({ gone, mail }: (typeof clients)[number]) =>
    inScope({ owner, signal: gone.signal }, () => groups.write(workspaceId, mail))
  const leave = (...places: number[]) => {
    for (const place of places) clients[place]?.gone.abort()
  }
  const writeAll = (some: typeof clients) => some.map((client) => write(client).catch(() => null))
  const first = writeAll(clients.slice(0, 1))
  const pid = await nextWaiting()
  const others = writeAll(clients.slice(1))
  leave(0, 1)
  await nextWaiting(pid)
  // Now the third and the fourth are in Postgres together.
  leave(2)
  await release()
  expect(await Promise.all([...first, ...others])).toEqual([null, null, undefined, undefined])
  expect(await written(clients.map(({ mail }) => mail.row.id))).toHaveLength(2)
})

test('workspaces do not share, and a large body or an attachment goes alone', async () => {
  const other = await seedWorkspace(db)
  const groups = createEmailGroups(deps)
  const mails: [WorkspaceId, NewEmail][] = [
    [workspaceId, email()],
    [other.workspaceId, email({ domain_id: other.domainId })],
    [workspaceId, email({ html: 'x'.repeat(50_001) })],
    [workspaceId, email({ html: Buffer.from('large') })],
    [workspaceId, { ...email(), attachments: [file] }],
  ]
  await Promise.all(mails.map(([owner, one]) => groups.write(owner, one)))
  expect(await commitsOf(mails.map(([, { row }]) => row.id))).toHaveProperty('size', 5)
})

const file = {
  filename: 'a.bin',
  content_type: null,
  content_id: null,
  content: Buffer.from('abc'),
}

test('facts of a group are found by one query, each its own', async () => {
  const groups = createEmailGroups(deps)
  await sql`insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    values ('con_1', ${workspaceId}, 'known@mail.test', now(), now(), 'x', now(), now())`.execute(
    db,
  )
  const asked = [
    { domainName: 'none.test', addresses: ['known@mail.test', 'other@mail.test'] },
    { domainName: 'sender.test', addresses: [] },
    { domainName: 'sender.test', addresses: ['known@mail.test'] },
  ]
  const facts = await Promise.all(asked.map((one) => groups.findFacts(workspaceId, one)))
  expect(facts.map(({ domain, contactEmails }) => [domain?.id ?? null, contactEmails])).toEqual([
    [null, ['known@mail.test']],
    [domainId, []],
    [domainId, ['known@mail.test']],
  ])
})

/** What is known of the domain of a workspace. */
async function knownOf(owner = workspaceId): Promise<KnownDomain> {
  const [facts] = await listSendFacts(db, owner, [{ domainName: 'sender.test', addresses: [] }])
  if (!facts?.domain) throw new Error('the domain is missing')
  return { domain: facts.domain, backoff: { inVain: 0, size: 0, asksLeft: 0 } }
}
const madeBy = (known: KnownDomain, addresses: string[], one = email({}, addresses)) => ({
  email: one as PlainEmail,
  known,
  addresses,
})
const countWritten = async (mails: readonly { email: PlainEmail }[]) =>
  (await written(mails.map((one) => one.email.row.id))).length

test('emails that are made by what is known share one statement, and are written as each would be alone', async () => {
  const groups = createEmailGroups(deps)
  const known = await knownOf()
  const source = Buffer.from('Subject: x\r\n\r\nHello')
  const mails = ['p@mail.test', 'q@mail.test'].map((to) =>
    madeBy(known, [to], { ...email({}, [to]), source }),
  )
  const all = mails.map((one) => groups.writeIfCurrent(workspaceId, one))
  expect(await Promise.all(all)).toEqual([true, true])
  const ids = mails.map((one) => one.email.row.id)
  expect(await commitsOf(ids)).toHaveProperty('size', 1)
  const alone = mails.map((one) => email({}, one.email.recipients))
  for (const one of alone) await groups.write(workspaceId, one)
  expect(await written(ids)).toEqual(await written(idsOf(alone)))
  const { rows } = await sql<{ content: Buffer }>`
    select content from email_sources where email_id = any(${ids}::text[])`.execute(db)
  expect(rows.map(({ content }) => content)).toEqual([source, source])
})

test('none of a group is written when one of its recipients has become a contact', async () => {
  const groups = createEmailGroups(deps)
  await sql`insert into contacts (id, workspace_id, email, first_seen, last_seen, last_event, created_at, updated_at)
    values ('con_2', ${workspaceId}, 'told@mail.test', now(), now(), 'x', now(), now())`.execute(db)
  const known = await knownOf()
  const mails = [['r@mail.test'], ['s@mail.test', 'told@mail.test']].map((to) => madeBy(known, to))
  const all = mails.map((one) => groups.writeIfCurrent(workspaceId, one))
  expect(await Promise.all(all)).toEqual([false, false])
  expect(await countWritten(mails)).toBe(0)
  // The contact of another workspace is none of this one's.
  const other = await seedWorkspace(db)
  const theirs = madeBy(
    await knownOf(other.workspaceId),
    ['told@mail.test'],
    email({ domain_id: other.domainId }, ['told@mail.test']),
  )
  expect(await groups.writeIfCurrent(other.workspaceId, theirs)).toBe(true)
})

test.each([
  { what: 'is not verified any more', change: sql`status = 'PENDING'` },
  { what: 'tracks opens now', change: sql`open_tracking_enabled = not open_tracking_enabled` },
  { what: 'tracks clicks now', change: sql`click_tracking_enabled = not click_tracking_enabled` },
  {
    what: 'has other links',
    change: sql`tracking_domain = 'links.sender.test', record_states = '{"tracking": "SUCCESS"}'`,
  },
  { what: 'was deleted', change: sql`deleted_at = now()` },
])('nothing is written when the domain $what', async ({ change }) => {
  const own = await seedWorkspace(db)
  const groups = createEmailGroups(deps)
  const known = await knownOf(own.workspaceId)
  const mails = [1, 2].map(() => madeBy(known, ['t@mail.test'], email({ domain_id: own.domainId })))
  const [before, after] = mails as [(typeof mails)[0], (typeof mails)[0]]
  expect(await groups.writeIfCurrent(own.workspaceId, before)).toBe(true)
  await sql`update domains set ${change} where id = ${own.domainId}`.execute(db)
  // Alone, so that it throws what Postgres says if it refuses the statement.
  expect(await groups.writeIfCurrent(own.workspaceId, after)).toBe(false)
  expect(await countWritten(mails)).toBe(1)
})

test('nothing is written by a domain of another workspace', async () => {
  const other = await seedWorkspace(db)
  const mail = madeBy(await knownOf(other.workspaceId), ['u@mail.test'])
  expect(await createEmailGroups(deps).writeIfCurrent(workspaceId, mail)).toBe(false)
  expect(await countWritten([mail])).toBe(0)
})

test('a group that waits too long for a lock is not tried again, and says nothing of its domain', async () => {
  const groups = createEmailGroups(deps)
  const known = await knownOf()
  await holdEmails()
  const all = [1, 2].map(() => groups.writeIfCurrent(workspaceId, madeBy(known, ['x@mail.test'])))
  const ends = await Promise.allSettled(all)
  expect(ends).toMatchObject([{ reason: { code: '55P03' } }, { reason: { code: '55P03' } }])
  expect(known.backoff).toEqual({ inVain: 0, size: 0, asksLeft: 0 })
})

test('a group whose connection breaks is not tried again, and says nothing of its domain', async () => {
  const groups = createEmailGroups(deps)
  const known = await knownOf()
  const release = await holdEmails()
  const mails = [1, 2].map(() => madeBy(known, ['y@mail.test']))
  const all = mails.map((one) =>
    groups.writeIfCurrent(workspaceId, one).then(String, (err: Error) => err.message),
  )
  const pid = await nextWaiting()
  await sql`select pg_terminate_backend(${pid})`.execute(db)
  const terminated = expect.stringMatching(/terminat/)
  expect(await Promise.all(all)).toEqual([terminated, terminated])
  await release()
  expect(await countWritten(mails)).toBe(0)
  expect(known.backoff).toEqual({ inVain: 0, size: 0, asksLeft: 0 })
})

test('none of a group is written when Postgres refuses one of them, and their domain is asked for next', async () => {
  const groups = createEmailGroups(deps)
  const known = await knownOf()
  const bad = madeBy(known, ['v@mail.test'], email({ subject: 'a\u0000b' }, ['v@mail.test']))
  const mails = [madeBy(known, ['w@mail.test']), bad]
  const all = mails.map((one) => groups.writeIfCurrent(workspaceId, one))
  expect(await Promise.all(all)).toEqual([false, false])
  expect(await countWritten(mails)).toBe(0)
  expect(known.backoff).toEqual({ inVain: 1, size: 2, asksLeft: 8 })
})
