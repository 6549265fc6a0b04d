// Starts the workflow of a sending domain, or has it check now.
import type { Client } from '@temporalio/client'
import {
  checkNowSignal,
  domainWorkflowId,
  EXECUTIONS_TASK_QUEUE,
  type VerifyDomainInput,
  verifyDomainName,
} from '../workflows/messages.ts'

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
    workflowId: domainWorkflowId(domainId),
    taskQueue: EXECUTIONS_TASK_QUEUE,
    args: [input],
    // One that had given up, or was never started, begins anew.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
  } as const
  if (kind === 'domain_start') await client.workflow.start(verifyDomainName, options)
  else {
    const signal = { signal: checkNowSignal, signalArgs: [] }
    await client.workflow.signalWithStart(verifyDomainName, { ...options, ...signal })
  }
}
