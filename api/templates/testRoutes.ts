// Templates: send one as a test.
import { z } from '@hono/zod-openapi'
import { createEmailGroups } from '../../commands/emails/groups.ts'
import { sendTemplateTest } from '../../commands/templates/sendTest.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { orThrow } from '../http/refusals.ts'
import { templateExamples } from './examples.ts'
import { SentTest, TestTemplate } from './testSchemas.ts'

const testRoute = defineOperation({
  method: 'post',
  path: '/{id}/test',
  permission: 'manage',
  bound: 'sender',
  errors: 'message',
  tags: ['Templates'],
  operationId: 'testTemplate',
  summary: 'Send a template as a test',
  description:
    'Sends the current version, so a draft is seen in a real mail program before it is published. It goes from the ' +
    'template’s `from`, with `[test]` before the subject, and is a mail like any other: `GET /v1/emails/{id}` tells what ' +
    'became of it. An only recipient who is an automation contact is `contact` in the template.',
  codes: [
    'not_found',
    'invalid_template',
    'template_too_slow',
    'domain_not_found',
    'domain_not_verified',
    'daily_limit',
  ],
  example: templateExamples.test,
  request: {
    params: z.object({
      id: z.string().openapi({ description: 'The id or alias of the template' }),
    }),
    body: jsonRequest(TestTemplate),
  },
  responses: { 200: jsonBody(SentTest, 'The mail is committed') },
})

export function templateTestRoutes(deps: ApiDeps) {
  const sending = { ...deps, emailGroups: createEmailGroups(deps) }
  const app = createRoutes()

  app.openapi(testRoute, async (c) => {
    const { to, variables } = c.req.valid('json')
    const input = {
      idOrAlias: c.req.valid('param').id,
      to: [to].flat(),
      variables,
      keyId: c.var.key.id,
    }
    const { id } = orThrow(await sendTemplateTest(sending, c.var.reach, input))
    return c.json({ id }, 200)
  })

  return app
}
