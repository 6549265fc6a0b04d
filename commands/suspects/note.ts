// Notes what a worker's main thread was working on when it stalled or died.
import {
  clearSuspect,
  deleteEndedSuspects,
  type NewSuspect,
  upsertSuspect,
} from '../../db/suspects/writes.ts'
import type { SuspectKind } from '../../rules/wire.ts'
import type { CommandDeps } from '../deps.ts'
import { transact } from '../transact.ts'

type NoteDeps = Pick<CommandDeps, 'db' | 'now' | 'wake'>

/**
 * May be repeated: one run of a process counts as one death.
 * @returns how often it has ended a worker alone; undefined if that was known, or it has ended
 */
export async function noteSuspect(
  deps: NoteDeps,
  suspect: NewSuspect,
): Promise<number | undefined> {
  const noted = await transact.one(deps, ({ db, now }) => upsertSuspect(db, suspect, now()))
  return noted?.deaths
}

/** Forgets a suspect that was alone and ended well. */
export function forgetSuspect(deps: NoteDeps, kind: SuspectKind, id: string): Promise<void> {
  return transact.one(deps, ({ db }) => clearSuspect(db, kind, id))
}

/** Forgets suspects that have ended. */
export function tidySuspects(deps: NoteDeps): Promise<void> {
  return transact.one(deps, ({ db }) => deleteEndedSuspects(db))
}
