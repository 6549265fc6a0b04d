// Starts the workflow function of a sending domain, or asks it for a check now.
import type { Client } from '@temporalio/client'
import { signals, taskQueues, workflowIds, workflowTypes } from '../rules/wire.ts'
import type { VerifyDomainInput } from '../workflows/messages.ts'
import { turnOf } from './turns.ts'

/**
 * Both may happen twice: a second start is refused while the first runs, a second signal causes one more check.
 * @throws WorkflowExecutionAlreadyStartedError if a start finds it running
 */
export async function tellDomain(
  client: Client,
  kind: 'domain_start' | 'domain_check',
  { domainId, workspaceId }: { domainId: string; workspaceId: string },
): Promise<void> {
  const input: VerifyDomainInput = { domainId }
  const options = {
    workflowId: workflowIds.domain(domainId),
    taskQueue: taskQueues.executions,
    args: [input],
    // A workflow function that has ended, or was never started, starts.
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    ...turnOf(workspaceId),
  } as const
  if (kind === 'domain_start') await client.workflow.start(workflowTypes.verifyDomain, options)
  else {
    const signal = { signal: signals.checkNow, signalArgs: [] }
    await client.workflow.signalWithStart(workflowTypes.verifyDomain, { ...options, ...signal })
  }
}
