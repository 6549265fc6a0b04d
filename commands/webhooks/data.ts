// A webhook as lists show it, which is also what events about it say.
import type { WebhookRow } from '../../db/webhooks/reads.ts'

export const toWebhookData = (row: WebhookRow) => ({
  id: row.id,
  url: row.url,
  events: row.events,
  description: row.description,
  status: row.status,
  disabled_reason: row.disabled_reason,
  created: row.created_at.getTime(),
  updated: row.updated_at.getTime(),
})
