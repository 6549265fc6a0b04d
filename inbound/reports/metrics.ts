// Counts reports that arrived by mail, and mail for the postmaster.
import { Counter, type Registry } from 'prom-client'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'
import type { FeedbackTaken } from './feedback.ts'
import type { PostmasterOutcome } from './postmaster.ts'

/** Makes a function that counts one report; the label `what` is its kind, or why it was ignored. */
export function createReportCounter(registry: Registry) {
  const counter = new Counter({
    name: 'dripline_inbound_reports_total',
    help: 'Reports that came back by mail, by what they said and what became of them; `unmatched`: one of a feedback loop that names no mail that it may speak about',
    labelNames: ['what', 'taken'],
    registers: [registry],
  })
  return (report: InboundReport, taken: FeedbackTaken): void => {
    counter.inc({ what: report.kind === 'nothing' ? report.what : report.kind, taken })
  }
}

/** Makes a function that counts one mail for the postmaster. */
export function createPostmasterCounter(registry: Registry) {
  const counter = new Counter({
    name: 'dripline_inbound_postmaster_total',
    help: "Mail for the postmaster: forwarded, refused by the postmaster's server, put off because that server cannot be reached (`later`), going in a circle (`loop`), or over the rate (`too_many`)",
    labelNames: ['outcome'],
    registers: [registry],
  })
  return (outcome: PostmasterOutcome): void => counter.inc({ outcome })
}
