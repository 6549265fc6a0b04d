// What a template writes: looks up names without the engine's generators, of which it makes about eight for each
// `{{ output }}`, and notes the names that have no value.
import {
  Context,
  type Emitter,
  type Liquid,
  Output,
  type Template,
  type Token,
  TypeGuards,
  toValue,
  toValueSync,
  type Value,
} from 'liquidjs'

type Path = (string | number)[]
/** Gives the value of an expression. */
type Read = (context: Context) => unknown

/** A context that collects missing names while an output is rendered. */
export class WatchingContext extends Context {
  /** True while an output is rendered. */
  watching = false
  readonly missing: Set<string>

  constructor(names: object, engine: Liquid, missing: Set<string>) {
    super(names, engine.options, { sync: true }, { liquid: engine })
    this.missing = missing
  }

  /** The value of a path of names and numbers. */
  lookUp(path: Path): unknown {
    // Its scopes are private; `path` has at least one name.
    return this.walk(this['findScope'](path[0] as string), path)
  }

  /** For whatever the engine itself looks up. It takes the value where it would take a generator of it. */
  override _getFromScope(scope: unknown, paths: Path | string): IterableIterator<unknown> {
    const path = typeof paths === 'string' ? paths.split('.') : paths
    return this.walk(scope, path) as IterableIterator<unknown>
  }

  private walk(scope: unknown, path: Path): unknown {
    let value = scope
    for (const key of path) value = this.readProperty(value as object, key)
    if (value === undefined && this.watching) this.missing.add(path.join('.'))
    return value
  }
}

/** Replaces how texts and outputs are rendered, all the way down. What they write stays the same. */
export function quickenOutputs(templates: readonly Template[]): void {
  for (const template of templates) {
    const { token } = template
    if (TypeGuards.isHTMLToken(token)) {
      const text = token.getContent()
      template.render = plain((_, emitter) => emitter.write(text))
    } else if (template instanceof Output) template.render = renderOf(template)
    for (const child of childrenOf(template)) quickenOutputs([child])
  }
}

function childrenOf(template: Template): Template[] {
  return template.children ? toValueSync(template.children(false, true)) : []
}

/** An output whose value has no `default` tells of names that have no value. */
function renderOf(output: Output): Template['render'] {
  const { value } = output
  const read = readValue(value) ?? ((context) => toValueSync(value.value(context, false)))
  const isWatched = value.filters[0]?.name !== 'default'
  return plain((context, emitter) => {
    const watching = isWatched && context instanceof WatchingContext ? context : null
    if (watching) watching.watching = true
    try {
      emitter.write(toValue(read(context)))
    } finally {
      if (watching) watching.watching = false
    }
  })
}

/** The engine takes a function that renders at once where it takes a generator. */
const plain = (render: (context: Context, emitter: Emitter) => void) =>
  render as unknown as Template['render']

/** A literal or a path, with filters whose arguments are such; null for anything else. */
function readValue({ initial, filters }: Value): Read | null {
  const [operand, ...operators] = initial.postfix
  if (!operand || operators.length > 0) return null
  let read = readOperand(operand)
  for (const filter of filters) {
    const args = filter.args.map((arg) => {
      if (!Array.isArray(arg)) return readOperand(arg)
      const [name, token] = arg
      const named = token && readOperand(token)
      return named ? (context: Context) => [name, named(context)] : null
    })
    const given = read
    if (!given || !args.every((arg) => arg !== null)) return null
    const { token, liquid } = filter as unknown as { token: Token; liquid: Liquid }
    const handler: (this: object, ...values: unknown[]) => unknown = filter['handler']
    read = (context) => {
      const value = given(context)
      const values = args.map((arg) => arg(context))
      return toValueSync(handler.call({ context, token, liquid }, value, ...values))
    }
  }
  return read
}

function readOperand(token: Token): Read | null {
  if (isLiteral(token)) {
    const { content } = token
    return () => content
  }
  if (!TypeGuards.isPropertyAccessToken(token) || token.variable) return null
  const path: Path = []
  for (const prop of token.props) {
    if (!isLiteral(prop) && !TypeGuards.isWordToken(prop)) return null
    path.push(toValue(prop.content) as string | number)
  }
  return (context) =>
    context instanceof WatchingContext ? context.lookUp(path) : context.getSync(path)
}

/** Whether a token is a text, a number or a word such as `true`, whose value no name decides. */
export const isLiteral = (token: Token) =>
  TypeGuards.isQuotedToken(token) ||
  TypeGuards.isNumberToken(token) ||
  TypeGuards.isLiteralToken(token)
