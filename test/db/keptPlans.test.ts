// Statements of every email and every event are planned once for each connection: to plan one takes longer than to run it.
import { expect, test } from 'vitest'
import { postAutomationEvents } from '../../commands/events/postMany.ts'
import { transact } from '../../commands/transact.ts'
import type { Trx } from '../../db/connect.ts'
import { insertEmail } from '../../db/emails/insert.ts'
import { insertEmails, type PlainEmail } from '../../db/emails/insertMany.ts'
import { listSendFacts, type SendPrecondition } from '../../db/emails/sendFacts.ts'
import { listAwaited } from '../../db/events/receivers.ts'
import { apiSettings } from '../../db/settings.ts'
import { newTestEmail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { design, insertFlow, onEvent } from '../setup/flows.ts'
import { newId, now, seedWorkspace } from '../setup/harness.ts'

/** Of the first calls Postgres makes a plan each, and compares it with one for all values. */
const COMPARED = 5
const CALLS = 12

const { db, pool } = await createTestDatabase({ settings: apiSettings, poolSize: 1 })
const workspace = await seedWorkspace(db)
const { workspaceId, domainId } = workspace
const graph = design({ start: onEvent('ordered'), end: ['exit', {}] }, [['start', 'end']])
await insertFlow(db, workspace, graph)
const deps = { db, newId, now, wake: () => undefined, addressMac: () => Buffer.alloc(16) }

const emails = (count: number, source?: Buffer) =>
  Array.from(
    { length: count },
    () => ({ ...newTestEmail(domainId), ...(source ? { source } : {}) }) as PlainEmail,
  )
const inTrx = (work: (trx: Trx) => Promise<unknown>) =>
  transact(deps, async ({ db: trx }) => void (await work(trx)))
const macsOf = () => ({ left: [], own: [Buffer.alloc(16)] })
const written = (count: number, source?: Buffer, precondition?: SendPrecondition) =>
  inTrx(async (trx) => {
    const isWritten = insertEmails(trx, workspaceId, emails(count, source), macsOf, precondition)
    expect(await isWritten).toBe(true)
  })
const [facts] = await listSendFacts(db, workspaceId, [{ domainName: 'sender.test', addresses: [] }])
const domain = facts?.domain
if (!domain) throw new Error('the domain is missing')
const holding: SendPrecondition = { domains: [domain], addresses: ['a@mail.test', 'b@mail.test'] }

const posted = (n: number, event_name: string) =>
  postAutomationEvents(
    deps,
    workspaceId,
    [1, 2].map((i) => ({ event_name, email: `c${n}-${i}@mail.test` })),
  )

test.each([
  ['an email', () => inTrx((trx) => insertEmail(trx, workspaceId, newTestEmail(domainId)))],
  ['a few emails', () => written(3)],
  ['a few messages that came whole', () => written(3, Buffer.from('Subject: x'))],
  ['many emails', () => written(50)],
  [
    'emails that are written if a precondition holds',
    () => written(3, Buffer.from('Subject: x'), holding),
  ],
  [
    'what is known of an email',
    () =>
      listSendFacts(db, workspaceId, [{ domainName: 'sender.test', addresses: ['a@mail.test'] }]),
  ],
  ['events that nobody awaits', (n: number) => posted(n, 'looked')],
  ['events that start executions', (n: number) => posted(n, 'ordered')],
  [
    'who waits for the event of an email',
    () => inTrx((trx) => listAwaited(trx, workspaceId, [{ contact_id: 'contact', name: 'sent' }])),
  ],
] as [string, (n: number) => Promise<unknown>][])('%s', async (_, work) => {
  // The first event of a name shows whether it is awaited.
  await work(CALLS)
  const before = new Map((await plans()).map((one) => [one.statement, one]))
  for (let n = 0; n < CALLS; n++) await work(n)
  const repeated = (await plans()).flatMap(({ statement, calls, custom }) => {
    const known = before.get(statement)
    const more = {
      statement,
      calls: calls - (known?.calls ?? 0),
      custom: custom - (known?.custom ?? 0),
    }
    return more.calls >= CALLS ? more : []
  })
  expect(repeated.length).toBeGreaterThan(0)
  for (const { statement, custom } of repeated) {
    expect(custom, statement).toBeLessThanOrEqual(COMPARED)
  }
})

interface Planned {
  statement: string
  calls: number
  custom: number
}

async function plans(): Promise<Planned[]> {
  const { rows } = await pool.query<Planned>(
    `select statement, (generic_plans + custom_plans)::int as calls, custom_plans::int as custom
      from pg_prepared_statements`,
  )
  return rows
}
