// The filters of templates that are rendered in place: how much each can make of a value, and how long it takes.
import { Liquid, Output, TypeGuards } from 'liquidjs'

type Args = Output['value']['filters'][number]['args']

/** The most characters that a value can have: `times` those of all values in scope, and `plus`. */
export interface Size {
  times: number
  plus: number
}

export interface FilterCost {
  /** For each character of the value and of the result. */
  ns: number
  /** The size of the result; null when nothing bounds it. `given` are the sizes of the arguments. */
  after(size: Size, given: readonly Size[], args: Args): Size | null
  fixed_ns?: (args: Args) => number
}

/** A format of one `%` code may look for the names of months in the tables of the locale. */
const FORMAT_CODE_NS = 100_000
const FORMAT_CHARS_MAX = 100
const DEFAULT_FORMAT_CODES = 8
const NUMBER_CHARS = 25
const SEPARATOR_CHARS_MAX = 20

/** The name that the engine gives to its own escaping of outputs in html. */
export const ESCAPE = escapeName()

function escapeName(): string {
  const [output] = new Liquid({ outputEscape: 'escape' }).parse('{{ a }}')
  return (output instanceof Output && output.value.filters.at(-1)?.name) || 'escape'
}

/** At most `times` characters for each. */
const growing = (times: number, ns: number): FilterCost => ({
  ns,
  after: (size, given) => (given.length > 1 ? null : scaled(size, times)),
})
const scaled = ({ times, plus }: Size, by: number): Size => ({ times: times * by, plus: plus * by })

/** At most the value and all arguments together. */
const adding: FilterCost = {
  ns: 20,
  after: (size, given) =>
    given.reduce(
      (sum, { times, plus }) => ({ times: sum.times + times, plus: sum.plus + plus }),
      size,
    ),
}

const number: FilterCost = { ns: 20, after: () => ({ times: 0, plus: NUMBER_CHARS }) }

/** With a separator of the template. */
const joining: FilterCost = {
  ns: 50,
  after(size, given, args) {
    const chars = textOf(args)?.length ?? (args.length === 0 ? 1 : SEPARATOR_CHARS_MAX + 1)
    return chars > SEPARATOR_CHARS_MAX || given.length > 1 ? null : scaled(size, 1 + chars)
  },
}

/** With a format of the template, whose codes have no widths: `%999999999Y` would make as many characters. */
const date: FilterCost = {
  ns: 50,
  after(size, _, args) {
    if (args.length === 0) return { times: size.times, plus: size.plus + 100 }
    const format = args.length === 1 ? textOf(args) : null
    if (format === null || format.length > FORMAT_CHARS_MAX) return null
    if (/%[-_0^#:]*[1-9]/.test(format)) return null
    return { times: size.times, plus: size.plus + 40 * format.length }
  },
  fixed_ns: (args) =>
    (1 + (textOf(args)?.split('%').length ?? DEFAULT_FORMAT_CODES)) * FORMAT_CODE_NS,
}

/** The first argument when it is a text in quotes. */
function textOf([first]: Args): string | null {
  if (!first || Array.isArray(first) || !TypeGuards.isQuotedToken(first)) return null
  return first.content
}

/** A closed list: a filter that is not here sends its template to the pool. */
export const cheapFilters: Readonly<Record<string, FilterCost>> = {
  append: adding,
  prepend: adding,
  default: adding,
  truncate: adding,
  truncatewords: { ...adding, ns: 100 },
  // upper case of one character can be three
  upcase: growing(3, 20),
  downcase: growing(3, 20),
  capitalize: growing(3, 20),
  strip: growing(1, 200),
  lstrip: growing(1, 200),
  rstrip: growing(1, 200),
  raw: growing(1, 1),
  strip_newlines: growing(1, 20),
  newline_to_br: growing(7, 20),
  escape: growing(5, 20),
  escape_once: growing(5, 40),
  url_encode: growing(9, 30),
  cgi_escape: growing(9, 30),
  first: growing(1, 1),
  last: growing(1, 1),
  join: joining,
  date,
  size: number,
  abs: number,
  ceil: number,
  floor: number,
  round: number,
  plus: number,
  minus: number,
  times: number,
  divided_by: number,
  modulo: number,
  at_least: number,
  at_most: number,
}
