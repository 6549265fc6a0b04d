// The listener of a worker: what it needs of the database, the DNS and the way out.
import type { Registry } from 'prom-client'
import type { CommandDeps } from '../commands/deps.ts'
import { takeReport } from '../commands/reports/take.ts'
import { takeUnsubscribe } from '../commands/unsubscribes/takeMail.ts'
import { findSoleDelivery } from '../db/deliveries/reads.ts'
import { isSendingDomain } from '../db/domains/reads.ts'
import { startInbound } from '../inbound/reports/listener.ts'
import { createPostmasterCounter, createReportCounter } from '../inbound/reports/metrics.ts'
import { createDns } from '../mail/dns/resolver.ts'
import { mailSender } from '../rules/mail/domainRecords.ts'
import type { Config } from '../runtime/config.ts'
import type { Log } from '../runtime/log.ts'
import { createTransport } from './createTransport.ts'

interface ListenerDeps
  extends Pick<CommandDeps, 'db' | 'now' | 'newId' | 'wake' | 'secrets' | 'addressMac'> {
  log: Log
  config: Config
  registry: Registry
}

/** Starts the listener. @throws Error like `startInbound`, and when the transport cannot be made */
export async function listenForMail(deps: ListenerDeps, listen: NonNullable<Config['inbound']>) {
  const { db, config, registry } = deps
  // A connection of its own: mail for the postmaster does not wait behind campaigns.
  const transport =
    listen.postmaster === null ? null : createTransport({ ...config, smtpConnections: 1 })
  const server = await startInbound({
    ...deps,
    listen,
    names: namesOf(config),
    transport,
    dns: createDns({ servers: config.dnsServers }),
    take: takeReport.bind(null, deps),
    unsubscribe: takeUnsubscribe.bind(null, deps),
    findSoleDelivery: findSoleDelivery.bind(null, db),
    isSendingDomain: isSendingDomain.bind(null, db),
    count: createReportCounter(registry),
    countPostmaster: createPostmasterCounter(registry),
    drain_ms: config.drainMs,
  })
  const stop = async () => {
    await server.stop()
    // Whoever sent what is still under way keeps it.
    void transport?.close()
  }
  return { port: server.port, stop }
}

/** Our names, the first of which the listener says; mail for the postmaster of each is ours. */
function namesOf(config: Config): string[] {
  const names = [config.mailHost ?? config.ehloName, mailSender(config).host, config.ehloName]
  const fbl = config.inbound?.fblAddress?.split('@')[1]
  return [...new Set([...names, ...(fbl === undefined ? [] : [fbl])])].map((name) =>
    name.toLowerCase(),
  )
}
