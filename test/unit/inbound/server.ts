// The inbound listener of a test file, which collects reports in a list.

import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Taken } from '../../../commands/reports/take.ts'
import { type InboundDeps, startInbound } from '../../../inbound/reports/listener.ts'
import { verpAddress } from '../../../mail/tracking/mailboxes.ts'
import type { InboundReport } from '../../../rules/mail/inboundReport.ts'
import { createLog } from '../../../runtime/log.ts'
import { createSecrets } from '../../../runtime/secrets.ts'

const secrets = createSecrets(Buffer.alloc(32, 7))
export const DOMAIN = 'bounces.sender.test'
/** The return path of a delivery. */
export const ours = (id: number) => verpAddress(secrets.mac('verp'), id, DOMAIN)

/** Call it at the top of a file. It listens from `beforeAll` to `afterAll`. */
export function listenForReports() {
  const told = {
    port: 0,
    heard: [] as { id: number; report: InboundReport }[],
    counted: [] as string[],
    /** Tokens that were used to unsubscribe; tokens that begin with an `x` are unknown. */
    left: [] as string[],
    /** The result of storing a report. */
    answer: (async () => 'taken') as () => Promise<Taken>,
    listen: (over: Partial<InboundDeps['listen']> = {}, more: Partial<InboundDeps> = {}) =>
      startInbound({
        listen: {
          host: '127.0.0.1',
          port: 0,
          tlsCert: null,
          tlsKey: null,
          fblAddress: null,
          fblSigners: [],
          postmaster: null,
          ...over,
        },
        now: () => new Date(),
        dns: { txt: async () => ({ kind: 'nxdomain' }) },
        findSoleDelivery: async () => null,
        isSendingDomain: async () => false,
        transport: null,
        countPostmaster: () => {},
        drain_ms: 60_000,
        secrets,
        names: ['mx.mail.test', 'worker.mail.test'],
        log: createLog('test', 'silent'),
        take: (id, report) => {
          told.heard.push({ id, report })
          return told.answer()
        },
        unsubscribe: async (token) => {
          told.left.push(token)
          return !token.startsWith('x')
        },
        count: (report, taken) => void told.counted.push(`${report.kind} ${taken}`),
        ...more,
      }),
  }
  let stop = async () => {}
  beforeAll(async () => {
    const server = await told.listen()
    told.port = server.port
    stop = server.stop
  })
  afterAll(() => stop())
  beforeEach(() => {
    told.heard.length = 0
    told.counted.length = 0
    told.left.length = 0
    told.answer = async () => 'taken'
  })
  return told
}
