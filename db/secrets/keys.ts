// Reads and replaces encrypted secrets and stored requests of all workspaces, for a change of SECRET_KEY.
import { type SqlBool, sql } from 'kysely'
import type { Db, Trx } from '../connect.ts'

export interface SecretValue {
  workspace_id: string
  name: string
  value: Buffer
}

/** The next secrets after one, in order; null begins. */
export function listAllSecrets(
  db: Db,
  { after, limit }: { after: SecretValue | null; limit: number },
): Promise<SecretValue[]> {
  return db
    .selectFrom('secrets')
    .select(['workspace_id', 'name', 'value'])
    .$if(after !== null, (qb) =>
      qb.where(
        sql<SqlBool>`(workspace_id, name) > (${after?.workspace_id ?? ''}, ${after?.name ?? ''})`,
      ),
    )
    .orderBy('workspace_id')
    .orderBy('name')
    .limit(limit)
    .execute()
}

/** Replaces an encrypted secret, unless it is another one by now. @returns whether it was */
export async function replaceSecret(
  trx: Trx,
  { workspace_id, name, value }: SecretValue,
  to: Buffer,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('secrets')
    .set({ value: to })
    .where(sql<SqlBool>`workspace_id = ${workspace_id}`)
    .where('name', '=', name)
    .where('value', '=', value)
    .executeTakeFirst()
  return numUpdatedRows > 0
}

export interface StoredCall {
  execution_id: string
  segment: number
  request: Buffer
}

/** The next calls under way after one, in order; null begins. */
export async function listOpenCalls(
  db: Db,
  { after, limit }: { after: StoredCall | null; limit: number },
): Promise<StoredCall[]> {
  const rows = await db
    .selectFrom('http_calls')
    .select(['execution_id', 'segment', 'request'])
    .where('request', 'is not', null)
    .$if(after !== null, (qb) =>
      qb.where(
        sql<SqlBool>`(execution_id, segment) > (${after?.execution_id ?? ''}, ${after?.segment ?? 0})`,
      ),
    )
    .orderBy('execution_id')
    .orderBy('segment')
    .limit(limit)
    .execute()
  return rows.flatMap(({ request, ...row }) => (request === null ? [] : [{ ...row, request }]))
}

/** Replaces an encrypted request, unless the call is over by now. @returns whether it was */
export async function replaceRequest(
  trx: Trx,
  { execution_id, segment, request }: StoredCall,
  to: Buffer,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('http_calls')
    .set({ request: to })
    .where('execution_id', '=', execution_id)
    .where('segment', '=', segment)
    .where('request', '=', request)
    .executeTakeFirst()
  return numUpdatedRows > 0
}
