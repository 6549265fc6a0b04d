// The JSON document that a benchmark prints: both sides, their ratio, the bar, and the machine.

/** Median, minimum and maximum of the rounds. */
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

/** The bar: the limit for the median ratio. */
export type Bar = { at_least: number } | { at_most: number }

/** A measured value and its reference. */
export interface Figure {
  what: string
  subject: Spread
  reference_figures: Spread
  /** Subject divided by reference, for each pair. */
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
  /** A description of the reference. */
  reference: string
  rounds: number
  /** All figures, if there is more than one. */
  figures?: Figure[]
  /** Further measurements without a bar. */
  further?: Record<string, Spread | number | string>
}

/** The result of a benchmark. Its first figure is the head of the report. */
interface Outcome {
  reference: string
  rounds: number
  figures: [Figure, ...Figure[]]
  further?: Record<string, Spread | number | string>
  postgres: string
  temporal: string
}

/** Options of a run. Every benchmark has a default for each number. */
export interface BenchOptions {
  quick: boolean
  rounds: number | undefined
  /** Duration of one measurement. */
  seconds: number | undefined
  /** Operations of one measurement, if it is not bounded by time. */
  count: number | undefined
  /** Rows of each list. */
  rows: number | undefined
  /** `server`: the real server on Postgres; `dev`: the development server of the CLI. */
  temporal: 'server' | 'dev'
  /** Prints progress. */
  say: (line: string) => void
}

export type Bench = (options: BenchOptions) => Promise<Outcome>

/** Rounds to four significant digits. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4))
}

export function spread(values: number[], unit: string): Spread {
  return { ...middle(values), unit }
}

/** Median, minimum and maximum of at least one value. */
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

/** The value that so large a share of the values does not exceed; 0 < share <= 1. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN
}

function keepsTo(ratio: Ratio, bar: Bar): boolean {
  return 'at_least' in bar ? ratio.median >= bar.at_least : ratio.median <= bar.at_most
}

/** Makes a figure from pairs of measurements. */
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
