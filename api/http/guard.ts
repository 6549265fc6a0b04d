// Enforces the rules of a route before its operation: key, limit of requests, permission, room for an answer, media type, Idempotency-Key,
// body, in this order.

import type { HttpBindings } from '@hono/node-server'
import type { Context, MiddlewareHandler } from 'hono'
import { type KeyCache, reachOf } from '../../commands/api-keys/keyCache.ts'
import { mayCall, permittedBy } from '../../rules/permissions.ts'
import { type AnswerRules, createAnswers } from './answers.ts'
import { createKeyFinder } from './auth.ts'
import { requireJson } from './bodies/mediaType.ts'
import { createBodyReader } from './bodies/read.ts'
import type { BodyRules } from './bodies/rules.ts'
import { createClientIp, peerOf } from './clientIp.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { ApiError } from './errors.ts'
import { nameRequest } from './idempotency.ts'
import { rulesOf } from './operation.ts'
import type { RequestLimit } from './requestLimit.ts'

/**
 * Middleware for every `/v1` path, also for unknown ones.
 * @throws ApiError 403 for the key, 429 `rate_limited`, 403 `restricted_api_key` for its permission, 503 while answers are not read, 415,
 * 400 for the Idempotency-Key, and what
 * reading a body throws
 */
export function createGuard(
  deps: Pick<ApiDeps, 'db' | 'now' | 'log' | 'wake' | 'config' | 'apiMetrics'>,
  keyCache: KeyCache,
  limitRequest: RequestLimit,
  limits: BodyRules & AnswerRules,
): MiddlewareHandler<ApiEnv> {
  const findKey = createKeyFinder(deps, keyCache)
  const bodies = createBodyReader(limits)
  const answers = createAnswers(limits)
  const clientIp = createClientIp(deps.config.trustedProxies)
  const addressOf = (c: Context<ApiEnv>) =>
    clientIp(peerOf(c), c.req.header('x-forwarded-for')) ?? ''
  deps.apiMetrics.watch({ bodies: bodies.budget.state, answers: answers.state })
  return async (c, next) => {
    const rules = rulesOf(c)
    const reads = c.req.method === 'GET' || c.req.method === 'HEAD'
    c.set('errors', rules.errors)
    if (rules.permission !== null) {
      const key = await findKey(c.req.header('authorization'), addressOf(c))
      await limitRequest(c, key)
      if (!mayCall(key.permission, rules.permission)) {
        const text = `This API key has the permission ${key.permission}; this needs ${permittedBy(rules.permission).join(' or ')}`
        throw new ApiError(403, 'restricted_api_key', text)
      }
      if (key.domain_id !== null && rules.bound === 'refused') {
        const text = 'This API key is for one domain; this needs a key for the whole workspace'
        throw new ApiError(403, 'restricted_api_key', text)
      }
      c.set('key', key)
      c.set('workspaceId', key.workspace_id)
      c.set('reach', reachOf(key))
      const { outgoing } = (c.env ?? {}) as Partial<HttpBindings>
      // What is rendered may be as large as what is read. Other changes do not wait: a leaked key must be revoked.
      const waits = reads || rules.permission === 'render'
      await answers.begin(key.workspace_id, outgoing, waits)
    }
    requireJson(c)
    if (rules.failureText !== undefined) c.set('failureText', rules.failureText)
    if (rules.permission === null || reads) return next()
    const named = rules.idempotent ? nameRequest(c) : undefined
    const body = await bodies.read(c, c.var.workspaceId, { ...rules, seen: named?.seen })
    if (named && !rules.changesNothing) c.set('namedRequest', named.name())
    // What is not JSON is said when the operation asks for it: some check their path first.
    c.req.text = async () => body.text()
    c.req.json = async <T>() => body.json() as T
    try {
      // A body may take minutes: a key that was revoked meanwhile does nothing any more.
      await findKey(c.req.header('authorization'), addressOf(c))
      await next()
    } finally {
      body.release()
    }
  }
}
