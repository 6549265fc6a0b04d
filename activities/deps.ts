// What activities are given: the world as functions and handles.
import type { Logger } from 'pino'
import type { Db } from '../db/connect.ts'
import type { Wake } from '../db/wake.ts'
import type { NewId } from '../domain/ids.ts'
import type { MailTransport } from '../mail/transport.ts'

export interface ActivityDeps {
  db: Db
  log: Logger
  now: () => Date
  newId: NewId
  config: {
    secretKey: Buffer
    /** Where recipients reach the unsubscribe links; without a trailing slash. */
    publicUrl: string
    ehloName: string
    leaseMs: number
    /** Whether transactional mail with an unknown outcome is sent once more. */
    resendUnknown: boolean
    smtpConnections: number
    allowUnverifiedDomains: boolean
  }
  transport: MailTransport
  wake: Wake
  /** Listens for committed deliveries; gives back a function that stops it. */
  onDeliveries: (wake: () => void) => () => Promise<void>
  /** Aborted when the process is asked to stop: lanes claim nothing more. */
  stopping: AbortSignal
}
