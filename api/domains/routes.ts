// Sending domains: list, get, register (operations 6 to 8), check, change, rotate a key, delete.
import { z } from '@hono/zod-openapi'
import { createDomain } from '../../commands/domains/create.ts'
import { deleteDomain } from '../../commands/domains/delete.ts'
import { rotateDkim } from '../../commands/domains/rotateDkim.ts'
import { updateDomain } from '../../commands/domains/update.ts'
import { verifyDomain } from '../../commands/domains/verify.ts'
import { findDomain, listDomains } from '../../db/domains/reads.ts'
import { isId } from '../../rules/ids.ts'
import { domainRecords, mailSender } from '../../rules/mail/domainRecords.ts'
import { refuse } from '../../rules/refusals.ts'
import type { ApiDeps } from '../http/env.ts'
import { ExpandQuery, PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import {
  CreatedDomain,
  Domain,
  DomainChange,
  DomainDetails,
  DomainList,
  NewDomain,
  RotateDkim,
  toDomain,
  toDomainDetails,
  toDomainListItem,
} from './schemas.ts'

const listRoute = defineOperation({
  method: 'get',
  path: '/',
  permission: 'read',
  errors: 'message',
  tags: ['Domains'],
  request: { query: PageQuery },
  responses: { 200: jsonBody(DomainList, 'Domains, newest first'), ...errorResponses(400) },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  errors: 'message',
  tags: ['Domains'],
  request: { body: jsonRequest(NewDomain) },
  responses: {
    201: jsonBody(CreatedDomain, 'The domain and the DNS records to publish'),
    ...errorResponses(400, 409, 413, 415),
  },
})

const params = z.object({ id: z.string() })

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  errors: 'message',
  tags: ['Domains'],
  request: { params, query: ExpandQuery },
  responses: {
    200: jsonBody(z.union([Domain, DomainDetails]), 'The domain'),
    ...errorResponses(400, 404),
  },
})

const verifyRoute = defineOperation({
  method: 'post',
  path: '/{id}/verify',
  permission: 'manage',
  errors: 'message',
  tags: ['Domains'],
  request: { params },
  responses: {
    200: jsonBody(DomainDetails, 'The records are looked at now; the domain as it is until then'),
    ...errorResponses(404),
  },
})

const changeRoute = defineOperation({
  method: 'patch',
  path: '/{id}',
  permission: 'manage',
  errors: 'message',
  tags: ['Domains'],
  request: { params, body: jsonRequest(DomainChange) },
  responses: {
    200: jsonBody(DomainDetails, 'The changed domain'),
    ...errorResponses(400, 404, 413, 415),
  },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  errors: 'message',
  tags: ['Domains'],
  request: { params },
  responses: {
    204: { description: 'Nothing more is sent from it but what was accepted' },
    ...errorResponses(404),
  },
})

const rotateRoute = defineOperation({
  method: 'post',
  path: '/{id}/rotate-dkim',
  permission: 'manage',
  errors: 'message',
  tags: ['Domains'],
  request: {
    params,
    body: { required: false, content: { 'application/json': { schema: RotateDkim } } },
  },
  responses: {
    200: jsonBody(DomainDetails, 'With the records of the new key and of the one that signs still'),
    ...errorResponses(400, 404, 413, 415),
  },
})

export function domainRoutes(deps: ApiDeps) {
  const { db, config, cursors } = deps
  const app = createRoutes()

  app.openapi(listRoute, async (c) => {
    const { workspaceId } = c.var
    const page = await readPage({
      key: 'domains',
      cursors: cursors.of<string>({ list: 'domains', workspaceId }),
      cursor: c.req.valid('query').cursor,
      find: (page) => listDomains(db, workspaceId, page),
      positionOf: ({ id }) => id,
      toItem: (row) => toDomainListItem(row, config),
    })
    return c.json(page, 200)
  })

  app.openapi(postRoute, async (c) => {
    const { workspaceId, key } = c.var
    const input = { name: c.req.valid('json').name, createdBy: key.user_id }
    const created = orThrow(await createDomain(deps, workspaceId, input))
    const { id, name, status } = created
    const dns_records = domainRecords(created, 'domain', mailSender(config))
    return c.json({ id, name, status, dns_records }, 201)
  })

  app.openapi(getRoute, async (c) => {
    const { id } = c.req.valid('param')
    const found = isId('domain', id) ? await findDomain(db, c.var.workspaceId, id) : undefined
    const row = orThrow(found ?? refuse('domain_id_not_found', { id }))
    const details = c.req.valid('query').expand === 'details'
    return c.json(details ? toDomainDetails(row, config) : toDomain(row, config), 200)
  })

  app.openapi(verifyRoute, async (c) => {
    const row = orThrow(await verifyDomain(deps, c.var.workspaceId, c.req.valid('param')))
    return c.json(toDomainDetails(row, config), 200)
  })

  app.openapi(changeRoute, async (c) => {
    const input = { id: c.req.valid('param').id, change: c.req.valid('json') }
    const row = orThrow(await updateDomain(deps, c.var.workspaceId, input))
    return c.json(toDomainDetails(row, config), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    orThrow(await deleteDomain(deps, c.var.workspaceId, c.req.valid('param')))
    return c.body(null, 204)
  })

  app.openapi(rotateRoute, async (c) => {
    const { algorithm = 'rsa' } = c.req.valid('json') ?? {}
    const input = { id: c.req.valid('param').id, algorithm }
    const row = orThrow(await rotateDkim(deps, c.var.workspaceId, input))
    return c.json(toDomainDetails(row, config), 200)
  })

  return app
}
