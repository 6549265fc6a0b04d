// The tables of what each kind of API key may do and call, from the rules that decide it.
import type { ApiDeps } from '../../api/http/env.ts'
import { lacksAddress } from '../../api/http/missingAddress.ts'
import { createRoutes } from '../../api/http/openapi.ts'
import { type BoundEffect, listOperations } from '../../api/http/operation.ts'
import { mountV1 } from '../../api/routes.ts'
import { mayCall, type Need, permissions } from '../../rules/permissions.ts'
import { code, markdownTable } from './markdown.ts'

/** In the words of a reader; a need that is added does not compile without its words. */
const words: Readonly<Record<Need, string>> = {
  send: 'send mail',
  read_status: 'read what became of a mail by its id',
  read_mail: 'list sent mail, read its content and attempts',
  post_events: 'post events',
  render: 'render templates',
  read_keys: 'list keys',
  read: 'read all else',
  manage: 'change all else',
}

/** Each permission, with a mark for each thing that it allows. */
export function permissionsTable(): string {
  const needs = Object.keys(words) as Need[]
  const rows = permissions.map((permission) => [
    code(permission),
    ...needs.map((need) => (mayCall(permission, need) ? 'yes' : '')),
  ])
  return markdownTable(['permission', ...needs.map((need) => words[need])], rows)
}

/** What an operation is to a key that is bound to one domain, in the words of a reader. */
const boundWords: Readonly<Record<BoundEffect, string>> = {
  same: 'the same',
  own: "its domain's",
  sender: 'sends from its domain',
  carries: 'makes keys for its domain',
  refused: 'refused',
}

/**
 * Every operation with a mark for each permission that may call it. Those below a path that ends in a slash are left
 * out: they only say that something is missing from the path.
 */
export function keyOperationsTable(): string {
  const app = createRoutes()
  // No request is made here, so no route needs what it depends on.
  mountV1(app, {} as ApiDeps)
  const rows = listOperations(app)
    .filter((operation) => !lacksAddress(operation))
    .map(({ method, path, permission, bound }) => [
      code(`${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
      ...permissions.map((each) => (mayCall(each, permission) ? 'yes' : '')),
      boundWords[bound],
    ])
  return markdownTable(['operation', ...permissions.map(code), 'for one domain'], rows)
}
