// The logger of API and worker: JSON lines with ids, never an address or a body.
import { type Logger as Log, pino } from 'pino'

export type { Log }

/** Makes a pino logger; `name` is the process (api, worker). */
export function createLog(name: string, level: string): Log {
  return pino({
    name,
    level,
    redact: ['email', 'to', 'from', 'html', 'text', 'authorization', '*.authorization'],
  })
}
