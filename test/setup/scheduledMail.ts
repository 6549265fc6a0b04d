// Scheduled mail of a test API whose clock moves when the test moves it, and what a lane does when it is due.
import { transact } from '../../commands/transact.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import { readyDue } from '../../db/deliveries/ready.ts'
import type { SendRights } from '../../db/deliveries/scheduled.ts'
import { createTestApi, insertTestDomain } from './api.ts'
import { claimInTrx } from './claims.ts'
import { allLines } from './queue.ts'
import { uniqueName } from './unique.ts'

const LEASE = '00000000-0000-0000-0000-000000000001'
const ALL = { from: 0, to: 64 }

interface ShownEmail {
  last_event: { status: string; timestamp: number }
  email_sent_timestamp: number
  status: string
  scheduled_at: number | null
  recipient_statuses: { recipient: string; events: { status: string; subtype?: string }[] }[]
}

/** Makes an API with the domain `sender.test` and a clock. */
export async function createScheduledApi() {
  const clock = { ms: Date.now() }
  const api = await createTestApi({ now: () => new Date(clock.ms) })
  const domainId = await insertTestDomain(api, 'sender.test')
  const address = () => `${uniqueName('r')}@example.test`

  /** @param in_ms from now */
  async function schedule(in_ms: number, to: string | string[] = address(), more: object = {}) {
    const scheduled_at = clock.ms + in_ms
    const mail = { from: 'a@sender.test', to, subject: 'S', text: 'T', scheduled_at, ...more }
    const answer = await api.request<{ id: string; status: string }>('POST', '/v1/emails', mail)
    if (answer.status !== 200) throw new Error(answer.text)
    return { ...answer.body, scheduled_at }
  }
  const move = (id: string, scheduled_at: unknown, headers: Record<string, string> = {}) =>
    api.request('PATCH', `/v1/emails/${id}`, { scheduled_at }, headers)
  const cancel = (id: string, headers: Record<string, string> = {}) =>
    api.request('POST', `/v1/emails/${id}/cancel`, undefined, headers)
  const read = async (id: string) =>
    (await api.request<ShownEmail>('GET', `/v1/emails/${id}?expand=details`)).body
  const statusesOf = async (id: string) =>
    (await read(id)).recipient_statuses.map(({ events }) => events.map(({ status }) => status))

  /** As a lane of all shards does it. @param perShard how much of each one statement takes; `crowded`: what the call before said */
  const ready = (
    perShard = 1_000,
    crowded: ReadonlyMap<number, string> = new Map(),
    rights: SendRights = api.deps.config,
  ) =>
    transact.one(api.deps, ({ db }) =>
      readyDue(db, ALL, new Date(clock.ms), { perShard, rights, crowded }),
    )
  /** What of an email a lane claims now. */
  async function claim(): Promise<ClaimedDelivery[]> {
    const lease = { leaseToken: LEASE, leaseMs: 3_600_000, now: new Date(clock.ms) }
    const { deliveries } = await transact(api.deps, ({ db }) =>
      claimInTrx(db, { ...allLines(10_000), ...lease }),
    )
    return deliveries
  }
  return { api, clock, domainId, address, schedule, move, cancel, read, statusesOf, ready, claim }
}
