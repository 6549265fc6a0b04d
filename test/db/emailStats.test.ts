// Statistics of mail equal the ledger: after random histories, while they are folded, and after folds that were broken off.
// Long because it has each thing that can happen to a mail, as the service writes it.
import { sql } from 'kysely'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { recordMailEvent } from '../../commands/events/recordMail.ts'
import { transact } from '../../commands/transact.ts'
import { stopWaiting } from '../../db/deliveries/stop.ts'
import { bounceDelivery } from '../../db/deliveries/writes.ts'
import { insertEmails, type PlainEmail } from '../../db/emails/insertMany.ts'
import { foldEmailStats, lockFolding } from '../../db/stats/fold.ts'
import { listEmailStats } from '../../db/stats/reads.ts'
import { insertTracked, lockMailTracking, markClicks } from '../../db/tracking/writes.ts'
import { tellOfComplaint } from '../../db/webhooks/complaints.ts'
import { limits } from '../../rules/limits.ts'
import { type Reach, wholeWorkspace } from '../../rules/reach.ts'
import { statGroups, statIntervals } from '../../rules/stats.ts'
import { foldAllEmailStats } from '../../worker/emailStats.ts'
import { newTestEmail } from '../setup/acceptedMail.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { countLedger, listHappened } from '../setup/mailStats.ts'
import { createRandom } from '../setup/random.ts'

const HOUR_MS = 3_600_000
const BEGIN = Date.UTC(2026, 0, 1)
/** Every visit counts as a new one. */
const NO_REPETITION = new Date(Date.UTC(2100, 0))
const EVER = { from: 0, to: 1_000_000 }
const ROUNDS = 5
const STEPS = 12
const AT_ONCE = 8

const api = await createTestApi()
const { db, deps, workspaceId } = api
const domains = [
  await insertTestDomain(api, 'a.test'),
  await insertTestDomain(api, 'b.test'),
] as const
const everything = { limit: 1_000_000 }

interface Recipient {
  id: number
  email_id: string
  recipient: string
}

const write = <T>(work: Parameters<typeof transact<typeof deps, T>>[1]) => transact(deps, work)

async function makeContact(email: string): Promise<void> {
  await api.request('POST', '/v1/automation/events', { event_name: 'known', email })
}

/** Accepts mail in one statement. @returns its recipients */
async function accept(
  mails: { domainId: string; to: string[]; at: Date; tags: object; workflowId: string | null }[],
): Promise<Recipient[]> {
  const emails = mails.map(({ domainId, to, at, tags, workflowId }) => ({
    ...newTestEmail(domainId, { to, tags, workflow_id: workflowId, created_at: at }),
    dueAt: at,
  })) as unknown as PlainEmail[]
  await write(({ db: trx }) =>
    insertEmails(trx, workspaceId, emails, () => ({ left: [], own: [] })),
  )
  return db
    .selectFrom('deliveries')
    .select(['id', 'email_id', 'recipient'])
    .where(
      'email_id',
      'in',
      emails.map(({ row }) => row.id),
    )
    .execute()
}

/** Compares every group and interval of each reach with the ledger. */
async function expectLedger(what: string): Promise<void> {
  const reaches: Reach[] = [
    wholeWorkspace(workspaceId),
    ...domains.map((domainId) => ({ workspaceId, domainId })),
  ]
  for (const reach of reaches) {
    const happened = await listHappened(db, reach)
    for (const interval of Object.keys(statIntervals) as (keyof typeof statIntervals)[]) {
      for (const group of [null, ...statGroups]) {
        const asked = { interval, group }
        const rows = await listEmailStats(db, reach, { hours: EVER, ...asked, ...everything })
        const ledger = countLedger(happened, asked)
        expect({ what, asked, rows }).toEqual({ what, asked, rows: ledger })
      }
    }
  }
}

