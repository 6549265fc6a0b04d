// Prints the outbox for a terminal: what waits, by kind, and a table of what Temporal has refused.
import type { RefusedRow, WaitingKind } from '../db/outboxReads.ts'
import { tableLines } from './table.ts'

const HEADER = ['kind', 'of', 'workspace', 'answer', 'tries', 'age', 'next try']

/** @param most refused rows that are shown; the list may have one more */
export function outboxLines(
  { waiting, refused }: { waiting: WaitingKind[]; refused: RefusedRow[] },
  most: number,
  now: Date,
): string[] {
  const lines =
    waiting.length === 0
      ? ['Nothing waits for Temporal.']
      : waiting.map(({ kind, count, oldest_at }) => {
          const age = span(now.getTime() - oldest_at.getTime())
          return `${count} of kind ${kind} wait, the oldest for ${age}`
        })
  if (refused.length === 0) return [...lines, 'Temporal has refused none of them.']
  const rows = refused.slice(0, most).map((row) => toCells(row, now))
  const more = refused.length > most ? [`and more: the oldest ${most} are shown`] : []
  return [
    ...lines,
    'Temporal has refused:',
    ...tableLines(HEADER, rows),
    ...more,
    'The log of the workers has each answer in full ("Temporal refused an outbox row").',
  ]
}

function toCells(row: RefusedRow, now: Date): string[] {
  const { kind, execution_id, workspace_id, refusal, attempts, created_at, next_at } = row
  const wait_ms = next_at.getTime() - now.getTime()
  return [
    kind,
    execution_id,
    workspace_id,
    refusal ?? '-',
    String(attempts),
    span(now.getTime() - created_at.getTime()),
    wait_ms > 0 ? `in ${span(wait_ms)}` : 'now',
  ]
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** In the largest unit that it fills, as `3 min`. */
function span(ms: number): string {
  const [unit, size] = UNITS.find(([, least]) => ms >= least) ?? ['s', 1_000]
  return `${Math.max(0, Math.floor(ms / size))} ${unit}`
}
