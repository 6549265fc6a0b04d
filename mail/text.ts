// The plain-text side of a mail that came with html alone.
import { compile } from 'html-to-text'

/** Only so much of the html is read, and so much text comes out of it, in UTF-16 units. */
const CHARS_MAX = 1024 * 1024
/** The parser's stack costs quadratic time beyond; real mails nest some fifty deep. */
const DEPTH_MAX = 1000

const line = { leadingLineBreaks: 1, trailingLineBreaks: 1 }

const convert = compile({
  wordwrap: false,
  limits: { maxInputLength: CHARS_MAX, maxDepth: 100, maxChildNodes: 50_000, ellipsis: '' },
  selectors: [
    { selector: 'img', format: 'skip' },
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
    // cells of layout tables would run into one word
    { selector: 'td', format: 'block', options: line },
    { selector: 'th', format: 'block', options: line },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({
      selector,
      options: { uppercase: false },
    })),
  ],
})

/**
 * Readable text of an html document, from its first megabyte. Never throws, and takes some tenths of a
 * second at worst: html that is too deep for the converter gives what stands between its tags.
 */
export function textFromHtml(html: string): string {
  const start = html.length > CHARS_MAX ? html.slice(0, CHARS_MAX) : html
  if (isTooDeep(start)) return betweenTags(start)
  try {
    return convert(start).slice(0, CHARS_MAX).trim()
  } catch {
    return betweenTags(start)
  }
}

const voids = /^(area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)$/
const endedBySibling = /^(p|li|dt|dd|option|td|tr)$/

/** Judges by an upper bound of the depth: an element that is ended by another's end still counts. */
function isTooDeep(html: string): boolean {
  const openByName = new Map<string, number>()
  let depth = 0
  let before = ''
  for (const [, slash, tag = ''] of html.matchAll(/<(\/?)([a-z][^\s/>]*)/gi)) {
    const name = tag.toLowerCase()
    if (voids.test(name)) continue
    const open = openByName.get(name) ?? 0
    const change = slash === '/' ? (open > 0 ? -1 : 0) : name === before ? 0 : 1
    openByName.set(name, open + change)
    depth += change
    if (depth > DEPTH_MAX) return true
    before = slash !== '/' && endedBySibling.test(name) ? name : ''
  }
  return false
}

/** Everything but tags, comments, scripts and styles, in one pass. */
function betweenTags(html: string): string {
  let text = ''
  let from = 0
  while (from < html.length) {
    const open = html.indexOf('<', from)
    if (open < 0) {
      text += html.slice(from)
      break
    }
    text += `${html.slice(from, open)} `
    const name = /^<(script|style|!--)/i.exec(html.slice(open, open + 7))?.[1]
    const end = name === undefined ? '>' : name === '!--' ? '-->' : '</'
    const close = html.indexOf(end, open + 1)
    if (close < 0) break
    from = end === '</' ? close : close + end.length
  }
  return text.replace(/\s+/g, ' ').trim()
}
