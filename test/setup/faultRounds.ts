// Rounds of mail to a server with random faults, by workers that are killed at random, and the audit of the
// result.
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { expect, onTestFinished } from 'vitest'
import { createTestDatabase } from './database.ts'
import { eventually } from './eventually.ts'
import { type Fault, faults, localPartOf, planOf, type Step } from './faultPlans.ts'
import { type FaultSink, startFaultSink } from './faultSink.ts'
import { createHarness } from './harness.ts'
import { faultsOf } from './hostileTexts.ts'
import { createRandom } from './random.ts'

export interface FaultRoundsOptions {
  seed: number
  /** RESEND_UNKNOWN: whether mail with an unknown outcome is sent again. */
  resend: boolean
  mails: number
  kills: number
}

const RECIPIENTS = 3
const DRAIN_MS = 180_000
/** Lines that look like the end of a message or like commands. */
const BODY = '<p>Hello</p>\n.\n..\n.\nRSET\nQUIT\n<p>Grüße</p>'

/** Silence is tested with the client alone, because the service waits for minutes. */
const plannable = faults.filter((fault) => fault !== 'hang')
/** Permanent refusals happen only to recipients that select them. */
const passing: [Fault, ...Fault[]] = ['drop', ...plannable.filter((fault) => fault !== '5xx')]
const kept: Fault[] = ['kept_drop', 'kept_rst']
const stepNames: Step[] = ['rcpt', 'data', 'body', 'dot']

