// The rules of an operation, which its route declares: permission, error shape, size of the body.

import { createRoute, type OpenAPIHono, type RouteConfig, z } from '@hono/zod-openapi'
import type { Context, Handler, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { limits } from '../../rules/limits.ts'
import type { Need } from '../../rules/permissions.ts'
import type { LargeFields } from './bodies/splitter.ts'
import type { ApiEnv } from './env.ts'
import type { ErrorCode } from './errorCodes.ts'
import { errorResponses } from './errorResponses.ts'
import type { ErrorShape } from './errors.ts'
import { withIdempotencyKey } from './idempotencyHeaders.ts'

/**
 * What an operation is to a key that is bound to one domain. `same`: what it reads or changes is the workspace's.
 * `own`: what is of another domain does not exist. `sender`: it may make nothing that sends from another domain.
 * `carries`: what it makes is for its domain too. `refused`: it may not be called.
 */
export type BoundEffect = 'same' | 'own' | 'sender' | 'carries' | 'refused'

/** The rules of an operation. */
export interface OperationRules {
  /** The permission that the API key needs. */
  permission: Need
  /** What changes for a key that is bound to one domain. */
  bound: BoundEffect
  errors: ErrorShape
  /** The largest body; `limits.requestBytesMax` if absent. */
  bodyBytesMax?: number
  /** The fields whose texts may be large: of a body over `limits.requestBytesMax` they come as `LargeText`. */
  largeFields?: LargeFields
  /** Whether it takes an Idempotency-Key; if absent, a POST does. */
  idempotent?: boolean
  /** It answers, and nothing is different afterwards: done again it answers the same, so no answer is kept for its Idempotency-Key. */
  changesNothing?: boolean
  /** The contract's text for an unexpected failure, if it has one. */
  failureText?: string
}

/** One request to an operation and its answer, as the interface description shows them; a test asks for it. */
export interface OperationExample {
  /** By their names in the path. */
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: unknown
  /** Absent where the answer has no body. */
  answer?: unknown
}

/** What the interface description says of an operation. */
export interface OperationGuide {
  /**
   * What generated clients call it: a verb and the resource, `sendEmail`. It is for good: another name breaks programs that
   * were written with the first.
   */
  operationId: string
  /** What it does, in three to six words. */
  summary: string
  /** Markdown: when to use it, what it promises, what surprises. */
  description: string
  /** The errors of its own. Those for keys, bodies, queries, cursors and failures are added. */
  codes?: readonly ErrorCode[]
  /** Those of the added ones that it cannot answer. */
  withoutCodes?: readonly ErrorCode[]
  /** Texts of the contract that come without a code, by status. */
  texts?: Readonly<Partial<Record<number, readonly string[]>>>
  example: OperationExample
}

/** The rules of paths and methods below a mount that are not an operation. */
export interface MountRules {
  /** The permission that a reading or writing request needs there; null: no key is needed. */
  permission: { read: Need; write: Need } | null
  errors: ErrorShape
}

/** The rules of an operation with defaults. */
type CompleteRules = OperationRules & {
  bodyBytesMax: number
  idempotent: boolean
  changesNothing: boolean
}

/** The rules that hold for one request. */
type RulesOfRequest = Omit<CompleteRules, 'permission'> & {
  /** null: no key is needed. */
  permission: Need | null
}

/** Where an operation's example stands until the description is put together (`describe.ts`). */
export const EXAMPLE = 'x-example'

type Described<P extends string> = Omit<RouteConfig, 'path'> & { path: P }

const ofOperations = new WeakMap<object, CompleteRules>()
const ofMounts = new WeakMap<object, MountRules>()

const everywhere: MountRules = {
  permission: { read: 'read', write: 'manage' },
  errors: 'message',
}

/** The route of an operation with its rules. */
export function defineOperation<
  P extends string,
  R extends Described<P> & OperationRules & OperationGuide,
>(operation: R) {
  const { permission, bound, errors, bodyBytesMax, largeFields, failureText, ...further } =
    operation
  const { idempotent = operation.method === 'post', changesNothing = false, ...guided } = further
  const { codes, withoutCodes, texts, example, ...described } = guided
  const rules = {
    bodyBytesMax: bodyBytesMax ?? limits.requestBytesMax,
    permission,
    bound,
    errors,
    idempotent,
    changesNothing,
    ...(largeFields === undefined ? {} : { largeFields }),
    ...(failureText === undefined ? {} : { failureText }),
  }
  const { body, query } = described.request ?? {}
  const facts = {
    errors,
    codes: codes ?? [],
    withoutCodes: withoutCodes ?? [],
    texts: texts ?? {},
    failureText,
    idempotent,
    changesNothing,
    hasBody: body !== undefined,
    hasQuery: query !== undefined,
    hasCursor: query instanceof z.ZodObject && 'cursor' in query.shape,
  }
  const responses = { ...described.responses, ...errorResponses(facts) }
  const route = {
    ...(idempotent ? withIdempotencyKey({ ...described, responses }) : { ...described, responses }),
    [EXAMPLE]: example,
    middleware: mark(ofOperations, rules),
  }
  // The type is that of the given route; otherwise a handler would see the mark as a middleware with variables.
  return createRoute<P, R>(route as unknown as R)
}

/**
 * Adds an operation whose handler checks the body, because the contract fixes the order of the checks. The route
 * describes the body, and no validator runs before the handler.
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

/** A middleware that sets the rules of everything below a mount that is not an operation. */
export const mountMark = (rules: MountRules): MiddlewareHandler => mark(ofMounts, rules)

/** The rules of a request's operation; if there is none, those of the innermost mount. */
export function rulesOf(c: Context): RulesOfRequest {
  let mount = everywhere
  for (const { handler } of matchedRoutes(c)) {
    const rules = ofOperations.get(handler)
    if (rules) return rules
    mount = ofMounts.get(handler) ?? mount
  }
  const reads = c.req.method === 'GET' || c.req.method === 'HEAD'
  const permission = mount.permission?.[reads ? 'read' : 'write'] ?? null
  return {
    permission,
    bound: 'same',
    errors: mount.errors,
    bodyBytesMax: limits.requestBytesMax,
    idempotent: false,
    changesNothing: false,
  }
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
