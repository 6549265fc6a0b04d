// Figure: how long receipts of one workspace take to a destination for which another workspace has a campaign queued.

import { sql } from 'kysely'
import { placeOfClass } from '../rules/mail/classes.ts'
import { mxEnv } from '../test/setup/mxEnv.ts'
import { startNameServer } from '../test/setup/nameServer.ts'
import { describePostgres } from './machine.ts'
import { emailBody } from './payloads.ts'
import { startRemote } from './remote.ts'
import { type Bench, figure, percentile, rounded, spread } from './report.ts'
import { type Servers, withServers } from './servers.ts'
import { fill } from './smtpLedger.ts'
import type { SmtpSinkProcess } from './smtpSink.ts'
import { startDevTemporal } from './temporal.ts'
import { waitFor } from './waitFor.ts'
import { createWorkspace, type Workspace } from './workspace.ts'

/** The destination takes 50 a second: ten connections, and two replies of this time for each mail. */
const REPLY_MS = 100
const P99_MS_MAX = 2_000
const DOMAIN = 'mail-0.example.test'
const RECEIPT_EVERY_MS = 250
const BROADCAST = placeOfClass('broadcast')

export const fairness: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say, quick } = options
    const rows = options.rows ?? (quick ? 5_000 : 1_000_000)
    const seconds = options.seconds ?? (quick ? 10 : 60)
    const { databaseUrl, temporal, api, campaign, shop } = await start(servers, say)
    say('receipts alone')
    const alone = await sendReceipts(shop, api.url, Math.ceil(seconds / 4))
    say(`queueing a campaign of ${rows} to the same destination`)
    await fill(campaign, { count: rows, distinct: false, domains: 1, class: BROADCAST })
    await sql`notify dripline_deliveries`.execute(campaign.db)
    await waitFor(60_000, 'the campaign goes out', async () =>
      (await countOf(campaign)) > 200 ? true : undefined,
    )
    const [before, began] = [await countOf(campaign), Date.now()]
    say('receipts beside it')
    const beside = await sendReceipts(shop, api.url, seconds)
    const perSecond = ((await countOf(campaign)) - before) / ((Date.now() - began) / 1_000)
    const p99 = rounded(percentile(beside, 0.99))
    return {
      reference:
        `${P99_MS_MAX} ms, the bar: from the acceptance of a transactional mail to its delivery, 99th percentile, ` +
        `${1_000 / RECEIPT_EVERY_MS} a second, beside ${rows} mails of class broadcast of another workspace to the same ` +
        'destination, which takes some 50 a second over 10 connections',
      rounds: 1,
      figures: [figure('receipt', [{ subject: p99, reference: P99_MS_MAX }], 'ms', { at_most: 1 })],
      further: {
        receipt: spread(beside, 'ms'),
        receipt_alone: spread(alone, 'ms'),
        receipt_alone_p99_ms: rounded(percentile(alone, 0.99)),
        receipts: beside.length,
        broadcast_per_second: rounded(perSecond),
        broadcast_oldest_s: rounded(await oldest(campaign)),
      },
      postgres: await describePostgres(databaseUrl),
      temporal: temporal.description,
    }
  })

/** Starts the service in direct delivery, with one slow destination and two workspaces. */
async function start(servers: Servers, say: (line: string) => void) {
  const postgres = await servers.postgres({ durable: true })
  const databaseUrl = await servers.database(postgres, 'bench')
  const temporal = await startDevTemporal(servers, say)
  const sink = startRemote<SmtpSinkProcess>('./smtpSink.ts')
  servers.add(() => sink.stop())
  const { port } = await sink.call('start', { delay_ms: REPLY_MS })
  const records = 'mail-0 MX 10 mx\nmx A 127.0.0.1'
  const names = await startNameServer({ 'example.test': records })
  servers.add(names.close)
  const campaign = await createWorkspace(databaseUrl, { name: 'campaign' })
  const shop = await createWorkspace(databaseUrl, { name: 'shop', domain: 'shop.test' })
  for (const one of [campaign, shop]) servers.add(() => one.close())
  const env = { ...mxEnv(names, port), WARM_UP: 'false' }
  const service = { databaseUrl, temporalAddress: temporal.address, env }
  const api = await servers.api(service)
  await servers.worker(service)
  return { databaseUrl, temporal, api, campaign, shop }
}

/** Sends receipts at a fixed rate. @returns ms from the acceptance of each to its delivery */
async function sendReceipts(shop: Workspace, url: string, seconds: number): Promise<number[]> {
  const ids: string[] = []
  const count = (seconds * 1_000) / RECEIPT_EVERY_MS
  for (let n = 0; n < count; n++) {
    const body = { ...emailBody(n), from: 'shop@shop.test', to: [`buyer-${n}@${DOMAIN}`] }
    const response = await fetch(`${url}/v1/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${shop.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const { id } = (await response.json()) as { id?: string }
    if (!id) throw new Error(`POST /v1/emails: ${response.status}`)
    ids.push(id)
    await new Promise((resolve) => setTimeout(resolve, RECEIPT_EVERY_MS))
  }
  return waitFor(120_000, 'the receipts are delivered', async () => {
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from settled_at - created_at) * 1000)::float8 as ms
      from deliveries where email_id = any(${ids}) and state = 'delivered'`.execute(shop.db)
    return rows.length === ids.length ? rows.map(({ ms }) => ms) : undefined
  })
}

async function countOf({ db, workspaceId }: Workspace): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from deliveries
    where workspace_id = ${workspaceId} and state = 'delivered'`.execute(db)
  return rows[0]?.count ?? 0
}

/** How long the first of the campaign that waits has been due, in seconds. */
async function oldest({ db, workspaceId }: Workspace): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from now() - min(next_at))::float8 as seconds from deliveries
    where workspace_id = ${workspaceId} and settled_at is null`.execute(db)
  return rows[0]?.seconds ?? 0
}
