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
 * A lane's activity lives long and says so every two seconds: a dead worker is noticed within six, and the lane
 * starts elsewhere half a second later, for ever. A frozen worker may still be given its lane once more, since its
 * poll is open: twice this time stays under fifteen seconds.
 */
export const laneActivity: ActivityOptions = {
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '6 seconds',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 1 },
}

/** A handful of DNS questions, each with its own patience, and one transaction. */
export const dnsCheck: ActivityOptions = {
  startToCloseTimeout: '2 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
}
