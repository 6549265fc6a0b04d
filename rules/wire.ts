// Names that Temporal, Postgres or tokens have stored. A rename would break replays, rows, tokens or keys that
// exist.

export const taskQueues = {
  executions: 'dripline-executions',
  delivery: 'dripline-delivery',
  /** Requests that nodes make of other services. */
  http: 'dripline-http',
} as const

/** Names of workflow functions in Temporal's histories. */
export const workflowTypes = {
  runExecution: 'runExecution',
  deliveryLane: 'deliveryLane',
  verifyDomain: 'verifyDomain',
  runSchedule: 'runSchedule',
  releaseHeld: 'releaseHeld',
  runJob: 'runJob',
} as const

export const activityTypes = {
  runSegment: 'runSegment',
  closeCancelled: 'closeCancelled',
  callHttp: 'callHttp',
  deliverShards: 'deliverShards',
  checkDomain: 'checkDomain',
  turnSchedule: 'turnSchedule',
  releaseHeldPage: 'releaseHeldPage',
  runJobPage: 'runJobPage',
} as const

export const signals = {
  /** Payload: the number of the segment whose wait is over before its time: by an event, a condition, a goal, an exit or a release. */
  eventArrived: 'eventArrived',
  /** Payload: a code of `cancelCodes`. Sent before the cancel request, which cannot hold a reason. */
  cancelReason: 'cancelReason',
  /** Payload: the configured number of lanes. */
  laneCount: 'laneCount',
  /** No payload: asks for a check of the DNS records now. */
  checkNow: 'checkNow',
  /** No payload: the row of the schedule has changed, or is gone. */
  scheduleChanged: 'scheduleChanged',
} as const

/** Types of failures of activities that workflow functions ask for. */
export const failureTypes = {
  /** The worker does not know a part of the design: a newer one must run the segment. */
  needsNewerWorker: 'NeedsNewerWorker',
} as const

/** Reasons of a cancellation that Temporal may store. A text that a caller wrote stays in Postgres. */
export const cancelCodes = ['cancelled', 'unsubscribed', 'contact_deleted', 'terminated'] as const
export type CancelCode = (typeof cancelCodes)[number]

/** The code, or `cancelled` for any other text: rows and signals of older releases have the caller's text. */
export function toCancelCode(given: unknown): CancelCode {
  return cancelCodes.find((code) => code === given) ?? 'cancelled'
}

/** The one memo key. */
export const memoKey = 'dripline'

export const searchAttributes = {
  workspace: 'DriplineWorkspace',
  workflow: 'DriplineWorkflow',
  contact: 'DriplineContact',
  /** Set while the execution waits; `NO_DEADLINE_MS` if it waits without a deadline. */
  waitUntil: 'DriplineWaitUntil',
} as const

/**
 * Temporal workflow ids of lanes, domains and schedules, of which each has one, and of releases of held executions, of which
 * each workflow has one at a time.
 */
export const workflowIds = {
  lane: (lane: number) => `lane-delivery-${lane}`,
  domain: (domainId: string) => `domain-${domainId}`,
  schedule: (workflowId: string, nodeId: string) => `schedule-${workflowId}-${nodeId}`,
  held: (workflowId: string) => `held-${workflowId}`,
} as const

/** What a row of the outbox is for. */
export const outboxKinds = [
  'start',
  'signal',
  'cancel',
  'domain_start',
  'domain_check',
  'schedule',
  'mail_event',
  'leave',
] as const
export type OutboxKind = (typeof outboxKinds)[number]

/**
 * What may end a worker, and so runs alone once it is suspected of that: a segment, the composing of an email, the reply to a
 * delivery.
 */
export const suspectKinds = ['segment', 'email', 'delivery'] as const
export type SuspectKind = (typeof suspectKinds)[number]

/** What ended a wait, beside an event and its time; rows hold it until the next segment. `release`: a hold is over. */
export type WaitEndedBy = 'condition' | 'goal' | 'exited' | 'max_duration' | 'moved' | 'release'

/** What becomes of the executions that a paused workflow holds, when it is active again. */
export const heldActions = ['release', 'cancel'] as const
export type HeldAction = (typeof heldActions)[number]

/** Stands in links to unsubscribe for the token of an email, in copies for people of the team: it unsubscribes nobody. */
export const copyToken = 'copy'

/** Channels of NOTIFY. */
export const wakeChannels = [
  'dripline_deliveries',
  'dripline_outbox',
  'dripline_mail_events',
  'dripline_api_keys',
] as const
export type WakeChannel = (typeof wakeChannels)[number]

/** Purposes of keys derived from SECRET_KEY. A token or text of one purpose is not valid for another. */
export const keyPurposes = [
  'address-key',
  'erasure',
  'cursor',
  'dkim-key',
  'http-request',
  'secret',
  'tracking',
  'verp',
  'webhook',
] as const
export type KeyPurpose = (typeof keyPurposes)[number]
