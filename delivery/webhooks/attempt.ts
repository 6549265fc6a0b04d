// One try of a webhook delivery: signs, posts, and judges what came back.
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { DueWebhookDelivery, HeldWebhook } from '../../db/webhooks/lanes.ts'
import type { SettledTry } from '../../db/webhooks/settle.ts'
import { limits } from '../../rules/limits.ts'
import { judgeWebhook, type WebhookTry } from '../../rules/webhooks/outcome.ts'
import { isWebhookUrl } from '../../rules/webhooks/url.ts'
import { OutboundError } from '../../runtime/outbound.ts'
import type { WebhookDeps } from './deps.ts'
import { webhookBody, webhookHeaders } from './sign.ts'

/** How long a connection is kept for the next request. Servers close idle ones after some seconds. */
const IDLE_MS = 2_000
const IDLE_MAX = 256

const kept = { keepAlive: true, maxFreeSockets: IDLE_MAX, timeout: IDLE_MS }

/** Makes the function that tries a delivery. It never throws. */
export function createAttempt(
  deps: Pick<WebhookDeps, 'outbound' | 'secrets' | 'now' | 'config' | 'metrics' | 'log'>,
) {
  const agents = { http: new HttpAgent(kept), https: new HttpsAgent(kept) }
  const keysOf = createKeys(deps.secrets)
  return {
    async attempt(webhook: HeldWebhook, due: DueWebhookDelivery): Promise<SettledTry> {
      const began = performance.now()
      const given = await post({ ...deps, keysOf }, due, agents)
      const took_ms = Math.round(performance.now() - began)
      const verdict = judgeWebhook(given, due.attempts + 1, deps.now().getTime())
      const outcome = given.status === null ? 'unanswered' : 'refused'
      deps.metrics.tried(verdict.kind === 'succeeded' ? 'succeeded' : outcome, took_ms)
      return {
        id: due.id,
        webhook_id: webhook.id,
        epoch: webhook.epoch,
        state: stateAfter(verdict.kind),
        after_ms: verdict.kind === 'again' ? verdict.after_ms : null,
        response_status: given.status,
        response_ms: took_ms,
        is_gone: verdict.kind === 'gone',
      }
    },
    close(): void {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

function stateAfter(kind: ReturnType<typeof judgeWebhook>['kind']): SettledTry['state'] {
  if (kind === 'succeeded') return 'succeeded'
  return kind === 'again' ? 'pending' : 'failed'
}

/** Makes the function that decrypts secrets, those of one list once. @throws SecretError */
function createKeys(secrets: WebhookDeps['secrets']) {
  const known = new WeakMap<readonly Buffer[], Buffer[]>()
  return (encrypted: readonly Buffer[]): Buffer[] => {
    const keys =
      known.get(encrypted) ?? encrypted.map((secret) => secrets.decrypt('webhook', secret))
    known.set(encrypted, keys)
    return keys
  }
}

const unanswered: WebhookTry = { status: null, retryAfter: null }

async function post(
  {
    outbound,
    keysOf,
    now,
    config,
    log,
  }: Parameters<typeof createAttempt>[0] & { keysOf: ReturnType<typeof createKeys> },
  due: DueWebhookDelivery,
  agents: { http: HttpAgent; https: HttpsAgent },
): Promise<WebhookTry> {
  // It may have been made while more was allowed.
  if (!isWebhookUrl(due.url, { allowPrivate: config.allowPrivateWebhooks })) return unanswered
  const body = webhookBody(due)
  try {
    const keys = keysOf(due.secrets)
    const answer = await outbound({
      method: 'POST',
      url: new URL(due.url),
      headers: webhookHeaders({ eventId: due.event_id, body }, keys, now()),
      body,
      timeout_ms: limits.webhookTimeoutMs,
      bytesMax: limits.webhookAnswerBytesMax,
      isStatusEnough: true,
      agents,
    })
    return { status: answer.status, retryAfter: answer.headers['retry-after'] ?? null }
  } catch (err) {
    // A secret that no listed SECRET_KEY opens stands in the log; the delivery is tried again.
    if (!(err instanceof OutboundError)) log.warn({ err }, 'a webhook was not sent; tried again')
    return unanswered
  }
}
