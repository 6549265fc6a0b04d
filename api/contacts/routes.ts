// Automation contacts: list, one, its properties, executions and events (operations 15 to 19).

import { z } from '@hono/zod-openapi'
import { updateContactProperties } from '../../commands/contacts/updateProperties.ts'
import { findContact, listContacts } from '../../db/contacts/reads.ts'
import { listContactEvents } from '../../db/events/reads.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { AutomationEventList, toAutomationEvent } from '../events/schemas.ts'
import { readExecutionPage } from '../executions/pages.ts'
import { ExecutionList, ExecutionsQuery } from '../executions/schemas.ts'
import type { ApiDeps } from '../http/env.ts'
import { badRequest, notFound } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { keysInOrder } from '../http/keysInOrder.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { addUnchecked, defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { readProperties } from './parseBody.ts'
import {
  AutomationContact,
  AutomationContactList,
  ContactProperties,
  ContactPropertiesUpdated,
  toAutomationContact,
  toAutomationContactListItem,
} from './schemas.ts'

const tags = ['Automation contacts']
const params = z.object({ email: z.string() })

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  errors: 'error',
  tags,
  request: { query: PageQuery },
  responses: {
    200: jsonBody(AutomationContactList, 'Contacts, newest first'),
    ...errorResponses(400),
  },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{email}',
  permission: 'read',
  errors: 'error',
  tags,
  request: { params },
  responses: {
    200: jsonBody(AutomationContact, 'The contact with its properties'),
    ...errorResponses(400, 404),
  },
})

const patchRoute = defineOperation({
  method: 'patch',
  path: '/{email}',
  permission: 'manage',
  errors: 'error',
  failureText: 'Failed to update contact metadata',
  tags,
  request: { params, body: jsonRequest(ContactProperties) },
  responses: {
    200: jsonBody(ContactPropertiesUpdated, 'Merged; null deletes a key at any depth'),
    ...errorResponses(400, 404, 413, 415),
  },
})

const executionsRoute = defineOperation({
  method: 'get',
  path: '/{email}/executions',
  permission: 'read',
  errors: 'error',
  failureText: 'Failed to list contact executions',
  tags,
  request: { params, query: ExecutionsQuery },
  responses: {
    200: jsonBody(ExecutionList, 'Running first, then by end, newest first'),
    ...errorResponses(400, 404),
  },
})

const eventsRoute = defineOperation({
  method: 'get',
  path: '/{email}/events',
  permission: 'read',
  errors: 'error',
  tags,
  request: { params, query: PageQuery },
  responses: { 200: jsonBody(AutomationEventList, 'Newest first'), ...errorResponses(400, 404) },
})

const emailRequired = () => badRequest('Email is required', null)

export function automationContactRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const find = async (workspaceId: WorkspaceId, given: string) => {
    if (given.trim() === '') throw emailRequired()
    const email = normalizeContactEmail(given)
    const row = email === null ? undefined : await findContact(db, workspaceId, email)
    if (!row) throw notFound('Contact not found')
    return row
  }

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const scope = { list: 'automation-contacts', workspaceId }
    const page = await readPage({
      key: 'contacts',
      cursors: cursors.of<string>(scope),
      cursor: c.req.valid('query').cursor,
      find: (page) => listContacts(db, workspaceId, page),
      positionOf: ({ id }) => id,
      toItem: toAutomationContactListItem,
    })
    return c.json(page, 200)
  })

  app.openapi(getRoute, async (c) => {
    const row = await find(c.var.workspaceId, c.req.valid('param').email)
    return c.json(toAutomationContact(row), 200)
  })

  // Described by the route, but checked by hand: the contract fixes the order and the texts.
  addUnchecked(app, patchRoute, async (c) => {
    const given = c.req.param('email') ?? ''
    if (given.trim() === '') throw emailRequired()
    const email = normalizeContactEmail(given)
    if (email === null) throw badRequest('Invalid email format', null)
    const text = await c.req.text()
    const patch = { email, properties: readProperties(text) }
    orThrow(await updateContactProperties(deps, c.var.workspaceId, patch))
    const updated_properties = keysInOrder(text, 'properties')
    return c.json({ message: 'Contact properties updated', email, updated_properties }, 200)
  })

  app.openapi(executionsRoute, async (c) => {
    const { workspaceId } = c.var
    const contact = await find(workspaceId, c.req.valid('param').email)
    const { cursor, status = null } = c.req.valid('query')
    const scope = { list: 'contact-executions', workspaceId, filter: { id: contact.id, status } }
    const query = { workspaceId, by: { contactId: contact.id }, status }
    return c.json(await readExecutionPage(deps, query, { scope, cursor }), 200)
  })

  app.openapi(eventsRoute, async (c) => {
    const { workspaceId } = c.var
    const contact = await find(workspaceId, c.req.valid('param').email)
    const scope = { list: 'contact-events', workspaceId, filter: { id: contact.id } }
    const page = await readPage({
      key: 'events',
      cursors: cursors.of<string>(scope),
      cursor: c.req.valid('query').cursor,
      find: (page) => listContactEvents(db, workspaceId, contact.id, page),
      positionOf: ({ id }) => id,
      toItem: toAutomationEvent,
    })
    return c.json(page, 200)
  })

  return app
}

/** `/contacts/` has an empty address, where the mounted app sees its list: it is answered by the mount around it. */
export function missingContactRoutes() {
  const app = createRoutes()
  const missing = { path: '/contacts/', errors: 'error', responses: {}, hide: true } as const
  const routes = [
    defineOperation({ ...missing, method: 'get', permission: 'read' }),
    defineOperation({ ...missing, method: 'patch', permission: 'manage' }),
  ]
  for (const route of routes) {
    addUnchecked(app, route, () => {
      throw emailRequired()
    })
  }
  return app
}
