// Claims in a transaction that the test has open, on a connection of any settings.
import { sql } from 'kysely'
import type { Trx } from '../../db/connect.ts'
import {
  type Claim,
  type Claimed,
  claimDeliveries,
  claimSettings,
} from '../../db/deliveries/claim.ts'

/** What a lane claims on connections that keep `claimSettings`: they hold for the rest of the transaction here. */
export async function claimInTrx(trx: Trx, claim: Claim): Promise<Claimed> {
  await sql`select ${sql.join(
    Object.entries(claimSettings).map(([name, value]) => sql`set_config(${name}, ${value}, true)`),
  )}`.execute(trx)
  return claimDeliveries(trx, claim)
}
