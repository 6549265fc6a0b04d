// The way out that is configured: everything to one relay, or each mail to its recipient's mail servers.

import { cachedDns } from '../mail/dns/cache.ts'
import { createDns } from '../mail/dns/resolver.ts'
import { createMxTransport } from '../mail/smtp/mx.ts'
import { createRelayTransport } from '../mail/smtp/relay.ts'
import type { MailTransport } from '../mail/transport.ts'
import type { Config } from '../runtime/config.ts'

/** @throws Error when the relay's URL is not one of a relay, or would send a password in the clear */
export function createTransport(config: Config): MailTransport {
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
    port: config.mxPort,
    allowPrivate: config.allowPrivateMx,
  })
}
