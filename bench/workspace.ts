// Makes the workspace of a benchmark, with an API key and a verified domain, and workflows through the API's
// route.

import { Registry } from 'prom-client'
import { createApp } from '../api/http/app.ts'
import { createCursors } from '../api/http/cursor.ts'
import { createApiMetrics } from '../api/http/metrics.ts'
import { createApiKey } from '../commands/api-keys/create.ts'
import type { RequestKey } from '../commands/api-keys/keyCache.ts'
import { prepareOptOuts } from '../commands/opt-outs/prepare.ts'
import { connect, type Db } from '../db/connect.ts'
import { insertVerifiedDomain } from '../dev/verifiedDomain.ts'
import { createRenderer } from '../mail/content/renderer.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import type { AddressMac } from '../rules/mac.ts'
import { parseConfig } from '../runtime/config.ts'
import { createNewId } from '../runtime/ids.ts'
import { createLog } from '../runtime/log.ts'
import { createSecrets } from '../runtime/secrets.ts'
import type { TemporalReads } from '../runtime/temporalReads.ts'
import { SECRET_KEY } from './servers.ts'

const POOL_SIZE = 4

export interface Workspace {
  db: Db
  /** Bearer token. */
  token: string
  key: RequestKey
  workspaceId: WorkspaceId
  userId: string
  domainId: string
  addressMac: AddressMac
  close(): Promise<void>
}

const now = () => new Date()
const secrets = createSecrets(Buffer.from(SECRET_KEY, 'base64'))
export const newId = createNewId(now)

/** The MAC function of a database of these benchmarks. */
export const addressMacOf = (db: Db): Promise<AddressMac> =>
  prepareOptOuts({ db, now, newId, secrets, wake: () => undefined })

/** Makes the workspace in a migrated database, with one verified domain. */
export async function createWorkspace(
  databaseUrl: string,
  { name = 'bench', domain = 'sender.test' }: { name?: string; domain?: string } = {},
): Promise<Workspace> {
  const { db } = connect({
    url: databaseUrl,
    poolSize: POOL_SIZE,
    name: 'bench-seed',
    onIdleError: () => undefined,
  })
  const addressMac = await addressMacOf(db)
  const created = await createApiKey({ db, newId, now }, { workspaceName: name, name })
  const { token, keyId, workspaceId, userId } = created
  const { domainId } = await insertVerifiedDomain(
    { db, newId, now, secrets },
    { workspaceId, userId, name: domain, selector: 'bench' },
  )
  return {
    db,
    addressMac,
    token,
    key: {
      id: keyId,
      workspace_id: workspaceId,
      user_id: userId,
      permission: 'full_access',
      domain_id: null,
      expires_at: null,
      token_hash: Buffer.alloc(32),
    },
    workspaceId,
    userId,
    domainId,
    close: () => db.destroy(),
  }
}

/** The API refused to make a workflow active, since its design has problems. */
export class DesignRefused extends Error {}

/**
 * Makes an active workflow through the API's route in this process.
 * @returns its id
 * @throws DesignRefused
 */
export async function createWorkflow(
  { db, token, addressMac }: Workspace,
  databaseUrl: string,
  input: { name: string; design: object },
): Promise<string> {
  const config = parseConfig({
    DATABASE_URL: databaseUrl,
    SECRET_KEY,
    SMTP_URL: 'smtp://127.0.0.1:1',
  })
  const renderer = createRenderer(createLog('bench', 'silent'))
  const app = createApp({
    db,
    config,
    log: createLog('bench', 'silent'),
    now,
    newId,
    temporal: noTemporal,
    isDatabaseThere: async () => true,
    wake: () => undefined,
    secrets,
    addressMac,
    renderer,
    cursors: createCursors(secrets),
    apiMetrics: createApiMetrics(new Registry()),
  })
  const response = await app.request('/v1/workflows', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...input, status: 'active' }),
  })
  const body = (await response.json()) as { workflow_id?: string; code?: string }
  if (!body.workflow_id) {
    const text = `POST /v1/workflows: ${response.status} ${JSON.stringify(body)}`
    throw body.code === 'invalid_design' ? new DesignRefused(text) : new Error(text)
  }
  return body.workflow_id
}

const unused = () => Promise.reject(new Error('no Temporal here'))
const noTemporal: TemporalReads = {
  namespace: 'none',
  describe: unused,
  listRunning: unused,
  listEndedOutside: unused,
  check: unused,
}
