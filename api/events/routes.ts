// Posts automation events, which make contacts, start workflows and end waits.

import { createEventGroups } from '../../commands/events/groups.ts'
import { postAutomationEvent } from '../../commands/events/post.ts'
import { reservedEventPrefixes } from '../../rules/eventNames.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { orThrow } from '../http/refusals.ts'
import { postBatch } from './batch.ts'
import { createContactTurns } from './contactTurns.ts'
import { eventExamples } from './examples.ts'
import {
  AcceptedAutomationEvent,
  AutomationEventBatch,
  AutomationEventBatchResult,
  NewAutomationEvent,
  toAcceptedAutomationEvent,
} from './schemas.ts'

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'post_events',
  bound: 'same',
  errors: 'error',
  tags: ['Automation events'],
  operationId: 'createAutomationEvent',
  summary: 'Post an event',
  description:
    'Records what a contact did. The first event of an address makes the contact. The event starts each active ' +
    'workflow with a trigger of that name, unless its filter or its re-entry rule refuses, and it ends the waits ' +
    'for it; a 202 means that all of this is committed. An event of the past (`historical`, or a `timestamp` of more than ' +
    `${limits.eventBehindMsMax / 3_600_000} h ago) is recorded and counted, and does neither. ` +
    'Send an `event_id` of your own, and you may repeat the ' +
    'request: the second time changes nothing and gives the first answer. The `event_id` of an event with another ' +
    'name or address is a 409. Names that begin with ' +
    `${reservedEventPrefixes.map((prefix) => `\`${prefix}\``).join(', ')} are refused: the service records such ` +
    'events itself.',
  codes: ['reserved_event_name', 'event_id_reused'],
  example: eventExamples.post,
  request: { body: jsonRequest(NewAutomationEvent) },
  responses: {
    202: jsonBody(AcceptedAutomationEvent, 'Committed: what it starts and wakes follows by itself'),
  },
})

const batchRoute = defineOperation({
  method: 'post',
  path: '/batch',
  permission: 'post_events',
  bound: 'same',
  errors: 'error',
  tags: ['Automation events'],
  operationId: 'createAutomationEventBatch',
  summary: 'Post events in bulk',
  description:
    `Records up to ${limits.eventsBatchMax} events in one commit, by the same rules as one. An event that is refused is listed in ` +
    '`errors` with its place, and does not keep the others out. Events of one contact are recorded in the order of ' +
    'the request, and so are those of one `event_id`: the second is deduplicated. Repeat a batch that got no answer with its ' +
    '`Idempotency-Key`, or give each event an `event_id`.',
  example: eventExamples.batch,
  request: { body: jsonRequest(AutomationEventBatch) },
  responses: {
    202: jsonBody(
      AutomationEventBatchResult,
      'Those of `events` are committed; those of `errors` changed nothing',
    ),
  },
})

export function automationEventRoutes(deps: ApiDeps) {
  const app = createRoutes()
  const inTurn = createContactTurns()
  const posting = { ...deps, eventGroups: createEventGroups(deps) }

  app.openapi(postRoute, async (c) => {
    const { workspaceId } = c.var
    const input = c.req.valid('json')
    const post = () => postAutomationEvent(posting, workspaceId, input)
    const recorded = orThrow(await inTurn(workspaceId, input.email, post))
    return c.json(toAcceptedAutomationEvent(workspaceId, recorded), 202)
  })

  app.openapi(batchRoute, async (c) =>
    c.json(await postBatch(deps, c.var.workspaceId, c.req.valid('json').events), 202),
  )

  return app
}
