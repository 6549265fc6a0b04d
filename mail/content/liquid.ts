// The Liquid engine of templates: no access to files or prototypes, limits on sizes, and a cache of parsed templates.
// What bounds the time of a render is outside: `cheap.ts` decides what may be rendered in place.
import {
  type Emitter,
  Liquid,
  LiquidError,
  Parser,
  Tag,
  type Template,
  toValue,
  toValueSync,
} from 'liquidjs'
import { LRUCache } from 'lru-cache'
import { limits } from '../../rules/limits.ts'
import { type Cost, costOf } from './cheap.ts'
import { quickenOutputs, WatchingContext } from './outputs.ts'
import { boundRanges, checkRange, RANGE_CHECK } from './ranges.ts'
import { operators, searchFilters, textOf } from './searches.ts'
import { readTokens } from './tokens.ts'

export type TemplateMode = 'html' | 'text'

export interface TemplateFault {
  /** Counts from 1. */
  line: number
  /** Counts from 1. */
  column: number
  message: string
}

/** Characters and list items that filters may produce. */
const MEMORY_MAX = 50_000_000
const CACHED_TEMPLATES_MAX = 500
/** About the bytes of all cached templates; a thread of the pool has 64 MB for everything. */
const CACHED_BYTES_MAX = 16 * 1024 * 1024
/** About the bytes of one parsed tag. */
const TAG_BYTES = 2_000

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
const engines = { html: createEngine('html'), text: createEngine('text') }

function createEngine(mode: TemplateMode): Liquid {
  const engine = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    ...(mode === 'html' ? { outputEscape: 'escape' as const } : {}),
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
  for (const [name, filter] of searchFilters()) engine.registerFilter(name, filter)
  return engine
}

/** The filter `size`. The engine's own gives the value of a key `length`, which may be a long text. */
function sizeOf(given: unknown): number {
  const value: unknown = toValue(given)
  return typeof value === 'string' || Array.isArray(value) ? value.length : 0
}

interface ParsedPart {
  templates: Template[]
  /** What rendering it costs at most; null: nothing bounds that. */
  cost: Cost | null
}

type Parsed = ({ ok: true } & ParsedPart) | ({ ok: false } & TemplateFault)

// One for each mode, with the source as it is for a key: a key made from both would be put together at each look.
const caches = { html: createCache(), text: createCache() }

function createCache() {
  return new LRUCache<string, ParsedPart>({
    max: CACHED_TEMPLATES_MAX,
    maxSize: CACHED_BYTES_MAX / 2,
    sizeCalculation: (_, source) => 2 * source.length + TAG_BYTES * source.split('{').length,
  })
}

/** Parses one part of an email. The result is cached. */
export function parsePart(source: string, mode: TemplateMode): Parsed {
  const cache = caches[mode]
  const known = cache.get(source)
  if (known) return { ok: true, ...known }
  try {
    const engine = engines[mode]
    const templates = new Parser(engine).parseTokens(readTokens(source, engine))
    const parsed = { templates, cost: costOf(templates) }
    quickenOutputs(templates)
    cache.set(source, parsed)
    return { ok: true, ...parsed }
  } catch (error) {
    return { ok: false, ...toFault(error) }
  }
}

/**
 * Parses and renders one part.
 * @param missing names that an output shows and that have no value and no default are added to this set
 */
export function renderPart(
  source: string,
  mode: TemplateMode,
  names: object,
  missing: Set<string>,
): { ok: true; output: string } | ({ ok: false } & TemplateFault) {
  const parsed = parsePart(source, mode)
  if (!parsed.ok) return parsed
  const engine = engines[mode]
  try {
    const context = new WatchingContext(names, engine, missing)
    const output = new BoundedOutput()
    toValueSync(engine.renderer.renderTemplates(parsed.templates, context, output))
    return { ok: true, output: output.buffer }
  } catch (error) {
    return { ok: false, ...toFault(error) }
  }
}

/** What a template writes. It refuses what no email may have before that has been put together. */
class BoundedOutput implements Emitter {
  buffer = ''

  write(value: unknown): void {
    this.buffer += textOf(value)
    if (this.buffer.length > limits.htmlBytesMax) throw new Error('the result is too large')
  }
}

function toFault(error: unknown): TemplateFault {
  const message = error instanceof Error ? error.message : String(error)
  if (!LiquidError.is(error)) return { line: 1, column: 1, message }
  const [line = 1, column = 1] = error.token.getPosition()
  // the engine appends the position to the message
  return { line, column, message: message.replace(/, line:\d+, col:\d+$/, '') }
}
