// The one JSON document that a benchmark prints: both sides, their ratio, the bar, and the machine.

/** Middle, least and greatest of what the rounds measured. */
export interface Spread {
  median: number
  min: number
  max: number
  unit: string
}

export interface Ratio {
  median: number
  min: number
  max: number
}

/** What the median ratio must keep to. */
export type Bar = { at_least: number } | { at_most: number }

/** One measured thing beside what it is held against. */
export interface Figure {
  what: string
  subject: Spread
  reference_figures: Spread
  /** Subject by reference, pair by pair. */
  ratio: Ratio
  bar: Bar
  passed: boolean
}

export interface Machine {
  cores: number
  memory_gb: number
  cpu: string
  node: string
  postgres: string
  temporal: string
}

export interface Report extends Omit<Figure, 'what'> {
  name: string
  machine: Machine
  /** What it is compared with, in words. */
  reference: string
  rounds: number
  /** Every figure, where there is more than the one above. */
  figures?: Figure[]
  /** Measured beside it, without a bar. */
  further?: Record<string, Spread | number | string>
}

/** What a benchmark hands to main.ts; the figure in front is the one that the report is headed by. */
interface Outcome {
  reference: string
  rounds: number
  figures: [Figure, ...Figure[]]
  further?: Record<string, Spread | number | string>
  postgres: string
  temporal: string
}

/** How a benchmark is run; every number has a bounded default for each benchmark. */
export interface BenchOptions {
  quick: boolean
  rounds: number | undefined
  /** Length of one measurement. */
  seconds: number | undefined
  /** Operations of one measurement, where it is not bounded by time. */
  count: number | undefined
  /** Rows of each list. */
  rows: number | undefined
  /** `server`: the real one on Postgres; `dev`: the development server of the CLI. */
  temporal: 'server' | 'dev'
  /** Where it tells what it is doing. */
  say: (line: string) => void
}

export type Bench = (options: BenchOptions) => Promise<Outcome>

/** Four significant digits: more than any benchmark can tell. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4))
}

export function spread(values: number[], unit: string): Spread {
  return { ...middle(values), unit }
}

/** Median, least and greatest of at least one value. */
export function middle(values: number[]): Ratio {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (index: number) => sorted[index] ?? Number.NaN
  const half = sorted.length / 2
  const median = (at(Math.ceil(half) - 1) + at(Math.floor(half))) / 2
  return {
    median: rounded(median),
    min: rounded(at(0)),
    max: rounded(at(sorted.length - 1)),
  }
}

function keepsTo(ratio: Ratio, bar: Bar): boolean {
  return 'at_least' in bar ? ratio.median >= bar.at_least : ratio.median <= bar.at_most
}

/** A figure from its pairs of measurements. */
export function figure(
  what: string,
  pairs: { subject: number; reference: number }[],
  unit: string,
  bar: Bar,
): Figure {
  const ratio = middle(pairs.map((pair) => pair.subject / pair.reference))
  return {
    what,
    subject: spread(
      pairs.map((pair) => pair.subject),
      unit,
    ),
    reference_figures: spread(
      pairs.map((pair) => pair.reference),
      unit,
    ),
    ratio,
    bar,
    passed: keepsTo(ratio, bar),
  }
}
