// Finds and replaces answers that are kept for repeated requests and may name an erased contact.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { Trx } from '../connect.ts'

interface KeptAnswer {
  /** Hex. */
  key: string
  body: string
  /** Whether it was kept after the erasure was answered. */
  is_later: boolean
}

/** The next answers, after one of them. @param page `after`: '' begins; `at`: when the erasure was answered, by the clock of Postgres */
export async function listAnswers(
  trx: Trx,
  workspaceId: WorkspaceId,
  { after, at, limit }: { after: string; at: Date; limit: number },
): Promise<KeptAnswer[]> {
  const { rows } = await sql<KeptAnswer>`
    select encode(key_hash, 'hex') as key, body, created_at > ${at}::timestamptz as is_later from idempotency_keys
    where workspace_id = ${workspaceId} and key_hash > decode(${after}, 'hex')
    order by key_hash limit ${limit}
  `.execute(trx)
  return rows
}

/** Which of these executions are the contact's. */
export async function listTheirExecutions(
  trx: Trx,
  workspaceId: WorkspaceId,
  contactId: string,
  ids: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await trx
    .selectFrom('executions')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', 'in', ids)
    .where('contact_id', '=', contactId)
    .execute()
  return rows.map(({ id }) => id)
}

/** Replaces their bodies. */
export async function replaceAnswers(
  trx: Trx,
  workspaceId: WorkspaceId,
  answers: readonly { key: string; body: string }[],
): Promise<void> {
  if (answers.length === 0) return
  await sql`
    update idempotency_keys k set body = g.body
    from jsonb_to_recordset(${JSON.stringify(answers)}::jsonb) as g(key text, body text)
    where k.workspace_id = ${workspaceId} and k.key_hash = decode(g.key, 'hex')
  `.execute(trx)
}
