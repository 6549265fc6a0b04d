// Submitted mail whose header names an erased contact and whose envelope does not: the rest of a mail to many comes with the same header.
// Long because a header names people in many ways, and each is looked for.
import { type Kysely, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { rescheduleEmail } from '../../commands/emails/scheduled.ts'
import { runJobPage } from '../../commands/jobs/runPage.ts'
import { up } from '../../db/migrations/2026-11-26-62-header-names.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { erasing } from '../setup/erasing.ts'
import { untilWaiting } from '../setup/lockWaits.ts'
import { bringTo } from '../setup/states.ts'
import { idOf, messageOf, startTestSubmission, submit } from '../setup/submission.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'

const api = await createTestApi()
const { db, deps } = api
const { contact, beginErasing, erase, newestJob } = erasing(api)
await insertTestDomain(api, 'sender.test')
const server = await startTestSubmission(api)

const BO = 'bo@person.test'

/** Sends it to Bo alone. @returns its id */
const send = async (headers: Record<string, string>, key = api.key) =>
  idOf(await submit(server.port, key, messageOf(headers), BO))
const options = (given: object) => ({ 'X-Dripline-Options': JSON.stringify(given) })
const read = async (id: string) => {
  const { rows } = await sql<{ to: string[]; cc: string[]; subject: string; source: string }>`
    select m."to", m.cc, m.subject, (select encode(s.content, 'escape') from email_sources s
      where s.email_id = m.id and s.position = 0) as source
    from emails m where m.id = ${id}`.execute(db)
  return rows[0]
}

test('mail that has ended names them no more, and keeps who got it', async () => {
  const email = await contact()
  const To = `"Ada, as she is" <${email.toUpperCase()}>, Bo <${BO}>`
  const id = await send({ To, Cc: `${email}, x${email}`, ...options({ tags: { who: email } }) })
  await bringTo(db, { emailId: id }, 'delivered', new Date())
  expect(await erase(email)).toBe('completed')
  expect(await read(id)).toEqual({
    to: [`Bo <${BO}>`],
    cc: [`x${email}`],
    subject: '',
    source: null,
  })
  const { rows } = await sql`delete from emails where id = ${id} returning id`.execute(db)
  expect(rows).toHaveLength(1)
  expect(await traces(db, email)).toEqual([])
})

test('scheduled mail is not waited for, and goes out without them in its header', async () => {
  const email = await contact()
  const scheduled_at = Date.now() + 86_400_000
  const id = await send({ To: `Ada <${email}>, ${BO}`, ...options({ scheduled_at }) })
  const before = await read(id)
  expect(before?.source).toContain(email)
  expect(await erase(email)).toBe('completed')
  const after = await read(id)
  expect([after?.to, after?.subject, after?.source.length]).toEqual([
    [BO],
    'Hello',
    before?.source.length,
  ])
  expect(await traces(db, email)).toEqual([])
})

test.each(['ada@bücher.test', 'ADA@BÜCHER.test', '"ada"@bücher.test'])(
  'scheduled mail that names them as %s goes out without it',
  async (written) => {
    const email = 'ada@xn--bcher-kva.test'
    const event = { event_name: 'seen', email }
    expect((await api.request('POST', '/v1/automation/events', event)).status).toBe(202)
    const scheduled_at = Date.now() + 86_400_000
    const message = messageOf({ To: `${written}, ${BO}`, ...options({ scheduled_at }) })
    const id = idOf(await submit(server.port, api.key, Buffer.from(message), BO))
    expect((await read(id))?.to).toEqual([
      email.replace('ada', written.match(/ada/i)?.[0] ?? ''),
      BO,
    ])
    expect(await erase(email)).toBe('completed')
    const after = await read(id)
    expect(after?.to).toEqual([BO])
    expect(after?.source).not.toMatch(/ada/i)
  },
)

test('scheduled mail asks nobody to answer them, and its comments and names hold them no more', async () => {
  const email = await contact()
  const word = `=?utf-8?B?${Buffer.from(`Ada ${email}`).toString('base64')}?=`
  const scheduled_at = Date.now() + 86_400_000
  const id = await send({
    To: `Ada\r\n <${email.toUpperCase()}>,\r\n Bo <${BO}> (met by ${email})`,
    Cc: `Friends: "${email}" <cy@person.test>, ${email} (Ada);, ${word} <di@person.test>`,
    'Reply-To': `Ada <${email}>`,
    'Disposition-Notification-To': `<${email}>`,
    ...options({ scheduled_at }),
  })
  const before = await read(id)
  expect(await erase(email)).toBe('completed')
  const after = await read(id)
  expect(after?.source.length).toBe(before?.source.length)
  const source = after?.source ?? ''
  expect(source).toMatch(/^To: Bo <bo@person\.test> *$/m)
  expect(source).toMatch(/^Cc: Friends: <cy@person\.test>;, <di@person\.test> *$/m)
  expect(source).not.toMatch(/Ada|Reply-To|Notification/)
  expect([after?.to, after?.cc]).toEqual([[`Bo <${BO}>`], ['cy@person.test', 'di@person.test']])
  expect(await traces(db, email)).toEqual([])
})

test.each([
  '<AT_ @person.test>',
  "'AT_@person.test'",
  '<mailto:AT_@person.test>',
  'AT_@person.test.',
])('mail to others that names them as %s is found', async (written) => {
  const email = await contact()
  const scheduled_at = Date.now() + 86_400_000
  const To = `${BO}, ${written.replace('AT_', email.slice(0, email.indexOf('@')))}`
  const id = await send({ To, ...options({ scheduled_at }) })
  expect((await read(id))?.to).toEqual([BO, email])
  expect(await erase(email)).toBe('completed')
  expect((await read(id))?.source).toMatch(/^To: bo@person\.test *$/m)
})

test('names of others that hold their address go out of mail that has ended', async () => {
  const email = await contact()
  const name = `"${email.toUpperCase()} by Bo" <${BO}>`
  const id = await send({ To: `${email}, ${name}`, Cc: `"x${email}" <cy@person.test>` })
  await bringTo(db, { emailId: id }, 'delivered', new Date())
  expect(await erase(email)).toBe('completed')
  const { to, cc } = (await read(id)) ?? {}
  expect([to, cc]).toEqual([[BO], [`"x${email}" <cy@person.test>`]])
})

test('mail under way is waited for; what is submitted after the erasure stays', async () => {
  const email = await contact()
  const id = await send({ To: `${email}, ${BO}` })
  expect(await erase(email)).toBe('running')
  const later = await send({ To: `${email}, ${BO}` })
  await bringTo(db, { emailId: id }, 'delivered', new Date())
  expect(await carryOnErasing(deps)).toBe('completed')
  expect([(await read(id))?.to, (await read(later))?.to]).toEqual([[BO], [email, BO]])
})

test('another workspace’s mail stays', async () => {
  const email = await contact()
  const other = await api.createKey({ workspaceName: 'other' })
  const workspace = { ...api, workspaceId: other.workspaceId }
  await insertTestDomain(workspace, 'sender.test')
  const id = await send({ To: `${email}, ${BO}` }, other.token)
  expect(await erase(email)).toBe('completed')
  expect((await read(id))?.to).toEqual([email, BO])
})

test('mail of before the migration is known too, also where its message is gone by its age', async () => {
  const email = await contact()
  const ids = [
    await send({ To: `${email}, ${BO}` }),
    await send({ To: `${email}, ${BO}`, 'Message-ID': '<one@app.test>' }),
  ]
  await sql`delete from header_names`.execute(db)
  await sql`delete from email_sources where email_id = ${ids[1]}`.execute(db)
  await up(db as unknown as Kysely<unknown>)
  // A later migration has replaced it.
  await sql`drop trigger note_header_names on email_sources`.execute(db)
  for (const emailId of ids) await bringTo(db, { emailId }, 'delivered', new Date())
  expect(await erase(email)).toBe('completed')
  for (const id of ids) expect((await read(id))?.to).toEqual([BO])
})

test('mail that names thousands is accepted with its recipients read once', async () => {
  const list = (name: string) =>
    Array.from({ length: 1_000 }, (_, i) => `${name}${i}@person.test`).join(',\r\n ')
  const recipients = Array.from({ length: 50 }, (_, i) => `r${i}@person.test`)
  const message = messageOf({ To: list('a'), Cc: list('b') })
  const id = idOf(await submit(server.port, api.key, message, recipients))
  await sql`delete from email_sources where email_id = ${id}`.execute(db)
  const counts = await db.transaction().execute(async (trx) => {
    const count = () =>
      sql<{ names: number; reads: number }>`
        select (select count(*)::int from header_names where email_id = ${id}) as names, (idx_scan + seq_scan)::int as reads
        from pg_stat_xact_user_tables where relname = 'deliveries'`
        .execute(trx)
        .then(({ rows }) => rows[0] ?? { names: 0, reads: 0 })
    await sql`delete from header_names where email_id = ${id}`.execute(trx)
    const before = await count()
    await sql`insert into email_sources (email_id, position, content) values (${id}, 0, '')`.execute(
      trx,
    )
    const { names, reads } = await count()
    return { names, reads: reads - before.reads }
  })
  expect(counts).toEqual({ names: 2_000, reads: 1 })
})

test('who is named behind thousands of others goes out of it too', async () => {
  const emails = [await contact(), await contact()]
  const others = Array.from({ length: 4_000 }, (_, i) => `a${i}@b.test`)
  const list = (email = '') => [...others, email].join(',\r\n ')
  const scheduled_at = Date.now() + 86_400_000
  const headers = { To: list(emails[0]), Cc: list(emails[1]) }
  const ended = await send(headers)
  const scheduled = await send({ ...headers, ...options({ scheduled_at }) })
  await bringTo(db, { emailId: ended }, 'delivered', new Date())
  for (const email of emails) expect(await erase(email)).toBe('completed')
  const [one, later] = [await read(ended), await read(scheduled)]
  expect([one?.to, one?.cc, one?.subject]).toEqual([others, others, ''])
  expect([later?.to, later?.cc, later?.subject]).toEqual([others, others, 'Hello'])
  for (const email of emails) expect(later?.source).not.toContain(email)
})

test('a sender who is called by their address is called nothing, and theirs stays', async () => {
  const hooks = { url: 'https://hooks.example.test/in', events: ['*'] }
  expect((await api.request('POST', '/v1/webhooks', hooks)).status).toBe(201)
  const email = await contact()
  const own = `${email.replace('@person.test', '')}@sender.test`
  const From = `"${email} by Shop" <hello@sender.test>`
  const scheduled_at = Date.now() + 86_400_000
  const To = `${email}, ${BO}`
  const ids = [
    await send({ From, To }),
    await send({ From, To, ...options({ scheduled_at }) }),
    await send({ From: `Ada <${own}>`, To, ...options({ scheduled_at }) }),
  ]
  const [ended = ''] = ids
  await sql`insert into email_events (email_id, workspace_id, recipient, status, at, data)
    values (${ended}, ${api.workspaceId}, ${BO}, 'delivered', now(), '{}')`.execute(db)
  await bringTo(db, { emailId: ended }, 'delivered', new Date())
  expect(await erase(email)).toBe('completed')
  const { rows } =
    await sql`select "from" from emails where id = any(${ids}::text[]) order by id`.execute(db)
  expect(rows).toEqual([
    { from: 'hello@sender.test' },
    { from: 'hello@sender.test' },
    { from: `Ada <${own}>` },
  ])
  expect((await read(ids[1] ?? ''))?.source).toMatch(/^From: <hello@sender\.test> *$/m)
  expect(await traces(db, email)).toEqual([])
})

test('scheduled mail that is moved at that moment keeps the date that it has got', async () => {
  const email = await contact()
  const day_ms = 86_400_000
  const [first, moved] = [1, 2].map((days) => new Date(Date.now() + days * day_ms))
  const scheduled_at = first?.getTime()
  const id = await send({ To: `${email}, ${BO}`, ...options({ scheduled_at }) })
  const at = moved ?? new Date()
  expect(await beginErasing(email)).toBe(204)
  // What is open now the job waits for, and so not for what begins later.
  const open = await db.startTransaction().execute()
  await sql`select pg_current_xact_id()`.execute(open)
  await runJobPage(deps, { id: (await newestJob()).id })
  await open.rollback().execute()
  const held = await db.startTransaction().execute()
  onTestFinished(async () => void (held.isCommitted || (await held.rollback().execute())))
  const reach = { workspaceId: api.workspaceId, domainId: null }
  expect(
    await rescheduleEmail({ ...deps, db: held }, reach, { id, asked: at.getTime() }),
  ).toMatchObject({
    status: 'scheduled',
  })
  const erasing = carryOnErasing(deps)
  await untilWaiting(db, 1)
  await held.commit().execute()
  expect(await erasing).toBe('completed')
  const source = (await read(id))?.source ?? ''
  expect(source).not.toContain(email)
  expect(source).toContain(`Date: ${at.toUTCString().replace('GMT', '+0000')}`)
})
