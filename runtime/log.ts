// The logger of both processes: JSON lines with ids, never an address or a body.
import { type Logger as Log, pino } from 'pino'

export type { Log }

/** A pino logger; `name` tells the process (api, worker). */
export function createLog(name: string, level: string): Log {
  return pino({
    name,
    level,
    redact: ['email', 'to', 'from', 'html', 'text', 'authorization', '*.authorization'],
  })
}
