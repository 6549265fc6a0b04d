// Reads jobs.
import { sql } from 'kysely'
import type { WorkspaceId } from '../../rules/ids.ts'
import type { JobKind } from '../../rules/jobs.ts'
import type { Reach } from '../../rules/reach.ts'
import type { Db } from '../connect.ts'
import { newestFirst } from '../listOrder.ts'
import type { Row } from '../schema.ts'

export type JobRow = Row<'jobs'>

/** To a bound caller those of keys for its domain alone; newest first, after the id `after`. @param kind null: of all kinds */
export function listJobs(
  db: Db,
  { workspaceId, domainId }: Reach,
  kind: JobKind | null,
  page: { after: string | null; limit: number },
): Promise<JobRow[]> {
  return db
    .selectFrom('jobs')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .$if(kind !== null, (qb) => qb.where('kind', '=', kind as JobKind))
    .$if(page.after !== null, (qb) => qb.where('id', '<', page.after as string))
    .orderBy('id', newestFirst)
    .limit(page.limit)
    .execute()
}

export function findJob(
  db: Db,
  { workspaceId, domainId }: Reach,
  id: string,
): Promise<JobRow | undefined> {
  return db
    .selectFrom('jobs')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .$if(domainId !== null, (qb) => qb.where('domain_id', '=', domainId))
    .where('id', '=', id)
    .executeTakeFirst()
}

/** The replay of a webhook that is not over; undefined: there is none. */
export async function findLiveReplay(
  db: Db,
  workspaceId: WorkspaceId,
  webhookId: string,
): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select id from jobs
    where workspace_id = ${workspaceId} and input->>'webhook_id' = ${webhookId}
      and kind = 'replay' and status in ('queued', 'running', 'paused')
    limit 1
  `.execute(db)
  return rows[0]?.id
}

/** Of a workspace these of one kind go on together; its others of that kind wait for them, and nobody else's do. Erasures may have to wait for mail, so they take turns. */
const OF_WORKSPACE = 2

/** Jobs that are to be carried on, of all workspaces, the oldest of each first. */
export async function listLiveJobs(
  db: Db,
  limit: number,
): Promise<{ id: string; workspace_id: WorkspaceId }[]> {
  const { rows } = await sql<{ id: string; workspace_id: WorkspaceId }>`
    select l.id, l.workspace_id from (
      select j.id, j.workspace_id, row_number() over (partition by j.workspace_id, j.kind
        order by case when j.kind = 'erasure' then j.updated_at end, j.id) as place
      from jobs j where j.status in ('queued', 'running')
    ) l where l.place <= ${OF_WORKSPACE} order by l.place, l.id limit ${limit}
  `.execute(db)
  return rows
}

/** Lines that were not done, in their order, after one of them. The caller has found the job. */
export function listJobFailures(
  db: Db,
  { workspaceId }: Reach,
  jobId: string,
  page: { after: number; limit: number },
): Promise<{ line: number; error: string }[]> {
  return db
    .selectFrom('job_failures as f')
    .innerJoin('jobs as j', 'j.id', 'f.job_id')
    .select(['f.line', 'f.error'])
    .where('j.workspace_id', '=', workspaceId)
    .where('f.job_id', '=', jobId)
    .where('f.line', '>', page.after)
    .orderBy('f.line')
    .limit(page.limit)
    .execute()
}
