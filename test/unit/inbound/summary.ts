// A report in one line, for tables of expectations.
import type { InboundReport } from '../../../rules/mail/inboundReport.ts'

/** `bounce 5.1.1 Permanent/NoEmail recipient`, `nothing delayed` */
export function summary(report: InboundReport): string {
  switch (report.kind) {
    case 'bounce': {
      const { bounce, status } = report
      const fault = bounce.fault === 'ours' ? `ours ${bounce.speaksOf}` : bounce.fault
      return `bounce ${status ?? '-'} ${bounce.type}/${bounce.subtype} ${fault}`
    }
    case 'complaint':
      return `complaint ${report.feedbackType}`
    case 'nothing':
      return `nothing ${report.what}`
  }
}
