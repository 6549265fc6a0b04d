// Names that cross processes or outlive them: a rename would break replay, or orphan rows, tokens and keys.

export const taskQueues = {
  executions: 'dripline-executions',
  delivery: 'dripline-delivery',
} as const

/** Workflow functions, by the names under which Temporal keeps their histories. */
export const workflowTypes = {
  runExecution: 'runExecution',
  deliveryLane: 'deliveryLane',
  verifyDomain: 'verifyDomain',
} as const

export const activityTypes = {
  runSegment: 'runSegment',
  closeCancelled: 'closeCancelled',
  deliverShards: 'deliverShards',
  checkDomain: 'checkDomain',
} as const

export const signals = {
  /** Payload: the number of the segment whose wait an event ended. */
  eventArrived: 'eventArrived',
  /** Payload: a code of `cancelCodes`. Sent before the cancel request, which has none. */
  cancelReason: 'cancelReason',
  /** Payload: the number of lanes that are wanted now. */
  laneCount: 'laneCount',
  /** No payload: the records may have changed, look at them now. */
  checkNow: 'checkNow',
} as const

/** Why an execution was cancelled, as far as Temporal may know: what a caller writes stands in Postgres alone. */
export const cancelCodes = ['cancelled', 'unsubscribed', 'contact_deleted', 'terminated'] as const
export type CancelCode = (typeof cancelCodes)[number]

/** The code itself, and `cancelled` for every other text: older rows and signals carry what a caller wrote. */
export function toCancelCode(given: unknown): CancelCode {
  return cancelCodes.find((code) => code === given) ?? 'cancelled'
}

/** The one memo key. */
export const memoKey = 'dripline'

export const searchAttributes = {
  workspace: 'DriplineWorkspace',
  workflow: 'DriplineWorkflow',
  contact: 'DriplineContact',
  /** Set while the execution waits; `NO_DEADLINE_MS` when it waits without end. */
  waitUntil: 'DriplineWaitUntil',
} as const

/** Ids of the workflows that there is one of for each lane or domain. */
export const workflowIds = {
  lane: (lane: number) => `lane-delivery-${lane}`,
  domain: (domainId: string) => `domain-${domainId}`,
} as const

/** What a row of the outbox is for. */
export const outboxKinds = [
  'start',
  'signal',
  'cancel',
  'domain_start',
  'domain_check',
  'mail_event',
] as const
export type OutboxKind = (typeof outboxKinds)[number]

/** Channels of NOTIFY. */
export const wakeChannels = [
  'dripline_deliveries',
  'dripline_outbox',
  'dripline_mail_events',
] as const
export type WakeChannel = (typeof wakeChannels)[number]

/** Purposes of keys derived from SECRET_KEY: what one has made opens or verifies under no other. */
export const keyPurposes = ['cursor', 'dkim-key', 'tracking', 'verp'] as const
export type KeyPurpose = (typeof keyPurposes)[number]