/** Happenings of mail, each as the service writes it. */
function createHappenings(random: ReturnType<typeof createRandom>, known: Recipient[]) {
  const someTime = () => new Date(BEGIN + random.between(0, 72 * 4) * (HOUR_MS / 4))
  const some = () => random.pick(known as [Recipient, ...Recipient[]])
  const addresses = ['ada@gmail.com', 'bob@x.test', 'cy@outlook.com', 'Dora@x.test'] as const

  const happenings = {
    async accept() {
      const mails = Array.from({ length: random.between(1, 4) }, () => ({
        domainId: random.pick(domains),
        to: addresses.slice(0, random.between(1, 3)),
        at: someTime(),
        tags: random.pick<object>([{}, { k: 'a' }, { k: 'b', l: 'c' }, { k: 'b:c', 'k:b': 'c' }]),
        workflowId: random.pick([null, 'wf_1', 'wf_2'] as const),
      }))
      known.push(...(await accept(mails)))
    },
    async suppress() {
      const emails = [random.pick(addresses).toLowerCase()]
      const verdict = random.pick(['suppressed', 'left'] as const)
      await write(({ db: trx }) => stopWaiting(trx, workspaceId, { emails }, verdict, someTime()))
    },
    /** What settling writes, for several at once. */
    async settle() {
      const rows = [...new Set(Array.from({ length: 5 }, some))].sort((a, b) => a.id - b.id)
      const status = random.pick(['delivered', 'delivered', 'bounced'] as const)
      const values = rows.map(({ email_id, recipient }) => ({
        ...{ email_id, recipient, status, workspace_id: workspaceId, at: someTime() },
        data: JSON.stringify(status === 'bounced' ? { type: 'Permanent', subtype: 'General' } : {}),
      }))
      await write(({ db: trx }) =>
        trx
          .insertInto('email_events')
          .values(values)
          .onConflict((oc) => oc.doNothing())
          .execute(),
      )
    },
    async report() {
      const { id } = some()
      await sql`update deliveries set state = 'sending' where id = ${id} and state = 'queued'`.execute(
        db,
      )
      await sql`update deliveries set state = 'data_sent' where id = ${id} and state = 'sending'`.execute(
        db,
      )
      await sql`update deliveries set state = 'delivered', settled_at = now()
        where id = ${id} and state = 'data_sent'`.execute(db)
      const row = await db
        .selectFrom('deliveries')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      await write(({ db: trx }) => bounceDelivery(trx, row, { type: 'Transient' }, someTime()))
    },
    async visit() {
      const { email_id, recipient } = some()
      const machine = random.pick([null, null, 'burst'] as const)
      const status = random.pick(['opened', 'clicked'] as const)
      const event = { status, at: someTime(), data: { link: 'https://x.test' }, machine }
      await write(async ({ db: trx }) => {
        await lockMailTracking(trx, email_id)
        await insertTracked(trx, workspaceId, { email_id, recipient }, event, NO_REPETITION)
        // Clicks that a person seemed to have made.
        if (random.next() < 0.3) {
          await markClicks(trx, workspaceId, { email_id, recipient }, someTime(), 'burst')
        }
      })
    },
    /** Nothing of the service does this today; the counts must bear it. */
    async believe() {
      const { email_id, recipient } = some()
      await write(async ({ db: trx }) => {
        await lockMailTracking(trx, email_id)
        await sql`update email_events set machine = null
          where email_id = ${email_id} and recipient = ${recipient} and machine is not null`.execute(
          trx,
        )
      })
    },
    async complain() {
      const { id, email_id, recipient } = some()
      const complaint = { deliveryId: id, emailId: email_id, email: recipient, at: someTime() }
      await write(({ db: trx }) => tellOfComplaint(trx, workspaceId, complaint))
    },
    async unsubscribe() {
      const { email_id, recipient } = some()
      const about = { subject: 'S', workflow_id: null, execution_id: null, node_id: null }
      const mail = { ...about, workspace_id: workspaceId, email: recipient.toLowerCase(), email_id }
      await write((inTrx) =>
        recordMailEvent(
          inTrx,
          { ...mail, chain_depth: 0 },
          { name: 'unsubscribed', at: someTime() },
        ),
      )
    },
    async fold() {
      await write(({ db: trx }) => foldEmailStats(trx, random.between(1, 20)))
    },
    async foldAndFail() {
      const failing = write(async ({ db: trx }) => {
        await foldEmailStats(trx, random.between(1, 50))
        throw new Error('broken off')
      })
      await expect(failing).rejects.toThrow('broken off')
    },
  }
  return { addresses, happenings }
}

