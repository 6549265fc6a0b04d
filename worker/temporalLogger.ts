// Hands the Temporal SDK's log lines to ours.
import { DefaultLogger, type LogLevel } from '@temporalio/worker'
import type { Log } from '../runtime/log.ts'

const levels = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'debug',
  WARN: 'warn',
  ERROR: 'error',
} as const satisfies Record<LogLevel, string>

/** The SDK's INFO is every start and stop of its parts: debug to us. */
export function temporalLogger(log: Log): DefaultLogger {
  return new DefaultLogger('INFO', ({ level, message, meta }) => {
    log[levels[level]]({ temporal: meta }, message)
  })
}
