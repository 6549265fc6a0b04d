// Writes one version of a workflow.

import type { Trx } from '../../db/connect.ts'
import type { WorkflowRow } from '../../db/workflows/reads.ts'
import { insertWorkflowVersion } from '../../db/workflows/writes.ts'
import type { Graph } from '../../rules/design/types.ts'
import { ENGINE } from '../../rules/engine.ts'
import { interruptsOf } from '../../rules/interrupts.ts'
import type { JsonObject } from '../../rules/json.ts'

/**
 * Writes a version under the number `workflow.current_version`.
 * @param version `boundTo`: the domain that its writer is bound to
 */
export function insertVersion(
  trx: Trx,
  workflow: Pick<WorkflowRow, 'id' | 'workspace_id' | 'current_version'>,
  version: { design: JsonObject; createdBy: string; at: Date; boundTo: string | null },
): Promise<void> {
  const interrupts = interruptsOf(version.design as JsonObject & Pick<Graph, 'nodes' | 'settings'>)
  return insertWorkflowVersion(trx, workflow.workspace_id, {
    workflow_id: workflow.id,
    version: workflow.current_version,
    design: JSON.stringify(version.design),
    interrupts: interrupts && JSON.stringify(interrupts),
    engine: ENGINE,
    bound_domain_id: version.boundTo,
    created_by: version.createdBy,
    created_at: version.at,
  })
}
