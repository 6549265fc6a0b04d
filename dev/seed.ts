// What a first start finds: a workspace with a key, a verified domain and a workflow that shows itself.
import { hashApiKey } from '../api/apiKeys.ts'
import { createApiKey } from '../api/commands/createApiKey.ts'
import { findApiKeyByHash } from '../db/apiKeys.ts'
import { connect, type Db } from '../db/connect.ts'
import { upsertUser, upsertWorkspace } from '../db/workspaces.ts'
import { encryptKey, generateDkimKey } from '../mail/dkimKeys.ts'
import { createNewId } from '../runtime/ids.ts'

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
    const domain = { id: newId('domain'), workspaceId: workspace.id, userId: user.id }
    await ensureDomain(db, domain, Buffer.from(secretKey, 'base64'), now())
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
  db: Db,
  { id, workspaceId, userId }: { id: string; workspaceId: string; userId: string },
  secret: Buffer,
  now: Date,
): Promise<void> {
  const found = await db
    .selectFrom('domains')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('name', '=', DOMAIN)
    .executeTakeFirst()
  if (found) return
  const key = await generateDkimKey()
  await db
    .insertInto('domains')
    .values({
      id,
      workspace_id: workspaceId,
      name: DOMAIN,
      // Nothing outside knows .test: the domain counts as checked.
      status: 'SUCCESS',
      dkim_selector: 'drip1',
      public_key: key.publicKey,
      private_key: encryptKey(secret, key.privateKey),
      last_checked_at: now,
      last_success_at: now,
      error_type: null,
      soa_record: '{}',
      warmed_up_at: null,
      created_by: userId,
      created_at: now,
    })
    .execute()
}
