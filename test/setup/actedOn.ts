// The state that operations need of what they act on, which the ones before them have changed.
import type { Db } from '../../db/connect.ts'

/** Brings what an operation of that name acts on into a state in which it may. */
export async function makeReady(db: Db, name: string): Promise<void> {
  const verb = /^POST \/v1\/jobs\/:id\/(\w+)$/.exec(name)?.[1]
  if (verb === undefined) return
  const status = verb === 'resume' ? 'paused' : 'running'
  await db.updateTable('jobs').set({ status }).execute()
}
