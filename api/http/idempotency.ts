// The Idempotency-Key of a request: whoever repeats one gets the first answer again, and nothing is done twice.
import { createHmac, hash } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'
import { type NamedRequest, once } from '../../commands/once.ts'
import { limits } from '../../rules/limits.ts'
import { isVisibleAscii } from '../../rules/visibleAscii.ts'
import { withoutSecrets } from './answerSecrets.ts'
import type { ApiDeps, ApiEnv } from './env.ts'
import { type ApiError, badRequest, conflict } from './errors.ts'

/** Says that a request with the same key is under way. */
export const keyInProgress = (): ApiError =>
  conflict(
    'Idempotency-Key: a request with this key is being done now; ask again in a moment',
    'idempotency_in_progress',
  )

/** @throws ApiError 400 `invalid_idempotency_key` */
function keyOf(c: Context<ApiEnv>): string | undefined {
  const key = c.req.header('idempotency-key')
  if (key === undefined) return undefined
  if (isVisibleAscii(key, limits.idempotencyKeyCharsMax)) return key
  throw badRequest(
    `Idempotency-Key must be 1-${limits.idempotencyKeyCharsMax} visible ASCII characters`,
    'invalid_idempotency_key',
  )
}

/**
 * Begins to name a request by its key, its path and its content. The key counts within the workspace, the path with its
 * parameters and, for an API key that is bound to one domain, that domain.
 * @returns undefined if it has no key; else `seen` takes the bytes of the body in order, and `name` is called after the last
 * @throws ApiError 400 `invalid_idempotency_key`
 */
export function nameRequest(
  c: Context<ApiEnv>,
): { seen: (piece: Buffer) => void; name: () => NamedRequest } | undefined {
  const key = keyOf(c)
  if (key === undefined) return undefined
  const { workspace_id: workspaceId, domain_id: domainId } = c.var.key
  const scope = JSON.stringify([c.req.path, domainId, key])
  const { url } = c.req
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : ''
  // With the key, so that nobody who reads the table can try out what a short body was.
  const validation = c.req.header('x-batch-validation') ?? ''
  const content = createHmac('sha256', key).update(`${query}\n${validation}\n`)
  return {
    seen: (piece) => void content.update(piece),
    name: () => ({
      workspaceId,
      keyHash: hash('sha256', scope, 'buffer'),
      fingerprint: content.digest(),
    }),
  }
}

/** Middleware: does a request with a key once, and answers its repetitions. Comes after the guard, which names it. */
export function createIdempotency(deps: Pick<ApiDeps, 'db' | 'now'>): MiddlewareHandler<ApiEnv> {
  /** Those of this process: what they read and render before their commit is not done beside them. */
  const running = new Set<string>()
  return async (c, next) => {
    const request = c.var.namedRequest
    if (!request) return next()
    const name = `${request.workspaceId} ${request.keyHash.toString('hex')}`
    if (running.has(name)) throw keyInProgress()
    running.add(name)
    try {
      const outcome = await once(deps, request, async () => {
        await next()
        return answerOf(c)
      })
      if (outcome.kind === 'in_progress') throw keyInProgress()
      if (outcome.kind === 'reused') throw keyReused()
      if (outcome.kind === 'replayed') replay(c, outcome.answer)
    } finally {
      running.delete(name)
    }
  }
}

const keyReused = () =>
  conflict(
    'Idempotency-Key: this key came with another body before; use a new key for each request',
    'idempotency_key_reused',
  )

/** The answer as it is kept. An error is not, so its body stays unread. */
async function answerOf(c: Context<ApiEnv>): Promise<{ status: number; body: string }> {
  const { status } = c.res
  if (status >= 300) return { status, body: '' }
  const { headers } = c.res
  const body = await c.res.text()
  // It can be read once only.
  c.res = undefined
  c.res = new Response(body === '' ? null : body, { status, headers })
  return { status, body: withoutSecrets(body) }
}

function replay(c: Context<ApiEnv>, { status, body }: { status: number; body: string }): void {
  // What the operation has answered meanwhile, if it was begun.
  c.res = undefined
  c.res = c.newResponse(body === '' ? null : body, status as StatusCode, {
    'Idempotent-Replayed': 'true',
    ...(body === '' ? {} : { 'Content-Type': 'application/json' }),
  })
}
