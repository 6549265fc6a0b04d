// Prints for a terminal what Temporal has lost, and what becomes of it.
import { tableLines } from './table.ts'

const HEADER = ['what', 'id', 'workspace', 'goes on']

export interface Lost {
  what: 'execution' | 'domain' | 'schedule'
  id: string
  workspace_id: string
  /** The last segment of an execution; null: it has run none, or it is none. */
  segment: number | null
  /** Whether it is started again, or its row closed, since Temporal has dropped its run after it was ended from outside. */
  fate: 'started' | 'ended'
}

export interface LostCounts {
  started: number
  /** Rows of executions whose run has ended. */
  closed: number
  failed: number
}

export function lostLines(given: {
  /** The first of them. */
  shown: Lost[]
  counts: LostCounts
  isApplied: boolean
  namespace: string
  address: string
}): string[] {
  const { shown, counts, isApplied, namespace, address } = given
  const { started, closed, failed } = counts
  const where = `the namespace "${namespace}" of ${address}`
  if (started + closed + failed === 0)
    return [`Nothing that lives in Postgres is missing in ${where}.`]
  const table = shown.length > 0 ? tableLines(HEADER, shown.map(toCells)) : []
  const more = started > shown.length ? [`and more: the first ${shown.length} are shown`] : []
  const would = isApplied ? '' : 'would be '
  return [
    ...table,
    ...more,
    `${started} that are missing in ${where}: ${would}started again where Postgres has them.`,
    ...(closed > 0 ? [`${closed} executions whose run has ended: ${would}closed.`] : []),
    ...(failed > 0 ? [`${failed} could not be changed: say it again.`] : []),
    isApplied
      ? 'The starts are in the outbox: npm run outbox shows what of it waits.'
      : 'Nothing was changed. npm run recover -- --apply does it.',
  ]
}

function toCells({ what, id, workspace_id, segment, fate }: Lost): string[] {
  const after = segment === null ? 'at its beginning' : `after segment ${segment}`
  const goesOn = { execution: after, domain: 'with a check', schedule: 'at its next time' }[what]
  return [what, id, workspace_id, fate === 'ended' ? 'no more: ended in Temporal' : goesOn]
}
