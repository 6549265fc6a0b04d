// Renders the parts of an email from Liquid: escapes values in html, and reports missing names.
import type { JsonObject } from '../../rules/json.ts'
import { limits } from '../../rules/limits.ts'
import { parsePart, renderPart, type TemplateFault } from './liquid.ts'

export type { TemplateFault }

export interface TemplateParts {
  subject: string
  html: string | null
  text: string | null
  /** Shown by mail clients after the subject; added to the html as hidden text. */
  preview_text?: string | null
}

/** The values that a template may use. Names in `vars` can be used at the top level too. */
export interface TemplateScope {
  /** email, first_name, last_name, properties */
  contact?: JsonObject
  properties?: JsonObject
  event?: JsonObject
  /** By node id. */
  wait_events?: JsonObject
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
  | { ok: false; message: string }

/**
 * Checks whether a template parses.
 * @returns `{ ok: true }`, or the fault with line and column from 1
 */
export function parseTemplate(source: string): { ok: true } | ({ ok: false } & TemplateFault) {
  const parsed = parsePart(source, 'text')
  return parsed.ok ? { ok: true } : parsed
}

/**
 * Renders all parts of an email, synchronously and in at most half a second for each part. Never throws: for a
 * template that does not parse or exceeds a limit it returns a message for the author.
 */
export function renderEmail(parts: TemplateParts, scope: TemplateScope): RenderedEmail {
  const names = toNames(scope)
  const missing = new Set<string>()
  const rendered: Record<string, string | null> = {}
  const sources = [
    ['subject', parts.subject, 'text'],
    ['html', parts.html, 'html'],
    ['text', parts.text, 'text'],
    ['preview_text', parts.preview_text ?? null, 'text'],
  ] as const
  for (const [part, source, mode] of sources) {
    if (source === null) continue
    const result = renderPart(source, mode, names, missing)
    if (!result.ok) return { ok: false, message: `${part}: ${result.message}` }
    // The filter url_decode can make a NUL character, which neither Postgres nor an email may contain.
    rendered[part] = result.output.replaceAll('\0', '')
  }
  let html = rendered['html'] ?? null
  const preview = oneLine(rendered['preview_text'] ?? '')
  if (html !== null && preview !== '') html = withPreview(html, preview)
  if (html !== null && Buffer.byteLength(html) > limits.htmlBytesMax) {
    return { ok: false, message: 'html: the result is too large' }
  }
  return {
    ok: true,
    subject: oneLine(rendered['subject'] ?? ''),
    html,
    text: rendered['text'] ?? null,
    missing: [...missing],
  }
}

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
