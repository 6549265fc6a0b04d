// Takes the values of secrets out of what a server has answered, also in the forms in which servers quote what they were sent.
import { isJsonObject, type Json, type JsonObject } from '../rules/json.ts'
import { toStorableText } from '../rules/jsonFault.ts'
import { setOwn } from '../rules/paths.ts'
import { holdsText, replaceText } from '../rules/search.ts'
import { createGrams, GRAM_CHARS } from './textGrams.ts'

/** A shorter value would be found in texts that have nothing to do with it. */
const HIDDEN_CHARS_MIN = GRAM_CHARS
const HIDDEN = '[secret]'

/**
 * The same value with `[secret]` in place of each value of a secret: as it is, percent-encoded, escaped for JSON or HTML, in
 * base64, or as a number. Texts in it are made storable. The time that it takes grows with the size of the value and of the secrets,
 * whatever they are: the value comes from a server that nobody trusts, and the secrets from whoever draws workflows.
 */
export function withoutSecrets(value: Json, secrets: readonly string[]): Json {
  // Few answers quote anything, and one may have a hundred thousand texts: only forms that are in it somewhere are looked for in each.
  const whole = JSON.stringify(cleaned(value, NO_FORMS))
  const mayHold = createGrams(whole)
  const found = [...new Set(secrets.flatMap(formsOf))].filter((form) => {
    const written = inJson(form)
    return mayHold(written) && holdsText(whole, written)
  })
  return cleaned(value, toForms(found))
}

/** Forms to hide. */
interface Forms {
  /** By their first characters, as many as the shortest has; of each the longest first, so that of one that holds another nothing is left. */
  byHead: ReadonlyMap<string, readonly string[]>
  /** Those that a number may hold. */
  numeric: readonly string[]
}

const NO_FORMS: Forms = { byHead: new Map(), numeric: [] }

function toForms(found: readonly string[]): Forms {
  const byHead = new Map<string, string[]>()
  for (const form of [...found].sort((a, b) => b.length - a.length)) {
    const head = form.slice(0, HIDDEN_CHARS_MIN)
    const forms = byHead.get(head)
    if (forms) forms.push(form)
    else byHead.set(head, [form])
  }
  return { byHead, numeric: found.filter((form) => /^[\d.e+-]+$/.test(form)) }
}

function cleaned(value: Json, forms: Forms): Json {
  if (typeof value === 'string') return hide(toStorableText(value), forms)
  if (typeof value === 'number') {
    return forms.numeric.some((form) => String(value).includes(form)) ? HIDDEN : value
  }
  if (Array.isArray(value)) return value.map((one) => cleaned(one, forms))
  if (!isJsonObject(value)) return value
  const copy: JsonObject = {}
  for (const [name, one] of Object.entries(value)) {
    setOwn(copy, hide(toStorableText(name), forms), cleaned(one, forms))
  }
  return copy
}

function hide(text: string, { byHead }: Forms): string {
  if (byHead.size === 0) return text
  const begun = new Set<string>()
  for (let i = 0; i + HIDDEN_CHARS_MIN <= text.length; i++) {
    const head = text.slice(i, i + HIDDEN_CHARS_MIN)
    if (byHead.has(head)) begun.add(head)
  }
  return [...begun]
    .flatMap((head) => byHead.get(head) ?? [])
    .filter(({ length }) => length <= text.length)
    .sort((a, b) => b.length - a.length)
    .reduce((left, form) => replaceText(left, form, HIDDEN), text)
}

function formsOf(secret: string): string[] {
  const percent = percentEncoded(secret)
  const forms = [
    secret,
    percent,
    percent.replaceAll('%20', '+'),
    encodeURIComponent(secret),
    // As a query carries what is encoded already.
    encodeURIComponent(secret).replaceAll("'", '%27'),
    new URLSearchParams({ '': secret }).toString().slice(1),
    inJson(secret),
    inJson(secret).replaceAll('/', '\\/'),
    asciiOf(inJson(secret)),
    htmlEscaped(secret),
    ...[0, 1, 2].flatMap((before) => inBase64(secret, before)),
  ]
  const lower = forms.map((form) => form.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()))
  return [...forms, ...lower].filter(({ length }) => length >= HIDDEN_CHARS_MIN)
}

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

/** All that RFC 3986 reserves is encoded, as most servers do. */
const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )

const asciiOf = (text: string): string =>
  text.replace(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const htmlEscaped = (text: string): string =>
  text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)

/** The characters of base64 and base64url that come from the secret alone, where `before` bytes stand before it. */
function inBase64(secret: string, before: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret, 'utf8')])
  const text = bytes.toString('base64')
  const own = text.slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6))
  return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
}
