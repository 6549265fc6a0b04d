// What the requests of nodes are made with: the guarded client, and the pauses between two tries.
import { isPublicAddress } from '../mail/dns/publicAddresses.ts'
import type { Config } from '../runtime/config.ts'
import { createOutbound } from '../runtime/outbound.ts'

/** The rule against SSRF: private addresses are refused unless the settings allow them. */
export function createCalls({ allowPrivateHttp }: Pick<Config, 'allowPrivateHttp'>) {
  const mayConnect = allowPrivateHttp ? () => true : isPublicAddress
  return { outbound: createOutbound({ mayConnect }), callPace: 1 }
}
