// Contacts of an audience: list, add, change, remove, in batches too.

import { z } from '@hono/zod-openapi'
import { removeAudienceContact } from '../../commands/audiences/removeContact.ts'
import { updateAudienceContact } from '../../commands/audiences/updateContact.ts'
import { upsertAudienceContacts } from '../../commands/audiences/upsertContacts.ts'
import { listAudienceContacts } from '../../db/audiences/contactReads.ts'
import { findAudience } from '../../db/audiences/reads.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import { isId } from '../../rules/ids.ts'
import { refuse } from '../../rules/refusals.ts'
import { addressCursors } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { emailRequired, invalidEmail } from '../http/errors.ts'
import { ExpandQuery, PageQuery } from '../http/fields.ts'
import { missingAddressRoutes } from '../http/missingAddress.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { postContactBatch } from './contactBatch.ts'
import { audienceContactExamples } from './contactExamples.ts'
import {
  AudienceContact,
  AudienceContactBatch,
  AudienceContactBatchResult,
  AudienceContactChange,
  AudienceContactList,
  NewAudienceContact,
  toAudienceContact,
} from './contactSchemas.ts'

const tags = ['Audience contacts']
const params = z.object({
  audienceId: z.string().openapi({ description: 'The id of the audience' }),
})
const contactParams = params.extend({
  email: z.string().openapi({ description: 'The address, in the URL percent-encoded once' }),
})
const PATH = '/{audienceId}/contacts'

const listRoute = defineOperation({
  method: 'get',
  path: PATH,
  permission: 'read',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'listAudienceContacts',
  summary: "List an audience's contacts",
  description: 'By address, from a to z. `?expand=details` adds their properties.',
  codes: ['not_found'],
  example: audienceContactExamples.list,
  request: { params, query: PageQuery.extend(ExpandQuery.shape) },
  responses: {
    200: jsonBody(AudienceContactList, 'Contacts by address'),
  },
})

const postRoute = defineOperation({
  method: 'post',
  path: PATH,
  permission: 'manage',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'createAudienceContact',
  summary: 'Add an audience contact',
  description:
    'Adds the address to the audience (201). When it is there already, changes the contact (200): fields that ' +
    'are left out stay. If the address is an automation contact, joining records its event `audience.joined`, ' +
    'which may start workflows. Joining makes no automation contact. Somebody who has unsubscribed themselves (by a link, a mail, a ' +
    'complaint) stays unsubscribed: `is_subscribed: true` is refused, and without it they are added with false.',
  codes: ['not_found', 'opted_out'],
  example: audienceContactExamples.add,
  request: { params, body: jsonRequest(NewAudienceContact) },
  responses: {
    200: jsonBody(AudienceContact, 'The contact was known and is changed'),
    201: jsonBody(AudienceContact, 'The contact is new'),
  },
})

const batchRoute = defineOperation({
  method: 'post',
  path: `${PATH}/batch`,
  permission: 'manage',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'createAudienceContactBatch',
  summary: 'Add audience contacts in bulk',
  description:
    'Adds or changes many contacts in one commit, by the same rules as one. An item that is not valid ' +
    'is listed in `errors` with its place, and does not keep the others out. An address may occur more than ' +
    'once.',
  codes: ['not_found'],
  example: audienceContactExamples.batch,
  request: { params, body: jsonRequest(AudienceContactBatch) },
  responses: {
    200: jsonBody(
      AudienceContactBatchResult,
      'What became of each; the faulty ones change nothing',
    ),
  },
})

