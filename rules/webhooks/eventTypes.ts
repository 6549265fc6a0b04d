// The types of events that webhooks are told of, and how a webhook names those that it wants.

const names = {
  email: [
    'scheduled',
    'sent',
    'delivered',
    'deferred',
    'opened',
    'clicked',
    'bounced',
    'complained',
    'unsubscribed',
    'suppressed',
    'cancelled',
  ],
  contact: ['created', 'updated', 'unsubscribed', 'deleted'],
  audience: ['joined', 'left'],
  domain: ['created', 'updated', 'paused', 'deleted'],
  suppression: ['created', 'deleted'],
  workflow: ['activated', 'paused', 'updated', 'archived'],
  execution: ['started', 'waiting', 'completed', 'failed', 'cancelled'],
  broadcast: ['started', 'paused', 'completed', 'cancelled'],
  webhook: ['test', 'disabled'],
  workspace: ['limit_near'],
} as const

/** Every type, by group, in the order in which the docs list them. */
export const webhookEventTypes: readonly string[] = Object.entries(names).flatMap(([group, ends]) =>
  ends.map((end) => `${group}.${end}`),
)

const known: ReadonlySet<string> = new Set([
  '*',
  ...Object.keys(names).map((group) => `${group}.*`),
  ...webhookEventTypes,
])

/** Whether a webhook may ask for it: a type, a whole group as `email.*`, or `*`. */
export const isWebhookEvent = (text: string): boolean => known.has(text)
