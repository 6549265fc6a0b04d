// The MAC function of a test's database, with the SECRET_KEY of the tests.

import { prepareOptOuts } from '../../commands/opt-outs/prepare.ts'
import type { Db } from '../../db/connect.ts'
import type { AddressMac } from '../../rules/mac.ts'
import { createNewId } from '../../runtime/ids.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import { TEST_SECRET_KEY } from './processes.ts'

const known = new WeakMap<Db, Promise<AddressMac>>()
const now = () => new Date()

/** The function that the processes of a test with that database use too. */
export function addressMacOf(db: Db): Promise<AddressMac> {
  const ready =
    known.get(db) ??
    prepareOptOuts({
      db,
      now,
      newId: createNewId(now),
      wake: () => undefined,
      secrets: createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64')),
    })
  known.set(db, ready)
  return ready
}
