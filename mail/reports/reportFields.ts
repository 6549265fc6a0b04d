// Parses the groups of fields in machine-readable parts of reports (RFC 3464, RFC 5965).

/** Field name in lower case → its first value, unfolded and trimmed. */
export type Fields = ReadonlyMap<string, string>

const FIELD = /^([!-9;-~]{1,100})[ \t]*:(.*)$/
const VALUE_CHARS_MAX = 4096

/**
 * The groups of a part in order, separated by blank lines. Lines that are not fields are skipped, the first of two
 * equal fields of a group counts, and long values are cut. Takes linear time and never throws.
 */
export function readFieldGroups(text: string): Fields[] {
  const groups: Map<string, string>[] = []
  let group = new Map<string, string>()
  let name: string | null = null
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line.trim() === '') {
      if (group.size > 0) groups.push(group)
      group = new Map()
      name = null
    } else if (name !== null && /^[ \t]/.test(line)) {
      append(group, name, line)
    } else {
      const [, key, value] = FIELD.exec(line) ?? []
      const known = key !== undefined && group.has(key.toLowerCase())
      name = key === undefined || known ? null : key.toLowerCase()
      if (name !== null) group.set(name, (value ?? '').trim().slice(0, VALUE_CHARS_MAX))
    }
  }
  if (group.size > 0) groups.push(group)
  return groups
}

function append(group: Map<string, string>, name: string, line: string): void {
  const value = group.get(name) ?? ''
  if (value.length < VALUE_CHARS_MAX) {
    group.set(name, `${value} ${line.trim()}`.trim().slice(0, VALUE_CHARS_MAX))
  }
}
