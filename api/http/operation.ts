// What holds for an operation stands at its route: permission, shape of errors, size of its body. Nothing matches on paths.

import { createRoute, type OpenAPIHono, type RouteConfig } from '@hono/zod-openapi'
import type { Context, Handler, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { limits } from '../../rules/limits.ts'
import type { Need } from '../../rules/permissions.ts'
import type { ApiEnv } from './env.ts'
import type { ErrorShape } from './errors.ts'

/** What an operation says of itself. */
export interface OperationRules {
  /** What it needs of the key that calls it. */
  permission: Need
  errors: ErrorShape
  /** Of its body at most; `limits.requestBytesMax` when left out. */
  bodyBytesMax?: number
  /** The contract's text for an unforeseen failure, where it has one. */
  failureText?: string
}

/** What a mount says of the paths and methods below it that are no operation. */
export interface MountRules {
  /** What a request there needs of its key, by whether it only reads; null: no key. */
  permission: { read: Need; write: Need } | null
  errors: ErrorShape
}

/** The rules of an operation with what it left out. */
type CompleteRules = OperationRules & { bodyBytesMax: number }

/** The rules that hold for one request. */
type RulesOfRequest = Omit<CompleteRules, 'permission'> & {
  /** null: no key is asked for. */
  permission: Need | null
}

type Described<P extends string> = Omit<RouteConfig, 'path'> & { path: P }

const ofOperations = new WeakMap<object, CompleteRules>()
const ofMounts = new WeakMap<object, MountRules>()

const everywhere: MountRules = {
  permission: { read: 'read', write: 'manage' },
  errors: 'message',
}

/** The route of an operation with its rules. */
export function defineOperation<P extends string, R extends Described<P> & OperationRules>(
  operation: R,
) {
  const { permission, errors, bodyBytesMax, failureText, ...described } = operation
  const rules = {
    bodyBytesMax: bodyBytesMax ?? limits.requestBytesMax,
    permission,
    errors,
    ...(failureText === undefined ? {} : { failureText }),
  }
  const route = { ...described, middleware: mark(ofOperations, rules) }
  // The type is that of what was given: to a handler the mark would be a middleware with variables of its own.
  return createRoute<P, R>(route as unknown as R)
}

/**
 * Adds an operation whose body is checked by its handler, since the contract fixes the order of the checks: described
 * by its route, but no validator answers before.
 */
export function addUnchecked(
  app: OpenAPIHono<ApiEnv>,
  route: RouteConfig & { getRoutingPath(): string },
  handler: Handler<ApiEnv>,
): void {
  const { middleware, hide, ...described } = route
  if (!hide) app.openAPIRegistry.registerPath(described)
  app.on([route.method], [route.getRoutingPath()], ...[middleware ?? []].flat(), handler)
}

/** A middleware that says the rules of all that is mounted below it and is no operation. */
export const mountMark = (rules: MountRules): MiddlewareHandler => mark(ofMounts, rules)

/** The rules of the operation that a request is for; where there is none, those of the innermost mount. */
export function rulesOf(c: Context): RulesOfRequest {
  let mount = everywhere
  for (const { handler } of matchedRoutes(c)) {
    const rules = ofOperations.get(handler)
    if (rules) return rules
    mount = ofMounts.get(handler) ?? mount
  }
  const reads = c.req.method === 'GET' || c.req.method === 'HEAD'
  const permission = mount.permission?.[reads ? 'read' : 'write'] ?? null
  return { permission, errors: mount.errors, bodyBytesMax: limits.requestBytesMax }
}

/** Every operation of an application by its method and path, with its rules. */
export function listOperations(
  app: OpenAPIHono<ApiEnv>,
): ({ method: string; path: string } & CompleteRules)[] {
  return app.routes.flatMap(({ method, path, handler }) => {
    const rules = ofOperations.get(handler)
    return rules ? [{ method, path, ...rules }] : []
  })
}

function mark<T>(marks: WeakMap<object, T>, rules: T): MiddlewareHandler {
  const pass: MiddlewareHandler = (_c, next) => next()
  marks.set(pass, rules)
  return pass
}
