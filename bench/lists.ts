// Figure: the last page of every list at a million rows, against its first page.

import { Connection } from '@temporalio/client'
import { sql } from 'kysely'
import { Registry } from 'prom-client'
import { createApp } from '../api/http/app.ts'
import { createApiMetrics } from '../api/http/metrics.ts'
import { connect } from '../db/connect.ts'
import { createRenderer } from '../mail/content/renderer.ts'
import { parseConfig } from '../runtime/config.ts'
import { createLog } from '../runtime/log.ts'
import { createSecrets } from '../runtime/secrets.ts'
import { createTemporalReads } from '../runtime/temporalReads.ts'
import { getRequest, type HttpConnection, openHttp } from './httpConnection.ts'
import { createSpyCursors, findLastPage, type ListPaths } from './lastPage.ts'
import { describePostgres } from './machine.ts'
import { type Bench, type Figure, figure, middle } from './report.ts'
import { type Owners, type SeededLists, seedLists } from './seedLists.ts'
import { SECRET_KEY, withServers } from './servers.ts'
import { startDevTemporal } from './temporal.ts'
import { newId } from './workspace.ts'

const RATIO_AT_MOST = 1.5
/** Sequential calls of each page in a round. */
const CALLS = 40

/** Every list operation. `ascending` lists begin with their oldest row. */
function listsOf(o: Owners): { name: string; path: string; ascending?: boolean }[] {
  const contact = `/v1/automation/contacts/${encodeURIComponent(o.contactEmail)}`
  const workflow = `/v1/workflows/${o.workflowId}`
  return [
    { name: 'emails', path: '/v1/emails' },
    { name: 'audiences', path: '/v1/audiences' },
    {
      name: 'audience contacts',
      path: `/v1/audiences/${o.audienceId}/contacts`,
      ascending: true,
    },
    { name: 'domains', path: '/v1/domains' },
    { name: 'templates', path: '/v1/templates' },
    { name: 'api keys', path: '/v1/api-keys' },
    { name: 'workflows', path: '/v1/workflows' },
    { name: 'workflow versions', path: `${workflow}/versions` },
    { name: 'workflow emails', path: `${workflow}/emails` },
    { name: 'workflow executions', path: `${workflow}/executions` },
    { name: 'workflow executions, completed', path: `${workflow}/executions?status=COMPLETED` },
    { name: 'contacts', path: '/v1/automation/contacts' },
    { name: 'contact executions', path: `${contact}/executions` },
    { name: 'contact executions, completed', path: `${contact}/executions?status=COMPLETED` },
    { name: 'contact events', path: `${contact}/events` },
    { name: 'execution steps', path: `/v1/executions/${o.executionId}/steps`, ascending: true },
  ]
}

export const lists: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const { say, quick } = options
    const rounds = options.rounds ?? (quick ? 2 : 5)
    const rows = options.rows ?? (quick ? 5_000 : 1_000_000)
    const postgres = await servers.postgres({ durable: false })
    const databaseUrl = await servers.database(postgres, 'bench')
    // Every table is vacuumed after it was filled. A vacuum at another time would disturb the measurement.
    await setAutovacuumOff(databaseUrl)
    const temporal = await startDevTemporal(servers, say)
    const api = await servers.api({ databaseUrl, temporalAddress: temporal.address })
    const seeded = await seedLists(databaseUrl, rows, say)
    const { workspace } = seeded
    servers.add(() => workspace.close())

    const connection = await Connection.connect({ address: temporal.address })
    servers.add(() => connection.close())
    const found = await findPages(seeded, connection, databaseUrl)
    say(`${found.length} lists have their last page where it should be`)

    const http = await openHttp(api.port)
    servers.add(async () => http.close())
    const figures: Figure[] = []
    for (const list of found) {
      const pairs = await measure(http, workspace.token, list, rounds)
      const one = figure(list.name, pairs, 'ms', { at_most: RATIO_AT_MOST })
      say(
        `${list.name}: last ${one.subject.median}, first ${one.reference_figures.median} ms, ratio ${one.ratio.median}`,
      )
      figures.push(one)
    }
    figures.sort((a, b) => b.ratio.median - a.ratio.median)
    const [worst, ...others] = figures
    if (!worst) throw new Error('there is no list')
    return {
      reference:
        `the first page of the same list over the same connection, ${rows} rows in each list, older rows of another ` +
        'workspace in the same tables, a fifth as many; one call after the ' +
        `other, first and last page in turn; a round is the median of ${CALLS} calls each. The figure in front is ` +
        'the list with the worst ratio. Executions have ended, and of those Temporal is asked nothing. ' +
        'Only reads are measured: the server runs without fsync to be filled faster',
      rounds,
      figures: [worst, ...others],
      postgres: await describePostgres(databaseUrl),
      temporal: temporal.description,
    }
  })

async function setAutovacuumOff(databaseUrl: string): Promise<void> {
  const { db } = connect({
    url: databaseUrl,
    poolSize: 1,
    name: 'bench-settings',
    onIdleError: () => undefined,
  })
  await sql`alter system set autovacuum = off`.execute(db)
  await sql`select pg_reload_conf()`.execute(db)
  await db.destroy()
}

/** Finds all last pages, with the API running in this process with cursors that remember positions. */
async function findPages(
  { workspace, owners, oldest, newest }: SeededLists,
  connection: Connection,
  databaseUrl: string,
): Promise<ListPaths[]> {
  const { db, token, addressMac } = workspace
  const config = parseConfig({
    DATABASE_URL: databaseUrl,
    SECRET_KEY,
    SMTP_URL: 'smtp://127.0.0.1:1',
  })
  const secrets = createSecrets(config.secretKey)
  const spy = createSpyCursors(secrets)
  const renderer = createRenderer(createLog('bench', 'silent'))
  const app = createApp({
    db,
    config,
    log: createLog('bench', 'silent'),
    now: () => new Date(),
    newId,
    temporal: createTemporalReads(connection, config.temporalNamespace),
    isDatabaseThere: async () => true,
    wake: () => undefined,
    secrets,
    addressMac,
    renderer,
    cursors: spy.cursors,
    apiMetrics: createApiMetrics(new Registry()),
  })
  const found: ListPaths[] = []
  for (const { name, path, ascending = false } of listsOf(owners)) {
    found.push(await findLastPage(app, spy, token, { name, path, oldest, newest, ascending }))
  }
  return found
}

/** Measures a pair of medians in ms for each round. */
async function measure(
  http: HttpConnection,
  token: string,
  { name, first, last }: ListPaths,
  rounds: number,
) {
  const call = async (path: string) => {
    const request = getRequest({ path, key: token })
    const begin = performance.now()
    const { status, body } = await http.send(request)
    if (status !== 200) throw new Error(`${name}: ${status} ${body.slice(0, 300)}`)
    return performance.now() - begin
  }
  const pairs: { subject: number; reference: number }[] = []
  // Round 0 warms up.
  for (let round = 0; round <= rounds; round++) {
    const firsts: number[] = []
    const lasts: number[] = []
    for (let i = 0; i < CALLS; i++) {
      lasts.push(await call(last))
      firsts.push(await call(first))
    }
    if (round === 0) continue
    pairs.push({ subject: middle(lasts).median, reference: middle(firsts).median })
  }
  return pairs
}
