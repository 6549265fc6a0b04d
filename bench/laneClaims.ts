// Claims as a lane makes them, which goes on from one to the next.
import type { Kysely } from 'kysely'
import { transact } from '../commands/transact.ts'
import type { Database } from '../db/schema.ts'
import { createClaims } from '../delivery/lane/claims.ts'
import { limits } from '../rules/limits.ts'

/** Makes the claims of a lane that has found as many lines as it remembers. @param claiming whose connections have `claimSettings` */
export async function createLaneClaims(claiming: Kysely<Database>) {
  const claims = createClaims({
    run: (work) => transact.one({ db: claiming, wake: () => undefined }, ({ db }) => work(db)),
    shards: { from: 0, to: limits.shards },
    quietly: async (_, work) => void (await work()),
    onFound: () => undefined,
    over: new AbortController().signal,
  })
  await claims.begin()
  return claims
}
