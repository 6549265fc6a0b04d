// Reads cron expressions of five fields: minute, hour, day of the month, month, day of the week.
import { shown } from '../shown.ts'

export interface Cron {
  minutes: readonly number[]
  hours: readonly number[]
  /** Whether a day matches: of the month 1-31, month 1-12, of the week 0-6 from Sunday. */
  isOn(day: number, month: number, weekday: number): boolean
}

interface Field {
  name: string
  min: number
  max: number
  /** Names for min and what follows. */
  names?: readonly string[]
}

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const weekdays = 'sun mon tue wed thu fri sat'.split(' ')
const fields: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: months },
  // 7 is Sunday too.
  { name: 'day of the week', min: 0, max: 7, names: weekdays },
]

const CRON_CHARS_MAX = 255

/**
 * Parses a cron expression: in each field `*`, numbers, ranges `1-5`, steps `0-59/15` and `8-18/2`, and lists of these; names for
 * months and days of the week, in any case; 0 and 7 are Sunday. Where both the day of the month and the day of the week say
 * something (do not begin with `*`), a day matches when either does, as crond has it.
 * @returns the fault as a sentence's end: "must have five fields, …"
 */
export function parseCron(
  text: string,
): { cron: Cron; fault?: never } | { fault: string; cron?: never } {
  const parts = text.length <= CRON_CHARS_MAX ? text.trim().split(/\s+/) : []
  if (parts.length !== fields.length) {
    return { fault: `must have five fields, such as "0 9 * * mon-fri", not ${shown(text)}` }
  }
  const sets: ReadonlySet<number>[] = []
  for (const [i, field] of fields.entries()) {
    const values = parseField(parts[i] ?? '', field)
    if (!values) return { fault: faultOf(field, parts[i]) }
    sets.push(values)
  }
  const [minutes, hours, days, inMonths, onWeekdays] = sets as [
    ReadonlySet<number>,
    ReadonlySet<number>,
    ReadonlySet<number>,
    ReadonlySet<number>,
    ReadonlySet<number>,
  ]
  const isEither = !parts[2]?.startsWith('*') && !parts[4]?.startsWith('*')
  return {
    cron: {
      minutes: ascending(minutes),
      hours: ascending(hours),
      isOn(day, month, weekday) {
        if (!inMonths.has(month)) return false
        const isWeekday = onWeekdays.has(weekday) || (weekday === 0 && onWeekdays.has(7))
        return isEither ? days.has(day) || isWeekday : days.has(day) && isWeekday
      },
    },
  }
}

const ascending = (values: ReadonlySet<number>): number[] => [...values].sort((a, b) => a - b)

function faultOf({ name, min, max, names }: Field, text: string | undefined): string {
  const named = names ? ` or names such as ${names[1]}` : ''
  return `must have as ${name} *, numbers from ${min} to ${max}${named}, ranges, steps or lists of them, not ${shown(text)}`
}

function parseField(text: string, field: Field): ReadonlySet<number> | null {
  const values = new Set<number>()
  for (const item of text.split(',')) {
    const match = /^(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:\/(\d{1,2}))?$/i.exec(item)
    if (!match) return null
    const [, from = '', to, step] = match
    const isAll = from === '*'
    if (isAll && to !== undefined) return null
    const first = isAll ? field.min : numberOf(from, field)
    // A step after one number counts from there on to the end.
    const last =
      to !== undefined ? lastOf(to, first, field) : isAll || step !== undefined ? field.max : first
    const by = step === undefined ? 1 : Number(step)
    if (first === null || last === null || last < first || by < 1) return null
    for (let value = first; value <= last; value += by) values.add(value)
  }
  return values
}

/** The end of a range: `fri-sun` ends on the Sunday after, which is 7. */
function lastOf(text: string, first: number | null, field: Field): number | null {
  const last = numberOf(text, field)
  return field.max === 7 && last === 0 && first !== 0 ? 7 : last
}

function numberOf(text: string, { min, max, names }: Field): number | null {
  const named = names?.indexOf(text.toLowerCase()) ?? -1
  const value = named >= 0 ? min + named : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  return value >= min && value <= max ? value : null
}
