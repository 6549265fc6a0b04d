// Delivery lanes move away from dead and frozen workers, lose nothing on SIGTERM, and change their count.
import { hostname } from 'node:os'
import { Connection, WorkflowClient } from '@temporalio/client'
import { expect, onTestFinished, test } from 'vitest'
import type { Db } from '../../db/connect.ts'
import { workflowIds, workflowTypes } from '../../rules/wire.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { auditMail, expectDrained } from '../setup/ledger.ts'
import { startLoad } from '../setup/load.ts'
import { type ServiceEnv, startWorker } from '../setup/processes.ts'

/**
 * How long lanes may take to move, mail to be settled, and a stopping process to end. An unloaded machine needs a few
 * seconds, which are printed; only what hangs needs this long.
 */
const HUNG_MS = 90_000

const TEST_MS = 600_000

async function connectTemporal(service: ServiceEnv) {
  const connection = await Connection.connect({ address: service.temporalAddress })
  onTestFinished(() => connection.close())
  const client = new WorkflowClient({ connection, namespace: service.temporalNamespace })
  return {
    /** The pid of the worker that runs the first lane. */
    async laneHolder(): Promise<number> {
      const { raw } = await client.getHandle(workflowIds.lane(0)).describe()
      const identity = raw.pendingActivities?.[0]?.lastWorkerIdentity ?? ''
      if (!identity.endsWith(`@${hostname()}`)) throw new Error(`the lane is held by "${identity}"`)
      return Number.parseInt(identity, 10)
    },
    async runningLanes(): Promise<string[]> {
      const query = `WorkflowType = '${workflowTypes.deliveryLane}' AND ExecutionStatus = 'Running'`
      const ids: string[] = []
      for await (const { workflowId } of client.list({ query })) ids.push(workflowId)
      return ids.sort()
    },
  }
}

const deliveryTo = (db: Db, recipient: string) =>
  db
    .selectFrom('deliveries')
    .selectAll()
    .where('recipient', '=', recipient)
    .executeTakeFirstOrThrow()

const first = await createTestDatabase()

test('lanes move from a killed worker and a frozen one, which sends no dot and settles nothing when it wakes', {
  timeout: TEST_MS,
}, async () => {
  const { db } = first
  const h = await createHarness(first, { workers: 2, env: { LOG_LEVEL: 'debug' } })
  const temporal = await connectTemporal(h.service)
  const load = startLoad(h)
  const pair = async () => {
    const pid = await temporal.laneHolder()
    const [holder, other] = [...h.workers].sort((a) => (a.pid === pid ? -1 : 1))
    if (holder?.pid !== pid || !other) throw new Error(`process ${pid} is none of the workers`)
    return { holder, other }
  }
  await eventually(() => expect(h.smtp.mails.length).toBeGreaterThan(20))

  const killed = await pair()
  const killedAt = Date.now()
  await killed.holder.kill()
  // What the killed one had written may still arrive.
  await eventually(async () => expect(await temporal.laneHolder()).toBe(killed.other.pid), {
    deadline_ms: HUNG_MS,
  })
  const before = h.smtp.mails.length
  await eventually(() => expect(h.smtp.mails.length).toBeGreaterThan(before), {
    deadline_ms: HUNG_MS,
  })
  const moved_ms = Date.now() - killedAt
  await killed.holder.start()

  const send = (to: string) =>
    h.request('POST', '/v1/emails', {
      from: 'hello@sender.test',
      to,
      subject: 'Held',
      text: 'Held',
    })
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  let dots = 0
  const onDot = () => {
    dots += 1
  }
  h.smtp.setScript({
    'held-at-dot': [{ at: 'dot', reply: '550 5.1.1 no such user', hold, onDot }],
    'held-before-data': [{ at: 'rcpt', reply: '250 2.1.5 ok', hold }],
  })
  const [atDot, beforeData] = ['held-at-dot@one.test', 'held-before-data@two.test'] as const
  await Promise.all([send(atDot), send(beforeData)])
  await eventually(async () => {
    const states = (await Promise.all([atDot, beforeData].map((to) => deliveryTo(db, to)))).map(
      (d) => d.state,
    )
    expect(states).toEqual(['data_sent', 'sending'])
    expect([atDot, beforeData].map((rcpt) => h.smtp.attempts.get(rcpt))).toEqual([1, 1])
    // Frozen between the mark and the dot, it would write no dot after it wakes.
    expect(dots).toBe(1)
  })

  const zombie = killed.other
  zombie.freeze()
  const frozenAt = Date.now()
  const settled = await eventually(
    async () => {
      const rows = await Promise.all([atDot, beforeData].map((to) => deliveryTo(db, to)))
      expect(rows.map((row) => row.state)).toEqual(['delivered', 'delivered'])
      return rows
    },
    { deadline_ms: HUNG_MS },
  )
  const taken_ms = Date.now() - frozenAt
  expect(settled.map(({ attempt, resent }) => ({ attempt, resent }))).toEqual([
    { attempt: 2, resent: 1 },
    { attempt: 2, resent: 0 },
  ])

  // Its connections get their replies: a refusal on one, a 354 on the other.
  release()
  zombie.thaw()
  await eventually(() => {
    for (const { id } of settled) {
      expect(zombie.log(2000)).toMatch(new RegExp(`"delivery_id":${id},.*attempt ended`))
    }
  })
  expect(zombie.log(2000)).toMatch(
    new RegExp(`"delivery_id":${settled[1]?.id},.*"outcome":"lost_lease"`),
  )
  expect(await Promise.all([atDot, beforeData].map((to) => deliveryTo(db, to)))).toEqual(settled)
  expect(await db.selectFrom('suppressions').selectAll().execute()).toEqual([])
  const attempts = await db
    .selectFrom('delivery_attempts')
    .select(['delivery_id', 'attempt', 'outcome'])
    .where(
      'delivery_id',
      'in',
      settled.map(({ id }) => id),
    )
    .execute()
  const told = attempts.map(({ delivery_id, attempt, outcome }) => {
    const which = delivery_id === settled[0]?.id ? 'at dot' : 'before data'
    return `${which} ${attempt} ${outcome}`
  })
  expect(told.sort(), 'the zombie tells of no attempt').toEqual([
    'at dot 1 ambiguous',
    'at dot 2 delivered',
    'before data 1 interrupted',
    'before data 2 delivered',
  ])
  expect(h.smtp.mailsTo(beforeData)).toHaveLength(1)
  // The delayed dot was refused in the end, so that only the second copy was accepted.
  expect([h.smtp.mailsTo(atDot).length, h.smtp.refused.length]).toEqual([1, 1])
  expect(h.smtp.refused[0]?.raw).toEqual(h.smtp.mailsTo(atDot)[0]?.raw)

  const answered = await load.stop()
  await eventually(() => expectDrained(db), { deadline_ms: HUNG_MS })
  const { faults, counts } = await auditMail(db, h.smtp, answered)
  console.log('lanes, killed and frozen:', { moved_ms, taken_ms, ...counts })
  expect([...faults, ...answered.faults]).toEqual([])
})

