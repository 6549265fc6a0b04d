// Makes the configured transport: all mail goes to one relay, or each message goes to its recipient's mail
// servers.

import { cachedDns } from '../mail/dns/cache.ts'
import { createResolverDoubt } from '../mail/dns/doubtedResolver.ts'
import { createDns } from '../mail/dns/resolver.ts'
import { createMxTransport, type MxOptions } from '../mail/smtp/mx.ts'
import { createRelayTransport } from '../mail/smtp/relay.ts'
import type { MailTransport } from '../mail/transport.ts'
import type { Config } from '../runtime/config.ts'

/** What direct delivery tells of what it finds in the DNS. */
interface Told extends Pick<MxOptions, 'onDestination'> {
  /** Called when a resolver that was believed is doubted (mail/dns/doubtedResolver.ts). */
  onDoubt?: () => void
}

/** @throws Error if the relay's URL is malformed, or if it would send a password without encryption */
export function createTransport(
  config: Config,
  { onDestination, onDoubt }: Told = {},
): MailTransport {
  const { ehloName, dnsServers: servers } = config
  if (config.deliveryMode === 'relay') {
    return createRelayTransport({
      url: config.smtpUrl,
      connections: config.smtpConnections,
      ehloName,
    })
  }
  return createMxTransport({
    dns: cachedDns(createDns({ servers })),
    believed: createResolverDoubt({
      dns: createDns({ servers, renewMs: 0 }),
      ...(onDoubt ? { onDoubt } : {}),
    }),
    ehloName,
    connectionsInAll: config.smtpConnections,
    port: config.mxPort,
    allowPrivate: config.allowPrivateMx,
    ...(onDestination ? { onDestination } : {}),
  })
}
