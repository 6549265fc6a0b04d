// Scheduled mail: another time for it, and its end before it is sent.
import { z } from '@hono/zod-openapi'
import { cancelEmail, rescheduleEmail } from '../../commands/emails/scheduled.ts'
import { readScheduledAt } from '../../rules/mail/scheduledAt.ts'
import type { ApiDeps } from '../http/env.ts'
import { badRequest } from '../http/errors.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { orThrow } from '../http/refusals.ts'
import { emailScheduleExamples } from './scheduleExamples.ts'
import { CancelledEmail, RescheduledEmail, RescheduleEmail } from './scheduleSchemas.ts'

const params = z.object({ id: z.string().openapi({ description: 'The id of the email' }) })

const rescheduleRoute = defineOperation({
  method: 'patch',
  path: '/{id}',
  permission: 'send',
  bound: 'own',
  errors: 'message',
  tags: ['Emails'],
  operationId: 'updateEmail',
  summary: 'Reschedule an email',
  description:
    'Gives scheduled mail another time. A time that has come sends it now: the status is `queued` then, or `cancelled` if its ' +
    'domain is deleted or not verified any more. At the very moment at which it ' +
    'becomes due one of the two wins: it is sent and this is a 409, or it waits for the new time.',
  codes: ['not_found', 'email_not_scheduled'],
  example: emailScheduleExamples.reschedule,
  request: { params, body: jsonRequest(RescheduleEmail) },
  responses: {
    200: jsonBody(RescheduledEmail, 'The email waits for the new time, or is sent now'),
  },
})

const cancelRoute = defineOperation({
  method: 'post',
  path: '/{id}/cancel',
  permission: 'send',
  bound: 'own',
  errors: 'message',
  tags: ['Emails'],
  operationId: 'cancelEmail',
  summary: 'Cancel a scheduled email',
  description:
    'Nothing of it is sent, to nobody: each recipient has the event `bounced` with the subtype `Cancelled`. Once it has become due it is ' +
    'sent, and this is a 409.',
  codes: ['not_found', 'email_not_scheduled'],
  example: emailScheduleExamples.cancel,
  request: { params },
  responses: { 200: jsonBody(CancelledEmail, 'It is cancelled') },
})

export function emailScheduleRoutes(deps: ApiDeps) {
  const app = createRoutes()

  app.openapi(rescheduleRoute, async (c) => {
    const { id } = c.req.valid('param')
    const read = readScheduledAt(c.req.valid('json').scheduled_at, deps.now().getTime())
    if ('fault' in read) throw badRequest(read.fault)
    if (read.at === null) throw badRequest('scheduled_at is required')
    const asked = read.at
    return c.json(orThrow(await rescheduleEmail(deps, c.var.reach, { id, asked })), 200)
  })

  app.openapi(cancelRoute, async (c) => {
    const { id } = c.req.valid('param')
    return c.json(orThrow(await cancelEmail(deps, c.var.reach, id)), 200)
  })

  return app
}
