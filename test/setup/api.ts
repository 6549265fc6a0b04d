// The API in this process, over a database of its own: what the tests of routes talk to.

import { randomBytes } from 'node:crypto'
import { Connection } from '@temporalio/client'
import { afterAll, inject } from 'vitest'
import { createApp } from '../../api/http/app.ts'
import { createCursors } from '../../api/http/cursor.ts'
import type { ApiDeps } from '../../api/http/env.ts'
import { type CreateApiKeyInput, createApiKey } from '../../commands/api-keys/create.ts'
import { insertVerifiedDomain } from '../../dev/verifiedDomain.ts'
import type { JsonObject } from '../../rules/json.ts'
import type { DomainStatus } from '../../rules/states.ts'
import type { WakeChannel } from '../../rules/wire.ts'
import { parseConfig } from '../../runtime/config.ts'
import { createNewId } from '../../runtime/ids.ts'
import { createLog } from '../../runtime/log.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { createTemporalReads } from '../../runtime/temporalReads.ts'
import { createTestDatabase } from './database.ts'

export interface Answer<T> {
  status: number
  headers: Headers
  /** Parsed JSON; `{}` where the body is empty or no JSON. */
  body: T
  text: string
}

export interface TestApiOptions {
  /** Over the test's own environment. */
  env?: Record<string, string>
  /** The Temporal namespace that executions are read from. */
  namespace?: string
  now?: () => Date
}

/**
 * The application with a workspace `test`, its user Ada Lovelace and a key with full access. Temporal is the
 * run's server, reached when something reads from it. Call it at the top of a file or in `beforeAll`.
 */
export async function createTestApi(options: TestApiOptions = {}) {
  const { db, pool, url } = await createTestDatabase()
  const now = options.now ?? (() => new Date())
  const config = parseConfig({
    NODE_ENV: 'test',
    DATABASE_URL: url,
    SECRET_KEY: randomBytes(32).toString('base64'),
    SMTP_URL: 'smtp://127.0.0.1:1',
    PUBLIC_URL: 'https://api.mail.test',
    EHLO_NAME: 'mx.mail.test',
    ...options.env,
  })
  const secrets = createSecrets(config.secretKey)
  const connection = Connection.lazy({ address: inject('temporalAddress') })
  afterAll(() => connection.close())
  /** Channels that were woken, in order. */
  const woken: WakeChannel[] = []
  const deps: Omit<ApiDeps, 'keysRevoked'> = {
    db,
    config,
    log: createLog('test', 'silent'),
    now,
    newId: createNewId(now),
    temporal: createTemporalReads(connection, options.namespace ?? 'default'),
    wake: (channel) => void woken.push(channel),
    secrets,
    cursors: createCursors(secrets),
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
   * One request with the workspace's key. A body that is a text is sent as it is, everything else as JSON;
   * headers come over the usual ones, and one that is '' is left out.
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
    return { status: response.status, headers: response.headers, body: parse<T>(text), text }
  }

  return { db, pool, url, app, deps, key, keyId, workspaceId, userId, createKey, woken, request }
}

export type TestApi = Awaited<ReturnType<typeof createTestApi>>

function parse<T>(text: string): T {
  try {
    return JSON.parse(text) as T
  } catch {
    return {} as T
  }
}

/** A domain, ready to send from unless another status is asked for; its key signs nothing. @returns its id */
export async function insertTestDomain(
  { deps, workspaceId, userId }: Pick<TestApi, 'deps' | 'workspaceId' | 'userId'>,
  name: string,
  status: DomainStatus = 'SUCCESS',
): Promise<string> {
  const domain = { workspaceId, userId, name, selector: 'test', status }
  return (await insertVerifiedDomain(deps, domain, { key: 'none' })).domainId
}