/** Runs rounds. @returns faults (empty if all is well) and counts */
export async function failAndKill({ seed, resend, mails, kills }: FaultRoundsOptions) {
  const random = createRandom(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T
  const sink = await startFaultSink({
    closeAfter: 20,
    opening(connection) {
      if (connection % 7 !== 0) return undefined
      // Chosen only by the connection's number, because the order of connections differs in each run.
      const own = createRandom(seed + connection)
      return { step: own.pick(['banner', 'ehlo', 'mail', 'rset']), fault: own.pick(passing) }
    },
  })
  onTestFinished(() => sink.close())
  const database = await createTestDatabase()
  const h = await createHarness(database, {
    env: { SMTP_URL: sink.url, RESEND_UNKNOWN: String(resend), LEASE_SECONDS: '2' },
  })
  const [worker] = h.workers
  if (!worker) throw new Error('there is no worker')

  const asked = new Set<string>()
  const recipient = (mail: number, place: number) => {
    const step = pick(stepNames)
    const fault = pick(step === 'dot' ? [...plannable, ...kept] : plannable)
    const tag = `m${mail}r${place}`
    const local = random.next() < 0.3 ? tag : localPartOf(tag, { step, fault, times: 1 })
    const address = `${local}@d${random.between(0, 30)}.test`
    asked.add(address)
    return address
  }
  const send = async () => {
    for (let mail = 0; mail < mails; mail++) {
      const to = Array.from({ length: RECIPIENTS }, (_, place) => recipient(mail, place))
      const body = { from: 'Team <hello@sender.test>', to, subject: `Mail ${mail}`, html: BODY }
      expect((await h.request('POST', '/v1/emails', body)).status).toBe(200)
      await pause(10)
    }
  }
  const kill = async () => {
    for (let round = 0; round < kills; round++) {
      const enough = sink.seen.attempts.size + random.between(5, 30)
      const goal = Math.min(enough, Math.floor((asked.size * 9) / 10))
      await eventually(() => expect(sink.seen.attempts.size).toBeGreaterThanOrEqual(goal), {
        deadline_ms: 60_000,
      })
      await worker.kill()
      await worker.start()
    }
  }
  await Promise.all([send(), kill()])

  const open = () => openDeliveries(h.db)
  await eventually(
    async () => {
      // Make deliveries due that wait for their next attempt.
      await sql`update deliveries set next_at = now() where state in ('queued', 'deferred')`.execute(
        h.db,
      )
      expect(await open(), `open deliveries, seed ${seed}`).toEqual([])
    },
    { deadline_ms: DRAIN_MS },
  )
  const audited = await audit(h.db, sink, { resend, asked, publicKey: h.publicKey })
  return { faults: audited.faults, counts: { seed, resend, kills, ...audited.counts } }
}

type Db = Parameters<typeof createHarness>[0]['db']

async function openDeliveries(db: Db) {
  const rows = await db
    .selectFrom('deliveries')
    .select(['state', 'recipient', 'attempt', 'last_response'])
    .where('state', 'not in', ['delivered', 'unknown', 'bounced', 'suppressed', 'cancelled'])
    .execute()
  return rows.slice(0, 5)
}

const headerNames = [
  'dkim-signature',
  'from',
  'to',
  'date',
  'message-id',
  'subject',
  'feedback-id',
  'mime-version',
  'content-type',
]

async function audit(
  db: Db,
  sink: FaultSink,
  { resend, asked, publicKey }: { resend: boolean; asked: Set<string>; publicKey: string },
) {
  const rows = await db
    .selectFrom('deliveries')
    .select(['recipient', 'state', 'resent', 'attempt', 'last_response'])
    .execute()
  const faults: string[] = []
  const counts = { deliveries: rows.length, accepted: 0, delivered: 0, bounced: 0, unknown: 0 }
  const more = { resent: 0, doubled: 0, lost: 0, connections: sink.seen.connections }
  for (const { recipient, state, resent, attempt, last_response } of rows) {
    const copies = sink.acceptedFor(recipient)
    const fault = (text: string) =>
      faults.push(`${recipient}: ${text} (${state}, attempt ${attempt}, ${last_response})`)
    counts.accepted += copies.length
    more.resent += resent
    if (state === 'delivered' || state === 'bounced' || state === 'unknown') counts[state] += 1
    else fault('is in a state of its own')
    if (copies.length > 1) more.doubled += 1
    if (copies.length > 1 + resent) fault(`arrived ${copies.length} times, resent ${resent}`)
    if (!resend && copies.length > 1) fault('arrived twice, and was never to')
    if (copies.length === 0 && state === 'delivered') fault('never arrived')
    if (copies.length === 0 && state === 'unknown') {
      more.lost += 1
      // Sent once more with an unknown outcome again: that was two dots.
      const dots = sink.seen.dots.filter((one) => one === recipient).length
      if (resend && (resent !== 1 || dots < 2)) fault(`is lost after ${dots} dots`)
    }
    if (state === 'bounced' && copies.length > 0 && resent === 0) fault('bounced, and arrived')
    if (state === 'bounced' && planOf(recipient)?.fault !== '5xx') fault('bounced')
    if (new Set(copies.map(({ bytes, from }) => from + bytes.toString('latin1'))).size > 1) {
      fault('its copies differ')
    }
    const [copy] = copies
    if (copy) await auditBytes(copy.bytes, publicKey, fault)
  }
  const known = new Set(rows.map(({ recipient }) => recipient))
  for (const to of asked) if (!known.has(to)) faults.push(`${to} is not in the ledger`)
  for (const to of sink.seen.attempts.keys()) {
    if (!asked.has(to)) faults.push(`${to} was never asked for`)
  }
  faults.push(...sink.seen.strange.map((line) => `out of a mail got ${JSON.stringify(line)}`))
  return { faults, counts: { ...counts, ...more } }
}

async function auditBytes(bytes: Buffer, publicKey: string, fault: (text: string) => void) {
  for (const wrong of faultsOf(bytes, headerNames)) fault(wrong)
  const { results } = await dkimVerify(bytes, {
    resolver: async () => [[`v=DKIM1; k=rsa; p=${publicKey}`]],
  })
  const verdicts = results.map(({ status }) => status.result)
  if (verdicts.join() !== 'pass') fault(`DKIM: ${verdicts}`)
}
