// Counts what clients that submit mail were told, and their connections.
import { Counter, Gauge, type Registry } from 'prom-client'

export type CountReply = (phase: 'auth' | 'mail' | 'rcpt' | 'data', reply: number) => void

/** Makes the metrics. `watch` says how many connections are open. */
export function createSubmissionMetrics(registry: Registry) {
  const replies = new Counter({
    name: 'dripline_submission_replies_total',
    help: 'Replies to clients that submit mail by SMTP: what they showed or sent (`auth`, `mail`, `rcpt`, `data`), and the code of the reply; `data` 250 is a mail that was committed',
    labelNames: ['phase', 'reply'],
    registers: [registry],
  })
  let connections = () => 0
  new Gauge({
    name: 'dripline_submission_connections',
    help: 'Open connections of clients that submit mail by SMTP',
    registers: [registry],
    collect() {
      this.set(connections())
    },
  })
  const count: CountReply = (phase, reply) => replies.inc({ phase, reply: String(reply) })
  return {
    count,
    watch(open: () => number): void {
      connections = open
    },
  }
}
