// How a message shows what came: cut to a length, on one line, with nothing that could pass for something else.

/** Of what came, at most so many UTF-16 units are shown. */
const SHOWN_CHARS_MAX = 60

/** Of names that are known, at most so many are listed: a design may have hundreds of nodes. */
const NAMES_LISTED_MAX = 25

/** Line ends, other controls, half surrogates, and marks that are not seen or that turn the direction of text around. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** A text without its quotes, as ids and names stand in a sentence: cut, unseen characters escaped. */
export function shownText(text: string): string {
  const cut = text.length > SHOWN_CHARS_MAX ? `${text.slice(0, SHOWN_CHARS_MAX)}…` : text
  return cut.replace(unseen, escaped)
}

const escaped = (mark: string): string =>
  Array.from({ length: mark.length }, (_, i) => mark.charCodeAt(i))
    .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
    .join('')

/** Any value: a text in quotes, `12`, `true`, `null`, `an object`, `an array`; `nothing` where there is none. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `"${shownText(value).replaceAll('"', '\\"')}"`
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeName(value)
}

/** What kind of JSON a value is: `a string`, `an array`, `null`; `nothing` where there is none. */
export function typeName(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** `a, b, c`, and how many more there are. */
export function listed(names: Iterable<string>): string {
  const all = [...names]
  const more = all.length - NAMES_LISTED_MAX
  const first = all.slice(0, NAMES_LISTED_MAX).map(shownText).join(', ')
  return more > 0 ? `${first} and ${more} more` : first
}

/** `must be one of a, b, c, not "x"`, with the name that was surely meant where one is near. */
export function mustBeOneOf(names: readonly string[], value: unknown): string {
  return `must be one of ${listed(names)}, not ${shown(value)}${didYouMean(value, names)}`
}

/** `; did you mean send_email?` after what is wrong with a misspelt name; empty when no name is near. */
export function didYouMean(value: unknown, names: readonly string[]): string {
  const meant = typeof value === 'string' ? nearest(value, names) : undefined
  return meant === undefined ? '' : `; did you mean ${shownText(meant)}?`
}

/** A name that somebody misspelt is short, and one of few: what is longer or more would only cost time. */
const HINT_CHARS_MAX = 24
const HINT_NAMES_MAX = 50

function nearest(word: string, names: readonly string[]): string | undefined {
  if (word.length > HINT_CHARS_MAX || names.length > HINT_NAMES_MAX) return undefined
  const given = plain(word)
  let found: string | undefined
  let fewest = Number.POSITIVE_INFINITY
  for (const name of names) {
    if (name.length > HINT_CHARS_MAX) continue
    const most = Math.min(Math.floor(name.length / 3), fewest - 1)
    const count = editsWithin(given, plain(name), most)
    if (count === undefined) continue
    found = name
    fewest = count
  }
  return found
}

/** Upper case and the marks between words are the usual slips: they count for nothing. */
const plain = (name: string): string => name.toLowerCase().replace(/[\s_-]/g, '')

/**
 * How many letters are to be changed, added or left out to make one text of the other (Levenshtein); undefined when
 * they are more than `most`.
 */
function editsWithin(from: string, to: string, most: number): number | undefined {
  if (Math.abs(from.length - to.length) > most) return undefined
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1]
    let least = i + 1
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1)
      const count = Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1)
      next.push(count)
      least = Math.min(least, count)
    }
    if (least > most) return undefined
    row = next
  }
  const count = row.at(-1) ?? 0
  return count <= most ? count : undefined
}
