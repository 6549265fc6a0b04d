// One try of a webhook delivery: signs, posts, and judges what came back.
import { createSecretKey, type KeyObject } from 'node:crypto'
import type { DueWebhookDelivery, HeldWebhook, WebhookTarget } from '../../db/webhooks/lanes.ts'
import type { SettledTry } from '../../db/webhooks/settle.ts'
import { limits } from '../../rules/limits.ts'
import { judgeWebhook, type WebhookTry } from '../../rules/webhooks/outcome.ts'
import { isWebhookUrl } from '../../rules/webhooks/url.ts'
import { type OutboundAnswer, OutboundError, type OutboundRequest } from '../../runtime/outbound.ts'
import { keepConnections, type OutboundConnections } from '../../runtime/outboundConnections.ts'
import type { WebhookDeps } from './deps.ts'
import { webhookHeaders } from './sign.ts'

type Deps = Pick<WebhookDeps, 'outbound' | 'secrets' | 'now' | 'config' | 'metrics' | 'log'>

/** Makes the function that tries a delivery. It never throws. */
export function createAttempt(deps: Deps) {
  const { outbound, now, metrics, log } = deps
  const connections = keepConnections()
  const openTarget = createOpenTarget(deps)
  return {
    async attempt(webhook: HeldWebhook, due: DueWebhookDelivery): Promise<SettledTry> {
      const began = performance.now()
      let given = unanswered
      try {
        const target = openTarget(due.target)
        if (target) given = outcomeOf(await outbound(requestOf(due, target, now(), connections)))
      } catch (err) {
        // A secret that no listed SECRET_KEY opens stands in the log; the delivery is tried again.
        if (!(err instanceof OutboundError))
          log.warn({ err }, 'a webhook was not sent; tried again')
      }
      const took_ms = Math.round(performance.now() - began)
      const verdict = judgeWebhook(given, due.attempts + 1, now().getTime())
      const outcome = given.status === null ? 'unanswered' : 'refused'
      metrics.tried(verdict.kind === 'succeeded' ? 'succeeded' : outcome, took_ms)
      return {
        id: due.id,
        webhook_id: webhook.id,
        epoch: webhook.epoch,
        before: due.attempts,
        state: stateAfter(verdict.kind),
        after_ms: verdict.kind === 'again' ? verdict.after_ms : null,
        response_status: given.status,
        response_ms: took_ms,
        is_gone: verdict.kind === 'gone',
      }
    },
    close: connections.close,
  }
}

function stateAfter(kind: ReturnType<typeof judgeWebhook>['kind']): SettledTry['state'] {
  if (kind === 'succeeded') return 'succeeded'
  return kind === 'again' ? 'pending' : 'failed'
}

interface OpenTarget {
  url: URL
  keys: KeyObject[]
}

/**
 * Makes the function that opens a target, each once.
 * @returns null for a URL that is not sent to: it may have been made while more was allowed. Throws SecretError
 */
function createOpenTarget({ secrets, config }: Deps) {
  const known = new WeakMap<WebhookTarget, OpenTarget>()
  return (target: WebhookTarget): OpenTarget | null => {
    const found = known.get(target)
    if (found) return found
    if (!isWebhookUrl(target.url, { allowPrivate: config.allowPrivateWebhooks })) return null
    const keys = target.secrets.map((secret) => createSecretKey(secrets.decrypt('webhook', secret)))
    const made = { url: new URL(target.url), keys }
    known.set(target, made)
    return made
  }
}

const unanswered: WebhookTry = { status: null, retryAfter: null }

const outcomeOf = ({ status, headers }: OutboundAnswer): WebhookTry => ({
  status,
  retryAfter: headers['retry-after'] ?? null,
})

function requestOf(
  due: DueWebhookDelivery,
  { url, keys }: OpenTarget,
  now: Date,
  connections: OutboundConnections,
): OutboundRequest {
  const body = Buffer.from(due.body)
  return {
    method: 'POST',
    url,
    headers: webhookHeaders({ eventId: due.event_id, body }, keys, now),
    body,
    timeout_ms: limits.webhookTimeoutMs,
    bytesMax: limits.webhookAnswerBytesMax,
    isStatusEnough: true,
    connections,
  }
}
