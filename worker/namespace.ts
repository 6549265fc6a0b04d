// What Temporal says of its namespace: which one it is, and how long it keeps runs that have ended.
import type { Client } from '@temporalio/client'

export interface Namespace {
  /** Another one of the same name has another id: what the earlier one held is lost. */
  id: string
  /** null: for ever. */
  retention_ms: number | null
}

/** @throws if Temporal does not answer, or has no such namespace */
export async function describeNamespace(client: Client, namespace: string): Promise<Namespace> {
  const { namespaceInfo, config } = await client.workflowService.describeNamespace({ namespace })
  const id = namespaceInfo?.id ?? ''
  if (id === '') throw new Error(`Temporal did not say which namespace ${namespace} is`)
  const seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0)
  return { id, retention_ms: seconds > 0 ? seconds * 1000 : null }
}
