// Measures accepted requests per second over HTTP, against the same SQL statements sent directly through pg.
import { sql } from 'kysely'
import type { HttpLoad, LoadKind } from './httpLoad.ts'
import type { LoadBounds, LoadResult } from './load.ts'
import { startRemote } from './remote.ts'
import { type BenchOptions, type Figure, figure } from './report.ts'
import { interleave } from './rounds.ts'
import type { Servers } from './servers.ts'
import type { SqlLoad } from './sqlLoad.ts'
import type { Workspace } from './workspace.ts'

/** Requests under way at a time, on both sides. */
export const LOOPS = 48
/** Size of the API's pool (its default) and of the reference's pool. */
export const POOL_SIZE = 20
/** Node optimises code while it runs: after some thousand requests it has its full speed. */
const WARM_UP = { seconds: 12, count: 8_000 }
/** Turns of each side in a round. */
const TURNS = 4

export interface AcceptedOptions {
  kind: LoadKind
  databaseUrl: string
  workspace: Workspace
  /** Tables that each accepted request adds exactly one row to. */
  tables: [string, ...string[]]
  /** The least ratio that passes. */
  atLeast: number
  options: BenchOptions
}

export interface Accepted {
  figure: Figure
  rounds: number
  /** All accepted requests and replays, also those of the warm-up and the capture. */
  total: number
}

/**
 * Measures in interleaved rounds. No worker runs meanwhile, so that only the API, the load and Postgres use the
 * cores. The rows of both sides are counted at the end; too few rows are an error.
 */
export async function measureAccepted(
  servers: Servers,
  { kind, databaseUrl, workspace, tables, atLeast, options }: AcceptedOptions,
): Promise<Accepted> {
  const { say, quick } = options
  const rounds = options.rounds ?? (quick ? 2 : 5)
  const seconds = options.seconds ?? (quick ? 2 : 8)
  const api = await servers.api({
    databaseUrl,
    env: { DATABASE_POOL_SIZE: String(POOL_SIZE) },
  })
  const http = startRemote<HttpLoad>('./httpLoad.ts')
  const direct = startRemote<SqlLoad>('./sqlLoad.ts')
  servers.add(() => http.stop())
  servers.add(() => direct.stop())

  const { statements, requests } = await direct.call('prepare', {
    kind,
    databaseUrl,
    key: workspace.key,
    poolSize: POOL_SIZE,
  })
  say(`a request is ${statements.length} statements: ${statements.map(firstWords).join('; ')}`)

  let total = requests
  const counted = async (run: () => Promise<LoadResult>) => {
    const result = await run()
    total += result.done
    return result.per_second
  }
  const overHttp = (bounds: LoadBounds) =>
    counted(() =>
      http.call('run', { kind, port: api.port, key: workspace.token, bounds, from: total }),
    )
  const straight = (bounds: LoadBounds) =>
    counted(() => direct.call('run', { bounds, from: total }))

  say(`warming up, then ${rounds} rounds of ${seconds} s a side, ${LOOPS} requests at a time`)
  const warmUp = { loops: LOOPS, ...(quick ? { seconds: 1 } : WARM_UP) }
  await overHttp(warmUp)
  say(`requests for each commit: ${await rowsPerCommit(workspace, tables[0])}`)
  await straight(warmUp)
  const turn = { loops: LOOPS, seconds: seconds / TURNS }
  const pairs = await interleave({
    rounds,
    turns: TURNS,
    unit: `${kind}/s`,
    subject: () => overHttp(turn),
    reference: () => straight(turn),
    say,
  })
  for (const table of tables) await checkRows(workspace, table, total)
  await api.stop()
  await Promise.all([http.stop(), direct.stop()])
  return {
    figure: figure(`accepted ${kind}`, pairs, `${kind}/s`, { at_least: atLeast }),
    rounds,
    total,
  }
}

/** How many rows of a table one commit wrote, on average. */
async function rowsPerCommit({ db }: Workspace, table: string): Promise<string> {
  const { rows } = await sql<{ part: number }>`
    select count(*)::float / count(distinct xmin::text) as part from ${sql.table(table)}`.execute(
    db,
  )
  return (rows[0]?.part ?? 0).toFixed(1)
}

async function checkRows({ db }: Workspace, table: string, wanted: number): Promise<void> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from ${sql.table(table)}`.execute(db)
  if (rows[0]?.n !== wanted) {
    throw new Error(`${table} has ${rows[0]?.n} rows after ${wanted} accepted requests`)
  }
}

function firstWords(statement: string): string {
  return statement.replace(/\s+/g, ' ').slice(0, 40)
}
