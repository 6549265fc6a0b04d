// What a page of a job gets, and says.
import type { OpenTransaction } from '../../db/contacts/openTransactions.ts'
import type { CommandDeps } from '../deps.ts'
import type { InTrx } from '../transact.ts'

export type JobPageDeps = InTrx<
  Pick<CommandDeps, 'db' | 'newId' | 'now' | 'wake' | 'secrets' | 'addressMac'>
>

/** How far a job is after a page. */
export interface JobPage {
  /** The last thing that was done; null: nothing was. */
  place: string | null
  /** How much was done, in the unit of the work. */
  done: number
  /** How much there is in all, where that is known now. */
  total?: number
  /** Added to the counts of the job. */
  counts: Record<string, number>
  failures: { line: number; error: string }[]
  isOver: boolean
  /** Why the job cannot go on; it ends `failed` then. Absent: it can. */
  error?: string
  /** How long the next page has to wait, ms; absent: not at all. */
  wait_ms?: number
  /** Transactions for which it waits too long. */
  waitsFor?: OpenTransaction[]
}