const second = await createTestDatabase()

test('SIGTERM releases everything in time, and the count of lanes changes under load', {
  timeout: TEST_MS,
}, async () => {
  const { db } = second
  const h = await createHarness(second)
  const temporal = await connectTemporal(h.service)
  const withLanes = (lanes: number) =>
    startWorker({ ...h.service, env: { ...h.service.env, DELIVERY_LANES: String(lanes) } })
  const load = startLoad(h)
  const flows = async () => {
    const before = h.smtp.mails.length
    await eventually(() => expect(h.smtp.mails.length).toBeGreaterThan(before + 20))
  }
  const underWay = () =>
    db
      .selectFrom('deliveries')
      .select(['recipient', 'state'])
      .where('state', 'in', ['sending', 'data_sent'])
      .execute()
  const stops = async (worker: Awaited<ReturnType<typeof withLanes>>) => {
    const began = Date.now()
    expect(await worker.stop(), worker.log()).toEqual({ code: 0, signal: null })
    expect(Date.now() - began).toBeLessThan(HUNG_MS)
    return Date.now() - began
  }
  await flows()
  const idle_exit_ms = await stops(h.workers[0] ?? (await withLanes(1)))
  expect(await underWay(), 'nothing is left under way').toEqual([])

  const three = await withLanes(3)
  await eventually(async () =>
    expect(await temporal.runningLanes()).toEqual([0, 1, 2].map(workflowIds.lane)),
  )
  await flows()

  // A server that is silent after the dot delays the stop by DRAIN_SECONDS: then this delivery is unknown, and sent again.
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  onTestFinished(() => release())
  h.smtp.setScript({ slow: [{ at: 'dot', reply: '250 2.0.0 ok', hold }] })
  const slow = 'slow@one.test'
  const mail = { from: 'hello@sender.test', to: slow, subject: 'Slow', text: 'Slow' }
  const { body } = await h.request<{ id: string }>('POST', '/v1/emails', mail)
  await eventually(async () => expect((await deliveryTo(db, slow)).state).toBe('data_sent'))
  const held_exit_ms = await stops(three)
  expect(await underWay(), 'the process has settled its own').toEqual([])
  expect(await deliveryTo(db, slow)).toMatchObject({ state: 'queued', attempt: 1, resent: 1 })
  release()

  await withLanes(1)
  await eventually(async () => expect(await temporal.runningLanes()).toEqual([workflowIds.lane(0)]))
  await flows()
  const answered = await load.stop()
  answered.emails.set(body.id, [slow])
  await eventually(() => expectDrained(db), { deadline_ms: HUNG_MS })
  expect(await deliveryTo(db, slow)).toMatchObject({ state: 'delivered', attempt: 2, resent: 1 })
  const { faults, counts } = await auditMail(db, h.smtp, answered)
  console.log('lanes, stopped and changed:', { idle_exit_ms, held_exit_ms, ...counts })
  expect([...faults, ...answered.faults]).toEqual([])
})
