// What ends workers is found and given up; what was merely under way there never is. Longer: npm run soak.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { isAlive } from '../../dev/processes/processes.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, insertFlow, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'
import { killUnderLoad } from '../setup/killing.ts'
import { auditMail, expectDrained } from '../setup/ledger.ts'
import { uniqueName } from '../setup/unique.ts'

const GOOD = 12
const PRELOADED = new URL('../setup/badSegment.mjs', import.meta.url)

const flow = design(
  {
    start: onEvent('began'),
    count: ['update_contact', { increment: { seen: 1 } }],
    heavy: ['update_contact', { set: { heavy: true } }],
    hello: mail('Hello'),
  },
  [
    ['start', 'count'],
    ['count', 'heavy'],
    ['heavy', 'hello'],
  ],
)

test('a segment that ends its worker each time fails after three deaths alone; all others complete', {
  timeout: 600_000,
}, async () => {
  const bad = join(inject('runFolder'), uniqueName('bad'))
  const h = await createHarness(await createTestDatabase(), {
    env: { NODE_OPTIONS: `--import ${PRELOADED.href}`, BAD_EXECUTIONS: bad, LEASE_SECONDS: '3' },
  })
  const [worker] = h.workers
  if (!worker) throw new Error('there is no worker')
  await insertFlow(h.db, h, flow)
  await worker.stop()
  const begin = async (email: string) => {
    const event = { event_name: 'began', email }
    const { body } = await h.request<{ executions: [string] }>(
      'POST',
      '/v1/automation/events',
      event,
    )
    return body.executions[0]
  }
  const badId = await begin('bad@example.test')
  for (let n = 0; n < GOOD; n++) await begin(`good${n}@example.test`)
  const slow = 'slow@example.test'
  const slowId = await begin(slow)
  writeFileSync(bad, `${badId} dies\n${slowId} stalls`)

  const row = () =>
    h.db.selectFrom('executions').selectAll().where('id', '=', badId).executeTakeFirstOrThrow()
  const seen: string[] = []
  let deaths = -1
  const ended = await eventually(
    async () => {
      // The test is the supervisor: whatever ends is started again at once.
      if (!isAlive(worker.pid)) {
        deaths += 1
        const [suspect] = await h.db.selectFrom('suspects').selectAll().execute()
        if (deaths > 0) seen.push(`${suspect?.deaths ?? 'none'}`)
        await worker.start({ ready: false })
      }
      const found = await row()
      expect(found.ended_status, `after ${deaths} deaths: ${worker.log(3)}`).toBe('FAILED')
      return found
    },
    { deadline_ms: 200_000 },
  )
  console.log('deaths of the worker:', deaths, 'noted before each start:', seen.join())
  // The first death was among others; three more were alone.
  expect(deaths).toBe(4)
  expect(ended).toMatchObject({
    current_step_id: 'heavy',
    error: 'node heavy: the worker ended 3 times while it ran this node alone',
  })
  await eventually(() => expect(worker.log(400)).toContain('a suspect was given up'))

  // The watchdog says of the slow one what it is, over a connection of its own, as soon as that one has run.
  await eventually(
    () => {
      const lines = worker
        .log(400)
        .split('\n')
        .filter((line) => line.includes(slowId))
      const noted = lines.find((line) => line.includes('a suspect was noted')) ?? ''
      expect(noted, worker.log(400)).toContain('"step":"heavy"')
    },
    { deadline_ms: 60_000 },
  )

  const others = h.db.selectFrom('executions').select('ended_status').where('id', '!=', badId)
  await eventually(
    async () =>
      expect(await others.execute()).toEqual(Array(GOOD + 1).fill({ ended_status: 'COMPLETED' })),
    { deadline_ms: 120_000 },
  )
  const mailed = [...Array.from({ length: GOOD }, (_, n) => `good${n}@example.test`).sort(), slow]
  const properties = h.db.selectFrom('contacts').select(['email', 'properties']).orderBy('email')
  expect(await properties.execute()).toEqual([
    { email: 'bad@example.test', properties: {} },
    ...mailed.map((email) => ({ email, properties: { seen: 1, heavy: true } })),
  ])
  // A death between the mark and the reply leaves a mail whose end nobody knows: the audit allows that one to be missing,
  // and only what is noted as sent once more to be there twice.
  await eventually(() => expectDrained(h.db), { deadline_ms: 120_000 })
  const written = await h.db.selectFrom('deliveries').select('recipient').execute()
  expect(written.map(({ recipient }) => recipient).sort()).toEqual(mailed)
  const { faults, counts } = await auditMail(h.db, h.smtp, { emails: new Map() })
  console.log('mails beside the deaths:', JSON.stringify(counts))
  expect(faults).toEqual([])
  expect(await h.db.selectFrom('suspects').selectAll().execute()).toEqual([])
  // Temporal closes the run just after the row.
  await eventually(async () => {
    const { body } = await h.request('GET', `/v1/executions/${badId}`)
    expect(body).toMatchObject({ status: 'FAILED', error: ended.error })
  })
})

/** Fifty: npm run soak. */
const KILLS = 3

test('a worker that is killed again and again under load: nothing fails, and nothing happens twice', {
  timeout: 600_000,
}, async () => {
  const { faults, counts } = await killUnderLoad({
    seed: 20_261_122,
    isOver: (round) => round >= KILLS,
    contactsMax: 60,
    targets: ['worker'],
  })
  console.log('workers killed under load:', JSON.stringify(counts))
  expect(faults).toEqual([])
  expect(counts.kills.worker).toBe(KILLS)
})
