// Sending domains: list, get, register (operations 6 to 8).
import { createRoute, z } from '@hono/zod-openapi'
import { findDomain, listDomains } from '../../db/domains.ts'
import { isId } from '../../domain/ids.ts'
import { limits } from '../../domain/limits.ts'
import { domainRecords } from '../../mail/domainRecords.ts'
import { createDomain } from '../commands/createDomain.ts'
import { cutPage } from '../cursor.ts'
import type { ApiDeps } from '../deps.ts'
import { notFound } from '../errors.ts'
import { createRoutes, errorResponses, jsonBody, jsonRequest } from '../openapi.ts'
import {
  CreatedDomain,
  Domain,
  DomainList,
  mailSender,
  NewDomain,
  toDomain,
  toDomainListItem,
} from '../schemas/domains.ts'
import { PageQuery } from '../schemas/fields.ts'

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

const getRoute = createRoute({
  method: 'get',
  path: '/{id}',
  tags: ['Domains'],
  request: { params: z.object({ id: z.string() }) },
  responses: { 200: jsonBody(Domain, 'The domain'), ...errorResponses(404) },
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
    const { id } = c.req.valid('param')
    const row = isId('domain', id) ? await findDomain(db, c.var.workspaceId, id) : undefined
    if (!row) throw notFound(`Domain ${id} not found`)
    return c.json(toDomain(row, config), 200)
  })

  return app
}
