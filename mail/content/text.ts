// Makes the plain text of an email that has only html, in one pass and in linear time for any input.
import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2'
import type { MaybeLater } from '../../rules/later.ts'
import { unwatched, type Watched } from '../../rules/watched.ts'
import { endSlice } from '../slices.ts'

/** Limit of the html that is read and of the text that is made, in UTF-16 units. */
const CHARS_MAX = 1024 * 1024
/** UTF-16 units that are read in one turn of the event loop: a few milliseconds of work. */
const SLICE_CHARS = 64 * 1024
/** Deeper nesting is shown as this depth, because longer prefixes would make the text grow quadratically. */
const QUOTES_MAX = 5
const LISTS_MAX = 10
const RULE = '-'.repeat(40)
/** White space that is not one space already. Most texts have none, and to replace each space by itself takes longer than to look. */
const WIDE_SPACE = /[^\S ]|\u200b| {2}/

const withSingleSpaces = (raw: string): string =>
  WIDE_SPACE.test(raw) ? raw.replace(/[\s\u200b]+/g, ' ') : raw

/** Line breaks before and after an element: 2 leaves an empty line. */
const breaksOf = new Map<string, number>([
  ...names('h1 h2 h3 h4 h5 h6 p ul ol dl table blockquote pre hr figure', 2),
  ...names('div section article header footer main nav aside address form fieldset center', 1),
  // without a break the cells of layout tables would run together
  ...names('li dt dd tr td th caption figcaption option body', 1),
])
const unread = new Set(
  'script style title textarea template iframe noembed noframes xmp'.split(' '),
)

function names(list: string, breaks: number): [string, number][] {
  return list.split(' ').map((name) => [name, breaks])
}

/** Readable text of an html document, from its first megabyte. Never throws; takes about 30 ms for a megabyte. */
export function textFromHtml(html: string): string {
  const walker = new TextWalker(html.slice(0, CHARS_MAX))
  walker.read(CHARS_MAX)
  return walker.end()
}

/** Like `textFromHtml`; of long html in slices that let the event loop run between them. @param watched for each slice */
export function textInTurns(html: string, watched: Watched = unwatched): MaybeLater<string> {
  if (html.length <= SLICE_CHARS) return watched(() => textFromHtml(html))
  return longText(html, watched)
}

async function longText(html: string, watched: Watched): Promise<string> {
  const walker = new TextWalker(html.slice(0, CHARS_MAX))
  for (let began = performance.now(); watched(() => walker.read(SLICE_CHARS)); ) {
    await endSlice(began, html.length)
    began = performance.now()
  }
  return watched(() => walker.end())
}

class TextWalker implements TokenizerCallbacks {
  private readonly html: string
  private readonly tokenizer = new Tokenizer({}, this)
  private at = 0
  private text = ''
  /** Line breaks and a space to write before the next word. */
  private breaks = 0
  private space = false
  /** The mark of a list item, to write before the next word. */
  private mark = ''
  /** Open lists: the number of the last item; null for a list without numbers. */
  private readonly lists: (number | null)[] = []
  private quotes = 0
  private preformatted = 0
  /** The element whose content is left out until it ends. */
  private skipped = ''
  private link: { href: string; text: string } | null = null
  private tag = ''
  private attribute = ''
  private href = ''

  constructor(html: string) {
    this.html = html
  }

  /** Reads the next characters. Returns false at the end. */
  read(chars: number): boolean {
    // The tokenizer's offsets count from the beginning of the whole html.
    this.tokenizer.write(this.html.slice(this.at, this.at + chars))
    this.at += chars
    return this.at < this.html.length
  }

  end(): string {
    this.tokenizer.end()
    return this.text.slice(0, CHARS_MAX).trimEnd()
  }

  ontext(start: number, end: number): void {
    if (this.skipped === '') this.put(this.html.slice(start, end))
  }

  ontextentity(codepoint: number): void {
    if (this.skipped === '') this.put(String.fromCodePoint(codepoint))
  }

  onopentagname(start: number, end: number): void {
    this.tag = this.html.slice(start, end).toLowerCase()
    this.href = ''
  }

  onattribname(start: number, end: number): void {
    this.attribute = this.tag === 'a' ? this.html.slice(start, end).toLowerCase() : ''
  }

