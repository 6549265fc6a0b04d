// Starts the workflow of a sending domain, or has it check now.
import type { Client } from '@temporalio/client'
import { signals, taskQueues, workflowIds, workflowTypes } from '../rules/wire.ts'
import type { VerifyDomainInput } from '../workflows/messages.ts'

/**
 * Both may be told twice: a second start is refused while the first runs, a second signal is one more check.
 * @throws WorkflowExecutionAlreadyStartedError for a start of what runs already
 */
export async function tellDomain(
  client: Client,
  kind: 'domain_start' | 'domain_check',
  domainId: string,
): Promise<void> {
  const input: VerifyDomainInput = { domainId }
  const options = {
    workflowId: workflowIds.domain(domainId),
    taskQueue: taskQueues.executions,
    args: [input],
    // One that had given up, or was never started, begins anew.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  } as const
  if (kind === 'domain_start') await client.workflow.start(workflowTypes.verifyDomain, options)
  else {
    const signal = { signal: signals.checkNow, signalArgs: [] }
    await client.workflow.signalWithStart(workflowTypes.verifyDomain, { ...options, ...signal })
  }
}
