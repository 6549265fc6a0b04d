// The states of webhooks and of their deliveries, and why a webhook is disabled.

export const webhookStatuses = ['enabled', 'disabled'] as const
export type WebhookStatus = (typeof webhookStatuses)[number]

/**
 * `manual`: by the API. `gone`: the endpoint has answered 410. `failing`: nothing has succeeded for five days. `backlog`: too much
 * was pending.
 */
export const disabledReasons = ['manual', 'gone', 'failing', 'backlog'] as const
export type DisabledReason = (typeof disabledReasons)[number]

export const deliveryStatuses = ['pending', 'succeeded', 'failed'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]