const patchRoute = defineOperation({
  method: 'patch',
  path: `${PATH}/{email}`,
  permission: 'manage',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'updateAudienceContact',
  summary: 'Change an audience contact',
  description:
    'Changes the fields that are given; the others stay. Properties are merged. The address itself cannot be ' +
    'changed: add the new one and remove the old one. `is_subscribed: true` is refused for somebody who has unsubscribed themselves.',
  codes: ['not_found', 'email_required', 'invalid_email', 'opted_out'],
  example: audienceContactExamples.change,
  request: { params: contactParams, body: jsonRequest(AudienceContactChange) },
  responses: {
    200: jsonBody(AudienceContact, 'The contact'),
  },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: `${PATH}/{email}`,
  permission: 'manage',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'deleteAudienceContact',
  summary: 'Remove an audience contact',
  description:
    'Removes the address from this audience alone. If it is an automation contact, its event `audience.left` ' +
    'is recorded.',
  codes: ['not_found', 'email_required', 'invalid_email'],
  example: audienceContactExamples.remove,
  request: { params: contactParams },
  responses: { 204: { description: 'The contact left' } },
})

export function audienceContactRoutes(deps: ApiDeps) {
  const { db } = deps
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const { audienceId: id } = c.req.valid('param')
    const { cursor, expand } = c.req.valid('query')
    const page = await readPage({
      key: 'contacts',
      cursors: addressCursors,
      cursor,
      // The cursor is checked before the audience is looked up.
      find: async (page) => {
        const known = isId('audience', id) && (await findAudience(db, workspaceId, id))
        orThrow(known || refuse('audience_not_found', { id }))
        return listAudienceContacts(db, workspaceId, id, page)
      },
      positionOf: ({ email }) => email,
      toItem: ({ properties, ...row }) =>
        expand === 'details' ? toAudienceContact(row, properties) : toAudienceContact(row),
    })
    return c.json(page, 200)
  })

  app.openapi(postRoute, async (c) => {
    const { audienceId } = c.req.valid('param')
    const input = { audienceId, contacts: [c.req.valid('json')], isSingle: true }
    const [result] = orThrow(await upsertAudienceContacts(deps, c.var.workspaceId, input))
    if (!result) throw new Error('no result for a contact')
    const { row, created } = orThrow(result)
    return c.json(toAudienceContact(row), created ? 201 : 200)
  })

  app.openapi(batchRoute, async (c) => {
    const { audienceId } = c.req.valid('param')
    const { contacts } = c.req.valid('json')
    return c.json(await postContactBatch(deps, c.var.workspaceId, audienceId, contacts), 200)
  })

  app.openapi(patchRoute, async (c) => {
    const contact = contactOf(c.req.valid('param'))
    const input = { ...contact, change: c.req.valid('json') }
    const row = orThrow(await updateAudienceContact(deps, c.var.workspaceId, input))
    return c.json(toAudienceContact(row), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const contact = contactOf(c.req.valid('param'))
    orThrow(await removeAudienceContact(deps, c.var.workspaceId, contact))
    return c.body(null, 204)
  })

  return app
}

/** The operations of a contact with an empty address, in an audience that there is. */
export const missingAudienceContactRoutes = ({ db }: Pick<ApiDeps, 'db'>) =>
  missingAddressRoutes(
    'message',
    [
      { method: 'patch', path: `${PATH}/`, permission: 'manage', bound: 'same' },
      { method: 'delete', path: `${PATH}/`, permission: 'manage', bound: 'same' },
    ],
    async (c) => {
      const id = c.req.param('audienceId') ?? ''
      const known = isId('audience', id) && (await findAudience(db, c.var.workspaceId, id))
      orThrow(known || refuse('audience_not_found', { id }))
      throw emailRequired()
    },
  )

/**
 * Checks the two path parameters. @throws ApiError 404 if the first is not an id of an audience, then 400 if the
 * second is not an address
 */
function contactOf({ audienceId, email: given }: { audienceId: string; email: string }) {
  if (!isId('audience', audienceId)) orThrow(refuse('audience_not_found', { id: audienceId }))
  if (given.trim() === '') throw emailRequired()
  const email = normalizeContactEmail(given)
  if (email === null) throw invalidEmail(given)
  return { audienceId, email }
}
