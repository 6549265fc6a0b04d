// Tables of what an execution may become: its statuses, and why one was cancelled.
import {
  type ExecutionStatus,
  executionStatuses,
  executionTransitions,
} from '../../rules/states.ts'
import { type CancelCode, cancelCodes } from '../../rules/wire.ts'
import { code, codes, markdownTable } from './markdown.ts'

const statuses: Record<ExecutionStatus, string> = {
  IN_PROGRESS:
    'It was started, or its wait is over, and its next steps run now. This takes moments, or as long as the tries of an `http_request`',
  WAITING: 'It waits at the node `current_step_id`, until `wait_until` or for an event',
  COMPLETED: 'It reached its end',
  FAILED: 'A step failed; `error` says which and why',
  CANCELLED: 'Somebody or something ended it; `cancellation_reason` says who or what',
}

const reasons: Record<CancelCode, string> = {
  cancelled:
    '`POST /v1/executions/{id}/cancel`, or a node `cancel_workflow`, without a `reason`. With one, that text stands here instead',
  unsubscribed:
    'The contact unsubscribed from the workflow, or a node `unsubscribe` did it for them, and `settings.on_unsubscribe` is `cancel`',
  contact_deleted: '`DELETE /v1/automation/contacts/{email}` erased the contact',
  terminated: 'Somebody ended the run in the Temporal Web UI',
}

/** A text of the service itself, under the code `cancelled`. */
const held = [
  code('held'),
  'Its workflow was paused and held it, and was made active again with `"held": "cancel"`',
]

function statusesTable(): string {
  return markdownTable(
    ['status', 'meaning', 'next'],
    executionStatuses.map((status) => [
      code(status),
      statuses[status],
      codes(executionTransitions[status]),
    ]),
  )
}

function reasonsTable(): string {
  return markdownTable(
    ['`cancellation_reason`', 'what happened'],
    [...cancelCodes.map((reason) => [code(reason), reasons[reason]]), held],
  )
}

export const executionTables = {
  'execution-statuses': statusesTable,
  'cancellation-reasons': reasonsTable,
}
