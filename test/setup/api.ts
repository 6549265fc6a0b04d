// The API in the test's process over its own database, for tests of routes.

import { Connection } from '@temporalio/client'
import { Registry } from 'prom-client'
import { afterAll, inject } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { createCursors } from '../../api/http/cursor.ts'
import type { AppDeps } from '../../api/http/env.ts'
import { createApiMetrics } from '../../api/http/metrics.ts'
import { type CreateApiKeyInput, createApiKey } from '../../commands/api-keys/create.ts'
import { prepareOptOuts } from '../../commands/opt-outs/prepare.ts'
import { apiSettings } from '../../db/settings.ts'
import { createDatabaseLook } from '../../db/spare.ts'
import { insertVerifiedDomain } from '../../dev/verifiedDomain.ts'
import { createRenderer } from '../../mail/content/renderer.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { DomainStatus } from '../../rules/states.ts'
import type { WakeChannel } from '../../rules/wire.ts'
import { parseConfig } from '../../runtime/config.ts'
import { createNewId } from '../../runtime/ids.ts'
import { createLog } from '../../runtime/log.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { createTemporalReads } from '../../runtime/temporalReads.ts'
import { createOperationFinder, faultOfAnswer } from './contract.ts'
import { createTestDatabase } from './database.ts'
import { readOperations } from './openapi.ts'
import { TEST_SECRET_KEY } from './processes.ts'

export interface Answer<T> {
  status: number
  headers: Headers
  /** Parsed JSON; `{}` if the body is empty or not JSON. */
  body: T
  text: string
}

export interface TestApiOptions {
  /** Overrides variables of the test's environment. */
  env?: Record<string, string>
  /** Temporal namespace from which executions are read. */
  namespace?: string
  now?: () => Date
}

let findOperation: ReturnType<typeof createOperationFinder> | undefined

/**
 * The operation of a request. The description is read once for each file, because it is the same for every
 * application.
 */
async function operationOf(app: ReturnType<typeof createApp>, method: string, path: string) {
  findOperation ??= createOperationFinder(await readOperations({ app }))
  return findOperation(method, path)
}

/**
 * Makes the application with a workspace `test`, its user Ada Lovelace and a key with full access. Temporal is the
 * server of the test run, connected on first use. Call it at the top of a file or in `beforeAll`.
 */
export async function createTestApi(options: TestApiOptions = {}) {
  const { db, pool, url } = await createTestDatabase({ settings: apiSettings, shared: true })
  const now = options.now ?? (() => new Date())
  const config = parseConfig({
    NODE_ENV: 'test',
    DATABASE_URL: url,
    SECRET_KEY: TEST_SECRET_KEY,
    SMTP_URL: 'smtp://127.0.0.1:1',
    PUBLIC_URL: 'https://api.mail.test',
    EHLO_NAME: 'mx.mail.test',
    ...options.env,
  })
  const secrets = createSecrets(config.secretKey)
  const newId = createNewId(now)
  const connection = Connection.lazy({ address: inject('temporalAddress') })
  afterAll(() => connection.close())
  const log = createLog('test', 'silent')
  const registry = new Registry()
  const renderer = createRenderer(log)
  afterAll(() => renderer.close())
  /** Channels that were woken, in order. */
  const woken: WakeChannel[] = []
  const deps: AppDeps = {
    db,
    config,
    log,
    now,
    newId,
    temporal: createTemporalReads(connection, options.namespace ?? 'default'),
    isDatabaseThere: createDatabaseLook(pool),
    wake: (channel) => void woken.push(channel),
    secrets,
    addressMac: await prepareOptOuts({ db, secrets, now, newId, wake: () => undefined }),
    renderer,
    cursors: createCursors(secrets),
    apiMetrics: createApiMetrics(registry),
  }
  const app = createApp(deps)
  const createKey = (input: Partial<CreateApiKeyInput> = {}) =>
    createApiKey(deps, {
      workspaceName: 'test',
      name: 'test',
      user: { email: 'ada@owner.test', firstName: 'Ada', lastName: 'Lovelace' },
      ...input,
    })
  const { token: key, workspaceId, userId, keyId } = await createKey()

  /**
   * Makes one request with the workspace's key. A string body is sent as it is, anything else as JSON. `headers`
   * override the usual ones; an empty one is left out.
   * @throws Error if the answer does not match the interface description
   */
  async function request<T = JsonObject>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    const given = {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    const content = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await app.request(path, {
      method,
      headers: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '')),
      ...(body === undefined ? {} : { body: content }),
    })
    const text = await response.text()
    const { status } = response
    const answer = { status, headers: response.headers, body: parse<T>(text), text }
    const operation = await operationOf(app, method, path)
    const fault = operation ? faultOfAnswer(operation, answer) : ''
    if (fault) throw new Error(`${method} ${path}: ${status} is not as described: ${fault}`)
    return answer
  }

  return {
    db,
    pool,
    url,
    app,
    deps,
    registry,
    key,
    keyId,
    workspaceId,
    userId,
    createKey,
    woken,
    request,
  }
}

export type TestApi = Awaited<ReturnType<typeof createTestApi>>

function parse<T>(text: string): T {
  try {
    return JSON.parse(text) as T
  } catch {
    return {} as T
  }
}

/** Inserts a domain, verified unless `status` says otherwise. Its key cannot sign. @returns its id */
export async function insertTestDomain(
  { deps, workspaceId, userId }: Pick<TestApi, 'deps' | 'workspaceId' | 'userId'>,
  name: string,
  status: DomainStatus = 'SUCCESS',
): Promise<string> {
  const domain = { workspaceId, userId, name, selector: 'test', status }
  return (await insertVerifiedDomain(deps, domain, { key: 'none' })).domainId
}
