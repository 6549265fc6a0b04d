// Makes the configured transport: all mail goes to one relay, or each message goes to its recipient's mail
// servers.

import { cachedDns } from '../mail/dns/cache.ts'
import { createDns } from '../mail/dns/resolver.ts'
import { createMxTransport } from '../mail/smtp/mx.ts'
import { createRelayTransport } from '../mail/smtp/relay.ts'
import type { MailTransport } from '../mail/transport.ts'
import type { Config } from '../runtime/config.ts'

/**
 * @param onDestination called when direct delivery has found the destination of a recipient's domain; returns whether
 *   that was taken
 * @throws Error if the relay's URL is malformed, or if it would send a password without encryption
 */
export function createTransport(
  config: Config,
  onDestination?: (domain: string, destination: string) => boolean,
): MailTransport {
  const { ehloName } = config
  if (config.deliveryMode === 'relay') {
    return createRelayTransport({
      url: config.smtpUrl,
      connections: config.smtpConnections,
      ehloName,
    })
  }
  return createMxTransport({
    dns: cachedDns(createDns({ servers: config.dnsServers })),
    ehloName,
    connectionsInAll: config.smtpConnections,
    port: config.mxPort,
    allowPrivate: config.allowPrivateMx,
    ...(onDestination ? { onDestination } : {}),
  })
}
