// The statements of the release before, as its processes send them while they still run beside this release.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { addressDomain } from '../../rules/addresses.ts'
import { limits } from '../../rules/limits.ts'
import { shardOf } from '../../rules/shard.ts'
import type { SegmentInput, SegmentResult } from '../../workflows/messages.ts'
import { newId, now } from './harness.ts'

const DAY_MS = 24 * 3_600_000

const read = (name: string) =>
  readFileSync(new URL(`../fixtures/upgrade/statements/${name}.sql`, import.meta.url), 'utf8')

/** The claim of its workers: its text, and the values of one over all shards. */
export const claimBefore = {
  text: read('claim'),
  values: (at = now()) => [
    randomUUID(),
    new Date(at.getTime() + 60_000),
    Array.from({ length: limits.shards }, (_, shard) => shard),
    at,
    50,
    200,
  ],
}

/** What sent an email; absent: the API. */
interface SentBefore {
  category: 'transactional' | 'marketing'
  workflowId: string
  executionId: string
}

/** Writes an email to one recipient as its API does, or as its workers do for a node. @returns its id */
export async function acceptBefore(
  pool: pg.Pool,
  { workspaceId, domainId }: { workspaceId: string; domainId: string },
  to: string,
  sent?: SentBefore,
): Promise<string> {
  const id = newId('email')
  const at = now()
  await pool.query(read('insertEmail'), [
    [to],
    [shardOf(addressDomain(to).toLowerCase())],
    [to],
    workspaceId,
    id,
    sent?.category ?? 'transactional',
    'Team <hello@sender.test>',
    'Hello',
    'Hello',
    domainId,
    `${id}@sender.test`,
    sent?.workflowId ?? null,
    sent?.executionId ?? null,
    sent ? 'send' : null,
    sent ? randomUUID() : null,
    at,
    new Date(at.getTime() + DAY_MS),
  ])
  return id
}

/** A segment that its workers write: one step of a node without a wait, and then the end. @throws what Postgres says */
export async function insertSegmentBefore(
  pool: pg.Pool,
  workspaceId: string,
  { executionId, segment }: SegmentInput,
): Promise<SegmentResult> {
  const end = { kind: 'end', status: 'COMPLETED', error: null } as const
  const result: SegmentResult = { next: end, step: 'start', step_count: 1 }
  const step = { seq: 1, node_id: 'start', type: 'trigger', handle: 'default', why: null }
  const [steps, waits, stored] = [[step], [], result].map((one) => JSON.stringify(one))
  const values = [workspaceId, executionId, segment, now(), steps, waits, null, -1, stored]
  await pool.query(read('insertSegment'), values)
  return result
}
