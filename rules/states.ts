// The states of each resource and the allowed moves between them. The tables in the documentation are made from
// it.

export const workflowTransitions = {
  draft: ['draft', 'active', 'paused'],
  active: ['draft', 'active', 'paused'],
  paused: ['draft', 'active', 'paused'],
} as const

/** The state of a running execution is in Temporal; its row has only how it ended. */
export const executionTransitions = {
  IN_PROGRESS: ['WAITING', 'COMPLETED', 'FAILED', 'CANCELLED'],
  WAITING: ['IN_PROGRESS', 'CANCELLED', 'FAILED'],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
} as const

/** States of deliveries. `bounced` returns to `queued` only when an operator asks for it. */
export const deliveryTransitions = {
  queued: ['sending', 'cancelled', 'suppressed', 'bounced'],
  sending: ['data_sent', 'queued', 'deferred', 'bounced', 'unknown', 'cancelled', 'suppressed'],
  data_sent: ['delivered', 'deferred', 'bounced', 'queued', 'unknown'],
  deferred: ['sending', 'queued', 'cancelled', 'suppressed', 'bounced'],
  unknown: ['bounced'],
  delivered: ['bounced'],
  bounced: ['queued'],
  cancelled: [],
  suppressed: [],
} as const

/** The states of a new delivery. */
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

/** The states from which a delivery may move to this one. */
type StateBefore<To extends DeliveryState> = {
  [From in DeliveryState]: To extends (typeof deliveryTransitions)[From][number] ? From : never
}[DeliveryState]

/** The states from which a delivery may move to this one, in the order of the table. */
export function statesBefore<To extends DeliveryState>(to: To): StateBefore<To>[] {
  return deliveryStates.filter((from): from is StateBefore<To> => mayMove(from, to))
}

/** Whether the table allows the move. */
export function mayMove(from: DeliveryState, to: DeliveryState): boolean {
  const next: readonly DeliveryState[] = deliveryTransitions[from]
  return next.includes(to)
}

type DeliveryPhase = 'waiting' | 'under_way' | 'settled'

/**
 * What each state means for the lanes. `waiting`: waits for an attempt, and only these are claimed. `under_way`: a
 * lane has claimed it and makes an attempt. `settled`: nothing more happens without a report or an operator.
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

/** Whether a lane has claimed a delivery in that state. */
export function isUnderWay(state: DeliveryState): state is UnderWayState {
  return deliveryPhases[state] === 'under_way'
}

/** The states in which an attempt can end. */
export type AttemptEnd = Exclude<(typeof deliveryTransitions)[UnderWayState][number], UnderWayState>

/** The end states of an execution: those without a further move. */
export type EndedStatus = {
  [Status in ExecutionStatus]: [(typeof executionTransitions)[Status][number]] extends [never]
    ? Status
    : never
}[ExecutionStatus]
export const endedStatuses = executionStatuses.filter(
  (status): status is EndedStatus => executionTransitions[status].length === 0,
)

/**
 * Whether mail may be sent from a domain. A verified domain whose records have been missing for a while still may
 * send.
 */
export function maySendFrom(status: DomainStatus): boolean {
  return status === 'SUCCESS' || status === 'TEMPORARY_FAILURE'
}

/** The statuses of domains that may send. */
export const sendingStatuses = (Object.keys(domainTransitions) as DomainStatus[]).filter(
  maySendFrom,
)
