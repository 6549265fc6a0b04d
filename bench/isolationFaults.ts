// What must hold of a customer's load beside attacks, whatever the machine: every answer, every mail, every execution.
import type { Isolation } from './isolationRun.ts'

/** Says what the customer lost or was refused; nothing when nothing was. */
export function isolationFaults({ attacked }: Isolation): string[] {
  const faults: string[] = []
  const expected = { emails: '200', events: '202', flows: '202' } as const
  for (const [kind, status] of Object.entries(expected)) {
    const { sent, statuses } = attacked[kind as keyof typeof expected]
    if (statuses[status] !== sent) {
      faults.push(`${kind}: ${sent} sent, answered ${JSON.stringify(statuses)}`)
    }
  }
  const { emails, flows, delivered, executions } = attacked
  if (delivered.count !== emails.sent + flows.sent) {
    faults.push(`${delivered.count} mails were delivered of ${emails.sent} and ${flows.sent}`)
  }
  if (executions.completed !== flows.sent || executions.others > 0) {
    faults.push(`of ${flows.sent} executions ended as they should: ${JSON.stringify(executions)}`)
  }
  return faults
}
