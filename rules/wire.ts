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
  eventArrived: 'eventArrived',
  cancelReason: 'cancelReason',
  laneCount: 'laneCount',
  checkNow: 'checkNow',
} as const

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
export const outboxKinds = ['start', 'signal', 'cancel', 'domain_start', 'domain_check'] as const
export type OutboxKind = (typeof outboxKinds)[number]

/** Channels of NOTIFY. */
export const wakeChannels = ['dripline_deliveries', 'dripline_outbox'] as const
export type WakeChannel = (typeof wakeChannels)[number]

/** Purposes of keys derived from SECRET_KEY: what one has made opens or verifies under no other. */
export const keyPurposes = ['cursor', 'dkim-key', 'tracking', 'verp'] as const
export type KeyPurpose = (typeof keyPurposes)[number]
