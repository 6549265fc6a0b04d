// Paths whose `{email}` is empty, which no route with a parameter matches: a 400, and not the 404 of a path that there is not.
import type { Handler } from 'hono'
import type { ApiEnv } from './env.ts'
import type { ErrorShape } from './errors.ts'
import { createRoutes } from './openapi.ts'
import { addUnchecked, defineOperation, type OperationRules } from './operation.ts'

type MissingAddress = Pick<OperationRules, 'permission' | 'bound'> & {
  method: 'get' | 'patch' | 'delete'
  /** With nothing where the address belongs: `/contacts/`, `/contacts//events`. */
  path: string
}

/**
 * Operations that are not described, and that refuse. An app that is mounted at the path before the address would take `/`
 * for itself, so the app outside of it has these routes.
 * @param refused throws what is answered
 */
export function missingAddressRoutes(
  errors: ErrorShape,
  paths: readonly MissingAddress[],
  refused: Handler<ApiEnv>,
) {
  const app = createRoutes()
  for (const each of paths) {
    const route = defineOperation({
      ...each,
      errors,
      operationId: 'missingAddress',
      summary: 'An address is missing',
      description: 'Answers 400.',
      example: {},
      responses: {},
      hide: true,
    })
    addUnchecked(app, route, refused)
  }
  return app
}

/** Whether a route is one of them. */
export const lacksAddress = ({ path }: { path: string }): boolean =>
  path.endsWith('/') || path.includes('//')
