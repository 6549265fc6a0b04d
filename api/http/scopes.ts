// Says to the database on whose behalf a request runs: whose share its connections count in, and who waits for it.
import type { MiddlewareHandler } from 'hono'
import { inScope } from '../../db/scope.ts'
import type { ApiEnv } from './env.ts'

/**
 * For routes without a key, whose requests share one owner. What is below `/v1/` passes: its key is looked up on
 * behalf of the process, also for those who share the look-up, and whether or not the first of them stays.
 */
export const publicScope: MiddlewareHandler<ApiEnv> = (c, next) =>
  c.req.path.startsWith('/v1/')
    ? next()
    : inScope({ owner: { kind: 'anonymous' }, signal: c.req.raw.signal }, next)

/** For a request whose key was found: its workspace. Comes after the guard. */
export const keyedScope: MiddlewareHandler<ApiEnv> = (c, next) => {
  const { workspaceId } = c.var
  return workspaceId === undefined
    ? next()
    : inScope({ owner: { kind: 'workspace', workspaceId }, signal: c.req.raw.signal }, next)
}
