// States as data: each resource's states and the moves between them. The README's tables are checked against it.

export const workflowTransitions = {
  draft: ['draft', 'active', 'paused'],
  active: ['draft', 'active', 'paused'],
  paused: ['draft', 'active', 'paused'],
} as const

export const executionTransitions = {
  IN_PROGRESS: ['WAITING', 'COMPLETED', 'FAILED', 'CANCELLED'],
  WAITING: ['IN_PROGRESS', 'CANCELLED', 'FAILED'],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
} as const

export const deliveryTransitions = {
  queued: ['sending', 'bounced', 'cancelled', 'suppressed'],
  sending: ['data_sent', 'deferred', 'bounced', 'queued'],
  data_sent: ['delivered', 'deferred', 'bounced', 'unknown'],
  deferred: ['sending', 'queued', 'bounced'],
  unknown: ['queued', 'bounced'],
  delivered: ['bounced'],
  bounced: [],
  cancelled: [],
  suppressed: [],
} as const

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

/** Whether mail may be sent from a domain: one that was verified and misses its records for a while still may. */
export function maySendFrom(status: string): boolean {
  return status === 'SUCCESS' || status === 'TEMPORARY_FAILURE'
}
