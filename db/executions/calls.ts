// The requests that nodes of executions make of other services: written by a segment, answered by an activity.
import { type SqlBool, sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { CallResult } from '../../rules/interpreterTypes.ts'
import type { Json } from '../../rules/json.ts'
import type { Db, Trx } from '../connect.ts'
import type { JsonObject } from '../schema.ts'

export interface NewCall {
  executionId: string
  segment: number
  nodeId: string
  storeAs: string | null
  /** Encrypted. */
  request: Buffer
  /** Goals of the design that the execution has reached, by node id. */
  goalsReached: readonly string[]
  now: Date
}

/** Writes a call that is to be made. Its lap counts the calls of that node in the execution, from 1. */
export async function insertCall(
  trx: Trx,
  workspaceId: WorkspaceId,
  { executionId, segment, nodeId, storeAs, request, goalsReached, now }: NewCall,
): Promise<void> {
  await trx
    .insertInto('http_calls')
    .values((eb) => ({
      execution_id: executionId,
      segment,
      node_id: nodeId,
      workspace_id: workspaceId,
      lap: eb
        .selectFrom('http_calls as earlier')
        .select((count) => count(count.fn.countAll<number>(), '+', 1).as('lap'))
        .where('earlier.execution_id', '=', executionId)
        .where('earlier.node_id', '=', nodeId),
      store_as: storeAs,
      request,
      goals_reached: [...goalsReached],
      created_at: now,
    }))
    .execute()
}

/** A call with the state of its execution. `is_erased`: its contact is, and the execution is about to be cancelled for it. */
export function findCall(db: Db, executionId: string, segment: number) {
  return db
    .selectFrom('http_calls as c')
    .innerJoin('executions as e', 'e.id', 'c.execution_id')
    .select([
      'c.workspace_id',
      'c.node_id',
      'c.lap',
      'c.store_as',
      'c.request',
      'c.tries',
      'c.outcome',
      'e.ended_status',
      sql<SqlBool>`not exists (select from contacts p where p.id = e.contact_id)`.as('is_erased'),
    ])
    .where('c.execution_id', '=', executionId)
    .where('c.segment', '=', segment)
    .executeTakeFirst()
}

export type CallRow = NonNullable<Awaited<ReturnType<typeof findCall>>>

/** What one try of a call gave. `end`: it was the last one. */
export interface CallTry {
  executionId: string
  segment: number
  tries: number
  took_ms: number
  status: number | null
  end: { outcome: CallResult['handle']; why: string; answer: JsonObject | null } | null
  now: Date
}

const answerWhileLive = (executionId: string, answer: JsonObject | null) =>
  sql<string | null>`case when exists (select from executions x
    where x.id = ${executionId} and x.ended_status is null)
    then ${answer === null ? null : JSON.stringify(answer)}::jsonb end`

/**
 * Writes what a try gave; its answer while the execution goes on. A call that is over stays as it is. Earlier answers of that name
 * are forgotten, since the latest call says what is kept: an execution that goes round would store one for each lap.
 * @returns whether it was not over
 */
export async function updateCall(
  trx: Trx,
  workspaceId: WorkspaceId,
  { executionId, segment, tries, took_ms, status, end, now }: CallTry,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .with('forgotten', (db) =>
      db
        .updateTable('http_calls as earlier')
        .from('http_calls as c')
        .set({ answer: null })
        .where('c.workspace_id', '=', workspaceId)
        .where('c.execution_id', '=', executionId)
        .where('c.segment', '=', segment)
        .where('c.outcome', 'is', null)
        .where(sql<boolean>`${end !== null}::boolean`)
        .where('earlier.execution_id', '=', executionId)
        .where('earlier.segment', '<', segment)
        .whereRef('earlier.store_as', '=', 'c.store_as')
        .where('earlier.answer', 'is not', null),
    )
    .updateTable('http_calls')
    .set({
      tries,
      took_ms,
      status,
      ...(end
        ? {
            outcome: end.outcome,
            why: end.why,
            // Nobody reads that of an execution that has ended, and its contact may have been erased.
            answer: answerWhileLive(executionId, end.answer),
            request: null,
            ended_at: now,
          }
        : {}),
    })
    .where('workspace_id', '=', workspaceId)
    .where('execution_id', '=', executionId)
    .where('segment', '=', segment)
    .where('outcome', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0
}

/** How the call of a segment ended, and what it carries on; undefined: it has not. */
export async function findCallResult(
  trx: Trx,
  workspaceId: WorkspaceId,
  { executionId, segment }: { executionId: string; segment: number },
): Promise<(CallResult & { goalsReached: string[] }) | undefined> {
  const row = await trx
    .selectFrom('http_calls')
    .select(['outcome', 'why', 'goals_reached'])
    .where('workspace_id', '=', workspaceId)
    .where('execution_id', '=', executionId)
    .where('segment', '=', segment)
    .executeTakeFirst()
  if (!row?.outcome) return undefined
  return { handle: row.outcome, why: row.why ?? '', goalsReached: row.goals_reached }
}

/**
 * The answers that these executions have kept, by execution and name: of each name that of the latest call, if it had one. One
 * without such answers is not in the map.
 */
export async function listAnswers(
  db: Db,
  workspaceId: WorkspaceId,
  executionIds: readonly string[],
): Promise<Map<string, Record<string, Record<string, Json>>>> {
  const rows = await db
    .selectFrom('http_calls')
    .distinctOn(['execution_id', 'store_as'])
    .select(['execution_id', 'store_as', 'answer'])
    .where('workspace_id', '=', workspaceId)
    .where('execution_id', 'in', executionIds)
    .where('store_as', 'is not', null)
    .where('outcome', 'is not', null)
    .orderBy('execution_id')
    .orderBy('store_as')
    .orderBy('segment', 'desc')
    .execute()
  const found = new Map<string, Record<string, Record<string, Json>>>()
  for (const { execution_id, store_as, answer } of rows) {
    if (store_as === null || answer === null) continue
    found.set(execution_id, { ...found.get(execution_id), [store_as]: answer })
  }
  return found
}
