// Checks the DNS records of a sending domain for as long as it is registered: on a schedule, and when a check is
// requested.
import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { Activities } from '../activities/index.ts'
import { FIRST_CHECK_MS } from '../rules/mail/domainSchedule.ts'
import { signals } from '../rules/wire.ts'
import type { VerifyDomainInput } from './messages.ts'
import { dnsCheck } from './options.ts'

/** Checks in one run, after which it continues as new with an empty history. */
const CHECKS_MAX = 200

const { checkDomain } = proxyActivities<Activities>(dnsCheck)

const checkNow = defineSignal(signals.checkNow)

/** Ends when the domain was deleted or has failed. A later request for a check starts it again. */
export async function verifyDomain(input: VerifyDomainInput): Promise<void> {
  const { domainId } = input
  let wait_ms = input.wait_ms ?? FIRST_CHECK_MS
  let asked = false
  setHandler(checkNow, () => {
    asked = true
  })
  for (let checks = 1; ; checks++) {
    if (wait_ms > 0) await condition(() => asked, wait_ms)
    // A request that arrives from here on gets a check of its own.
    asked = false
    const { next_ms } = await checkDomain({ domainId })
    if (asked) wait_ms = 0
    else if (next_ms === null) return
    else wait_ms = next_ms
    if (checks >= CHECKS_MAX || workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof verifyDomain>({ domainId, wait_ms })
    }
  }
}
