// Delivery lanes in the test's process, over the test's database and a real SMTP server. They know no Temporal.
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { connect } from '../../db/connect.ts'
import { claimSettings } from '../../db/deliveries/claim.ts'
import { createBreakers } from '../../delivery/breakers.ts'
import type { Blame, DeliveryDeps } from '../../delivery/deps.ts'
import { createLaneOwners } from '../../delivery/lane/owners.ts'
import { createRelayTransport } from '../../mail/smtp/relay.ts'
import type { MailTransport } from '../../mail/transport.ts'
import { createLog } from '../../runtime/log.ts'
import { createSecrets } from '../../runtime/secrets.ts'
import type { TestDatabase } from './database.ts'
import { now } from './harness.ts'
import { TEST_SECRET_KEY } from './processes.ts'
import { unwatched } from './unwatched.ts'

/** Connections on which lanes claim, as those of a worker. */
export const connectForClaims = (url: string) =>
  connect({
    url,
    poolSize: 2,
    name: 'test-claims',
    settings: claimSettings,
    onIdleError: () => undefined,
  }).db

/** What stands for one worker process. */
export function createTestWorker(
  { db, url }: Pick<TestDatabase, 'db' | 'url'>,
  smtpUrl: string,
  change: {
    config?: Partial<DeliveryDeps['config']>
    /** The clock; absent: that of the machine. */
    now?: () => Date
    /** Instead of a relay at the given URL. */
    transport?: MailTransport
    /** Instead of nobody who watches. */
    blame?: Blame
  } = {},
) {
  const stopping = new AbortController()
  const heard = new Set<() => void>()
  const connections = 5
  const relay = { url: smtpUrl, connections, ehloName: 'mail.test' }
  const transport = change.transport ?? createRelayTransport(relay)
  const log = createLog('lane', 'silent')
  const clock = change.now ?? now
  const breakers = createBreakers({ mode: 'relay', log, now: clock })
  const claiming = connectForClaims(url)
  const deps: DeliveryDeps = {
    db,
    claiming,
    log,
    now: clock,
    breakers,
    blame: change.blame ?? unwatched,
    secrets: createSecrets(Buffer.from(TEST_SECRET_KEY, 'base64')),
    transport,
    wake: () => undefined,
    onDeliveries(wake) {
      heard.add(wake)
      return async () => void heard.delete(wake)
    },
    stopping: stopping.signal,
    config: {
      publicUrl: 'https://mail.test',
      ehloName: 'mail.test',
      leaseMs: 60_000,
      drainMs: 5_000,
      laneTurnMs: 60_000,
      resendUnknown: true,
      smtpConnections: connections,
      stateFolder: join(inject('runFolder'), 'mail'),
      deliveryMode: 'relay',
      allowUnverifiedDomains: false,
      simulatorDomain: 'simulator.test',
      warmUp: false,
      ...change.config,
    },
  }
  const owners = createLaneOwners(deps)
  const stop = async () => {
    stopping.abort()
    await owners.settled()
  }
  onTestFinished(async () => {
    await stop()
    await claiming.destroy()
    await Promise.race([transport.close(), new Promise((resolve) => setTimeout(resolve, 200))])
  })
  return {
    own: owners.own,
    breakers,
    /** New mail is due. */
    wake: () => {
      for (const wake of heard) wake()
    },
    /** As after SIGTERM. */
    stop,
  }
}
