// For how many days a command keeps what workers delete too: as its variables say, else as the workers do.
import { retentionParts } from '../../db/retention/parts.ts'
import { type RetentionDays, type RetentionSetting, retentionNames } from '../../rules/retention.ts'

/**
 * Never by defaults: they may be fewer than what workers have, and what is deleted is lost.
 * @param given by the variables of the command
 * @param known of the workers, by part; where two parts of a setting differ the longer one counts
 * @returns the days, or the settings that nobody knows
 */
export function chooseRetentionDays(
  given: { readonly [N in RetentionSetting]?: number | undefined },
  known: ReadonlyMap<string, number>,
): { days: RetentionDays } | { unknown: RetentionSetting[] } {
  const chosen = retentionNames.map((name) => {
    const ofWorkers = retentionParts.flatMap(({ table, kept }) =>
      kept === name ? (known.get(table) ?? []) : [],
    )
    const most = ofWorkers.length > 0 ? Math.max(...ofWorkers) : undefined
    return [name, given[name] ?? most] as const
  })
  const unknown = chosen.flatMap(([name, days]) => (days === undefined ? [name] : []))
  return unknown.length > 0 ? { unknown } : { days: Object.fromEntries(chosen) as RetentionDays }
}
