// Domains that a real name server does not know, with a real worker: their mail bounces, and their addresses are suppressed
// only when that has been so for a day and the name server knows others.
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { Db } from '../../db/connect.ts'
import { randomPort } from '../../dev/processes/ports.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { mxEnv } from '../setup/mxEnv.ts'
import { startNameServer } from '../setup/nameServer.ts'
import { startFaultServer } from '../unit/mail/faultServer.ts'

const database = await createTestDatabase()
const DAY_MS = 24 * 3_600_000

/** @param ofSender records of the sending domain; null: the name server answers nothing for it */
async function startService(ofSender: string | null = 'bounces MX 10 mx') {
  const nameServer = await startNameServer({
    'acme.test': '@ A 127.0.0.3',
    'sender.test': ofSender,
  })
  onTestFinished(nameServer.close)
  const port = await randomPort()
  const server = await startFaultServer(undefined, port, '127.0.0.3')
  onTestFinished(server.close)
  await sql`truncate deliveries, recipient_domains, suppressions`.execute(database.db)
  const h = await createHarness(database, {
    env: mxEnv(nameServer, port),
  })
  const send = (to: string[]) =>
    h.request('POST', '/v1/emails', { from: 'a@sender.test', to, subject: 'Hi', text: 'Hi' })
  return { db: h.db, send, nameServer }
}

const statesOf = async (db: Db) =>
  Object.fromEntries(
    (await db.selectFrom('deliveries').select(['recipient', 'state']).execute()).map(
      ({ recipient, state }) => [recipient, state],
    ),
  )

/** What waits half an hour to be looked up once more is due now. */
const hasten = (db: Db) =>
  sql`update deliveries set next_at = now() where state = 'deferred'`.execute(db)

const knownSince = async (db: Db, hours: number, domains: string[]) => {
  await sql`insert into recipient_domains (domain, nx_since, looked_up_at)
    select domain, now() - ${hours} * interval '1 hour', now() from unnest(${domains}::text[]) d (domain)
  `.execute(db)
}

test('only a domain that is unknown for a day suppresses, for thirty days; one that is back does not', async () => {
  const { db, send, nameServer } = await startService()
  await knownSince(db, 25, ['gone.acme.test', 'back.acme.test'])
  await knownSince(db, 23, ['young.acme.test'])
  await nameServer.change('acme.test', '@ A 127.0.0.3\nback A 127.0.0.3')
  const dead = ['Ada@gone.acme.test', 'ada@young.acme.test', 'ada@new.acme.test']
  await send([...dead, 'ada@back.acme.test', 'ada@acme.test'])
  await eventually(async () => {
    const states = await statesOf(db)
    expect(dead.map((to) => states[to])).toEqual(['deferred', 'deferred', 'deferred'])
    expect([states['ada@back.acme.test'], states['ada@acme.test']]).toEqual([
      'delivered',
      'delivered',
    ])
  })
  const beforeAt = Date.now()
  await hasten(db)
  await eventually(async () => {
    const states = await statesOf(db)
    expect(dead.map((to) => states[to])).toEqual(['bounced', 'bounced', 'bounced'])
  })
  const suppressed = await db.selectFrom('suppressions').selectAll().execute()
  expect(suppressed.map(({ email, reason }) => [email, reason])).toEqual([
    ['ada@gone.acme.test', 'bounce'],
  ])
  const until = suppressed[0]?.expires_at?.getTime() ?? 0
  expect(until - beforeAt).toBeGreaterThanOrEqual(30 * DAY_MS - 60_000)
  expect(until - Date.now()).toBeLessThanOrEqual(30 * DAY_MS)

  const noted = await db.selectFrom('recipient_domains').selectAll().execute()
  const unknown = noted.filter(({ nx_since }) => nx_since !== null).map(({ domain }) => domain)
  expect(unknown.sort()).toEqual(['gone.acme.test', 'new.acme.test', 'young.acme.test'])
})

test('where no server of a domain was met, all mail for missing ones ends, and suppresses nobody', async () => {
  const { db, send } = await startService()
  const domains = ['gone.acme.test', 'lost.acme.test', 'typo.acme.test']
  await knownSince(db, 25, domains)
  const dead = domains.map((domain) => `ada@${domain}`)
  await send(dead)
  for (const state of ['deferred', 'bounced']) {
    await eventually(async () => {
      const states = await statesOf(db)
      expect(dead.map((to) => states[to])).toEqual(dead.map(() => state))
    })
    await hasten(db)
  }
  expect(await db.selectFrom('suppressions').selectAll().execute()).toEqual([])
})

test('a name server that does not find the sending domain ends no mail until it does', async () => {
  const { db, send, nameServer } = await startService(null)
  const list = () =>
    db.selectFrom('deliveries').select(['state', 'attempt', 'last_response']).execute()
  await send(['ada@one.acme.test'])
  for (const attempt of [1, 2, 3]) {
    await eventually(async () => {
      expect(await list()).toMatchObject([{ state: 'deferred', attempt }])
    })
    if (attempt < 3) await hasten(db)
  }
  expect((await list())[0]?.last_response).toMatch(/^451 4\.4\.3 .*again in 30 minutes$/)

  await nameServer.change('sender.test', 'bounces MX 10 mx')
  await eventually(async () => {
    await hasten(db)
    expect(await statesOf(db)).toEqual({ 'ada@one.acme.test': 'bounced' })
  })
  const { rows } = await sql<{ response: string }>`
    select response from delivery_attempts order by attempt desc limit 3`.execute(db)
  const codes = rows.map(({ response }) => response.slice(0, 3))
  expect(codes, 'a look under doubt is none of the two that end a mail').toEqual([
    '512',
    '512',
    '451',
  ])
})
