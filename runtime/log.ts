// The logger of API and worker: JSON lines with ids, never an address or a body.
import { type DestinationStream, type Logger as Log, pino } from 'pino'

export type { Log }

/** What Postgres adds to an error: it names values of rows, such as addresses. */
const OF_ROWS = ['detail', 'where', 'internalQuery'] as const

/** An error without what names values of rows. */
function serializeError(err: Error) {
  const told = pino.stdSerializers.err(err)
  for (const key of OF_ROWS) delete told[key]
  return told
}

/** Makes a pino logger; `name` is the process (api, worker). It writes to standard output unless `to` is given. */
export function createLog(name: string, level: string, to?: DestinationStream): Log {
  const options = {
    name,
    level,
    redact: ['email', 'to', 'from', 'html', 'text', 'authorization', '*.authorization'],
    serializers: { err: serializeError },
  }
  return to ? pino(options, to) : pino(options)
}
