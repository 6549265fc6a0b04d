// The table of the events that webhooks are told of.
import { webhookEventTypes } from '../../rules/webhooks/eventTypes.ts'
import { code, markdownTable } from './markdown.ts'

/** When each is told, of those that are. */
const told: Readonly<Record<string, string>> = {
  'email.scheduled': 'A mail was accepted that waits for `scheduled_at`, or got another time',
  'email.sent': 'A mail was accepted for a recipient; of scheduled mail, its time has come',
  'email.delivered': 'The mail server of the recipient has taken it',
  'email.deferred': 'A mail server has not taken it yet; it is tried again',
  'email.opened': 'Somebody opened it; machines are left out',
  'email.clicked': 'Somebody followed a link, `link`; machines are left out',
  'email.bounced': 'It came back, or could not be delivered in time: `bounce`',
  'email.complained': 'The recipient called it spam, and is suppressed by that',
  'email.unsubscribed': 'The recipient left by it',
  'email.suppressed': 'It was not sent, because the address is suppressed',
  'email.cancelled':
    'It was not sent, because it was cancelled, the recipient left, its execution was cancelled, or its domain may not send at the time for which it was scheduled',
  'contact.created': 'An automation contact was made, by an event or an execution',
  'contact.updated': 'A property of the contact has changed',
  'contact.unsubscribed':
    'The contact has left a workflow, or a node `unsubscribe` has taken them out of it or of all marketing mail',
  'contact.deleted': 'The contact was erased; `email` is null',
  'audience.joined': 'A contact was added to an audience',
  'audience.left': 'A contact was removed from an audience, which is still there',
  'domain.created': 'A sending domain was registered',
  'domain.updated': 'Its status, its settings or its DKIM keys have changed',
  'domain.deleted': 'It was deleted',
  'suppression.created': 'An address was suppressed',
  'suppression.deleted':
    'A suppression was deleted. Nobody is told of one whose contact was erased, neither when it becomes a hash nor when that is deleted',
  'workflow.activated': 'A workflow became active',
  'workflow.paused': 'It became paused',
  'workflow.updated': 'Its name or design has changed, or it is a draft again',
  'workflow.archived': 'It was deleted',
  'execution.started': 'An execution was written; its first step may be a moment away',
  'execution.waiting': 'It waits at the node `current_step_id`, until `wait_until` at the latest',
  'execution.completed': 'It has come to its end',
  'execution.failed': 'It has failed: `error`',
  'execution.cancelled': 'It was cancelled: `cancellation_reason`',
  'webhook.test': 'Somebody asked for it; it goes to one endpoint',
  'webhook.disabled': 'Another webhook was disabled, and not by hand: `disabled_reason`',
  'workspace.limit_near':
    'Four fifths of the emails that the workspace may send in a day (UTC) are used; once a day',
}

/** Types that are told, in their order. @throws Error for one that webhooks cannot ask for */
export const toldTypes = (): string[] => {
  const unknown = Object.keys(told).filter((type) => !webhookEventTypes.includes(type))
  if (unknown.length > 0) throw new Error(`these are no types: ${unknown}`)
  return webhookEventTypes.filter((type) => told[type] !== undefined)
}

/** Each type with when it is told. */
export const webhookTypesTable = (): string =>
  markdownTable(
    ['type', 'when'],
    toldTypes().map((type) => [code(type), told[type] ?? '']),
  )

/** Types that a webhook may ask for, of which nothing is told yet. */
export const webhookLaterTable = (): string =>
  webhookEventTypes
    .filter((type) => told[type] === undefined)
    .map(code)
    .join(', ')
