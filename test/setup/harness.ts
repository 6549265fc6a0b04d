// The whole service for one test: database, namespace, SMTP sink, API and worker as real processes, a key, a domain.

import { onTestFinished } from 'vitest'
import { createApiKey } from '../../commands/api-keys/create.ts'
import type { Db } from '../../db/connect.ts'
import { insertVerifiedDomain } from '../../dev/verifiedDomain.ts'
import { createNewId } from '../../runtime/ids.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import type { TestDatabase } from './database.ts'
import { createTestNamespace, type TestNamespace } from './namespace.ts'
import { startApi, startWorker, TEST_SECRET_KEY, type TestProcess } from './processes.ts'
import { startSmtp } from './smtp.ts'

export const now = () => new Date()
export const newId = createNewId(now)

export interface Answer<T> {
  status: number
  headers: Headers
  body: T
}

/** A client of the API with a key. */
export function createClient(url: () => string, key: string) {
  return async <T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> => {
    const response = await fetch(url() + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? null : JSON.parse(text)) as T,
    }
  }
}

/** Makes a key of a new workspace with the verified domain `sender.test`. */
export async function seedWorkspace(db: Db) {
  const { token, workspaceId, userId } = await createApiKey(
    { db, newId, now },
    { workspaceName: newId('workspace'), name: 'test' },
  )
  const { domainId, publicKey } = await insertVerifiedDomain(
    { db, newId, now, secrets: createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64')) },
    { workspaceId, userId, name: 'sender.test', selector: 'drip' },
  )
  return { key: token, workspaceId, userId, domainId, publicKey }
}

/**
 * Starts the whole service. Everything is stopped after the test. Leases are long enough that no worker that lives loses
 * one on a busy machine; who kills workers says how long theirs are.
 */
export async function createHarness(
  { url: databaseUrl, db }: Pick<TestDatabase, 'url' | 'db'>,
  options: { env?: Record<string, string>; workers?: number; temporal?: TestNamespace } = {},
) {
  const { address, namespace } = options.temporal ?? (await createTestNamespace())
  const [workspace, smtp] = await Promise.all([seedWorkspace(db), startSmtp()])
  onTestFinished(() => smtp.stop())
  const service = {
    databaseUrl,
    temporalAddress: address,
    temporalNamespace: namespace,
    smtpUrl: smtp.url,
    env: { API_METRICS_PORT: '0', LEASE_SECONDS: '10', DRAIN_SECONDS: '3', ...options.env },
  }
  const [api, ...workers] = await Promise.all([
    startApi(service),
    ...Array.from({ length: options.workers ?? 1 }, () => startWorker(service)),
  ])
  const request = createClient(() => api.url, workspace.key)
  return { ...workspace, db, smtp, api, workers: workers as TestProcess[], service, request }
}
