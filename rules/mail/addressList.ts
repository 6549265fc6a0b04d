// Takes the list of a header's address field (RFC 5322 section 3.4) apart, by its bytes, and puts it together again with some of its entries.
// `postal-mime` reads one too, but keeps no bytes.

/** Either an entry, or a group: its name without the colon, and its members. All as they are written, with the spaces and line ends around them. */
export type ListPart = { text: string; members: string[] | null }

/** What ends each thing in which commas mean nothing. */
const CLOSES: Record<string, string> = { '"': '"', '(': ')', '<': '>', '[': ']' }

/**
 * Takes it apart at commas, and at semicolons, which some clients write in their place. Empty entries are left out.
 * @returns null where a quote, a comment or a bracket has no end, since each reader ends it somewhere else
 */
export function listParts(value: string): ListPart[] | null {
  const parts: ListPart[] = []
  let members: string[] | null = null
  let from = 0
  for (let at = 0; at <= value.length; at++) {
    const char = value[at]
    if (char !== undefined && char in CLOSES) {
      at = endOf(value, at)
      if (at < 0) return null
      continue
    }
    const beginsGroup = char === ':' && members === null
    if (char !== undefined && char !== ',' && char !== ';' && !beginsGroup) continue
    const text = value.slice(from, at)
    from = at + 1
    if (beginsGroup) {
      members = []
      parts.push({ text, members })
    } else if (trimmedEnd(text) !== '') {
      if (members) members.push(text)
      else parts.push({ text, members: null })
    }
    if (char === ';') members = null
  }
  return parts
}

/** The list of these parts. It does not begin with a line end, nor end with spaces. */
export function joinedParts(parts: readonly ListPart[]): string {
  const texts = parts.map(({ text, members }) => (members ? `${text}:${members.join(',')};` : text))
  return trimmedEnd(texts.join(',').replace(/^\r\n[ \t]/, ' '))
}

/** `trimEnd` would take the last byte of characters such as "à" for a space. */
export function trimmedEnd(bytes: string): string {
  let end = bytes.length
  while (' \t\r\n'.includes(bytes[end - 1] ?? '-')) end -= 1
  return bytes.slice(0, end)
}

/** Where what begins at a place ends; -1: nowhere. */
function endOf(value: string, start: number): number {
  const opens = value[start] ?? ''
  const closes = CLOSES[opens]
  let depth = 0
  for (let at = start + 1; at < value.length; at++) {
    const char = value[at]
    if (char === '\\') at += 1
    else if (char === closes && depth === 0) return at
    else if (char === closes) depth -= 1
    else if (opens === '(' && char === '(') depth += 1
    else if (opens === '<' && (char === '"' || char === '(')) {
      at = endOf(value, at)
      if (at < 0) return -1
    }
  }
  return -1
}

/** An entry without its comments, nor lines that nothing else stands on. What stands in quotes stays. */
export function withoutComments(entry: string): string {
  let kept = ''
  for (let at = 0; at < entry.length; at++) {
    const char = entry[at]
    const end = char === '(' || char === '"' ? endOf(entry, at) : at
    if (end < 0) return kept + entry.slice(at)
    if (char !== '(') kept += entry.slice(at, end + 1)
    at = end
  }
  return kept.replace(/(?:\r\n[ \t]+)+(?=\r\n)/g, '')
}

/** Where an entry is an address in angle brackets, that with them; otherwise all of it. Neither with comments, nor with spaces around its parts. */
export function addressPart(entry: string): string {
  const bare = withoutComments(entry)
  let open = -1
  for (let at = 0; at < bare.length; at++) {
    if (bare[at] === '"') at = Math.max(at, endOf(bare, at))
    else if (bare[at] === '<') open = at
  }
  const whole = open < 0 ? bare : bare.slice(open)
  // Runs of spaces first: otherwise each of them would be looked through from each of its characters.
  const close = whole.replace(/[ \t\r\n]+/g, ' ').replace(/ ?([@.<>:]) ?/g, '$1')
  return trimmedEnd(close.replace(/^ /, ''))
}
