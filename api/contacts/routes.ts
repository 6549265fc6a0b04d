// Automation contacts: list, one, its properties, executions and events.
// Long because it describes six operations, and the checks of one whose order and texts the contract fixes.

import { z } from '@hono/zod-openapi'
import { eraseContact } from '../../commands/contacts/erase.ts'
import { updateContactProperties } from '../../commands/contacts/updateProperties.ts'
import { findContact, listContacts } from '../../db/contacts/reads.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { isRefusal } from '../../rules/refusals.ts'
import { shownText } from '../../rules/shown.ts'
import { AutomationEventList, toAutomationEvent } from '../events/schemas.ts'
import { readExecutionPage } from '../executions/pages.ts'
import { ExecutionList, ExecutionsQuery } from '../executions/schemas.ts'
import type { ApiDeps } from '../http/env.ts'
import { badRequest, invalidJson, notFound } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { keysInOrder } from '../http/keysInOrder.ts'
import { missingAddressRoutes } from '../http/missingAddress.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { addUnchecked, defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { contactExamples } from './examples.ts'
import { listReachedEvents } from './mailEvents.ts'
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
const params = z.object({
  email: z.string().openapi({ description: 'The address, in the URL percent-encoded once' }),
})

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'listAutomationContacts',
  summary: 'List contacts',
  description:
    'All automation contacts of the workspace, newest first, without their properties. The first event of an ' +
    'address makes a contact.',
  example: contactExamples.list,
  request: { query: PageQuery },
  responses: {
    200: jsonBody(AutomationContactList, 'Contacts, newest first'),
  },
})

const getRoute = defineOperation({
  method: 'get',
  path: '/{email}',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  tags,
  operationId: 'getAutomationContact',
  summary: 'Get a contact',
  description:
    'The contact with its properties. Percent-encode the address in the path once; a `+` in it stands for ' +
    'itself. Capitals do not matter.',
  codes: ['not_found'],
  texts: { 400: ['Email is required'] },
  example: contactExamples.get,
  request: { params },
  responses: {
    200: jsonBody(AutomationContact, 'The contact with its properties'),
  },
})

const patchRoute = defineOperation({
  method: 'patch',
  path: '/{email}',
  permission: 'manage',
  bound: 'same',
  errors: 'error',
  failureText: 'Failed to update contact metadata',
  tags,
  operationId: 'updateAutomationContact',
  summary: "Change a contact's properties",
  description:
    'Merges `properties` into the stored ones, at every depth: a key with a value is set, a key with null is ' +
    'deleted, a key that is left out stays. An array replaces the stored one whole. The contact must exist: ' +
    'send an event first. Executions see the change at their next step; triggers of the kind `property_changed` and ' +
    'what waits for a condition or a property hear of it at once. ' +
    'Whether the contact is subscribed cannot be changed here.',
  withoutCodes: ['invalid_json'],
  texts: {
    400: [
      'Email is required',
      'Invalid email format',
      'Invalid JSON payload',
      'properties must be an object',
      'properties cannot be empty',
    ],
    404: ['Contact not found. Send an event first to create the contact.'],
  },
  example: contactExamples.change,
  request: { params, body: jsonRequest(ContactProperties) },
  responses: {
    200: jsonBody(ContactPropertiesUpdated, 'Merged; null deletes a key at any depth'),
  },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{email}',
  permission: 'manage',
  bound: 'refused',
  errors: 'error',
  tags,
  operationId: 'deleteAutomationContact',
  summary: 'Erase a contact',
  description:
    'Deletes the contact with their properties and events, removes them from all audiences, cancels their executions ' +
    '(`contact_deleted`) and the mail that waits for them, of all domains. A job of the kind `erasure` then blanks their address and the ' +
    'content of their mail, in attempts, bodies of webhooks, executions and kept answers; the content of mail that goes ' +
    'to others too goes when it has ended for all within three days. No event is recorded and nothing is started; webhooks hear ' +
    '`contact.deleted` with `email` null. Opt-outs and suppressions stay, as keyed hashes.',
  codes: ['not_found'],
  texts: { 400: ['Email is required'] },
  example: contactExamples.erase,
  request: { params },
  responses: { 204: { description: 'The contact is erased; a second time it is a 404' } },
})

