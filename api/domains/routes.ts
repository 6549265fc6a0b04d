// Sending domains: list, get, register, check, change, rotate a key, delete.
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
import { createRoutes, jsonBody, jsonRequest } from '../http/openapi.ts'
import { defineOperation } from '../http/operation.ts'
import { readPage } from '../http/page.ts'
import { orThrow } from '../http/refusals.ts'
import { domainExamples } from './examples.ts'
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
  bound: 'own',
  errors: 'message',
  tags: ['Domains'],
  operationId: 'listDomains',
  summary: 'List domains',
  description:
    'All sending domains, newest first, with the DNS records to publish and what the last check found.',
  example: domainExamples.list,
  request: { query: PageQuery },
  responses: { 200: jsonBody(DomainList, 'Domains, newest first') },
})

const postRoute = defineOperation({
  method: 'post',
  path: '/',
  permission: 'manage',
  bound: 'refused',
  errors: 'message',
  tags: ['Domains'],
  operationId: 'createDomain',
  summary: 'Register a domain',
  description:
    'Makes a DKIM key for the domain and answers the DNS records to publish. In this answer the names are relative to ' +
    'the domain itself; `GET` gives them relative to the registrable domain, as most DNS providers want them. The ' +
    'records are looked for from 30 seconds later on, for 72 hours; `POST /v1/domains/{id}/verify` looks at once. Mail ' +
    'can be sent when `status` is `SUCCESS`.',
  codes: ['invalid_domain_name', 'domain_exists'],
  example: domainExamples.create,
  request: { body: jsonRequest(NewDomain) },
  responses: {
    201: jsonBody(CreatedDomain, 'The domain and the DNS records to publish'),
  },
})

const params = z.object({ id: z.string().openapi({ description: 'The id of the domain' }) })

const getRoute = defineOperation({
  method: 'get',
  path: '/{id}',
  permission: 'read',
  bound: 'own',
  errors: 'message',
  tags: ['Domains'],
  operationId: 'getDomain',
  summary: 'Get a domain',
  description:
    'One sending domain. `?expand=details` adds `tracking_domain` and, in `record_states`, what the last check found of ' +
    'each record: use it to find the one that is missing.',
  codes: ['not_found'],
  example: domainExamples.get,
  request: { params, query: ExpandQuery },
  responses: {
    200: jsonBody(z.union([Domain, DomainDetails]), 'The domain'),
  },
})

const verifyRoute = defineOperation({
  method: 'post',
  path: '/{id}/verify',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags: ['Domains'],
  operationId: 'verifyDomain',
  summary: 'Check DNS records now',
  description:
    'Has the records looked for at once, and answers before that is done: the answer is the domain as it was. Get the ' +
    'domain again after a few seconds. A domain that is not verified yet, or has failed, gets another 72 hours.',
  codes: ['not_found'],
  example: domainExamples.verify,
  request: { params },
  responses: {
    200: jsonBody(DomainDetails, 'The domain as it was before the check'),
  },
})

const changeRoute = defineOperation({
  method: 'patch',
  path: '/{id}',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags: ['Domains'],
  operationId: 'updateDomain',
  summary: 'Change tracking settings',
  description:
    'Changes what is given and leaves the rest. It holds for mail that is accepted from now on. A `tracking_domain` is ' +
    'used once its CNAME record, which is among `dns_records` then, was seen.',
  codes: ['not_found', 'invalid_domain_name'],
  example: domainExamples.change,
  request: { params, body: jsonRequest(DomainChange) },
  responses: {
    200: jsonBody(DomainDetails, 'The changed domain'),
  },
})

const deleteRoute = defineOperation({
  method: 'delete',
  path: '/{id}',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags: ['Domains'],
  operationId: 'deleteDomain',
  summary: 'Delete a domain',
  description:
    'Nothing can be sent from the domain any more, and API keys for it alone are revoked. Mail that was accepted before ' +
    'is still sent, but what is scheduled for later is cancelled. The name is free at once.',
  codes: ['not_found'],
  example: domainExamples.remove,
  request: { params },
  responses: {
    204: { description: 'The domain is deleted' },
  },
})

const rotateRoute = defineOperation({
  method: 'post',
  path: '/{id}/rotate-dkim',
  permission: 'manage',
  bound: 'own',
  errors: 'message',
  tags: ['Domains'],
  operationId: 'rotateDomainDkim',
  summary: 'Rotate a DKIM key',
  description:
    'Makes another key and answers its DNS record among the others. Publish it and leave the old record: the old key ' +
    'signs until the new record was seen, and its record is listed for seven more days, since mail that it signed is ' +
    'still on its way. While a key of that algorithm waits for its record no other is made, so repeating the request ' +
    'is harmless.',
  codes: ['not_found'],
  example: domainExamples.rotate,
  request: {
    params,
    body: { required: false, content: { 'application/json': { schema: RotateDkim } } },
  },
  responses: {
    200: jsonBody(DomainDetails, 'The domain with the records of both keys'),
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
      find: (page) => listDomains(db, c.var.reach, page),
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
    const found = isId('domain', id) ? await findDomain(db, c.var.reach, id) : undefined
    const row = orThrow(found ?? refuse('domain_id_not_found', { id }))
    const details = c.req.valid('query').expand === 'details'
    return c.json(details ? toDomainDetails(row, config) : toDomain(row, config), 200)
  })

  app.openapi(verifyRoute, async (c) => {
    const row = orThrow(await verifyDomain(deps, c.var.reach, c.req.valid('param')))
    return c.json(toDomainDetails(row, config), 200)
  })

  app.openapi(changeRoute, async (c) => {
    const input = { id: c.req.valid('param').id, change: c.req.valid('json') }
    const row = orThrow(await updateDomain(deps, c.var.reach, input))
    return c.json(toDomainDetails(row, config), 200)
  })

  app.openapi(deleteRoute, async (c) => {
    orThrow(await deleteDomain(deps, c.var.reach, c.req.valid('param')))
    return c.body(null, 204)
  })

  app.openapi(rotateRoute, async (c) => {
    const { algorithm = 'rsa' } = c.req.valid('json') ?? {}
    const input = { id: c.req.valid('param').id, algorithm }
    const row = orThrow(await rotateDkim(deps, c.var.reach, input))
    return c.json(toDomainDetails(row, config), 200)
  })

  return app
}