test('after random histories, folded or not', { timeout: 300_000 }, async () => {
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const random = createRandom(seed)
    const known: Recipient[] = []
    const { addresses, happenings } = createHappenings(random, known)
    for (const address of addresses) await makeContact(address.toLowerCase())
    await happenings.accept()
    for (let step = 0; step < STEPS; step++) {
      const names = Object.keys(happenings) as [keyof typeof happenings]
      await Promise.all(Array.from({ length: AT_ONCE }, () => happenings[random.pick(names)]()))
      // Folding changes nothing that is read, at no moment.
      if (step % 4 === 3) await Promise.all([expectLedger(`seed ${seed}`), foldAllEmailStats(deps)])
    }
    await expectLedger(`seed ${seed}`)
  }
  await foldAllEmailStats(deps)
  expect(await db.selectFrom('email_stat_changes').select('id').execute()).toEqual([])
  await expectLedger('all folded')
})

test('a fold whose connection dies before its commit has folded nothing', async () => {
  await accept([
    { domainId: domains[0], to: ['x@x.test'], at: new Date(BEGIN), tags: {}, workflowId: null },
  ])
  const client = new pg.Client({ connectionString: api.url })
  client.on('error', () => undefined)
  onTestFinished(() => client.end().catch(() => undefined))
  await client.connect()
  await client.query('begin')
  const [{ pid }] = (await client.query('select pg_backend_pid() as pid')).rows
  await client.query(`with gone as (delete from email_stat_changes returning *)
    update email_stats set sent = sent + 1 where exists (select from gone)`)
  await sql`select pg_terminate_backend(${pid}::int)`.execute(db)
  await foldAllEmailStats(deps)
  await expectLedger('after a fold that died')
})

test('tags without bound share one group of their hour, and no mail is left out', async () => {
  const at = new Date(BEGIN - 24 * HOUR_MS)
  const to = ['x@x.test']
  const count = limits.statGroupsPerHourMax + 30
  const mails = Array.from({ length: count }, (_, i) => ({
    ...{ domainId: domains[0], to, at, workflowId: null },
    tags: { user: `u${i}` },
  }))
  await accept(mails)
  const hour = Math.floor(at.getTime() / HOUR_MS)
  const hours = { from: hour, to: hour + 1 }
  const read = () =>
    listEmailStats(db, wholeWorkspace(workspaceId), {
      ...{ hours, interval: 'hour', group: 'tag' },
      ...everything,
    })
  await foldAllEmailStats(deps)
  await accept(mails.slice(-40))
  for (const isFolded of [false, true]) {
    if (isFolded) await foldAllEmailStats(deps)
    const rows = await read()
    expect(rows).toHaveLength(limits.statGroupsPerHourMax + 1)
    expect(rows.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(count + 40)
    expect(rows.find(({ value }) => value === 'other')?.accepted).toBeGreaterThanOrEqual(30)
  }
})

test('the room of an hour is each domain’s own, and who stands in it is the same before, while and after it is folded', async () => {
  const at = new Date(BEGIN - 48 * HOUR_MS)
  const most = limits.statGroupsPerHourMax
  const count = most + 20
  const random = createRandom(7)
  // Each mail has a tag of its own and one that some share; some come again later.
  const mails = Array.from({ length: 2 * count }, (_, i) => ({
    ...{
      domainId: domains[i % 2] ?? domains[0],
      to: [`x@${['gmail.com', 'x.test'][i % 2]}`],
      at,
      workflowId: null,
    },
    tags: { user: `u${i}`, plan: `p${i % 2}${random.between(1, 3)}` },
  }))
  const hour = Math.floor(at.getTime() / HOUR_MS)
  const readAll = async () => {
    const asked = { hours: { from: hour, to: hour + 1 }, interval: 'hour', ...everything } as const
    const reaches = [
      wholeWorkspace(workspaceId),
      ...domains.map((domainId) => ({ workspaceId, domainId })),
    ]
    const found = []
    for (const reach of reaches) {
      for (const group of statGroups)
        found.push(await listEmailStats(db, reach, { ...asked, group }))
    }
    return found
  }
  await accept(mails)
  await accept(mails.toReversed().slice(0, 300))
  const before = await readAll()
  const tags = before.map((rows) => rows.length).filter((length) => length >= most)
  expect(tags).toEqual([2 * most + 1, most + 1, most + 1])
  const foldSome = () =>
    write(async ({ db: trx }) => ((await lockFolding(trx)) ? foldEmailStats(trx, 101) : 0))
  for (let folded = 1; folded > 0; ) {
    const folds = await Promise.all([foldSome(), foldSome(), foldSome()])
    folded = folds.reduce((sum, one) => sum + one, 0)
    expect(await readAll()).toEqual(before)
  }
  expect(await db.selectFrom('email_stat_changes').select('id').execute()).toEqual([])
})
