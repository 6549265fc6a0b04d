// Sending domains: list, get, register (operations 6 to 8), check, change, rotate a key, delete.
import { createRoute, z } from '@hono/zod-openapi'
import {
  changeDomain,
  deleteDomain,
  domainNotFound,
  verifyDomain,
} from '../../commands/domains/change.ts'
import { createDomain } from '../../commands/domains/create.ts'
import { rotateDkim } from '../../commands/domains/rotateDkim.ts'
import { findDomain, listDomains } from '../../db/domains/reads.ts'
import { isId } from '../../rules/ids.ts'
import { limits } from '../../rules/limits.ts'
import { domainRecords, mailSender } from '../../rules/mail/domainRecords.ts'
import { cutPage } from '../http/cursor.ts'
import type { ApiDeps } from '../http/env.ts'
import { ExpandQuery, PageQuery } from '../http/fields.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../http/openapi.ts'
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

const listRoute = createRoute({
  method: 'get',
  path: '/',
  tags: ['Domains'],
  request: { query: PageQuery },
  responses: { 200: jsonBody(DomainList, 'Domains, newest first'), ...errorResponses(400) },
})

const createRouteEntry = createRoute({
  method: 'post',
  path: '/',
  tags: ['Domains'],
  request: { body: jsonRequest(NewDomain) },
  responses: {
    201: jsonBody(CreatedDomain, 'The domain and the DNS records to publish'),
    ...errorResponses(400, 409, 413, 415),
  },
})

const params = z.object({ id: z.string() })

const getRoute = createRoute({
  method: 'get',
  path: '/{id}',
  tags: ['Domains'],
  request: { params, query: ExpandQuery },
  responses: {
    200: jsonBody(z.union([Domain, DomainDetails]), 'The domain'),
    ...errorResponses(400, 404),
  },
})

const verifyRoute = createRoute({
  method: 'post',
  path: '/{id}/verify',
  tags: ['Domains'],
  request: { params },
  responses: {
    200: jsonBody(DomainDetails, 'The records are looked at now; the domain as it is until then'),
    ...errorResponses(404),
  },
})

const changeRoute = createRoute({
  method: 'patch',
  path: '/{id}',
  tags: ['Domains'],
  request: { params, body: jsonRequest(DomainChange) },
  responses: {
    200: jsonBody(DomainDetails, 'The changed domain'),
    ...errorResponses(400, 404, 413, 415),
  },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: '/{id}',
  tags: ['Domains'],
  request: { params },
  responses: {
    204: { description: 'Nothing more is sent from it but what was accepted' },
    ...errorResponses(404),
  },
})

const rotateRoute = createRoute({
  method: 'post',
  path: '/{id}/rotate-dkim',
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
    const scope = { list: 'domains', workspaceId }
    const after = cursors.open<string>(scope, c.req.valid('query').cursor)
    const found = await listDomains(db, workspaceId, { after, limit: limits.pageSize + 1 })
    const { rows, more } = cutPage(found, limits.pageSize)
    const last = rows.at(-1)
    const cursor = more && last ? cursors.seal(scope, last.id) : null
    const domains = rows.map((row) => toDomainListItem(row, config))
    return c.json({ domains, count: rows.length, cursor }, 200)
  })

  app.openapi(createRouteEntry, async (c) => {
    const { name } = c.req.valid('json')
    const { workspaceId, key } = c.var
    const created = await createDomain(deps, { workspaceId, userId: key.user_id, name })
    const { id, status } = created
    const dns_records = domainRecords(created, 'domain', mailSender(config))
    return c.json({ id, name: created.name, status, dns_records }, 201)
  })

  app.openapi(getRoute, async (c) => {
    const id = idOf(c.req.valid('param'))
    const row = await findDomain(db, c.var.workspaceId, id)
    if (!row) throw domainNotFound(id)
    const details = c.req.valid('query').expand === 'details'
    return c.json(details ? toDomainDetails(row, config) : toDomain(row, config), 200)
  })

  app.openapi(verifyRoute, async (c) => {
    const row = await verifyDomain(deps, c.var.workspaceId, idOf(c.req.valid('param')))
    return c.json(toDomainDetails(row, config), 200)
  })

  app.openapi(changeRoute, async (c) => {
    const change = c.req.valid('json')
    const row = await changeDomain(deps, c.var.workspaceId, idOf(c.req.valid('param')), change)
    return c.json(toDomainDetails(row, config), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    await deleteDomain(deps, c.var.workspaceId, idOf(c.req.valid('param')))
    deps.keyCache.clear()
    return c.body(null, 204)
  })

  app.openapi(rotateRoute, async (c) => {
    const { algorithm = 'rsa' } = c.req.valid('json') ?? {}
    const id = idOf(c.req.valid('param'))
    const row = await rotateDkim(deps, c.var.workspaceId, id, algorithm)
    return c.json(toDomainDetails(row, config), 200)
  })

  return app
}

/** @throws ApiError 404 for what is no id of a domain */
function idOf({ id }: { id: string }): string {
  if (!isId('domain', id)) throw domainNotFound(id)
  return id
}
