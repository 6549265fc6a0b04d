// The whole service with a listener for reports, and helpers for tests of reports.
import { expect } from 'vitest'
import { randomPort } from '../../dev/processes/ports.ts'
import { sendInbound } from '../unit/inbound/client.ts'
import { statusReport } from '../unit/inbound/reports.ts'
import type { TestDatabase } from './database.ts'
import { eventually } from './eventually.ts'
import { createHarness } from './harness.ts'
import type { TestNamespace } from './namespace.ts'

interface EmailEvent {
  status: string
  type?: string
  subtype?: string
}
interface Suppressions {
  suppressions: { email: string; reason: string; source_id: string }[]
}

/** Starts the whole service with a worker that accepts reports. */
export async function createInboundHarness(
  given: Pick<TestDatabase, 'url' | 'db'>,
  { env = {}, ...options }: { temporal?: TestNamespace; env?: Record<string, string> } = {},
) {
  const port = await randomPort()
  const h = await createHarness(given, { ...options, env: { INBOUND_PORT: String(port), ...env } })
  /** The events of one recipient of an email, in order. */
  const eventsOf = async (id: string, to: string) => {
    type Email = { recipient_statuses: { recipient: string; events: EmailEvent[] }[] }
    const { body } = await h.request<Email>('GET', `/v1/emails/${id}`)
    return body.recipient_statuses.find(({ recipient }) => recipient === to)?.events ?? []
  }
  const statusOf = async (id: string, to: string) => (await eventsOf(id, to)).at(-1)
  return {
    ...h,
    port,
    eventsOf,
    statusOf,
    /** Sends an email and waits until it is delivered. @returns its id and return path */
    async deliver(to: string) {
      const { body } = await h.request<{ id: string }>('POST', '/v1/emails', {
        from: 'hello@sender.test',
        to,
        subject: 'Hello',
        text: 'Hello',
      })
      await eventually(async () =>
        expect(await statusOf(body.id, to)).toMatchObject({ status: 'delivered' }),
      )
      return { id: body.id, returnPath: h.smtp.mailsTo(to)[0]?.from ?? '' }
    },
    report: async (to: string, message = statusReport(), from = '') =>
      (await sendInbound(port, { from, to, message })).at(-1),
    suppressions: async () =>
      (await h.request<Suppressions>('GET', '/v1/suppressions')).body.suppressions,
    events: async (email: string) => {
      const path = `/v1/automation/contacts/${email}/events`
      type Events = { events: { event_name: string; properties: object }[] }
      return (await h.request<Events>('GET', path)).body.events
    },
    post: async (event_name: string, email: string) => {
      const path = '/v1/automation/events'
      const { body } = await h.request<{ executions: string[] }>('POST', path, {
        event_name,
        email,
      })
      return body.executions[0] ?? ''
    },
    execution: async (id: string) =>
      (await h.request<{ status: string; current_step_id: string }>('GET', `/v1/executions/${id}`))
        .body,
    stateOf: async (recipient: string) =>
      (
        await h.db
          .selectFrom('deliveries')
          .select('state')
          .where('recipient', '=', recipient)
          .orderBy('id', 'desc')
          .executeTakeFirstOrThrow()
      ).state,
  }
}

export type InboundHarness = Awaited<ReturnType<typeof createInboundHarness>>

/** Reads everything that a report may change. */
export async function written({ db }: Pick<InboundHarness, 'db'>) {
  const [events, automation, suppressions, softBounces, executions] = await Promise.all([
    db.selectFrom('email_events').select(['id', 'status']).orderBy('id').execute(),
    db.selectFrom('automation_events').select(['id', 'event_name']).orderBy('id').execute(),
    db.selectFrom('suppressions').selectAll().orderBy('email').execute(),
    db.selectFrom('soft_bounces').selectAll().orderBy('email').execute(),
    db.selectFrom('executions').select(['id', 'ended_status']).orderBy('id').execute(),
  ])
  return { events, automation, suppressions, softBounces, executions }
}
