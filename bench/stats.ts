// Figure: statistics of 10,000,000 events of mail, asked over HTTP, by hour and by day in each group, with changes that are not
// folded yet.

import { sql } from 'kysely'
import type { Db } from '../db/connect.ts'
import { HOUR_MS } from '../rules/stats.ts'
import { getRequest, openHttp } from './httpConnection.ts'
import { describePostgres } from './machine.ts'
import { type Bench, type Figure, figure, middle, spread } from './report.ts'
import { withServers } from './servers.ts'
import { createWorkspace } from './workspace.ts'

const BAR_MS = 200
const CALLS = 20
const DAYS = 30
const HOURS = DAYS * 24
const DOMAINS = 3
/** In each hour of each domain. */
const GROUPS = { domain: 1, tag: 50, workflow: 20, provider: 20 } as const
/** What a worker folds in a second or two. */
const UNFOLDED = 5_000

const QUERIES = [
  'interval=hour',
  'interval=day',
  'interval=hour&group=domain',
  'interval=day&group=tag',
  'interval=day&group=workflow',
  'interval=day&group=provider',
]

export const stats: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say, quick } = options
    const rounds = options.rounds ?? (quick ? 2 : 5)
    const events = options.rows ?? (quick ? 100_000 : 10_000_000)
    const postgres = await servers.postgres({ durable: false })
    const databaseUrl = await servers.database(postgres, 'bench')
    const workspace = await createWorkspace(databaseUrl)
    servers.add(() => workspace.close())
    const until = Math.ceil(Date.now() / HOUR_MS)
    for (const owner of [workspace.workspaceId, 'ws_other']) {
      await seed(workspace.db, owner, until, events)
    }
    say(`filled the counts of ${events} events, and as many of another workspace`)
    const api = await servers.api({ databaseUrl })
    const http = await openHttp(api.port)
    servers.add(async () => http.close())
    const range = `since=${(until - HOURS) * HOUR_MS}&until=${until * HOUR_MS}`
    const figures: Figure[] = []
    for (const query of QUERIES) {
      const path = `/v1/stats/emails?${range}&${query}`
      const ask = async () => {
        const begin = performance.now()
        const { status, body } = await http.send(getRequest({ path, key: workspace.token }))
        if (status !== 200) throw new Error(`${query}: ${status} ${body.slice(0, 300)}`)
        return performance.now() - begin
      }
      const found = await measure(ask, rounds)
      const one = figure(query, found, 'ms', { at_most: 1 })
      say(`${query}: ${one.subject.median} ms`)
      figures.push(one)
    }
    figures.sort((a, b) => b.ratio.median - a.ratio.median)
    const [slowest, ...others] = figures
    if (!slowest) throw new Error('nothing was asked')
    const rows = await countRows(workspace.db)
    return {
      reference:
        `the bar of ${BAR_MS} ms; ${events} events in ${DAYS} days of ${DOMAINS} domains, each hour with ${GROUPS.tag} tags, ` +
        `${GROUPS.workflow} workflows and ${GROUPS.provider} providers; ${UNFOLDED} changes are not folded; another ` +
        `workspace has as many; a round is the median of ${CALLS} calls, one after the other`,
      rounds,
      figures: [slowest, ...others],
      further: { rows: spread([rows], 'rows') },
      postgres: await describePostgres(databaseUrl),
      temporal: 'none',
    }
  })

/** Counts of hours that have so many events together, in each kind of group. */
async function seed(db: Db, workspaceId: string, until: number, events: number): Promise<void> {
  for (const [kind, groups] of Object.entries(GROUPS)) {
    // Of three events one each is sent, delivered and opened.
    const each = Math.ceil(events / HOURS / DOMAINS / groups / 3)
    await sql`
      insert into email_stats (workspace_id, kind, hour, domain_id, value, accepted, sent, delivered, opened)
      select ${workspaceId}, ${kind}, ${until}::int - h, 'dom_' || d, case when ${kind} = 'domain' then '' else 'v:' || g end,
        ${each}::int, ${each}::int, ${each}::int, ${each}::int
      from generate_series(1, ${HOURS}::int) h, generate_series(1, ${DOMAINS}::int) d, generate_series(1, ${groups}::int) g
    `.execute(db)
  }
  await sql`
    insert into email_stat_changes (workspace_id, hour, domain_id, workflow_id, provider, tags, sent)
    select ${workspaceId}, ${until}::int - 1, 'dom_' || n % ${DOMAINS}::int, 'v:' || n % ${GROUPS.workflow}::int, 'v:1',
      jsonb_build_object('v', (n % ${GROUPS.tag}::int)::text), 1
    from generate_series(1, ${UNFOLDED}::int) n`.execute(db)
  await sql`vacuum analyze email_stats`.execute(db)
  await sql`vacuum analyze email_stat_changes`.execute(db)
}

/** Medians in ms of each round, against the bar. Round 0 warms up. */
async function measure(ask: () => Promise<number>, rounds: number) {
  const pairs: { subject: number; reference: number }[] = []
  for (let round = 0; round <= rounds; round++) {
    const times: number[] = []
    for (let i = 0; i < CALLS; i++) times.push(await ask())
    if (round > 0) pairs.push({ subject: middle(times).median, reference: BAR_MS })
  }
  return pairs
}

async function countRows(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from email_stats where workspace_id <> 'ws_other'`.execute(db)
  return rows[0]?.count ?? 0
}
