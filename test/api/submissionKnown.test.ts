// Mail of a domain that mail was sent from is made by what is remembered of it: what is true when the statement that commits it begins decides.
import { expect, onTestFinished, test, vi } from 'vitest'
import { createEmailGroups } from '../../commands/emails/groups.ts'
import { createKnownDomains } from '../../commands/emails/knownDomains.ts'
import { submitEmail } from '../../commands/emails/submit.ts'
import { createLimitBook } from '../../commands/limits/book.ts'
import { createDailyLimit } from '../../commands/limits/daily.ts'
import { readMessage } from '../../inbound/submission/message.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { countStatements } from '../setup/countStatements.ts'
import { limitTo } from '../setup/limits.ts'
import { idOf, logIn, messageOf, sendOn, startTestSubmission, submit } from '../setup/submission.ts'
import { uniqueName } from '../setup/unique.ts'

const api = await createTestApi()
const { port } = await startTestSubmission(api)
const [limitedToThree, limitedToOne] = [await listenWithLimit(3), await listenWithLimit(1)]

/** A workspace of its own, which may send so many emails a day. */
async function listenWithLimit(emailsPerDay: number) {
  const own = await createTestApi()
  await limitTo(own.db, own.workspaceId, { emailsPerDay })
  const server = await startTestSubmission(own)
  const domainId = await insertTestDomain(own, 'sender.test')
  const send = () => submit(server.port, own.key, messageOf({ From: 'a@sender.test' }))
  return { domainPath: `/v1/domains/${domainId}`, request: own.request, send }
}

/** A domain from which mail was sent, so that it is remembered; and a client that sends more. */
async function rememberedDomain() {
  const name = `${uniqueName('known')}.test`
  const id = await insertTestDomain(api, name)
  const client = await logIn(port, api.key)
  onTestFinished(() => client.close())
  const send = (to?: string | string[]) => sendOn(client, messageOf({ From: `a@${name}` }), to)
  expect(await send()).toMatch(/^250/)
  return { name, id, client, send }
}

const rowOf = (reply: string) =>
  api.db.selectFrom('emails').selectAll().where('id', '=', idOf(reply)).executeTakeFirstOrThrow()
const countOf = async (domainId: string) =>
  (await api.db.selectFrom('emails').select('id').where('domain_id', '=', domainId).execute())
    .length

test('the domain of each message counts, whatever the message before had', async () => {
  const [one, other] = [await rememberedDomain(), await rememberedDomain()]
  for (const { name, id } of [one, other, other, one]) {
    const reply = await sendOn(one.client, messageOf({ From: `a@${name}` }))
    expect((await rowOf(reply)).domain_id).toBe(id)
  }
})

test('a domain that is deleted sends nothing more', async () => {
  const { id, send } = await rememberedDomain()
  expect((await api.request('DELETE', `/v1/domains/${id}`)).status).toBe(204)
  expect(await send()).toMatch(/^550 .*domain/)
  expect(await countOf(id)).toBe(1)
})

test('a setting of the domain holds from the next mail on', async () => {
  const { id, name, send } = await rememberedDomain()
  const tracking_domain = `links.${name}`
  await api.db
    .updateTable('domains')
    .set({ tracking_domain, record_states: { tracking: 'SUCCESS' } })
    .where('id', '=', id)
    .execute()
  expect(await rowOf(await send())).toMatchObject({ tracking_host: tracking_domain })
})

test('who has become an automation contact is told of the next mail', async () => {
  const { send } = await rememberedDomain()
  const email = `${uniqueName('told')}@example.test`
  expect(await send(email)).toMatch(/^250/)
  const made = await api.request('POST', '/v1/automation/events', { event_name: 'joined', email })
  expect(made.status).toBeLessThan(300)
  const reply = await send(['eve@example.test', email])
  const told = await api.db
    .selectFrom('automation_events')
    .select(['event_name', 'properties'])
    .where('email', '=', email)
    .where('event_name', '=', 'email.sent')
    .execute()
  expect(told).toEqual([
    { event_name: 'email.sent', properties: expect.objectContaining({ email_id: idOf(reply) }) },
  ])
})

test('a key that is bound to another domain sends nothing from a remembered one', async () => {
  const { name, id } = await rememberedDomain()
  const otherId = await insertTestDomain(api, `${uniqueName('own')}.test`)
  const key = { name: 'bound', permission: 'sending_access', domain_id: otherId }
  const { body } = await api.request<{ token: string }>('POST', '/v1/api-keys', key)
  expect(await submit(port, body.token, messageOf({ From: `a@${name}` }))).toMatch(
    /^550 .*this API key may not send from/,
  )
  expect(await countOf(id)).toBe(1)
})

test('mail that is made in vain takes one place of the day', async () => {
  const { domainPath, request, send } = limitedToThree
  expect(await send()).toMatch(/^250/)
  const change = { open_tracking_enabled: true }
  expect((await request('PATCH', domainPath, change)).status).toBe(200)
  // The second is made by what is not so any more, and again.
  for (let n = 2; n <= 3; n++) expect(await send()).toMatch(/^250/)
  expect(await send()).toMatch(/daily_limit/)
})

test('who may send nothing by a domain any more is told that, not of a limit of the day', async () => {
  const { domainPath, request, send } = limitedToOne
  expect(await send()).toMatch(/^250/)
  expect((await request('DELETE', domainPath)).status).toBe(204)
  expect(await send()).toMatch(/^550 .*domain/)
})

/** Submits one message after the other, with their statements counted. @returns statements of each, and how often its source was made */
async function costsOf(bytes: number[]) {
  const name = `${uniqueName('counted')}.test`
  await insertTestDomain(api, name)
  const { db, count } = countStatements(api.db)
  const daily = createDailyLimit(
    api.deps,
    createLimitBook(api.deps, () => undefined),
  )
  await daily.fresh()
  const deps = { ...api.deps, db, emailGroups: createEmailGroups({ ...api.deps, db }), daily }
  const submitting = { ...deps, knownDomains: createKnownDomains() }
  const costs: { statements: number; made: number }[] = []
  for (const size of bytes) {
    const message = Buffer.from(
      `${messageOf({ From: `a@${name}` })}${'Hello\r\n'.repeat(size / 7)}`,
    )
    const { key: _, ...read } = await readMessage(message, ['ada@example.test'], new Date())
    const sourceWith = vi.fn(read.sourceWith)
    const before = count()
    const reach = { workspaceId: api.workspaceId, domainId: null }
    await submitEmail(submitting, reach, { ...read, keyId: 'none', sourceWith })
    costs.push({ statements: count() - before, made: sourceWith.mock.calls.length })
  }
  return costs
}

test('a second message of a domain takes one statement; a large one asks, and is made once', async () => {
  expect(await costsOf([700, 700, 70_000, 700])).toEqual([
    { statements: 2, made: 1 },
    { statements: 1, made: 1 },
    { statements: 2, made: 1 },
    { statements: 1, made: 1 },
  ])
})
