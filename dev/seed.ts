// What a first start finds: a workspace with a key, a verified domain and a workflow that shows itself.

import { createApiKey } from '../commands/api-keys/create.ts'
import { hashApiKey } from '../commands/api-keys/token.ts'
import { findApiKeyByHash } from '../db/api-keys/reads.ts'
import { connect } from '../db/connect.ts'
import { findDomainByName } from '../db/domains/reads.ts'
import { upsertUser, upsertWorkspace } from '../db/workspaces/writes.ts'
import type { WorkspaceId } from '../rules/ids.ts'
import { createNewId } from '../runtime/ids.ts'
import { createSecrets } from '../runtime/secrets.ts'
import { insertVerifiedDomain } from './verifiedDomain.ts'

const WORKSPACE = 'demo'
const DOMAIN = 'demo.test'
const OWNER = { email: 'owner@demo.test', firstName: 'Demo', lastName: 'Owner' }

export interface SeedOptions {
  databaseUrl: string
  /** base64 of 32 bytes */
  secretKey: string
  /** The key that an earlier start made; used again while it lives. */
  knownKey: string | undefined
}

/** Makes what is missing. @returns a live API key of the workspace */
export async function seed({ databaseUrl, secretKey, knownKey }: SeedOptions): Promise<string> {
  const { db } = connect({
    url: databaseUrl,
    poolSize: 2,
    name: 'dripline-seed',
    onIdleError: () => undefined,
  })
  const now = () => new Date()
  const newId = createNewId(now)
  try {
    const workspace = await upsertWorkspace(db, {
      id: newId('workspace'),
      name: WORKSPACE,
      created_at: now(),
    })
    const user = await upsertUser(db, {
      id: newId('user'),
      workspace_id: workspace.id,
      email: OWNER.email,
      first_name: OWNER.firstName,
      last_name: OWNER.lastName,
      created_at: now(),
    })
    const deps = { db, newId, now: now(), secrets: createSecrets(Buffer.from(secretKey, 'base64')) }
    await ensureDomain(deps, { workspaceId: workspace.id, userId: user.id })
    const known = knownKey && (await findApiKeyByHash(db, hashApiKey(knownKey), now()))
    if (knownKey && known && known.workspace_id === workspace.id) return knownKey
    const input = { workspaceName: WORKSPACE, name: 'npm start', user: OWNER }
    const { token } = await createApiKey({ db, newId, now }, input)
    return token
  } finally {
    await db.destroy()
  }
}

async function ensureDomain(
  deps: Parameters<typeof insertVerifiedDomain>[0],
  owner: { workspaceId: WorkspaceId; userId: string },
): Promise<void> {
  const found = await findDomainByName(deps.db, owner.workspaceId, DOMAIN)
  // Nothing outside knows .test: the domain counts as checked.
  if (!found) await insertVerifiedDomain(deps, { ...owner, name: DOMAIN, selector: 'drip1' })
}
