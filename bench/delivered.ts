// Emails delivered per second: how fast a worker empties a filled ledger into a sink.
import { sql } from 'kysely'
import { insertEmail } from '../db/emails.ts'
import type { Postgres } from '../dev/postgres.ts'
import { emailBody } from './payloads.ts'
import { startRemote } from './remote.ts'
import { type BenchOptions, type Spread, spread } from './report.ts'
import type { Servers } from './servers.ts'
import type { SmtpSinkProcess } from './smtpSink.ts'
import { startDevTemporal } from './temporal.ts'
import { waitFor } from './waitFor.ts'
import { createWorkspace, newId, type Workspace } from './workspace.ts'

const DAY_MS = 86_400_000
const DEADLINE_MS = 180_000

export interface Delivered {
  perSecond: Spread
  /** Of each round. */
  count: number
  temporal: string
}

/**
 * Each round commits its emails at once and takes the time from that commit to the last settled delivery. What reached
 * the sink is counted too.
 */
export async function measureDelivered(
  servers: Servers,
  postgres: Postgres,
  options: BenchOptions,
): Promise<Delivered> {
  const { say, quick } = options
  const rounds = options.rounds ?? (quick ? 2 : 5)
  const count = options.count ?? (quick ? 300 : 5_000)
  const databaseUrl = await servers.database(postgres, 'bench_delivered')
  const workspace = await createWorkspace(databaseUrl)
  servers.add(() => workspace.close())
  const temporal = await startDevTemporal(servers, say)
  const sink = startRemote<SmtpSinkProcess>('./smtpSink.ts')
  servers.add(() => sink.stop())
  const { port } = await sink.call('start', {})
  const worker = await servers.worker({
    databaseUrl,
    temporalAddress: temporal.address,
    smtpUrl: `smtp://127.0.0.1:${port}`,
    env: { WORKER_ROLES: 'delivery' },
  })
  say('a worker is ready to deliver; warming up')
  await deliver(workspace, Math.ceil(count / 10))
  const rates: number[] = []
  for (let round = 0; round < rounds; round++) {
    const before = await sink.call('totals', {})
    const perSecond = await deliver(workspace, count)
    const { mails } = await sink.call('totals', {})
    if (mails - before.mails !== count) {
      throw new Error(`the sink got ${mails - before.mails} of ${count} emails`)
    }
    rates.push(perSecond)
    say(`round ${round + 1} of ${rounds}: ${count} emails delivered, ${Math.round(perSecond)}/s`)
  }
  await worker.stop()
  return { perSecond: spread(rates, 'emails/s'), count, temporal: temporal.description }
}

/** @returns emails per second */
async function deliver({ db, ...workspace }: Workspace, count: number): Promise<number> {
  const mark = await sql<{ id: number }>`select coalesce(max(id), 0) as id from deliveries`.execute(
    db,
  )
  const last = mark.rows[0]?.id ?? 0
  await db.transaction().execute(async (trx) => {
    for (let i = 0; i < count; i++) await insertEmail(trx, newEmail(workspace, i))
  })
  const begin = Date.now()
  await sql`notify dripline_deliveries`.execute(db)
  const end = await waitFor(DEADLINE_MS, 'all deliveries are settled', async () => {
    const { rows } = await sql<{ delivered: number; settled: number; last_at: Date }>`
      select count(*) filter (where state = 'delivered')::int as delivered,
        count(settled_at)::int as settled, max(settled_at) as last_at
      from deliveries where id > ${last}`.execute(db)
    const [row] = rows
    if (row?.settled !== count) return undefined
    if (row.delivered !== count) throw new Error(`only ${row.delivered} of ${count} were delivered`)
    return row.last_at.getTime()
  })
  return count / ((end - begin) / 1000)
}

function newEmail({ workspaceId, domainId }: Omit<Workspace, 'db'>, serial: number) {
  const { from, to, subject, html } = emailBody(serial)
  const now = new Date()
  const id = newId('email')
  return {
    row: {
      id,
      workspace_id: workspaceId,
      type: 'transactional' as const,
      category: 'transactional' as const,
      from,
      to: [to],
      cc: [],
      bcc: [],
      reply_to: [],
      subject,
      html,
      text: null,
      template_id: null,
      domain_id: domainId,
      headers: {},
      tags: {},
      metadata: {},
      message_id: `${id}@sender.test`,
      workflow_id: null,
      execution_id: null,
      node_id: null,
      unsubscribe_token: null,
      track_opens: false,
      track_clicks: false,
      tracking_host: null,
      created_at: now,
    },
    recipients: [to],
    attachments: [],
    dueAt: now,
    expiresAt: new Date(now.getTime() + DAY_MS),
  }
}
