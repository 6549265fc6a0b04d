// Figure: emails accepted per second against their statements without HTTP.
import { LOOPS, measureAccepted, POOL_SIZE } from './accepted.ts'
import { describePostgres } from './machine.ts'
import { HTML } from './payloads.ts'
import type { Bench } from './report.ts'
import { withServers } from './servers.ts'
import { createWorkspace } from './workspace.ts'

export const emails: Bench = (options) =>
  withServers(options.say, async (servers) => {
    const postgres = await servers.postgres({ durable: true })
    const databaseUrl = await servers.database(postgres, 'bench')
    const workspace = await createWorkspace(databaseUrl)
    servers.add(() => workspace.close())
    const accepted = await measureAccepted(servers, {
      kind: 'emails',
      databaseUrl,
      workspace,
      tables: ['emails', 'deliveries', 'email_events'],
      atLeast: 0.9,
      options,
    })
    return {
      reference:
        'the statements of sendEmail, captured from one request and replayed with new ids, prepared where they ' +
        `were, through a plain pg pool of ${POOL_SIZE} by one process without HTTP, ${LOOPS} at a time as the ` +
        `requests are; ${HTML.length} bytes of html to one recipient; no worker runs, the ledger grows`,
      rounds: accepted.rounds,
      figures: [accepted.figure],
      postgres: await describePostgres(databaseUrl),
      temporal: 'none',
    }
  })
