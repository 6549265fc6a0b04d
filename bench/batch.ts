// Figures: emails and events a second in batches, against one statement by hand for each hundred; and a repeated request with an
// Idempotency-Key against the first one.
import type { BatchKind, BatchLoad } from './batchLoad.ts'
import type { BatchSqlLoad } from './batchSqlLoad.ts'
import { insertContacts } from './events.ts'
import { describePostgres } from './machine.ts'
import { BATCH } from './payloads.ts'
import { startRemote } from './remote.ts'
import { type Bench, type BenchOptions, type Figure, figure } from './report.ts'
import { interleave } from './rounds.ts'
import { withServers } from './servers.ts'
import { createWorkspace } from './workspace.ts'

const LOOPS = 4
const AT_LEAST = 0.7
/** Requests with a key in one turn. */
const KEYED = 300

interface Sides {
  http: ReturnType<typeof startRemote<BatchLoad>>
  direct: ReturnType<typeof startRemote<BatchSqlLoad>>
  port: number
  token: string
  databaseUrl: string
  workspaceId: string
  domainId: string
  options: BenchOptions
}

export const batch: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const postgres = await servers.postgres({ durable: true })
    const databaseUrl = await servers.database(postgres, 'bench')
    const workspace = await createWorkspace(databaseUrl)
    servers.add(() => workspace.close())
    await insertContacts(workspace)
    const api = await servers.api({ databaseUrl })
    const http = startRemote<BatchLoad>('./batchLoad.ts')
    servers.add(() => http.stop())
    const direct = startRemote<BatchSqlLoad>('./batchSqlLoad.ts')
    servers.add(() => direct.stop())
    const { token, workspaceId, domainId } = workspace
    const sides = {
      http,
      direct,
      port: api.port,
      token,
      databaseUrl,
      workspaceId,
      domainId,
      options,
    }
    const emails = await measureBatches(sides, 'emails')
    const events = await measureBatches(sides, 'events')
    const keyed = await measureReplays(sides)
    return {
      reference:
        `one multi-row statement for each ${BATCH} (emails: emails, deliveries and events, 2 KB of html and of text; events: known ` +
        `contacts and events), over ${LOOPS} connections without HTTP, ${LOOPS} at a time as the batches are; no ` +
        'worker runs; of a repeated request with an Idempotency-Key: the first one, one at a time',
      rounds: roundsOf(options),
      figures: [emails, events, keyed],
      postgres: await describePostgres(databaseUrl),
      temporal: 'none',
    }
  })

const roundsOf = ({ rounds, quick }: BenchOptions) => rounds ?? (quick ? 2 : 5)

async function measureBatches(sides: Sides, kind: BatchKind): Promise<Figure> {
  const { http, direct, port, token: key, options, ...of } = sides
  const turn = { loops: LOOPS, seconds: (options.seconds ?? (options.quick ? 2 : 8)) / 4 }
  let from = 0
  const items = async (run: () => Promise<{ done: number; per_second: number }>) => {
    const { done, per_second } = await run()
    from += done * BATCH
    return per_second * BATCH
  }
  const subject = () => items(() => http.call('batches', { kind, port, key, bounds: turn, from }))
  const reference = () => items(() => direct.call('run', { kind, ...of, bounds: turn, from }))
  options.say(`${kind} in batches of ${BATCH}, ${LOOPS} at a time; warming up`)
  for (let i = 0; i < 3; i++) {
    await subject()
    await reference()
  }
  const rounds = roundsOf(options)
  const pairs = await interleave({
    rounds,
    turns: 4,
    unit: `${kind}/s`,
    say: options.say,
    subject,
    reference,
  })
  return figure(`${kind} in batches`, pairs, `${kind}/s`, { at_least: AT_LEAST })
}

async function measureReplays({ http, port, token: key, options }: Sides): Promise<Figure> {
  let from = 10_000_000
  const ask = () => http.call('keyed', { port, key, from, count: KEYED })
  const first = () => {
    from += KEYED
    return ask()
  }
  options.say('requests with a key, and again; warming up')
  for (let i = 0; i < 4; i++) {
    await first()
    await ask()
  }
  let first_ms = 0
  const pairs = await interleave({
    rounds: roundsOf(options),
    turns: 4,
    unit: 'ms',
    say: options.say,
    // The first one comes before its repetition, and counts as the reference of the same turn.
    subject: async () => {
      first_ms = await first()
      return ask()
    },
    reference: async () => first_ms,
  })
  return figure('a repeated request with an Idempotency-Key', pairs, 'ms', { at_most: 1 })
}
