// The table of the libraries that run in production, from package.json and what each says of its licence.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { code, markdownTable } from './markdown.ts'

const TOP = join(import.meta.dirname, '..', '..')

/** What each is used for. */
const purposes: Readonly<Record<string, string>> = {
  '@hono/node-server': 'HTTP server of Node for Hono',
  '@hono/zod-openapi': 'routes with their schemas, and the interface description made from them',
  '@scalar/fastify-api-reference': 'the page at `/docs`',
  '@temporalio/activity': 'Temporal: activities',
  '@temporalio/client': 'Temporal: starts, signals and reads',
  '@temporalio/common': 'Temporal: shared types',
  '@temporalio/proto': 'Temporal: its protocol',
  '@temporalio/worker': 'Temporal: workers',
  '@temporalio/workflow': 'Temporal: workflow functions',
  hono: 'HTTP routes and middleware',
  htmlparser2: 'plain text of html, and where its links are',
  kysely: 'typed SQL',
  liquidjs: 'templates',
  'lru-cache': 'caches that forget what is not asked for longest',
  nodemailer: 'MIME with attachments and uncommon addresses',
  pg: 'Postgres',
  pino: 'logs',
  'postal-mime': 'reads reports that come by mail',
  'prom-client': 'metrics',
  protobufjs: 'needed by the Temporal packages',
  'smtp-server': 'the listener for bounces',
  'temporal-polyfill':
    'time zones: the `Temporal` of JavaScript, until every Node that is supported has it',
  tldts: 'which part of a domain name somebody can register',
  undici: 'requests to webhooks, and those of nodes',
  zod: 'schemas of requests, settings and node kinds',
}

/**
 * Each with its use and its licence.
 * @throws Error for a dependency that has no purpose here, and for a purpose whose dependency is gone
 */
export function librariesTable(): string {
  const { dependencies } = readPackage('package.json')
  const names = Object.keys(dependencies ?? {})
  const unlike = [
    ...names.filter((name) => !Object.hasOwn(purposes, name)),
    ...Object.keys(purposes).filter((name) => !names.includes(name)),
  ]
  if (unlike.length > 0) throw new Error(`package.json and dev/docs/libraries.ts differ: ${unlike}`)
  const rows = names.map((name) => {
    const { license = '' } = readPackage(join('node_modules', name, 'package.json'))
    return [code(name), purposes[name] ?? '', license]
  })
  return markdownTable(['library', 'used for', 'licence'], rows)
}

function readPackage(path: string): { dependencies?: Record<string, string>; license?: string } {
  return JSON.parse(readFileSync(join(TOP, path), 'utf8'))
}
