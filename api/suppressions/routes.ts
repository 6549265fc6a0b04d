// The suppression list: addresses that this workspace no longer writes to.
import { z } from '@hono/zod-openapi'
import { suppressAddress } from '../../commands/suppressions/create.ts'
import { unsuppressAddress } from '../../commands/suppressions/delete.ts'
import { listSuppressions, type SuppressionPosition } from '../../db/suppressions/reads.ts'
import { normalizeContactEmail } from '../../rules/addresses.ts'
import { limits } from '../../rules/limits.ts'
import type { ApiDeps } from '../http/env.ts'
import { emailRequired, invalidEmail } from '../http/errors.ts'
import { PageQuery } from '../http/fields.ts'
import { missingAddressRoutes } from '../http/missingAddress.ts'
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { suppressionExamples } from './examples.ts'
import { NewSuppression, Suppression, SuppressionList, toSuppression } from './schemas.ts'
import { withReachedSources } from './sources.ts'

const tags = ['Suppressions']

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'listSuppressions',
  summary: 'List suppressed addresses',
  description:
    'The addresses that nothing is sent to now, newest first. Those that have run out are not shown. One whose contact was ' +
    'erased is kept as a keyed hash: its `email` is null.',
  example: suppressionExamples.list,
  request: { query: PageQuery },
  responses: {
    200: jsonBody(SuppressionList, 'Those that hold now, newest first'),
  },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags,
  operationId: 'createSuppression',
  summary: 'Suppress an address',
  description:
    'Nothing is sent to the address from now on, until you delete it here. A mail to it is accepted and recorded as ' +
    '`bounced`, with the subtype `OnAccountSuppressionList`. Bounces that say that the address is gone, and complaints, add ' +
    'addresses by themselves, and so does a full or busy mailbox on ' +
    `${limits.softBounceDays} days, for ${limits.softBounceSuppressedDays} days. An address that is suppressed for good already stays as it is (200).`,
  example: suppressionExamples.create,
  request: { body: jsonRequest(NewSuppression) },
  responses: {
    200: jsonBody(Suppression, 'The address was suppressed already'),
    201: jsonBody(Suppression, 'The address is suppressed from now on'),
  },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{email}',
  permission: 'manage',
  bound: 'same',
  errors: 'message',
  tags,
  operationId: 'deleteSuppression',
  summary: 'Delete a suppression',
  description:
    'The address may be written to again. Percent-encode it once. Do this when you know that the mailbox works: the ' +
    'next bounce that says that it is gone suppresses the address again.',
  codes: ['email_required', 'invalid_email', 'not_found'],
  example: suppressionExamples.remove,
  request: {
    params: z.object({
      email: z
        .string()
        .openapi({ description: 'Percent-encoded once; upper and lower case are the same' }),
    }),
  },
  responses: {
    204: { description: 'The address may be written to again' },
  },
})

export function suppressionRoutes(deps: ApiDeps) {
  const { db, cursors, now } = deps
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const page = await readPage({
      key: 'suppressions',
      cursors: cursors.of<SuppressionPosition>({ list: 'suppressions', workspaceId }),
      cursor: c.req.valid('query').cursor,
      find: async (page) => {
        const rows = await listSuppressions(db, workspaceId, { ...page, now: now() })
        return withReachedSources(db, c.var.reach, rows)
      },
      positionOf: ({ created_at, place }) => ({ created_ms: created_at.getTime(), email: place }),
      toItem: toSuppression,
    })
    return c.json(page, 200)
  })

  app.openapi(postRoute, async (c) => {
    const email = emailOf(c.req.valid('json').email)
    const { row, created } = await suppressAddress(deps, c.var.workspaceId, { email })
    const [shown = row] = await withReachedSources(db, c.var.reach, [row])
    return c.json(toSuppression(shown), created ? 201 : 200)
  })

  app.openapi(deleteRoute, async (c) => {
    const email = emailOf(c.req.valid('param').email)
    orThrow(await unsuppressAddress(deps, c.var.workspaceId, { email }))
    return c.body(null, 204)
  })

  return app
}

/** The deletion with an empty address. */
export const missingSuppressionRoutes = () =>
  missingAddressRoutes(
    'message',
    [{ method: 'delete', path: '/suppressions/', permission: 'manage', bound: 'same' }],
    () => {
      throw emailRequired()
    },
  )

function emailOf(given: string): string {
  if (given.trim() === '') throw emailRequired()
  const email = normalizeContactEmail(given)
  if (email === null) throw invalidEmail(given)
  return email
}
