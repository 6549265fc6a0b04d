// The Liquid engine of templates: no access to files or prototypes, and limits on sizes.
// What bounds the time of a render is outside: `cheap.ts` decides what may be rendered in place.
import { type Emitter, Liquid, LiquidError, Parser, Tag, toValue, toValueSync } from 'liquidjs'
import { MEBIBYTE } from '../../rules/limits.ts'
import { costOf } from './cheap.ts'
import { growingFilters } from './growth.ts'
import { quickenOutputs, WatchingContext } from './outputs.ts'
import { findParsed, keepParsed, type ParsedPart, type TemplateMode } from './parsed.ts'
import { boundRanges, checkRange, RANGE_CHECK } from './ranges.ts'
import { operators, searchFilters, textOf } from './searches.ts'
import { readTokens } from './tokens.ts'

export type { TemplateMode }

export interface TemplateFault {
  /** Counts from 1. */
  line: number
  /** Counts from 1. */
  column: number
  message: string
}

/** Characters and list items that filters may produce. */
const MEMORY_MAX = 50_000_000

/** Tags that include other templates, and `liquid`, which would hide many tags from the count. */
const removedTags = ['include', 'render', 'layout', 'block', 'liquid']

/** `{% # a comment %}`. The engine's own tag takes quadratic time for empty lines. */
class LineComment extends Tag {
  constructor(...args: ConstructorParameters<typeof Tag>) {
    super(...args)
    const [, ...lines] = this.token.args.split('\n')
    if (lines.some((line) => !/^(#|$)/.test(line.trim()))) {
      throw new Error("every line of an inline comment must start with a '#' character")
    }
  }

  override render(): void {}
}

boundRanges()
const engines = {
  html: createEngine('html'),
  text: createEngine('text'),
  url: createEngine('url'),
}

function createEngine(mode: TemplateMode): Liquid {
  const engine = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    ...escapeOf(mode),
    operators,
    memoryLimit: MEMORY_MAX,
    // the same output on every machine
    timezoneOffset: 0,
    locale: 'en-US',
    dynamicPartials: false,
    relativeReference: false,
    templates: {},
  })
  for (const tag of removedTags) delete engine.tags[tag]
  engine.registerTag('#', LineComment)
  engine.registerFilter(RANGE_CHECK, checkRange)
  engine.registerFilter('size', sizeOf)
  for (const [name, filter] of [...searchFilters(), ...growingFilters()]) {
    engine.registerFilter(name, filter)
  }
  return engine
}

/** What is done to each value that a template writes. */
function escapeOf(mode: TemplateMode) {
  if (mode === 'html') return { outputEscape: 'escape' as const }
  if (mode === 'url') return { outputEscape: (value: unknown) => percentEncoded(textOf(value)) }
  return {}
}

const percentEncoded = (text: string): string => encodeURIComponent(text.toWellFormed())

/** The filter `size`. The engine's own gives the value of a key `length`, which may be a long text. */
function sizeOf(given: unknown): number {
  const value: unknown = toValue(given)
  return typeof value === 'string' || Array.isArray(value) ? value.length : 0
}

type Parsed = ParsedPart | ({ ok: false } & TemplateFault)

/** Parses one part of an email. The result is kept for the next time. */
export function parsePart(source: string, mode: TemplateMode): Parsed {
  const known = findParsed(source, mode)
  if (known) return known
  try {
    const engine = engines[mode]
    const { tokens, pieces } = readTokens(source, engine)
    const count = { tokens: tokens.length, pieces }
    const templates = new Parser(engine).parseTokens(tokens)
    const parsed = { ok: true as const, templates, cost: costOf(templates) }
    quickenOutputs(templates)
    keepParsed(source, mode, parsed, count)
    return parsed
  } catch (error) {
    return { ok: false, ...toFault(error) }
  }
}

/**
 * Parses and renders one part.
 * @param missing names that an output shows and that have no value and no default are added to this set
 * @param charsMax of the result; more is a fault
 */
export function renderPart(
  source: string,
  mode: TemplateMode,
  names: object,
  missing: Set<string>,
  charsMax: number,
): { ok: true; output: string } | ({ ok: false } & TemplateFault) {
  const parsed = parsePart(source, mode)
  if (!parsed.ok) return parsed
  const engine = engines[mode]
  try {
    const context = new WatchingContext(names, engine, missing)
    const output = new BoundedOutput(charsMax)
    toValueSync(engine.renderer.renderTemplates(parsed.templates, context, output))
    return { ok: true, output: output.buffer }
  } catch (error) {
    return { ok: false, ...toFault(error) }
  }
}

/** What the author reads of an email that is larger than it may be. */
export const tooLarge = (bytesMax: number) => `the result is over ${bytesMax / MEBIBYTE} MiB`

/** What a template writes. It refuses what no email may have before that has been put together. */
class BoundedOutput implements Emitter {
  buffer = ''
  private readonly charsMax: number

  constructor(charsMax: number) {
    this.charsMax = charsMax
  }

  write(value: unknown): void {
    this.buffer += textOf(value)
    if (this.buffer.length > this.charsMax) throw new Error(tooLarge(this.charsMax))
  }
}

function toFault(error: unknown): TemplateFault {
  const message = error instanceof Error ? error.message : String(error)
  if (!LiquidError.is(error)) return { line: 1, column: 1, message }
  const [line = 1, column = 1] = error.token.getPosition()
  // the engine appends the position to the message
  return { line, column, message: message.replace(/, line:\d+, col:\d+$/, '') }
}
