// Finds the links of an html text to track, and replaces them by tracked links.
import { QuoteType, Tokenizer } from 'htmlparser2'
import { isStorableText } from '../../rules/jsonFault.ts'
import { limits } from '../../rules/limits.ts'

/** A text that stays as it is, a link (its index in `urls`), or the pixel. */
type TrackedPiece = string | { link: number } | { pixel: true }

/** An html text cut at its links; plain data. */
export interface TrackedHtml {
  pieces: TrackedPiece[]
  /** Targets as a browser reads them (entities decoded, no line breaks), each once, in the order of the html. */
  urls: string[]
}

export interface TrackingOptions {
  opens: boolean
  clicks: boolean
  /** Whether a target belongs to this service (the unsubscribe link), which is never tracked. */
  isOwnUrl: (url: string) => boolean
}

/** A link with this attribute set to `false` is not tracked. */
const OPT_OUT = 'data-dripline-track'

const HTTP_URL = /^https?:\/\/[^/?#]/i
/** Liquid that was not rendered. Such a link is broken and is not tracked. */
const LEFTOVER = /\{\{|\}\}|\{%|%\}/
/** What a browser removes inside a URL (WHATWG URL, 4.4). */
const WITHIN = /[\t\r\n]/g

/** Position of an attribute's value in the html, without quotes, and the value. */
interface Value {
  start: number
  end: number
  text: string
}

/**
 * Cuts an html text at the links to replace and at the place of the pixel. Only `href` of `a` and `area` with an
 * http or https target counts. Everything else, also (conditional) comments, scripts and styles, stays as it is.
 * @param html up to 40 MB; one pass, no recursion
 */
export function planTracking(html: string, options: TrackingOptions): TrackedHtml {
  const found = scan(html, options.clicks)
  const urls: string[] = []
  const places = new Map<string, number>()
  const pieces: TrackedPiece[] = []
  const pixelAt = options.opens ? (found.bodyEnd ?? html.length) : null
  let done = 0
  const cut = (start: number, piece: TrackedPiece, end: number) => {
    if (start > done) pieces.push(html.slice(done, start))
    pieces.push(piece)
    done = end
  }
  let pixelled = pixelAt === null
  let links = 0
  for (const { start, end, text } of found.hrefs) {
    if (links >= limits.trackedLinksPerEmailMax) break
    const url = toTarget(text)
    if (url === null || options.isOwnUrl(url)) continue
    if (!pixelled && pixelAt !== null && start > pixelAt) {
      cut(pixelAt, { pixel: true }, pixelAt)
      pixelled = true
    }
    let place = places.get(url)
    if (place === undefined) {
      place = urls.push(url) - 1
      places.set(url, place)
    }
    cut(start, { link: place }, end)
    links += 1
  }
  if (!pixelled && pixelAt !== null) cut(pixelAt, { pixel: true }, pixelAt)
  if (done < html.length) pieces.push(html.slice(done))
  return { pieces, urls }
}

/**
 * The html text with tracked links and the pixel.
 * @param to.openUrl URL of the pixel
 * @param to.clickUrl makes the URL of the link at that index of `urls`
 */
export function applyTracking(
  plan: TrackedHtml,
  to: { openUrl: string; clickUrl: (index: number) => string },
): string {
  return plan.pieces
    .map((piece) => {
      if (typeof piece === 'string') return piece
      if ('link' in piece) return escapeValue(to.clickUrl(piece.link))
      return pixel(to.openUrl)
    })
    .join('')
}

const pixel = (url: string) =>
  `<img src="${escapeValue(url)}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`

/** Escapes a value so that it is safe in double quotes, in single quotes and without quotes. */
const escapeValue = (text: string) =>
  text.replace(/[\s"'`=<>&]/g, (char) => `&#${char.charCodeAt(0)};`)

/** The target of a link as a browser reads it; null if a redirect to it is not possible, or it cannot be stored. */
function toTarget(text: string): string | null {
  const url = withoutSpaceAround(text).replace(WITHIN, '')
  if (url.length > limits.trackedUrlCharsMax || !HTTP_URL.test(url) || LEFTOVER.test(url))
    return null
  return URL.canParse(url) && isStorableText(url) ? url : null
}

/**
 * Without the control characters and spaces that a browser removes around a URL (WHATWG URL, 4.4). No expression: one that looks for
 * spaces before the end tries each space of a long row inside.
 */
function withoutSpaceAround(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) <= 0x20) start += 1
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end -= 1
  return text.slice(start, end)
}

const isLinkTag = (name: string) => /^(?:a|area)$/i.test(name)

/** The hrefs of links in the order of the html, and the position of the last `</body>`. */
function scan(html: string, clicks: boolean): { hrefs: Value[]; bodyEnd: number | null } {
  const hrefs: Value[] = []
  let bodyEnd: number | null = null
  let inLink = false
  let name = ''
  let nameEnd = 0
  let text = ''
  // If a tag has an attribute twice, the first one counts (HTML, 13.2.5.33).
  let href: Value | null = null
  let optOut: string | null = null

  const endTag = () => {
    if (inLink && href !== null && optOut?.trim().toLowerCase() !== 'false') hrefs.push(href)
    inLink = false
  }
  const nothing = () => {}
  const tokenizer = new Tokenizer(
    { decodeEntities: true, xmlMode: false },
    {
      onopentagname(start, end) {
        inLink = clicks && isLinkTag(html.slice(start, Math.min(end, start + 5)))
        href = null
        optOut = null
      },
      onattribname(start, end) {
        if (!inLink) return
        name = html.slice(start, end).toLowerCase()
        nameEnd = end
        text = ''
      },
      onattribdata(start, end) {
        if (inLink) text += html.slice(start, end)
      },
      onattribentity(codepoint) {
        if (inLink) text += String.fromCodePoint(codepoint)
      },
      onattribend(quote, end) {
        if (!inLink) return
        if (name === OPT_OUT) optOut ??= text
        if (name === 'href') href ??= placeOf(html, nameEnd, end, quote, text)
      },
      onopentagend: endTag,
      onselfclosingtag: endTag,
      onclosetag(start, end) {
        if (html.slice(start - 2, end).toLowerCase() === '</body') bodyEnd = start - 2
      },
      ontext: nothing,
      ontextentity: nothing,
      oncomment: nothing,
      oncdata: nothing,
      ondeclaration: nothing,
      onprocessinginstruction: nothing,
      onend: nothing,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return { hrefs, bodyEnd }
}

/** Finds the position of a value: after the name come spaces, an equals sign, spaces and an optional quote. */
function placeOf(
  html: string,
  nameEnd: number,
  end: number,
  quote: QuoteType,
  text: string,
): Value {
  const lead = /\s*=\s*["']?/y
  lead.lastIndex = nameEnd
  if (text === '' || lead.exec(html) === null) return { start: end, end, text: '' }
  // The tokenizer's end is after the closing quote.
  const quoted = quote === QuoteType.Single || quote === QuoteType.Double
  return { start: lead.lastIndex, end: quoted ? end - 1 : end, text }
}
