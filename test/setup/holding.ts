// Locks one contact's row for a long time while mail goes to them and to others, and checks that nobody else
// waits.
import { expect } from 'vitest'
import type { TestDatabase } from './database.ts'
import { eventually } from './eventually.ts'
import { createClient, createHarness, seedWorkspace } from './harness.ts'
import { auditMailEvents, expectDrained } from './ledger.ts'
import { holdContact } from './mailEvents.ts'

const HELD = 'held@example.test'
const MAILS_TO_HELD = 40
/** The longest time that other contacts may wait for their mail and its events. */
const OTHERS_MS = 20_000

/**
 * Mail to a contact is accepted and delivered while the contact's row is locked. Meanwhile mail goes to other
 * contacts of that workspace and of another one. @returns counts. @throws at the first fault
 */
export async function holdUnderLoad(database: TestDatabase, hold_ms: number) {
  const h = await createHarness(database)
  const other = await seedWorkspace(h.db)
  const [worker] = h.workers
  if (!worker) throw new Error('there is no worker')
  const clients = [h.request, createClient(() => h.api.url, other.key)]

  const meet = async (request: typeof h.request, email: string) => {
    const event = { event_name: 'seen', email }
    expect((await request('POST', '/v1/automation/events', event)).status).toBe(202)
  }
  const send = async (request: typeof h.request, to: string, subject: string) => {
    const mail = { from: 'hello@sender.test', to, subject, text: 'T' }
    const answer = await request<{ id: string }>('POST', '/v1/emails', mail)
    expect(answer.status).toBe(200)
    return answer.body.id
  }
  const isTold = (emailId: string) => async () => {
    const told = await h.db
      .selectFrom('automation_events')
      .select('id')
      .where('event_name', '=', 'email.delivered')
      .where((eb) => eb(eb.ref('properties', '->>').key('email_id'), '=', emailId))
      .execute()
    expect(told).toHaveLength(1)
  }

  const allDelivered = Array(MAILS_TO_HELD).fill({ state: 'delivered', attempt: 1 })
  const statesOfHeld = () =>
    h.db
      .selectFrom('deliveries')
      .select(['state', 'attempt'])
      .where('recipient', '=', HELD)
      .execute()

  await meet(h.request, HELD)
  await worker.stop()
  for (let n = 0; n < MAILS_TO_HELD; n++) await send(h.request, HELD, `Held ${n}`)

  let others = 0
  await holdContact(database.url, HELD, async () => {
    await worker.start()
    await eventually(async () => expect(await statesOfHeld()).toEqual(allDelivered), {
      deadline_ms: OTHERS_MS,
    })
    const until = performance.now() + hold_ms
    while (performance.now() < until) {
      const ids: string[] = []
      for (const request of clients) {
        const to = `other${others++}@example.test`
        await meet(request, to)
        ids.push(await send(request, to, 'Other'))
      }
      for (const id of ids) await eventually(isTold(id), { deadline_ms: OTHERS_MS })
    }
    expect(await statesOfHeld()).toEqual(allDelivered)
    const { faults } = await auditMailEvents(h.db)
    expect(faults).toHaveLength(MAILS_TO_HELD)
  })
  await eventually(() => expectDrained(h.db), { deadline_ms: OTHERS_MS })
  expect((await auditMailEvents(h.db)).faults).toEqual([])
  expect(h.smtp.mailsTo(HELD)).toHaveLength(MAILS_TO_HELD)
  expect(h.smtp.mails).toHaveLength(MAILS_TO_HELD + others)
  return { held: MAILS_TO_HELD, others }
}
