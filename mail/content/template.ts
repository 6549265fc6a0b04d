// Renders the parts of an email from Liquid: escapes values in html, and reports missing names.
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { parsePart, renderPart, type TemplateFault, type TemplateMode, tooLarge } from './liquid.ts'

export type { TemplateFault }

export interface TemplateParts {
  subject: string
  html: string | null
  text: string | null
  /** Shown by mail clients after the subject; added to the html as hidden text. */
  preview_text?: string | null
  /** How `text` is parsed, where it is not that of an email. */
  text_mode?: TemplateMode
}

/** The values that a template may use. Names in `vars` can be used at the top level too. */
export interface TemplateScope {
  /** email, first_name, last_name, properties */
  contact?: JsonObject
  properties?: JsonObject
  event?: JsonObject
  /** By node id. */
  wait_events?: JsonObject
  /** What nodes have kept, by `store_as`. */
  steps?: JsonObject
  /** In the requests of nodes alone. */
  secrets?: JsonObject
  vars?: JsonObject
  workflow?: JsonObject
  unsubscribe_url?: string
}

export type RenderedEmail =
  | {
      ok: true
      /** Without line breaks. */
      subject: string
      html: string | null
      text: string | null
      /** Names that the template shows and that have no value, such as `contact.nickname`; each once, in order. */
      missing: string[]
    }
  | RenderFailure

/** Why there is no email. `too_slow`: a part, and for how long it was tried. `busy`: the same may be tried again. */
export type RenderFailure = { ok: false } & (
  | { kind: 'fault'; message: string }
  | { kind: 'too_slow'; part: string; ms: number }
  | { kind: 'busy' }
)

/** Says in words why an email was not rendered. */
export function failureText(failure: RenderFailure): string {
  switch (failure.kind) {
    case 'fault':
      return failure.message
    case 'too_slow':
      return `${failure.part}: rendering took over ${failure.ms / 1000} s of processor time`
    case 'busy':
      return 'too much is being rendered'
    default:
      return failure satisfies never
  }
}

/** The parts in the order in which they are rendered. */
export const partNames = ['subject', 'html', 'text', 'preview_text'] as const

export type PartName = (typeof partNames)[number]

interface PartSource {
  name: PartName
  source: string
  mode: TemplateMode
}

/** The Liquid of an email, without the parts that it does not have. */
export function sourcesOf(parts: TemplateParts): PartSource[] {
  return partNames.flatMap((name) => {
    const source = parts[name] ?? null
    const mode = (name === 'text' && parts.text_mode) || modeOf(name)
    return source === null ? [] : [{ name, source, mode }]
  })
}

/** How a part of an email is parsed; any other text is parsed as `text` is. */
export const modeOf = (name: string): TemplateMode => (name === 'html' ? 'html' : 'text')

/**
 * Checks whether a template parses.
 * @param mode the one in which it is rendered afterwards saves parsing it twice
 * @returns `{ ok: true }`, or the fault with line and column from 1
 */
export function parseTemplate(
  source: string,
  mode: TemplateMode = 'text',
): { ok: true } | ({ ok: false } & TemplateFault) {
  const parsed = parsePart(source, mode)
  return parsed.ok ? { ok: true } : parsed
}

export interface RenderOptions {
  /** Of all parts and missing names together, in UTF-8; as much as html may have unless it is said. */
  bytesMax?: number
  /** Is told the name of each part before it is rendered. */
  onPart?: (name: PartName) => void
}

/**
 * Renders all parts of an email, synchronously and for as long as that takes: `renderer.ts` decides where. Never
 * throws: for a template that does not parse or exceeds a limit it returns a message for the author.
 */
export function renderEmail(
  parts: TemplateParts,
  scope: TemplateScope,
  { bytesMax = limits.htmlBytesMax, onPart }: RenderOptions = {},
): RenderedEmail {
  const names = toNames(scope)
  const missing = new Set<string>()
  const rendered: Partial<Record<PartName, string>> = {}
  for (const { name, source, mode } of sourcesOf(parts)) {
    onPart?.(name)
    const result = renderPart(source, mode, names, missing, bytesMax)
    if (!result.ok) return faultOf(`${name}: ${result.message}`)
    // The filter url_decode can make a NUL character, which neither Postgres nor an email may contain.
    rendered[name] = result.output.replaceAll('\0', '')
  }
  let html = rendered.html ?? null
  const preview = oneLine(rendered.preview_text ?? '')
  if (html !== null && preview !== '') html = withPreview(html, preview)
  const subject = oneLine(rendered.subject ?? '')
  const text = rendered.text ?? null
  if (isOver(bytesMax, [subject, html ?? '', text ?? ''], missing)) {
    return faultOf(tooLarge(bytesMax))
  }
  return { ok: true, subject, html, text, missing: [...missing] }
}

/** Each missing name counts as so many bytes more, since a list takes long to be read that has very many short ones. */
const NAME_BYTES = 100

function isOver(bytesMax: number, parts: string[], missing: Set<string>): boolean {
  let [chars, bytes] = [0, NAME_BYTES * missing.size]
  const texts = missing.size > 0 ? [...parts, ...missing] : parts
  for (const text of texts) chars += text.length
  // A character has at most three bytes. Most emails are so small that nothing needs to be counted.
  if (bytes + 3 * chars <= bytesMax) return false
  for (const text of texts) bytes += Buffer.byteLength(text)
  return bytes > bytesMax
}

const faultOf = (message: string): RenderFailure => ({ ok: false, kind: 'fault', message })

/**
 * The names of a template. Those of the service win over variables of the same name. The object has no prototype,
 * so `__proto__` is an ordinary name.
 */
function toNames(scope: TemplateScope): object {
  const names = Object.create(null)
  for (const source of [scope.vars ?? {}, scope]) {
    for (const [name, value] of Object.entries(source)) {
      if (value !== undefined) names[name] = value
    }
  }
  return names
}

/** Replaces line breaks and control characters, which would break a header, by spaces. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
}

/**
 * Invisible characters that fill the preview of a mail client, so that it does not show the first words of the
 * body.
 */
const FILLER = '&#847;&zwnj;&nbsp;'.repeat(90)

function withPreview(html: string, preview: string): string {
  const escaped = preview.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
  const style = 'display:none;max-height:0;overflow:hidden;mso-hide:all'
  const hidden = `<div style="${style}">${escaped}${FILLER}</div>`
  const tag = html.search(/<body[\s>]/i)
  const start = tag < 0 ? 0 : html.indexOf('>', tag) + 1
  return html.slice(0, start) + hidden + html.slice(start)
}
