// What of the claimed mail may be sent now: what has a place in the warm-up of its domain, and in the day of its workspace.
import type { DailyLimit } from '../../commands/limits/daily.ts'
import type { ClaimedDelivery } from '../../db/deliveries/claim.ts'
import type { UseEmail } from '../compose/composer.ts'
import type { DeliveryDeps } from '../deps.ts'
import { isSimulated } from '../testAddresses.ts'
import { createDayLimit, type PlacedEmails } from './dayLimit.ts'
import { createWarmUp } from './warmUp.ts'

/** What the lanes of a process share. */
export interface LanesShare {
  useEmail: UseEmail
  daily: DailyLimit
  placed: PlacedEmails
}

/** Makes a function that returns the claimed deliveries that may be sent now. It has put off the others. */
export function createAdmission(deps: DeliveryDeps, shared: LanesShare, leaseToken: string) {
  const warmUp = createWarmUp(deps, leaseToken)
  const dayLimit = createDayLimit({ ...deps, ...shared }, leaseToken)
  // What never leaves warms up no domain.
  const leaves = (delivery: ClaimedDelivery) => !isSimulated(delivery, deps.config.simulatorDomain)
  return async (claimed: ClaimedDelivery[]): Promise<ClaimedDelivery[]> => {
    const stays = claimed.filter((delivery) => !leaves(delivery))
    return dayLimit([...(await warmUp(claimed.filter(leaves))), ...stays])
  }
}
