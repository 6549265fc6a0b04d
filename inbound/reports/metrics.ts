// Counts reports that arrived by mail.
import { Counter, type Registry } from 'prom-client'
import type { Taken } from '../../commands/reports/take.ts'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'

/** Makes a function that counts one report; the label `what` is its kind, or why it was ignored. */
export function createReportCounter(registry: Registry) {
  const counter = new Counter({
    name: 'dripline_inbound_reports_total',
    help: 'Reports that came back by mail, by what they said and what became of them',
    labelNames: ['what', 'taken'],
    registers: [registry],
  })
  return (report: InboundReport, taken: Taken): void => {
    counter.inc({ what: report.kind === 'nothing' ? report.what : report.kind, taken })
  }
}
