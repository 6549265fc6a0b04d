// Posts automation events: what creates contacts, starts workflows and ends waits.
import { postAutomationEvent } from '../../commands/events/post.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { orThrow } from '../http/refusals.ts'
import {
  AcceptedAutomationEvent,
  NewAutomationEvent,
  toAcceptedAutomationEvent,
} from './schemas.ts'

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'post_events',
  errors: 'error',
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
    const input = c.req.valid('json')
    const recorded = orThrow(await postAutomationEvent(deps, workspaceId, input))
    return c.json(toAcceptedAutomationEvent(workspaceId, recorded), 202)
  })

  return app
}
