// The dependencies of a delivery lane.
import type { Logger } from 'pino'
import type { Db } from '../db/connect.ts'
import type { Wake } from '../db/wake.ts'
import type { MailTransport, Outcome, Trace } from '../mail/transport.ts'
import type { Bounce } from '../rules/mail/bounceRules.ts'
import type { SuspectKind } from '../rules/wire.ts'
import type { Secrets } from '../runtime/secrets.ts'
import type { Breakers } from './breakers.ts'

/** Knows what the main thread works on, so that what ends the process can be told. */
export interface Blame {
  /**
   * Runs synchronous work under a mark.
   * @param mark `alone`: it is a suspect, and nothing else of its kind runs in this process
   * @param work gets a function that names the step it is at
   */
  during<T>(
    mark: { kind: SuspectKind; id: string; step: string; alone: boolean },
    work: (entering: (step: string) => void) => T,
  ): T
  /** Says that a suspect was given up. */
  gaveUp(kind: SuspectKind, id: string): void
}

/** Functions that deliveries call to count for the operator's metrics. */
export interface DeliveryMetrics {
  /** A batch was claimed: how many, and how long the statement took. */
  claimed(count: number, took_ms: number): void
  /** The transport returned an outcome; `trace` has the times of its phases. */
  attempted(outcome: Outcome, trace: Trace): void
  /** A server refused, for now or for good. */
  refused(refusal: Bounce): void
  /** Deliveries got their next state. */
  settled(counts: { unknown: number; resent: number; suppressed: number }): void
  /** So many deliveries of a domain in its warm-up were put off to a later day. */
  putOff(count: number): void
}

export interface DeliveryDeps {
  db: Db
  /** Connections that have `claimSettings`, on which only claims run, and looks that are as short. */
  claiming: Db
  log: Logger
  now: () => Date
  secrets: Secrets
  config: {
    /** Where recipients reach the unsubscribe links; without a trailing slash. */
    publicUrl: string
    ehloName: string
    leaseMs: number
    /** How long a process that stops waits for mail under way. */
    drainMs: number
    /** After this time a lane may move to another worker. */
    laneTurnMs: number
    /** Whether transactional mail with an unknown outcome is sent once more. */
    resendUnknown: boolean
    smtpConnections: number
    /** Where large mail stands while its receiver is slow to take it. */
    stateFolder: string
    deliveryMode: 'relay' | 'mx'
    /** Whether mail may be sent from unverified domains, for development. */
    allowUnverifiedDomains: boolean
    /** The domain of test addresses, in lower case. */
    simulatorDomain: string
    /** Whether the warm-up limits how much mail a new domain sends each day. */
    warmUp: boolean
  }
  transport: MailTransport
  /** Those of this process. */
  breakers: Breakers
  blame: Blame
  metrics?: DeliveryMetrics
  wake: Wake
  /** Listens for committed deliveries. Returns a function that stops listening. */
  onDeliveries: (wake: () => void) => () => Promise<void>
  /** Aborted when the process is asked to stop. */
  stopping: AbortSignal
}
