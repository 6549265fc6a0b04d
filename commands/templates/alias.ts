// Refuses an alias that another template of the workspace has.

import { isUniqueViolation } from '../../db/failures.ts'
import { type Refusal, refuse } from '../../rules/refusals.ts'

/**
 * Runs work that writes `alias`. Between two requests at once the unique key of the table decides. Cannot run
 * inside another transaction, which the caught database error would abort.
 */
export async function withAlias<T>(
  alias: string | null | undefined,
  work: () => Promise<T>,
): Promise<T | Refusal<'alias_taken'>> {
  try {
    return await work()
  } catch (err) {
    const isTaken = isUniqueViolation(err, 'templates_workspace_id_alias_key')
    if (!isTaken || !alias) throw err
    return refuse('alias_taken', { alias })
  }
}
