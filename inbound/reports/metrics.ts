// Counts what came back by mail.
import { Counter, type Registry } from 'prom-client'
import type { Taken } from '../../commands/reports/take.ts'
import type { InboundReport } from '../../rules/mail/inboundReport.ts'

/** A function that counts one report; `what` is its kind, or why nothing follows from it. */
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
