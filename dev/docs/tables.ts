// The tables of the docs that come from code, by the name that a page writes. Each lives in a file of its own beside this one.
import { conditionTables } from './conditions.ts'
import { connectionLimitsTable } from './connectionLimits.ts'
import { designTables } from './design.ts'
import { errorCodesTable, problemCodesTable } from './errors.ts'
import { executionTables } from './executions.ts'
import { librariesTable } from './libraries.ts'
import { metricsTable } from './metrics.ts'
import { nodeKindsTable, nodeTables } from './nodes.ts'
import { keyOperationsTable, permissionsTable } from './permissions.ts'
import { reasonTables } from './reasons.ts'
import { retentionTable } from './retention.ts'
import { roomsTable } from './rooms.ts'
import { sendingLimitsTable } from './sendingLimits.ts'
import { statesTable } from './states.ts'
import { submissionLimitsTable } from './submissionLimits.ts'
import { templateNamesTable } from './templateNames.ts'
import { variablesTable } from './variables.ts'
import { warmUpTable } from './warmUp.ts'
import { webhookLaterTable, webhookTypesTable } from './webhookTypes.ts'

/** Each gives a table as Markdown, without a line break at its end. */
export const docTables: Readonly<Record<string, () => string>> = {
  'node-kinds': nodeKindsTable,
  ...nodeTables(),
  ...designTables,
  ...conditionTables,
  ...executionTables,
  ...reasonTables,
  'connection-limits': connectionLimitsTable,
  libraries: librariesTable,
  'error-codes': errorCodesTable,
  metrics: metricsTable,
  permissions: permissionsTable,
  'key-operations': keyOperationsTable,
  retention: retentionTable,
  rooms: roomsTable,
  'problem-codes': problemCodesTable,
  'sending-limits': sendingLimitsTable,
  states: statesTable,
  'submission-limits': submissionLimitsTable,
  'template-names': templateNamesTable,
  variables: variablesTable,
  'warm-up': warmUpTable,
  'webhook-types': webhookTypesTable,
  'webhook-types-later': webhookLaterTable,
}
