// The Liquid engine of templates: no access to files or prototypes, limits on time and size, and a cache of parsed
// templates.
import { Context, Liquid, LiquidError, Output, type Template, toValueSync } from 'liquidjs'
import { limits } from '../../rules/limits.ts'

export type TemplateMode = 'html' | 'text'

export interface TemplateFault {
  /** Counts from 1. */
  line: number
  /** Counts from 1. */
  column: number
  message: string
}

const RENDER_MS_MAX = 500
/** Characters and list items that filters may produce. */
const MEMORY_MAX = 50_000_000
/** Tags and outputs in a template. The parser takes quadratic time in their number, about 0.3 s for so many. */
const DELIMITERS_MAX = 20_000
const CACHED_TEMPLATES_MAX = 200
const CACHED_CHARS_MAX = 8 * 1024 * 1024

/** Tags that include other templates, and `liquid`, which would hide many tags from the count. */
const removedTags = ['include', 'render', 'layout', 'block', 'liquid']

const engines = { html: createEngine('html'), text: createEngine('text') }

function createEngine(mode: TemplateMode): Liquid {
  const engine = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    ...(mode === 'html' ? { outputEscape: 'escape' as const } : {}),
    parseLimit: limits.templateBytesMax,
    renderLimit: RENDER_MS_MAX,
    memoryLimit: MEMORY_MAX,
    // the same output on every machine
    timezoneOffset: 0,
    locale: 'en-US',
    dynamicPartials: false,
    relativeReference: false,
    templates: {},
  })
  for (const tag of removedTags) delete engine.tags[tag]
  return engine
}

type Parsed = { ok: true; templates: Template[] } | ({ ok: false } & TemplateFault)

/** The cache of parsed templates, least recently used first. */
const cache = new Map<string, Template[]>()
let cachedChars = 0

/** Parses one part of an email. The result is cached. */
export function parsePart(source: string, mode: TemplateMode): Parsed {
  const key = `${mode}:${source}`
  const known = cache.get(key)
  if (known !== undefined) {
    cache.delete(key)
    cache.set(key, known)
    return { ok: true, templates: known }
  }
  if ((source.match(/\{[{%]/g)?.length ?? 0) > DELIMITERS_MAX) {
    return { ok: false, line: 1, column: 1, message: `over ${DELIMITERS_MAX} tags and outputs` }
  }
  try {
    const templates = engines[mode].parse(source)
    watchOutputs(templates)
    remember(key, templates)
    return { ok: true, templates }
  } catch (error) {
    return { ok: false, ...toFault(error) }
  }
}

function remember(key: string, templates: Template[]): void {
  cache.set(key, templates)
  cachedChars += key.length
  for (const oldest of cache.keys()) {
    if (cache.size <= CACHED_TEMPLATES_MAX && cachedChars <= CACHED_CHARS_MAX) return
    cache.delete(oldest)
    cachedChars -= oldest.length
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
    const output = String(engine.renderSync(parsed.templates, context))
    if (output.length <= limits.htmlBytesMax) return { ok: true, output }
    return { ok: false, line: 1, column: 1, message: 'the result is too large' }
  } catch (error) {
    return { ok: false, ...toFault(error) }
  }
}

/** A context that collects missing names while an output is rendered. */
class WatchingContext extends Context {
  /** True while an output is rendered. */
  watching = false
  readonly missing: Set<string>

  constructor(names: object, engine: Liquid, missing: Set<string>) {
    super(names, engine.options, { sync: true }, { liquid: engine })
    this.missing = missing
  }

  override *_getFromScope(
    ...args: Parameters<Context['_getFromScope']>
  ): IterableIterator<unknown> {
    const value: unknown = yield super._getFromScope(...args)
    const path = typeof args[1] === 'string' ? args[1] : args[1].join('.')
    if (value === undefined && this.watching) this.missing.add(path)
    return value
  }
}

/** Makes each `{{ output }}` without a `default` filter set `watching` while it is rendered. */
function watchOutputs(templates: Template[]): void {
  for (const template of templates) {
    if (template instanceof Output && template.value.filters[0]?.name !== 'default') {
      const render = template.render.bind(template)
      template.render = function* (context, emitter): IterableIterator<unknown> {
        if (context instanceof WatchingContext) context.watching = true
        try {
          return yield* render(context, emitter)
        } finally {
          if (context instanceof WatchingContext) context.watching = false
        }
      }
    }
    watchOutputs(childrenOf(template))
  }
}

function childrenOf(template: Template): Template[] {
  return template.children ? toValueSync(template.children(false, true)) : []
}

function toFault(error: unknown): TemplateFault {
  const message = error instanceof Error ? error.message : String(error)
  if (!LiquidError.is(error)) return { line: 1, column: 1, message }
  const [line = 1, column = 1] = error.token.getPosition()
  // the engine appends the position to the message
  return { line, column, message: message.replace(/, line:\d+, col:\d+$/, '') }
}
