// Emails in bulk.
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { sendBatch, validationOf } from './batch.ts'
import { emailBatchExamples } from './batchExamples.ts'
import { EmailBatch, EmailBatchResult } from './batchSchemas.ts'

const batchRoute = defineOperation({
  method: 'post',
  path: '/batch',
  permission: 'send',
  bound: 'sender',
  errors: 'message',
  tags: ['Emails'],
  operationId: 'sendEmailBatch',
  summary: 'Send emails in bulk',
  description:
    `Accepts up to ${limits.emailsBatchMax} emails in one commit, each by the rules of \`POST /v1/emails\`. With the header ` +
    '`x-batch-validation: strict`, the default, one that is refused keeps out all: a 400 `batch_refused` whose `errors` name ' +
    'each that was. With `permissive` the others are sent: `emails` has null in the places of those that `errors` names. ' +
    'The body holds at most 1 MiB; send large mail by itself. Repeat a batch that got no answer with its `Idempotency-Key`.',
  codes: ['batch_refused', 'daily_limit'],
  parameters: [
    {
      name: 'x-batch-validation',
      in: 'header',
      required: false,
      description: '`strict`: all are sent, or none. `permissive`: those that are right are sent',
      schema: { type: 'string', enum: ['strict', 'permissive'], default: 'strict' },
    },
  ],
  example: emailBatchExamples.send,
  request: { body: jsonRequest(EmailBatch) },
  responses: {
    200: jsonBody(EmailBatchResult, 'Those with an id are committed'),
  },
})

export function emailBatchRoutes(deps: ApiDeps) {
  const app = createRoutes()
  app.openapi(batchRoute, async (c) => {
    const validation = validationOf(c.req.header('x-batch-validation'))
    const { emails, errors } = await sendBatch(
      deps,
      c.var.key,
      c.req.valid('json').emails,
      validation,
    )
    return c.json(validation === 'strict' ? { emails } : { emails, errors }, 200)
  })
  return app
}
