// Row counts of the tables of automation, which a refused request must not change.
import type { TestApi } from './api.ts'

const tables = ['contacts', 'automation_events', 'executions', 'event_waits', 'outbox'] as const

export function tableCounts({ db }: Pick<TestApi, 'db'>): Promise<number[]> {
  return Promise.all(
    tables.map(async (table) => {
      const { rows } = await db
        .selectFrom(table)
        .select((eb) => eb.fn.countAll<number>().as('rows'))
        .executeTakeFirstOrThrow()
      return rows
    }),
  )
}
