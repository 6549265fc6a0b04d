// States as data: each resource's states and the moves between them. The README's tables are checked against it.

export const workflowTransitions = {
  draft: ['draft', 'active', 'paused'],
  active: ['draft', 'active', 'paused'],
  paused: ['draft', 'active', 'paused'],
} as const

/** Temporal knows the states of one that lives; its row knows only how it ended. */
export const executionTransitions = {
  IN_PROGRESS: ['WAITING', 'COMPLETED', 'FAILED', 'CANCELLED'],
  WAITING: ['IN_PROGRESS', 'CANCELLED', 'FAILED'],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
} as const

/** Of the ledger. `bounced` goes back to `queued` when an operator asks for it, and never by itself. */
export const deliveryTransitions = {
  queued: ['sending', 'cancelled', 'suppressed', 'bounced'],
  sending: ['data_sent', 'queued', 'deferred', 'bounced', 'cancelled', 'suppressed'],
  data_sent: ['delivered', 'deferred', 'bounced', 'queued', 'unknown'],
  deferred: ['sending', 'queued', 'cancelled', 'suppressed', 'bounced'],
  unknown: ['bounced'],
  delivered: ['bounced'],
  bounced: ['queued'],
  cancelled: [],
  suppressed: [],
} as const

/** The states in which a delivery may be written at first. */
export const deliveryBirths = ['queued', 'suppressed'] as const

export const domainTransitions = {
  NOT_STARTED: ['PENDING'],
  PENDING: ['SUCCESS', 'FAILED'],
  SUCCESS: ['TEMPORARY_FAILURE'],
  TEMPORARY_FAILURE: ['SUCCESS', 'FAILED'],
  FAILED: ['PENDING', 'SUCCESS'],
} as const

export type WorkflowStatus = keyof typeof workflowTransitions
export type ExecutionStatus = keyof typeof executionTransitions
export type DeliveryState = keyof typeof deliveryTransitions
export type DomainStatus = keyof typeof domainTransitions

export const workflowStatuses = Object.keys(workflowTransitions) as WorkflowStatus[]
export const executionStatuses = Object.keys(executionTransitions) as ExecutionStatus[]
const deliveryStates = Object.keys(deliveryTransitions) as DeliveryState[]

/** The states that a delivery may leave for this one. */
type StateBefore<To extends DeliveryState> = {
  [From in DeliveryState]: To extends (typeof deliveryTransitions)[From][number] ? From : never
}[DeliveryState]

/** The states that a delivery may leave for this one, in the order of the table. */
export function statesBefore<To extends DeliveryState>(to: To): StateBefore<To>[] {
  return deliveryStates.filter((from): from is StateBefore<To> => mayMove(from, to))
}

/** Whether the table has the move. */
export function mayMove(from: DeliveryState, to: DeliveryState): boolean {
  const next: readonly DeliveryState[] = deliveryTransitions[from]
  return next.includes(to)
}

type DeliveryPhase = 'waiting' | 'under_way' | 'settled'

/**
 * What each state means for the lanes. `waiting`: for an attempt, and these alone are claimed. `under_way`: a lane holds
 * it and makes an attempt. `settled`: nothing more happens to it by itself.
 */
const deliveryPhases = {
  queued: 'waiting',
  sending: 'under_way',
  data_sent: 'under_way',
  deferred: 'waiting',
  unknown: 'settled',
  delivered: 'settled',
  bounced: 'settled',
  cancelled: 'settled',
  suppressed: 'settled',
} as const satisfies Record<DeliveryState, DeliveryPhase>

type StateIn<Phase extends DeliveryPhase> = {
  [State in DeliveryState]: (typeof deliveryPhases)[State] extends Phase ? State : never
}[DeliveryState]

function statesIn<Phase extends DeliveryPhase>(phase: Phase): StateIn<Phase>[] {
  return deliveryStates.filter((state): state is StateIn<Phase> => deliveryPhases[state] === phase)
}

export type WaitingState = StateIn<'waiting'>
export type UnderWayState = StateIn<'under_way'>
export const waitingStates = statesIn('waiting')
export const underWayStates = statesIn('under_way')
export const settledStates = statesIn('settled')

/** Whether a delivery in that state waits for an attempt. */
export function isWaiting(state: DeliveryState): state is WaitingState {
  return deliveryPhases[state] === 'waiting'
}

/** Whether a lane holds a delivery in that state. */
export function isUnderWay(state: DeliveryState): state is UnderWayState {
  return deliveryPhases[state] === 'under_way'
}

/** What ends an attempt: the moves out of what is under way, but for the mark before the dot. */
export type AttemptEnd = Exclude<(typeof deliveryTransitions)[UnderWayState][number], UnderWayState>

/** How an execution may end: the states that it never leaves. */
export type EndedStatus = {
  [Status in ExecutionStatus]: [(typeof executionTransitions)[Status][number]] extends [never]
    ? Status
    : never
}[ExecutionStatus]
export const endedStatuses = executionStatuses.filter(
  (status): status is EndedStatus => executionTransitions[status].length === 0,
)

/** Whether mail may be sent from a domain: one that was verified and misses its records for a while still may. */
export function maySendFrom(status: DomainStatus): boolean {
  return status === 'SUCCESS' || status === 'TEMPORARY_FAILURE'
}
