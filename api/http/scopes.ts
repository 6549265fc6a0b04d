// Says to the database on whose behalf a request runs: whose share its connections count in, and who waits for it.
import type { Context, MiddlewareHandler } from 'hono'
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

/**
 * Runs work for a request whose key was found, on behalf of its workspace. What is read while the answer is being taken runs
 * outside of the middleware below, and so asks for this itself.
 */
export const forWorkspace = <T>(c: Context<ApiEnv>, work: () => T): T =>
  inScope(
    { owner: { kind: 'workspace', workspaceId: c.var.workspaceId }, signal: c.req.raw.signal },
    work,
  )

/** For a request whose key was found: its workspace. Comes after the guard. */
export const keyedScope: MiddlewareHandler<ApiEnv> = (c, next) =>
  c.var.workspaceId === undefined ? next() : forWorkspace(c, next)
