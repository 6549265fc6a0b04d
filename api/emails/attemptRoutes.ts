// The delivery attempts of an email, with the SMTP conversations.
import { z } from '@hono/zod-openapi'
import { listEmailAttempts } from '../../db/deliveries/reads.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { shownText } from '../../rules/shown.ts'
import type { ApiDeps } from '../http/env.ts'
import { notFound } from '../http/errors.ts'
import { createRoutes, jsonBody } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { EmailAttemptList, toEmailAttempt } from './attemptSchemas.ts'
import { emailExamples } from './examples.ts'

const listRoute = defineOperation({
  method: 'get',
  path: '/{id}/attempts',
  permission: 'read_mail',
  bound: 'own',
  errors: 'message',
  tags: ['Emails'],
  operationId: 'listEmailAttempts',
  summary: 'List delivery attempts',
  description:
    'What was tried to deliver an email, with the SMTP conversation of each attempt. Use it to see why a mail is late ' +
    `or was refused. Of an email with many attempts the newest ${limits.attemptsShownMax} are shown; there are no further pages.`,
  codes: ['not_found'],
  example: emailExamples.attempts,
  request: { params: z.object({ id: z.string().openapi({ description: 'The id of the email' }) }) },
  responses: {
    200: jsonBody(EmailAttemptList, `The newest ${limits.attemptsShownMax} attempts, oldest first`),
  },
})

export function emailAttemptRoutes({ db }: ApiDeps) {
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { id } = c.req.valid('param')
    const rows = isId('email', id)
      ? await listEmailAttempts(db, c.var.reach, id, limits.attemptsShownMax)
      : undefined
    if (!rows) throw notFound(`Email ${shownText(id)} not found`)
    return c.json({ attempts: rows.map(toEmailAttempt), count: rows.length }, 200)
  })

  return app
}
