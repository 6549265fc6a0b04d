// Posts automation events: what creates contacts, starts workflows and ends waits.
import { createRoute } from '@hono/zod-openapi'
import { recordEvent } from '../../commands/events/post.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import {
  AcceptedAutomationEvent,
  NewAutomationEvent,
  toAcceptedAutomationEvent,
} from './schemas.ts'

const postRoute = createRoute({
  method: 'post',
  path: '/',
  tags: ['Automation events'],
  request: { body: jsonRequest(NewAutomationEvent) },
  responses: {
    202: jsonBody(AcceptedAutomationEvent, 'Committed: what it starts and wakes follows by itself'),
    ...errorResponses(400, 413, 415),
  },
})

export function automationEventRoutes(deps: ApiDeps) {
  const app = createRoutes()

  app.openapi(postRoute, async (c) => {
    const { workspaceId } = c.var
    const recorded = await recordEvent(deps, workspaceId, c.req.valid('json'))
    return c.json(toAcceptedAutomationEvent(workspaceId, recorded), 202)
  })

  return app
}
