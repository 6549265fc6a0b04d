// Starts again what a look has found lost, through the outbox, and closes the rows of executions that have ended.
import { startChecksAgain } from '../commands/domains/startAgain.ts'
import { closeExecution } from '../commands/executions/close.ts'
import { startAgain } from '../commands/executions/startAgain.ts'
import { startScheduleAgain } from '../commands/schedules/startAgain.ts'
import type { Db } from '../db/connect.ts'
import type { Wake } from '../db/wake.ts'
import type { Look } from './lost.ts'

export interface RestoreDeps {
  db: Db
  log: { warn(about: object, text: string): void }
  now: () => Date
  wake: Wake
}

export interface Restored {
  /** Ids of executions, domains and schedules whose start is in the outbox. */
  started: string[]
  /** How many rows are closed. */
  closed: number
  failed: number
}

/** One that fails keeps no other from it: the next walk comes to it again. @param unseenUntil as in `startAgain` */
export async function restore(
  deps: RestoreDeps,
  { executions, domains, schedules, ended }: Omit<Look, 'next'>,
  unseenUntil: Date | null,
): Promise<Restored> {
  const restored: Restored = { started: [], closed: 0, failed: 0 }
  const attempt = async (id: string, work: () => Promise<void>) => {
    try {
      await work()
    } catch (err) {
      restored.failed += 1
      deps.log.warn({ err, id }, 'what Temporal has lost could not be started again; tried again')
    }
  }
  for (const row of executions) {
    await attempt(row.id, async () => {
      const fate = await startAgain(deps, row, unseenUntil)
      if (fate === 'started') restored.started.push(row.id)
      if (fate === 'ended') restored.closed += 1
    })
  }
  for (const domain of domains) {
    await attempt(domain.id, async () => {
      if (await startChecksAgain(deps, domain)) restored.started.push(domain.id)
    })
  }
  for (const schedule of schedules) {
    const id = `${schedule.workflow_id}/${schedule.node_id}`
    await attempt(id, async () => {
      if (await startScheduleAgain(deps, schedule)) restored.started.push(id)
    })
  }
  for (const { id, as } of ended) {
    await attempt(id, async () => {
      await closeExecution(deps, id, as)
      restored.closed += 1
    })
  }
  return restored
}
