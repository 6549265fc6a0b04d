// Sends captured statements again with new ids, times and addresses for each request.
import type pg from 'pg'
import { binaryTexts, textsOf } from '../db/binaryTexts.ts'
import type { CapturedSession } from './capture.ts'

/** The values of the captured request that are replaced in each replay. */
export interface Renewal {
  /** A captured value, and how to make its replacement. */
  made: { value: string; make: (serial: number) => string }[]
  /** The time of the capture: dates equal to it are replaced by the time of the replay. */
  now: Date
}

interface Run {
  made: string[]
  now: Date
  /** Rows of the statements so far. */
  rows: Record<string, unknown>[][]
}

type Fill = (run: Run) => unknown

/**
 * Compiles sessions into a function that sends them again. A parameter whose captured value came from the first
 * row of an earlier statement is taken from that row of the replay, and so is an id of such a row in a parameter's JSON.
 */
export function createReplay(
  pool: pg.Pool,
  sessions: CapturedSession[],
  renewal: Renewal,
): (serial: number) => Promise<void> {
  const before: Record<string, unknown>[][] = []
  const compiled = sessions.map((session) =>
    session.map(({ text, name, values, rows }) => {
      const fills = values.map((value) => compile(value, renewal, before))
      before.push(rows)
      return { text, name, fills }
    }),
  )
  return async (serial) => {
    const run: Run = {
      made: renewal.made.map(({ make }) => make(serial)),
      now: new Date(),
      rows: [],
    }
    for (const session of compiled) {
      const client = await pool.connect()
      try {
        for (const { text, name, fills } of session) {
          const values = fills.map((fill) => fill(run))
          const { rows } = await client.query<Record<string, unknown>>({
            text,
            values,
            ...(name ? { name } : {}),
          })
          run.rows.push(rows)
        }
      } finally {
        client.release()
      }
    }
  }
}

function compile(value: unknown, renewal: Renewal, before: Record<string, unknown>[][]): Fill {
  if (value instanceof Date) {
    return value.getTime() === renewal.now.getTime() ? (run) => run.now : () => value
  }
  if (Array.isArray(value)) {
    const fills = value.map((item) => compile(item, renewal, before))
    return (run) => fills.map((fill) => fill(run))
  }
  if (Buffer.isBuffer(value)) {
    const texts = textsOf(value)
    const fills = texts?.map((text) =>
      text === null ? () => null : compile(text, renewal, before),
    )
    return fills
      ? (run) => binaryTexts(fills.map((fill) => fill(run) as string | null))
      : () => value
  }
  if (typeof value !== 'string') return () => value
  const index = renewal.made.findIndex((made) => made.value === value)
  if (index >= 0) return (run) => run.made[index]
  const whole = readBefore(value, before)
  if (whole) return whole
  const parts = splitAtKnown(value, renewal, before)
  return parts.length > 1 ? (run) => parts.map((part) => part(run)).join('') : () => value
}

/** An id that the service makes. */
const ID = /^[a-z]+_[0-9A-Z]{26}$/

/** Splits a text (such as JSON) at the values that are replaced, and at ids in the first rows of earlier statements. */
function splitAtKnown(text: string, renewal: Renewal, before: Record<string, unknown>[][]): Fill[] {
  const known: [value: string, fill: Fill][] = renewal.made.map(({ value }, index) => [
    value,
    (run) => run.made[index],
  ])
  for (const rows of before) {
    for (const value of Object.values(rows[0] ?? {})) {
      if (typeof value !== 'string' || !ID.test(value)) continue
      if (!known.some(([one]) => one === value))
        known.push([value, readBefore(value, before) ?? (() => value)])
    }
  }
  let pieces: (string | Fill)[] = [text]
  for (const [value, fill] of known) {
    pieces = pieces.flatMap((piece) =>
      typeof piece === 'string'
        ? piece.split(value).flatMap((rest, i) => (i === 0 ? [rest] : [fill, rest]))
        : [piece],
    )
  }
  return pieces.map((piece) => (typeof piece === 'string' ? () => piece : piece))
}

function readBefore(value: string, before: Record<string, unknown>[][]): Fill | undefined {
  for (const [statement, rows] of before.entries()) {
    for (const [column, found] of Object.entries(rows[0] ?? {})) {
      if (found === value) return (run) => run.rows[statement]?.[0]?.[column]
    }
  }
  return undefined
}
