// The clocks of a zone worked out a second way, from Intl alone, to test time zones against.

export interface Stretch {
  /** From this instant, ms, the clocks are this much ahead of UTC, ms. */
  from: number
  offset: number
}

/** Twelve zones that differ in all that matters: half hours, a change of half an hour, none, southern, twice a year. */
export const zones = [
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'America/St_Johns',
  'Africa/Casablanca',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/New_York',
  'Europe/Berlin',
  'Europe/London',
  'Pacific/Auckland',
]

const STEP_MS = 12 * 60 * 60 * 1000

/** Every change of a zone's clocks between two instants, ms, found by looking each half day and then closer. */
export function stretchesOf(zone: string, from: number, to: number): Stretch[] {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  const offsetAt = (at: number): number => {
    const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign, hours, minutes] = /^GMT(?:([+-])(\d\d):(\d\d))?$/.exec(name) ?? []
    return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000
  }
  const stretches: Stretch[] = [{ from: Number.NEGATIVE_INFINITY, offset: offsetAt(from) }]
  for (let at = from; at < to; at += STEP_MS) {
    const offset = offsetAt(at + STEP_MS)
    if (offset === stretches.at(-1)?.offset) continue
    let [before, after] = [at, at + STEP_MS]
    while (after - before > 60_000) {
      const middle = before + Math.floor((after - before) / 120_000) * 60_000
      if (offsetAt(middle) === offset) after = middle
      else before = middle
    }
    stretches.push({ from: after, offset })
  }
  return stretches
}

/** The first instant at which the clocks show the time `wall` or one after it: by asking stretch after stretch. */
export function firstShown(stretches: readonly Stretch[], wall: number): number {
  for (const [i, { from, offset }] of stretches.entries()) {
    const at = Math.max(from, wall - offset)
    if (at < (stretches[i + 1]?.from ?? Number.POSITIVE_INFINITY)) return at
  }
  throw new Error('the clocks never show it')
}
