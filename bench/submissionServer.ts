// A process that only listens for submitted mail, as a worker does, so that no lane takes part in the figure.
import { tmpdir } from 'node:os'
import { Registry } from 'prom-client'
import { connect } from '../db/connect.ts'
import { parseConfig } from '../runtime/config.ts'
import { createLog } from '../runtime/log.ts'
import { listenForSubmissions } from '../worker/submission.ts'
import { serve } from './remote.ts'
import { SECRET_KEY } from './servers.ts'
import { addressMacOf, newId } from './workspace.ts'

const handlers = {
  /** Starts to listen. @returns the port */
  async listen({ databaseUrl }: { databaseUrl: string }) {
    const onIdleError = () => undefined
    const { db } = connect({ url: databaseUrl, poolSize: 1, name: 'bench', onIdleError })
    const config = parseConfig({
      DATABASE_URL: databaseUrl,
      SECRET_KEY,
      SMTP_URL: 'smtp://127.0.0.1:1',
      WORKER_STATE_DIR: tmpdir(),
    })
    const { port } = await listenForSubmissions(
      {
        config,
        newId,
        now: () => new Date(),
        wake: () => undefined,
        addressMac: await addressMacOf(db),
        log: createLog('bench', 'warn'),
        registry: new Registry(),
      },
      { host: '127.0.0.1', port: 0, tlsPort: null, tlsCert: null, tlsKey: null },
    )
    return { port }
  },
}

export type SubmissionServer = typeof handlers

serve(handlers)
