// Figure: mail that is submitted by SMTP per second, against the same mail by POST /v1/emails over as many connections.
import { randomPort } from '../dev/processes/ports.ts'
import { POOL_SIZE } from './accepted.ts'
import type { HttpLoad } from './httpLoad.ts'
import type { LoadBounds } from './load.ts'
import { describePostgres } from './machine.ts'
import { HTML } from './payloads.ts'
import { startRemote } from './remote.ts'
import { type Bench, figure } from './report.ts'
import { interleave } from './rounds.ts'
import { withServers } from './servers.ts'
import type { SubmissionLoad } from './submissionLoad.ts'
import { startDevTemporal } from './temporal.ts'
import { createWorkspace } from './workspace.ts'

const CONNECTIONS = 10
const TURNS = 4

export const submission: Bench = ({ say, quick, ...options }) =>
  withServers(say, async (servers) => {
    const postgres = await servers.postgres({ durable: true })
    const databaseUrl = await servers.database(postgres, 'bench')
    const { token: key, close } = await createWorkspace(databaseUrl)
    servers.add(close)
    const api = await servers.api({
      databaseUrl,
      env: { DATABASE_POOL_SIZE: String(POOL_SIZE) },
    })
    const smtp = startRemote<SubmissionLoad>('./submissionLoad.ts')
    const http = startRemote<HttpLoad>('./httpLoad.ts')
    for (const remote of [smtp, http]) servers.add(() => remote.stop())
    // It submits as every worker does; without lanes, so that the mail waits.
    const port = await randomPort()
    const temporal = await startDevTemporal(servers, say)
    await servers.worker({
      databaseUrl,
      temporalAddress: temporal.address,
      env: {
        WORKER_ROLES: 'executions',
        SUBMISSION_PORT: String(port),
        SUBMISSION_HOST: '127.0.0.1',
      },
    })

    let from = 0
    const submitted = async (bounds: LoadBounds) => {
      const result = await smtp.call('run', { port, key, bounds, from })
      from += result.done
      return result.per_second
    }
    const posted = async (bounds: LoadBounds) => {
      const result = await http.call('run', { kind: 'emails', port: api.port, key, bounds, from })
      from += result.done
      return result.per_second
    }
    const rounds = options.rounds ?? (quick ? 2 : 5)
    const seconds = options.seconds ?? (quick ? 2 : 8)
    const warmUp = { loops: CONNECTIONS, seconds: quick ? 1 : 8 }
    await submitted(warmUp)
    await posted(warmUp)
    const turn = { loops: CONNECTIONS, seconds: seconds / TURNS }
    const pairs = await interleave({
      rounds,
      turns: TURNS,
      unit: 'emails/s',
      subject: () => submitted(turn),
      reference: () => posted(turn),
      say,
    })
    return {
      reference: `POST /v1/emails with the same ${HTML.length} bytes of html to one recipient, one after the other over ${CONNECTIONS} connections, as the messages are; no lane runs`,
      rounds,
      figures: [figure('submitted emails', pairs, 'emails/s', { at_least: 0.8 })],
      postgres: await describePostgres(databaseUrl),
      temporal: temporal.description,
    }
  })
