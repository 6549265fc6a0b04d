// What was tried to deliver an email, and what the mail servers said.
import { createRoute, z } from '@hono/zod-openapi'
import { listEmailAttempts } from '../../db/deliveries/reads.ts'
import { isId } from '../../rules/ids.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { createRoutes, errorResponses, jsonBody } from '../http/openapi.ts'
import { EmailAttemptList, toEmailAttempt } from './attemptSchemas.ts'

/** Of one email; older ones are not shown. */
const ATTEMPTS_MAX = 200

const listRoute = createRoute({
  method: 'get',
  path: '/{id}/attempts',
  tags: ['Emails'],
  request: { params: z.object({ id: z.string() }) },
  responses: {
    200: jsonBody(EmailAttemptList, `The newest ${ATTEMPTS_MAX} attempts, oldest first`),
    ...errorResponses(404),
  },
})

export function emailAttemptRoutes({ db }: ApiDeps) {
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { id } = c.req.valid('param')
    const rows = isId('email', id)
      ? await listEmailAttempts(db, c.var.workspaceId, id, ATTEMPTS_MAX)
      : undefined
    if (!rows) throw notFound(`Email ${id} not found`)
    return c.json({ attempts: rows.map(toEmailAttempt), count: rows.length }, 200)
  })

  return app
}
