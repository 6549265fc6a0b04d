// Makes the data of a first start: a workspace with a key, a verified domain and a demonstration workflow.

import { createApiKey } from '../../commands/api-keys/create.ts'
import { hashApiKey } from '../../commands/api-keys/token.ts'
import { ensureWorkspace } from '../../commands/workspaces/ensure.ts'
import { findApiKeysByHashes } from '../../db/api-keys/reads.ts'
import { connect } from '../../db/connect.ts'
import { findDomainByName } from '../../db/domains/reads.ts'
import { createNewId } from '../../runtime/ids.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { insertVerifiedDomain } from '../verifiedDomain.ts'

const WORKSPACE = 'demo'
const DOMAIN = 'demo.test'
const OWNER = { email: 'owner@demo.test', firstName: 'Demo', lastName: 'Owner' }

export interface SeedOptions {
  databaseUrl: string
  /** base64 of 32 bytes */
  secretKey: string
  /** The key of an earlier start, which is used again while it is valid. */
  knownKey: string | undefined
}

/** Makes missing data. @returns a valid API key of the workspace */
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
    const deps = { db, newId, now, secrets: createSecrets(Buffer.from(secretKey, 'base64')) }
    const owner = await ensureWorkspace(deps, { name: WORKSPACE, user: OWNER })
    // The domain .test is not in DNS, so it is stored as verified. Conditions on opens and clicks can be tried at once.
    if (!(await findDomainByName(db, owner.workspaceId, DOMAIN))) {
      await insertVerifiedDomain(deps, {
        ...owner,
        name: DOMAIN,
        selector: 'drip1',
        isTracked: true,
      })
    }
    const [known] = knownKey ? await findApiKeysByHashes(db, [hashApiKey(knownKey)], now()) : []
    if (knownKey && known && known.workspace_id === owner.workspaceId) return knownKey
    const input = { workspaceName: WORKSPACE, name: 'npm start', user: OWNER }
    const { token } = await createApiKey(deps, input)
    return token
  } finally {
    await db.destroy()
  }
}
