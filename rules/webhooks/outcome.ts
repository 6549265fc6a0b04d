// What becomes of a webhook delivery after a try, and how long an endpoint that fails again and again rests.

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Pauses after the first try that fails, the second, and so on, ms. After the last one it has failed. */
export const webhookRetries_ms: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
]

/** The longest pause that an answer may ask for with Retry-After, ms. */
const webhookRetryAfterMsMax = 24 * HOUR

/** How a try ended: the status of the answer, or null without one. */
export interface WebhookTry {
  status: number | null
  /** The header Retry-After, or null. */
  retryAfter: string | null
}

/** `gone`: the endpoint wants nothing any more. */
type WebhookVerdict =
  | { kind: 'succeeded' }
  | { kind: 'again'; after_ms: number }
  | { kind: 'failed' }
  | { kind: 'gone' }

/**
 * 2xx is success, 410 is gone; everything else is tried again, a redirect too, which is not followed.
 * @param attempts tries that have ended, this one among them
 * @param now ms, for a Retry-After that is a date
 */
export function judgeWebhook(
  { status, retryAfter }: WebhookTry,
  attempts: number,
  now: number,
): WebhookVerdict {
  if (status !== null && status >= 200 && status < 300) return { kind: 'succeeded' }
  if (status === 410) return { kind: 'gone' }
  const pause = webhookRetries_ms[attempts - 1]
  if (pause === undefined) return { kind: 'failed' }
  return { kind: 'again', after_ms: Math.max(pause, askedPause_ms(retryAfter, now)) }
}

/** 0 where nothing that can be read was asked for. */
function askedPause_ms(retryAfter: string | null, now: number): number {
  const text = retryAfter?.trim() ?? ''
  const asked = /^\d+$/.test(text) ? Number(text) * SECOND : Date.parse(text) - now
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(0, asked), webhookRetryAfterMsMax)
}

/** Failures in a row, whatever their event, after which an endpoint rests. */
export const restsAfterFailures = 10
export const firstRestMs = 5 * SECOND
export const restMsMax = 5 * MINUTE

/** How long a worker has an endpoint without renewing its lease: how long what it sent to waits when the worker dies. */
export const webhookLeaseMs = 12 * SECOND
export const webhookRenewMs = 3 * SECOND

/** Places for requests that a workspace may have in a worker though fewer are left for others. */
export const placesOfOneMin = 8
