// Timeouts and retries, named once.
import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow'

/** One short Postgres transaction; tried until the database is there. Beyond a minute Temporal keeps the time. */
export const quickDb: LocalActivityOptions = {
  startToCloseTimeout: '30 seconds',
  localRetryThreshold: '1 minute',
  retry: {
    initialInterval: '200 milliseconds',
    backoffCoefficient: 2,
    maximumInterval: '30 seconds',
  },
}

/**
 * A lane's activity lives long and says so every two seconds: a dead worker is noticed within ten, and the
 * lane starts elsewhere half a second later, for ever.
 */
export const laneActivity: ActivityOptions = {
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 1 },
}
