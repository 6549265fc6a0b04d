// A report in one line, for tables of expectations.
import type { InboundReport } from '../../../rules/mail/inboundReport.ts'

/** `bounce 5.1.1 Permanent/NoEmail suppress`, `nothing delayed` */
export function summary(report: InboundReport): string {
  switch (report.kind) {
    case 'bounce': {
      const { type, subtype, suppress, ours } = report.bounce
      const marks = `${suppress ? ' suppress' : ''}${ours ? ' ours' : ''}`
      return `bounce ${report.status ?? '-'} ${type}/${subtype}${marks}`
    }
    case 'complaint':
      return `complaint ${report.feedbackType}`
    case 'nothing':
      return `nothing ${report.what}`
  }
}