const executionsRoute = defineOperation({
  method: 'get',
  path: '/{email}/executions',
  permission: 'read',
  bound: 'same',
  errors: 'error',
  failureText: 'Failed to list contact executions',
  tags,
  operationId: 'listAutomationContactExecutions',
  summary: "List a contact's executions",
  description:
    'Of all workflows: those that run come first, then those that have ended, the latest end first. One that ' +
    'ends while you page may be shown a second time; none is left out.',
  codes: ['not_found'],
  texts: { 400: ['Email is required'] },
  example: contactExamples.executions,
  request: { params, query: ExecutionsQuery },
  responses: {
    200: jsonBody(ExecutionList, 'Running first, then by end, newest first'),
  },
})

const eventsRoute = defineOperation({
  method: 'get',
  path: '/{email}/events',
  permission: 'read',
  bound: 'own',
  errors: 'error',
  tags,
  operationId: 'listAutomationContactEvents',
  summary: "List a contact's events",
  description:
    'Newest first, with their properties: the events that you posted, and those that the service records, ' +
    'such as `email.delivered`, `audience.joined` and `workflow.started_manually`.',
  codes: ['not_found'],
  texts: { 400: ['Email is required'] },
  example: contactExamples.events,
  request: { params, query: PageQuery },
  responses: { 200: jsonBody(AutomationEventList, 'Newest first') },
})

const emailRequired = () => badRequest('Email is required', null)

export function automationContactRoutes(deps: ApiDeps) {
  const { db, cursors } = deps
  const app = createRoutes()

  const find = async (workspaceId: WorkspaceId, given: string) => {
    if (given.trim() === '') throw emailRequired()
    const email = normalizeContactEmail(given)
    const row = email === null ? undefined : await findContact(db, workspaceId, email)
    if (!row) throw notFound(`Contact ${shownText(given)} not found`)
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

  // The route only describes the body. It is checked by hand, because the contract fixes order and texts of the
  // checks.
  addUnchecked(app, patchRoute, async (c) => {
    const given = c.req.param('email') ?? ''
    if (given.trim() === '') throw emailRequired()
    const email = normalizeContactEmail(given)
    if (email === null) throw badRequest('Invalid email format', null)
    // The contract's text has no code.
    const text = await c.req.text().catch(() => {
      throw invalidJson(null)
    })
    const patch = { email, properties: readProperties(text) }
    orThrow(await updateContactProperties(deps, c.var.workspaceId, patch))
    const updated_properties = keysInOrder(text, 'properties')
    return c.json({ message: 'Contact properties updated', email, updated_properties }, 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const given = c.req.valid('param').email
    if (given.trim() === '') throw emailRequired()
    const email = normalizeContactEmail(given)
    const erased = email === null ? null : await eraseContact(deps, c.var.workspaceId, { email })
    if (erased === null || isRefusal(erased))
      throw notFound(`Contact ${shownText(given)} not found`)
    return c.body(null, 204)
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
      find: (page) => listReachedEvents(db, c.var.reach, contact.id, page),
      positionOf: ({ id }) => id,
      toItem: toAutomationEvent,
    })
    return c.json(page, 200)
  })

  return app
}

/** The operations of a contact with an empty address. */
export const missingContactRoutes = () =>
  missingAddressRoutes(
    'error',
    [
      { method: 'get', path: '/contacts/', permission: 'read', bound: 'same' },
      { method: 'patch', path: '/contacts/', permission: 'manage', bound: 'same' },
      { method: 'delete', path: '/contacts/', permission: 'manage', bound: 'refused' },
      { method: 'get', path: '/contacts//executions', permission: 'read', bound: 'same' },
      { method: 'get', path: '/contacts//events', permission: 'read', bound: 'own' },
    ],
    () => {
      throw emailRequired()
    },
  )
