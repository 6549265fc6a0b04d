// Writes the log lines of the Temporal SDK to our log.
import { DefaultLogger, type LogLevel } from '@temporalio/worker'
import type { Log } from '../runtime/log.ts'

const levels = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'debug',
  WARN: 'warn',
  ERROR: 'error',
} as const satisfies Record<LogLevel, string>

/** Makes a logger for the SDK. Its INFO lines are starts and stops of its parts: our log has them as debug. */
export function temporalLogger(log: Log): DefaultLogger {
  return new DefaultLogger('INFO', ({ level, message, meta }) => {
    log[levels[level]]({ temporal: meta }, message)
  })
}
