// Sets or removes the limits of a workspace or of an API key.
import { deleteLimit, lockLimit, noteNearLimit, upsertLimit } from '../../db/limits/writes.ts'
import type { WorkspaceId } from '../../rules/ids.ts'
import { dayOf } from '../../rules/mail/warmUp.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

/** What is absent stays as it is; null: it holds no more. */
export interface LimitChange {
  /** Requests a second, above 0. */
  perSecond?: number | null
  /** Requests at once, 1 or more. */
  burst?: number | null
  /** Emails of one day (UTC), 0 or more. */
  emailsPerDay?: number | null
}

/** Changes the limits of a subject, the id of a workspace or key. API processes know it within a second or so, workers too. */
export function setLimit(
  deps: Pick<CommandDeps, 'db' | 'now' | 'wake'>,
  workspaceId: WorkspaceId,
  { subject, change }: { subject: string; change: LimitChange },
): Promise<void> {
  return transact(deps, async ({ db, now }) => {
    const before = await lockLimit(db, workspaceId, subject)
    const kept = <T>(given: T | undefined, old: T | undefined) =>
      given === undefined ? (old ?? null) : given
    const values = {
      per_second: kept(change.perSecond, before?.per_second),
      burst: kept(change.burst, before?.burst),
      emails_per_day: kept(change.emailsPerDay, before?.emails_per_day),
    }
    const isOff = values.per_second === null && values.emails_per_day === null
    if (isOff) await deleteLimit(db, workspaceId, subject)
    else await upsertLimit(db, workspaceId, subject, values, now())
    const limit = values.emails_per_day
    // What has been used may be near the new limit already, and nobody may send any more today.
    if (subject === workspaceId && limit !== null) {
      await noteNearLimit(db, workspaceId, { day: dayOf(now().getTime()), limit })
    }
  })
}
