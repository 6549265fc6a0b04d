// What was tried to deliver an email, and what the mail servers said.
import { z } from '@hono/zod-openapi'
import { listEmailAttempts } from '../../db/deliveries/reads.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { createRoutes, errorResponses, jsonBody } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { EmailAttemptList, toEmailAttempt } from './attemptSchemas.ts'

const listRoute = defineOperation({
  method: 'get',
  path: '/{id}/attempts',
  permission: 'read_mail',
  errors: 'message',
  tags: ['Emails'],
  request: { params: z.object({ id: z.string() }) },
  responses: {
    200: jsonBody(EmailAttemptList, `The newest ${limits.attemptsShownMax} attempts, oldest first`),
    ...errorResponses(404),
  },
})

export function emailAttemptRoutes({ db }: ApiDeps) {
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { id } = c.req.valid('param')
    const rows = isId('email', id)
      ? await listEmailAttempts(db, c.var.workspaceId, id, limits.attemptsShownMax)
      : undefined
    if (!rows) throw notFound(`Email ${id} not found`)
    return c.json({ attempts: rows.map(toEmailAttempt), count: rows.length }, 200)
  })

  return app
}
