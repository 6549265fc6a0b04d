// Mail to others that asks for answers to an erased contact, and does not name them as a recipient.
import { type Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { up } from '../../db/migrations/2026-11-27-64-reply-to.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { erasing } from '../setup/erasing.ts'
import { createLeavers } from '../setup/leavers.ts'
import { bringTo } from '../setup/states.ts'
import { idOf, messageOf, startTestSubmission, submit } from '../setup/submission.ts'
import { carryOnErasing, traces } from '../setup/traces.ts'
import { storeLinks } from '../setup/trackedMail.ts'
import { uniqueName } from '../setup/unique.ts'

const clock = { ahead_ms: 0 }
const api = await createTestApi({ now: () => new Date(Date.now() + clock.ahead_ms) })
const { db, deps, workspaceId } = api
await insertTestDomain(api, 'shop.test')
await insertTestDomain(api, 'mail.brand.test')
await insertTestDomain(api, 'claimed.test', 'PENDING')
const leavers = await createLeavers(api)
const { contact, erase } = erasing(api)
const server = await startTestSubmission(api)

const FROM = 'Shop <hello@shop.test>'
const BO = 'bo@person.test'

async function send(reply_to: string | string[], more: object = {}): Promise<string> {
  const mail = { from: FROM, to: BO, subject: 'S', text: 'T', reply_to, ...more }
  const { status, body } = await api.request('POST', '/v1/emails', mail)
  expect(status).toBe(200)
  return String(body['id'])
}
const end = (emailId: string) => bringTo(db, { emailId }, 'delivered', new Date())
const read = async (id: string) => {
  const { rows } = await sql<{ to: string[]; reply_to: string[]; subject: string; text: string }>`
    select "to", reply_to, subject, text from emails where id = ${id}`.execute(db)
  return rows[0]
}
const tomorrow = () => Date.now() + 86_400_000

test('mail that has ended, and whose text names them', async () => {
  const email = await contact()
  const id = await send(`"Ada, as she is" <${email.toUpperCase()}>`, { text: email })
  await end(id)
  expect(await erase(email)).toBe('completed')
  expect(await read(id)).toEqual({ to: [BO], reply_to: [], subject: '', text: '' })
  expect(await traces(db, email)).toEqual([])
})

test.each(['person.test', 'claimed.test'])(
  'mail that has ended, and says nothing else of them: an address at %s',
  async (domain) => {
    const email = await contact(domain)
    const id = await send(email, { tags: { campaign: 'may' } })
    const message = messageOf({ From: FROM, To: BO, 'Reply-To': `Ada <${email}>` })
    const submitted = idOf(await submit(server.port, api.key, message, BO))
    for (const one of [id, submitted]) await end(one)
    expect(await erase(email)).toBe('completed')
    expect(await read(id)).toEqual({ to: [BO], reply_to: [], subject: 'S', text: 'T' })
    expect(await read(submitted)).toMatchObject({ reply_to: [], subject: 'Hello' })
    const { rows } = await sql`select tags from emails where id = ${id}`.execute(db)
    expect(rows).toEqual([{ tags: { campaign: 'may' } }])
    expect(await traces(db, email)).toEqual([])
  },
)

test.each(['shop.test', 'office.shop.test', 'brand.test'])(
  'who answers for the shop, at %s, stays, and so does all mail to others',
  async (domain) => {
    const email = await contact(domain)
    const ids = [
      await send(`Anna <${email}>`, { text: `Yours, ${email}` }),
      await send(['cy@person.test', email], { scheduled_at: tomorrow() }),
      await send(email, { to: [BO, email] }),
    ]
    const message = messageOf({ From: FROM, To: `${BO}, ${email}`, 'Reply-To': email })
    ids.push(idOf(await submit(server.port, api.key, message, BO)))
    for (const id of [ids[0], ids[2], ids[3]]) await end(id ?? '')
    expect(await erase(email)).toBe('completed')
    const [all, later, theirs, named] = await Promise.all(ids.map(read))
    const text = `Yours, ${email}`
    expect(all).toEqual({ to: [BO], reply_to: [`Anna <${email}>`], subject: 'S', text })
    expect(later).toMatchObject({ reply_to: ['cy@person.test', email], subject: 'S', text: 'T' })
    expect(theirs).toMatchObject({ to: [BO], reply_to: [email], subject: '', text: '' })
    expect(named).toMatchObject({ to: [BO], reply_to: [email], subject: '' })
  },
)

test('one address of several, and others who are called by it', async () => {
  const email = await contact()
  const id = await send([`"${email}" <jo@person.test>`, `Ada <${email}>`, 'cy@person.test'])
  await end(id)
  expect(await erase(email)).toBe('completed')
  expect((await read(id))?.reply_to).toEqual(['jo@person.test', 'cy@person.test'])
  expect(await traces(db, email)).toEqual([])
})

test('scheduled mail goes out and asks for no answers to them, by HTTP and by SMTP', async () => {
  const email = await contact()
  const scheduled_at = tomorrow()
  const byHttp = await send(email, { scheduled_at })
  const options = JSON.stringify({ scheduled_at })
  const message = messageOf({ To: BO, 'Reply-To': `Ada <${email}>`, 'X-Dripline-Options': options })
  const bySmtp = idOf(await submit(server.port, api.key, message, BO))
  expect(await erase(email)).toBe('completed')
  expect(await read(byHttp)).toMatchObject({ to: [BO], reply_to: [], subject: 'S', text: 'T' })
  expect(await read(bySmtp)).toMatchObject({ reply_to: [], subject: 'Hello' })
  expect(await traces(db, email)).toEqual([])
})

test('mail under way is waited for; what is sent after the erasure, and by another workspace, stays', async () => {
  const email = await contact()
  const id = await send(email)
  const other = await api.createKey({ workspaceName: 'other' })
  await insertTestDomain({ ...api, workspaceId: other.workspaceId }, 'shop.test')
  const headers = { authorization: `Bearer ${other.token}` }
  const mail = { from: FROM, to: BO, subject: 'S', text: 'T', reply_to: email }
  const { body } = await api.request('POST', '/v1/emails', mail, headers)
  await end(String(body['id']))
  expect(await erase(email)).toBe('running')
  const later = await send(email)
  for (const one of [id, later]) await end(one)
  expect(await carryOnErasing(deps)).toBe('completed')
  const kept = [later, String(body['id'])].map(async (one) => (await read(one))?.reply_to)
  expect([(await read(id))?.reply_to, ...(await Promise.all(kept))]).toEqual([[], [email], [email]])
})

test('mail of before the migration is known too', async () => {
  const email = await contact()
  const ids = [await send(email), await send(['cy@person.test', `Ada <${email}>`])]
  await sql`delete from header_names`.execute(db)
  await sql`drop index emails_reply_to`.execute(db)
  await up(db as unknown as Kysely<unknown>)
  for (const id of ids) await end(id)
  expect(await erase(email)).toBe('completed')
  expect(await traces(db, email)).toEqual([])
})

test('of 230 mails, of which a page takes 100, none names them any more', async () => {
  const email = await contact()
  const ids: string[] = []
  for (let n = 0; n < 230; n++) ids.push(await send(n % 2 ? email : ['cy@person.test', email]))
  for (const id of ids) await end(id)
  expect(await erase(email)).toBe('completed')
  expect(await traces(db, email)).toEqual([])
})

test('mail to the team about them keeps nothing of what its servers said, and no links', async () => {
  const name = uniqueName('countess')
  const one = await leavers.leaver()
  const boss = `${uniqueName('team')}@sender.test`
  const { emailId, deliveryId } = await leavers.mail(one, 'transactional', { team: [boss] })
  await sql`update emails set reply_to = array[${one.email}] where id = ${emailId}`.execute(db)
  await bringTo(db, { ids: [deliveryId] }, 'delivered', new Date())
  await sql`update deliveries set last_response = ${`250 for ${name}`} where id = ${deliveryId}`.execute(
    db,
  )
  await storeLinks(deps, [{ email_id: emailId, urls: [`https://crm.test/${name}`] }])
  // Of a hundred executions those of the team's mail are walked over later than whom it asks to answer.
  await sql`insert into executions (id, workspace_id, workflow_id, version, contact_id, email, trigger_node_id, ended_status,
      created_at, updated_at, completed_at)
    select 'exe_0' || n, ${workspaceId}, x.workflow_id, 1, x.contact_id, '', 'start', 'COMPLETED', now(), now(), now() - interval '1 day'
    from executions x, generate_series(1, 250) n where x.id = ${one.executionId}`.execute(db)
  expect(await erase(one.email)).toBe('completed')
  expect(await traces(db, one.email, name)).toEqual([])
})

// The last one: ids do not go back with the clock.
test('mail that a process has accepted whose clock is half an hour ahead', async () => {
  const email = await contact()
  clock.ahead_ms = 30 * 60_000
  const id = await send(email)
  clock.ahead_ms = 0
  await end(id)
  expect(await erase(email)).toBe('completed')
  expect((await read(id))?.reply_to).toEqual([])
})
