// Timeouts and retries of all activities.
import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow'
import { taskQueues } from '../rules/wire.ts'

/**
 * One short Postgres transaction, tried until the database answers. A pause of over a second is a timer of Temporal: until
 * it has passed the execution keeps none of the worker's places. Each such pause adds six events to a history, which may
 * have 51,200: with two minutes between them that takes twelve days.
 */
export const quickDb: LocalActivityOptions = {
  startToCloseTimeout: '30 seconds',
  localRetryThreshold: '1 second',
  retry: {
    initialInterval: '200 milliseconds',
    backoffCoefficient: 2,
    maximumInterval: '2 minutes',
  },
}

/** A segment may wait for its mails to be rendered, which takes some seconds when their templates are slow. */
export const segmentRun: LocalActivityOptions = { ...quickDb, startToCloseTimeout: '2 minutes' }

/**
 * The activity of a lane runs long and sends a heartbeat every two seconds. After six seconds without one the lane
 * starts on another worker half a second later, without a limit of tries. A frozen worker may get its lane once
 * more through its open poll: even then the lane moves within fifteen seconds.
 */
export const laneActivity: ActivityOptions = {
  startToCloseTimeout: '1 hour',
  heartbeatTimeout: '6 seconds',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 1 },
}

/**
 * One try of a request, which may take half a minute. How often it is tried, and after which pauses, the activity decides by
 * itself; what is said here is for tries that a dead worker or Postgres has cut short.
 */
export const httpCall: ActivityOptions = {
  taskQueue: taskQueues.http,
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
}

/** Several DNS questions, each with a timeout of its own, and one transaction. */
export const dnsCheck: ActivityOptions = {
  startToCloseTimeout: '2 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
}

/**
 * A turn of a schedule reads members for some seconds, and sends a heartbeat between pages. What it has done is committed, so
 * another worker goes on where it was.
 */
export const scheduleTurn: ActivityOptions = {
  startToCloseTimeout: '5 minutes',
  heartbeatTimeout: '15 seconds',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
}
