// Finds out, without rendering, whether a template reads the contact that it is sent to.
import { Liquid, type Template, Tokenizer, TypeGuards, Value } from 'liquidjs'
import { parsePart, type TemplateMode } from './liquid.ts'

/** The names under which a template finds the contact. */
const contactNames: ReadonlySet<unknown> = new Set(['contact', 'properties'])

/** Filters whose later arguments are texts that are parsed as expressions when the filter runs. */
const expressionFilters = /_exp$/

/**
 * Longer expressions, and more of them, are not parsed here but count as one that may read anything: parsing them would
 * hold the process.
 */
const EXPRESSION_CHARS_MAX = 200
const EXPRESSIONS_MAX = 100

/** Parses the expressions of such filters; it renders nothing. */
const parser = new Liquid({ strictFilters: false })

/** What each parsed template reads, as `findContactRead` gives it. */
const found = new WeakMap<Template[], string | null>()

/**
 * The first name in a template that reads a contact or its properties, as it is written there; null if none does.
 * A name that is made only when the template is rendered may be any, so it counts. So does a variable of the
 * template's own that is called `contact` or `properties`. A template that does not parse reads nothing.
 * @param mode the one in which it is rendered afterwards saves parsing it twice
 */
export function findContactRead(source: string, mode: TemplateMode = 'text'): string | null {
  const parsed = parsePart(source, mode)
  if (!parsed.ok) return null
  const known = found.get(parsed.templates)
  if (known !== undefined) return known
  const read = findIn(parsed.templates)
  found.set(parsed.templates, read)
  return read
}

/**
 * Looks at all that a parsed template holds, not only at what the analysis of liquidjs lists: that takes a name for
 * a local one wherever the template assigns it, and leaves out expressions in texts and the ends of some ranges.
 */
function findIn(parsed: unknown): string | null {
  const waiting: unknown[] = [parsed]
  let expressions = 0
  const seen = new Set<object>()
  while (waiting.length > 0) {
    const one = waiting.pop()
    if (typeof one !== 'object' || one === null || seen.has(one)) continue
    if (one instanceof Liquid || one instanceof Tokenizer) continue
    seen.add(one)
    const before = waiting.length
    const read = nameIn(one) ?? expressionsIn(one, waiting)
    if (read !== null) return read
    expressions += waiting.length - before
    if (expressions > EXPRESSIONS_MAX) return 'too many expressions'
    // In the order of the text, since the last one is taken first.
    for (const inner of Object.values(one).reverse()) waiting.push(inner)
  }
  return null
}

/** The text of a name that reads a contact or may do so. */
function nameIn(token: object): string | null {
  if (!TypeGuards.isPropertyAccessToken(token) || token.variable) return null
  const [root] = token.props
  const isWritten = TypeGuards.isWordToken(root) || TypeGuards.isQuotedToken(root)
  if (isWritten && !contactNames.has(root.content)) return null
  return TypeGuards.isNumberToken(root) ? null : token.getText()
}

/**
 * Parses the expressions of a filter, and adds them to what is still to be looked at.
 * @returns the filter's name if an expression is made only when the template is rendered, or is too long to be parsed
 */
function expressionsIn(filter: object, waiting: unknown[]): string | null {
  const { name, args } = filter as { name?: unknown; args?: unknown }
  if (typeof name !== 'string' || !Array.isArray(args) || !expressionFilters.test(name)) return null
  for (const argument of args.slice(1)) {
    if (!TypeGuards.isQuotedToken(argument)) return name
    if (argument.content.length > EXPRESSION_CHARS_MAX) return name
    try {
      waiting.push(new Value(argument.content, parser))
    } catch {
      // The filter fails in the same way when it runs.
    }
  }
  return null
}
