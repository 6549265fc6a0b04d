// Splits the source of a template into tokens and refuses what would take the parser long: everything here and in the
// parser after it is linear, and bounded by the limits of `rules/limits.ts`.
import { type Liquid, Tokenizer, type TopLevelToken, TypeGuards } from 'liquidjs'
import { limits } from '../../rules/limits.ts'

/** Tags that need an end tag. */
const blocks = new Set(['if', 'unless', 'case', 'for', 'tablerow', 'capture'])
/** Tags that begin another branch of the block that they stand in. */
const branches = new Set(['elsif', 'when', 'else'])

/**
 * The tokens of a template, and the number of words and signs in its tags and outputs.
 * @throws Error whose message names the limit that the source exceeds; TokenizationError of the engine for a tag that
 * is not closed
 */
export function readTokens(
  source: string,
  engine: Liquid,
): { tokens: TopLevelToken[]; pieces: number } {
  requireAtMost(source.length, limits.templateBytesMax, 'characters')
  const delimiters = source.match(/\{[{%]/g)?.length ?? 0
  requireAtMost(delimiters, limits.templateTagsMax, 'tags and outputs')
  checkRawEnds(source)
  const tokens = new BoundedTokenizer(source, engine.options.operators).readTopLevelTokens(
    engine.options,
  )
  const pieces = checkTokens(tokens)
  return { tokens: TokenQueue.from(tokens), pieces }
}

/** The parser takes token by token from the front, for which an array moves all others each time. */
class TokenQueue extends Array<TopLevelToken> {
  private taken = 0

  override shift(): TopLevelToken | undefined {
    const token = this[this.taken]
    this.taken += 1
    if (this.taken >= this.length) this.length = 0
    return token
  }
}

/** @throws Error `over 5000 tags and outputs` */
function requireAtMost(count: number, max: number, what: string): void {
  if (count > max) throw new Error(`over ${max} ${what}`)
}

/** The engine looks at each character after `{% endraw` several times until it finds the end of that tag. */
function checkRawEnds(source: string): void {
  for (const { index } of source.matchAll(/\{%\s*endraw/g)) {
    const end = source.indexOf('%}', index)
    if (end < 0) return
    requireAtMost(end - index, limits.templateTagCharsMax, 'characters in one tag')
  }
}

/** @returns the words and signs in all tags and outputs */
function checkTokens(tokens: TopLevelToken[]): number {
  let chars = 0
  let pieces = 0
  /** The branches of each block that is open. */
  const open: number[] = []
  for (const token of tokens) {
    if (!TypeGuards.isDelimitedToken(token)) continue
    const text = token.getText()
    // Words and signs: the parser makes at most one object for each.
    const inTag = text.match(/[^\s"'|:,.()[\]<>=!]+|\S/g)?.length ?? 0
    requireAtMost(inTag, limits.templateTagPiecesMax, 'words and signs in one tag')
    const brackets = text.match(/[([]/g)?.length ?? 0
    requireAtMost(brackets, limits.templateTagBracketsMax, 'brackets in one tag')
    chars += text.length
    pieces += inTag
    if (TypeGuards.isTagToken(token)) countBlocks(token.name, open)
  }
  requireAtMost(chars, limits.templateTagsCharsMax, 'characters in tags and outputs')
  requireAtMost(pieces, limits.templatePiecesMax, 'words and signs in tags and outputs')
  return pieces
}

/** Follows how deep blocks stand in each other, and how many branches each has. */
function countBlocks(name: string, open: number[]): void {
  if (blocks.has(name)) {
    open.push(0)
    requireAtMost(open.length, limits.templateDepthMax, 'blocks inside each other')
  } else if (branches.has(name)) {
    const count = (open.pop() ?? 0) + 1
    requireAtMost(count, limits.templateBranchesMax, 'branches in one block')
    open.push(count)
  } else if (name.startsWith('end')) open.pop()
}

/** Finds the ends of texts at once, and gives up on a tag that is too long. Apart from that the tokens are the engine's. */
class BoundedTokenizer extends Tokenizer {
  private readonly begins = /\{[{%]/g

  override readHTMLToken() {
    const whole = this.N
    this.begins.lastIndex = this.p
    this.N = this.begins.exec(this.input)?.index ?? whole
    const token = super.readHTMLToken([])
    this.N = whole
    return token
  }

  override readTo(end: string): number {
    const at = this.input.indexOf(end, Math.max(0, this.p - end.length + 1))
    this.p = at < 0 ? this.N : at + end.length
    return at < 0 ? -1 : this.p
  }

  override readToDelimiter(delimiter: string, respectQuoted = false): number {
    const begin = this.p
    const whole = this.N
    this.N = Math.min(whole, begin + limits.templateTagCharsMax)
    const end = super.readToDelimiter(delimiter, respectQuoted)
    const isCut = end < 0 && this.N < whole
    this.N = whole
    if (isCut) throw this.error(`over ${limits.templateTagCharsMax} characters in one tag`, begin)
    return end
  }
}
