// Searches a text for another one in a time that grows with their lengths alone, whatever they are.

/**
 * Up to this product of lengths the search of the JavaScript engine is taken: it is fast for usual texts, and at worst compares
 * each character with each. Two texts of one repeated character would keep it busy for seconds.
 */
const PRODUCT_MAX = 1_000_000

/** Whether `text` holds `part`, as `text.includes(part)` says. */
export function holdsText(text: string, part: string): boolean {
  if (text.length * part.length <= PRODUCT_MAX) return text.includes(part)
  return part.length <= text.length && find(text, part)
}

/** The text with `instead` for each `part`, as `text.replaceAll(part, () => instead)` makes it. @param part not empty */
export function replaceText(text: string, part: string, instead: string): string {
  if (text.length * part.length <= PRODUCT_MAX) return text.replaceAll(part, () => instead)
  const pieces: string[] = []
  let done = 0
  for (const end of endsOf(text, part)) {
    pieces.push(text.slice(done, end - part.length))
    done = end
  }
  return [...pieces, text.slice(done)].join(instead)
}

function find(text: string, part: string): boolean {
  return !endsOf(text, part).next().done
}

/** Where each `part` ends, none within another (Knuth, Morris and Pratt). @param part not empty */
function* endsOf(text: string, part: string): Generator<number> {
  const backs = bordersOf(part)
  let matched = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    while (matched > 0 && part.charCodeAt(matched) !== unit) matched = backs[matched - 1] ?? 0
    if (part.charCodeAt(matched) === unit) matched += 1
    if (matched < part.length) continue
    matched = 0
    yield i + 1
  }
}

/** For each beginning of a text, by its length less one: how long the longest end of it is that is also a beginning. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length)
  let length = 0
  for (let i = 1; i < part.length; i++) {
    const unit = part.charCodeAt(i)
    while (length > 0 && part.charCodeAt(length) !== unit) length = borders[length - 1] ?? 0
    if (part.charCodeAt(length) === unit) length += 1
    borders[i] = length
  }
  return borders
}
