// Tables of a design as a whole: edges, settings, and what is bounded.
import { designSchemas } from '../../rules/design/schema.ts'
import type { JsonObject } from '../../rules/json.ts'
import { limits, MEBIBYTE } from '../../rules/limits.ts'
import { type ReEntry, reEntryTexts } from '../../rules/nodes/reEntry.ts'
import { fieldsTable } from './fields.ts'
import { code, markdownTable } from './markdown.ts'

const schemaTable = (name: string, head?: string) => () => {
  const schema = designSchemas()[name]
  if (!schema) throw new Error(`no schema has the name ${name}`)
  return fieldsTable(schema as JsonObject, head)
}

/** The modes of re-entry. */
function reEntryTable(): string {
  const modes = Object.keys(reEntryTexts) as ReEntry['mode'][]
  return markdownTable(
    ['mode', 'the same contact may start again'],
    modes.map((mode) => [code(mode), reEntryTexts[mode]]),
  )
}

const count = (number: number): string => number.toLocaleString('en-US')
const KIB = 1024

const bounds: [what: string, most: string][] = [
  ['nodes of a design', count(limits.designNodesMax)],
  ['edges of a design', count(limits.designEdgesMax)],
  ['size of a design', `${limits.designBytesMax / KIB} KiB of JSON`],
  ['length of the id of a node or edge', `${limits.nodeIdCharsMax} characters`],
  ['branches of one node', count(limits.branchesPerNodeMax)],
  ['variants of one `split`', count(limits.variantsPerNodeMax)],
  ['addresses of each of `to` and `cc` of a mail', count(limits.teamAddressesMax)],
  ['rows of `match` of one wait', count(limits.matchRowsPerNodeMax)],
  ['`{"var"}` values of one `update_contact`', count(limits.variablesPerNodeMax)],
  [
    '`{"var"}` values and Liquid texts of one `send_event`, `start_workflow` or body of an `http_request`',
    count(limits.variablesPerNodeMax),
  ],
  ['headers of one `http_request`', count(limits.httpHeadersMax)],
  ['length of the `url` of an `http_request`', `${count(limits.httpUrlCharsMax)} characters`],
  ['length of one of its headers', `${count(limits.httpHeaderCharsMax)} characters`],
  ['its `timeout_ms`', count(limits.httpTimeoutMsMax)],
  ['body of an answer', `${limits.httpAnswerBytesMax / KIB} KiB`],
  ['secrets of a workspace', count(limits.secretsPerWorkspaceMax)],
  ['size of a secret', `${limits.secretBytesMax / KIB} KiB`],
  ['`exit_conditions` of a design', count(limits.exitConditionsMax)],
  ['`count` of a `frequency_cap`', count(limits.frequencyCapCountMax)],
  ['conditions in one condition, those that join others included', count(limits.conditionRulesMax)],
  ['levels of conditions inside each other', count(limits.conditionDepthMax)],
  ['values of the list of `in` and `not_in`', count(limits.conditionListMax)],
  ['segments that one reads, by way of others too', count(limits.segmentsReadMax)],
  [
    'filters of the triggers of all active workflows of a workspace',
    `${limits.metConditionsBytesMax / MEBIBYTE} MiB of JSON`,
  ],
  [
    'conditions of all segments at which these begin, each with those of the segments that it reads',
    `${limits.metConditionsBytesMax / MEBIBYTE} MiB of JSON`,
  ],
  ['length of a field or dot path', `${limits.pathCharsMax} characters`],
  ['length of a delay, a timeout or any other duration', `${limits.durationYearsMax} years`],
  [
    'executions that follow from one, each started by what the one before did',
    count(limits.executionChainMax),
  ],
  ['times that one contact enters one workflow in an hour', count(limits.entriesPerHourMax)],
  ['mails that one execution sends within 24 hours', count(limits.executionMailsPerDayMax)],
  [
    'events of one name that `event_count` counts',
    `the latest ${count(limits.eventTimesCountedMax)}`,
  ],
  ['events that `lookback_ms` looks at', `the latest ${limits.eventsLookedBackMax} of that name`],
  ["size of a contact's properties", `${limits.propertiesBytesMax / KIB} KiB of JSON`],
  ['levels of objects inside each other in a design or in properties', count(limits.jsonDepthMax)],
  ['length of an event name', `${limits.eventNameCharsMax} characters`],
  ['length of a workflow name', `${limits.workflowNameCharsMax} characters`],
  ['size of one Liquid text', `${limits.templateBytesMax / KIB / KIB} MiB`],
]

export const designTables = {
  'design-edges': schemaTable('DesignEdge'),
  'design-settings': schemaTable('DesignSettings', 'setting'),
  're-entry': reEntryTable,
  'design-limits': () => markdownTable(['what', 'at most'], bounds),
}