  onattribdata(start: number, end: number): void {
    if (this.attribute === 'href') this.href += this.html.slice(start, end)
  }

  onattribentity(codepoint: number): void {
    if (this.attribute === 'href') this.href += String.fromCodePoint(codepoint)
  }

  onopentagend(): void {
    const { tag } = this
    if (this.skipped !== '') return
    if (unread.has(tag)) this.skipped = tag
    else if (tag === 'br') this.breaks = Math.min(this.breaks + 1, 2)
    else if (tag === 'a') this.openLink()
    else this.openBlock(tag)
  }

  onselfclosingtag(): void {
    // in html `/>` does not end an element
    this.onopentagend()
  }

  onclosetag(start: number, end: number): void {
    const tag = this.html.slice(start, end).toLowerCase()
    if (this.skipped !== '') {
      if (tag === this.skipped) this.skipped = ''
    } else if (tag === 'a') this.closeLink()
    else {
      if (tag === 'blockquote') this.quotes = Math.max(0, this.quotes - 1)
      if (tag === 'pre') this.preformatted = Math.max(0, this.preformatted - 1)
      if (tag === 'ul' || tag === 'ol') this.lists.pop()
      this.breakLine(tag)
    }
  }

  onend(): void {
    this.closeLink()
  }

  onattribend(): void {}
  oncdata(): void {}
  oncomment(): void {}
  ondeclaration(): void {}
  onprocessinginstruction(): void {}

  private openBlock(tag: string): void {
    this.breakLine(tag)
    if (tag === 'ul') this.lists.push(null)
    else if (tag === 'ol') this.lists.push(0)
    else if (tag === 'li') this.openItem()
    else if (tag === 'blockquote') this.quotes += 1
    else if (tag === 'pre') this.preformatted += 1
    else if (tag === 'hr') {
      this.put(RULE)
      this.breakLine(tag)
    }
  }

  private openItem(): void {
    const depth = Math.min(this.lists.length, LISTS_MAX)
    const last = this.lists.at(-1)
    const indent = '  '.repeat(Math.max(0, depth - 1))
    if (typeof last === 'number') this.lists[this.lists.length - 1] = last + 1
    this.mark = `${indent} ${typeof last === 'number' ? `${last + 1}.` : '*'} `
  }

  private openLink(): void {
    this.closeLink()
    this.link = { href: this.href.trim(), text: '' }
  }

  /** Writes the target of a link, unless its text is the target. */
  private closeLink(): void {
    const { link } = this
    this.link = null
    if (!link || link.href === '' || link.href.startsWith('#')) return
    const target = link.href.replace(/^mailto:/i, '')
    if (link.text === target) return
    const trailing = this.space
    if (link.text !== '') this.space = true
    this.put(`[${target}]`)
    this.space = trailing
  }

  private breakLine(tag: string): void {
    const wanted = breaksOf.get(tag) ?? 0
    const inList = (tag === 'ul' || tag === 'ol') && this.lists.length > 0
    this.breaks = Math.max(this.breaks, inList ? 1 : wanted)
    if (wanted > 0) this.mark = ''
  }

  private put(raw: string): void {
    if (this.preformatted === 0) {
      this.putWords(withSingleSpaces(raw))
      return
    }
    for (const [i, line] of raw.split(/\r\n?|\n/).entries()) {
      if (i > 0) this.breaks = Math.min(this.breaks + 1, 2)
      if (line !== '') this.write(line)
    }
  }

  private putWords(words: string): void {
    const begins = words.startsWith(' ')
    const word = words.trim()
    if (begins) this.space = true
    if (word === '') return
    this.write(word)
    this.space = words.endsWith(' ')
  }

  private write(words: string): void {
    const begins = this.text === ''
    let lead = ''
    if (begins || this.breaks > 0) {
      const quote = '> '.repeat(Math.min(this.quotes, QUOTES_MAX))
      lead = `${begins ? '' : '\n'.repeat(this.breaks)}${quote}${this.mark}`
    } else if (this.space) lead = ' '
    this.text += lead + words
    if (this.link) this.link.text += (this.link.text !== '' && lead !== '' ? ' ' : '') + words
    this.breaks = 0
    this.space = false
    this.mark = ''
  }
}
