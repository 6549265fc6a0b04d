// Test addresses beside real processes: endpoints and workflows hear of each what its name says, once, whoever dies meanwhile.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection, WorkflowClient } from '@temporalio/client'
import { expect, inject, onTestFinished, test } from 'vitest'
import { isAlive } from '../../dev/processes/processes.ts'
import { workflowIds } from '../../rules/wire.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { design, mail, onEvent } from '../setup/flows.ts'
import { createHarness } from '../setup/harness.ts'
import { createHttpServer } from '../setup/httpServer.ts'
import { uniqueName } from '../setup/unique.ts'

const database = await createTestDatabase()
const server = await createHttpServer()
const PRELOADED = new URL('../setup/killAtPoint.mjs', import.meta.url)
const HUNG = { deadline_ms: 120_000 }

type Harness = Awaited<ReturnType<typeof createHarness>>

/** What is told of each name after `email.sent`. */
const told: Record<string, string[]> = {
  delivered: ['email.delivered'],
  bounced: ['email.bounced'],
  complained: ['email.delivered', 'email.complained'],
  suppressed: ['email.suppressed'],
  deferred: ['email.deferred', 'email.delivered'],
  opened: ['email.delivered', 'email.opened'],
  clicked: ['email.delivered', 'email.clicked'],
  nosuch: ['email.bounced'],
}
const LINK = 'https://shop.test/new'
const html = `<p><a href="${LINK}">New</a></p>`

async function makeWebhook(h: Harness, path: string) {
  const url = `${server.url}${path}`
  expect((await h.request('POST', '/v1/webhooks', { url, events: ['*'] })).status).toBe(201)
}

interface Body {
  type: string
  data: { recipient: string; email_id: string; link?: string; bounce?: object }
}

/** What came to an endpoint: each event once, in order, by the local part of its recipient. */
function cameByName(path: string): Map<string, Body[]> {
  const byName = new Map<string, Body[]>()
  const byId = new Map(
    server.came(path).map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body) as Body]),
  )
  const sorted = [...byId]
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
    .map(([, one]) => one)
  const mails = sorted.filter(({ type }) => type.startsWith('email.') && type !== 'email.sent')
  for (const one of mails) {
    const name = one.data.recipient.split('@')[0] ?? ''
    byName.set(name, [...(byName.get(name) ?? []), one])
  }
  return byName
}

const expectTold = (path: string) =>
  eventually(() => {
    const types = [...cameByName(path)].map(([name, all]) => [name, all.map(({ type }) => type)])
    expect(Object.fromEntries(types)).toEqual(told)
  }, HUNG)

async function expectUntouched(h: Harness) {
  expect(h.smtp.mails).toEqual([])
  expect((await h.request('GET', '/v1/suppressions')).body).toMatchObject({ count: 0 })
}

const recipients = Object.keys(told).map((name) => `${name}@simulator.test`)

test('a worker that is killed before and after it has settled tells each event once', {
  timeout: 400_000,
}, async () => {
  const plan = join(inject('runFolder'), uniqueName('plan'))
  writeFileSync(plan, '')
  const h = await createHarness(database, {
    env: {
      ALLOW_PRIVATE_WEBHOOKS: 'true',
      LEASE_SECONDS: '1',
      NODE_OPTIONS: `--import ${PRELOADED.href}`,
      KILL_PLAN: plan,
    },
  })
  const connection = await Connection.connect({ address: h.service.temporalAddress })
  onTestFinished(() => connection.close())
  const client = new WorkflowClient({ connection, namespace: h.service.temporalNamespace })
  const [worker] = h.workers
  if (!worker) throw new Error('there is one worker')
  /** Temporal is told that the lane has ended, since only its silence would say so otherwise. */
  const startLane = async (when: string) => {
    const lane = client.getHandle(workflowIds.lane(0))
    await lane.terminate().catch(() => undefined)
    writeFileSync(plan, when)
    await worker.start({ ready: false })
  }
  await makeWebhook(h, '/killed')
  await h.request('POST', '/v1/domains', { name: 'unseen.test' })
  await worker.kill()
  const from = 'Acme <hello@unseen.test>'
  const sent = await h.request('POST', '/v1/emails', { from, to: recipients, subject: 'S', html })
  expect(sent.status).toBe(200)
  for (const when of ['settle 1', 'settled 1']) {
    await startLane(when)
    const { pid } = worker
    await eventually(() => expect(isAlive(pid), worker.log()).toBe(false), HUNG)
  }
  await startLane('')
  await expectTold('/killed')
  const clicked = cameByName('/killed').get('clicked')?.at(-1)
  expect(clicked?.data).toMatchObject({ link: LINK })
  for (const name of ['bounced', 'nosuch']) {
    const [bounced] = cameByName('/killed').get(name) ?? []
    expect(bounced?.data.bounce).toMatchObject({ type: 'Permanent', subtype: 'General' })
  }
  await expectUntouched(h)
})

test('directly, without a name server that could be asked; and a workflow waits for what contacts do', {
  timeout: 300_000,
}, async () => {
  const h = await createHarness(database, {
    env: {
      ALLOW_PRIVATE_WEBHOOKS: 'true',
      DELIVERY_MODE: 'mx',
      SMTP_URL: '',
      DNS_SERVERS: '127.0.0.1:1',
    },
  })
  await makeWebhook(h, '/direct')
  const to = recipients
  await h.request('POST', '/v1/emails', { from: 'a@sender.test', to, subject: 'S', html })
  await expectTold('/direct')
  await expectUntouched(h)

  for (const status of ['opened', 'clicked', 'bounced']) {
    const { body } = await h.request<{ workflow_id: string }>('POST', '/v1/workflows', {
      name: status,
      status: 'active',
      design: design(
        {
          start: onEvent(`came.${status}`),
          hello: mail('Hello', { html }),
          wait: [
            'wait_for_condition',
            { condition: { type: 'email_activity', node_id: 'hello', status }, timeout: 'P1D' },
          ],
          met: ['exit', { outcome: 'met' }],
          late: ['exit', { outcome: 'late' }],
        },
        [
          ['start', 'hello'],
          ['hello', 'wait'],
          ['wait', 'met', 'met'],
          ['wait', 'late', 'timeout'],
        ],
      ),
    })
    expect(body.workflow_id, JSON.stringify(body)).toBeTruthy()
    const event = await h.request<{ executions: string[] }>('POST', '/v1/automation/events', {
      event_name: `came.${status}`,
      email: `${status}+flow@simulator.test`,
    })
    await eventually(async () => {
      const path = `/v1/executions/${event.body.executions[0]}`
      const { body: execution } = await h.request('GET', path)
      expect(execution).toMatchObject({ status: 'COMPLETED', current_step_id: 'met' })
    }, HUNG)
  }

  // The domain of a design that runs may lose its records: mail to test addresses alone still goes from it.
  await h.db.updateTable('domains').set({ status: 'FAILED' }).execute()
  for (const [email, end] of [
    ['opened+lost@simulator.test', 'COMPLETED'],
    ['ada@example.test', 'FAILED'],
  ]) {
    const event_name = 'came.opened'
    const posted = { event_name, email }
    const event = await h.request<{ executions: string[] }>('POST', '/v1/automation/events', posted)
    await eventually(async () => {
      const path = `/v1/executions/${event.body.executions[0]}`
      expect((await h.request('GET', path)).body).toMatchObject({ status: end })
    }, HUNG)
  }
})
