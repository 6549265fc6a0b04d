// Forgets domains of recipients that have got no mail for long: the table would grow with each domain that was ever
// written to.
import { transact } from '../commands/transact.ts'
import { deleteUnusedDomains } from '../db/recipient-domains/writes.ts'
import { repeat } from '../runtime/repeat.ts'
import type { DeliveryDeps } from './deps.ts'

const EVERY_MS = 60_000
/** How many domains are looked at in each minute: a million in some three hours. */
const PAGE = 5_000

type Deps = Pick<DeliveryDeps, 'db' | 'now' | 'wake'>

/**
 * Makes a function that looks at the next domains, in the order of their names and then from the beginning, and deletes
 * those that were not used for long. @returns how many
 */
export function createForgetting(deps: Deps, page: number = PAGE): () => Promise<number> {
  let after = ''
  return async () => {
    const given = { after, limit: page, now: deps.now() }
    const { count, last } = await transact.one(deps, ({ db }) => deleteUnusedDomains(db, given))
    after = last ?? ''
    return count
  }
}

/** Looks at some domains each minute; `stop` ends it. Any number of workers may do it. */
export function startForgetting(deps: Deps & Pick<DeliveryDeps, 'log'>): {
  stop: () => Promise<void>
} {
  return repeat({
    every_ms: EVERY_MS,
    work: createForgetting(deps),
    onFailure: (err) =>
      deps.log.warn({ err }, 'unused domains of recipients were not deleted; tried again'),
  })
}
