// Reads the tag lists of DKIM and DMARC: `tag=value; ...`.

/** Parses `tag=value; ...` (RFC 6376 section 3.2). Null if the text is malformed or has a tag twice. */
export function readTags(text: string): Map<string, string> | null {
  const tags = new Map<string, string>()
  for (const part of text.replace(/;\s*$/, '').split(';')) {
    const equals = part.indexOf('=')
    const name = part.slice(0, Math.max(equals, 0)).trim()
    if (!/^[a-z]\w*$/i.test(name) || tags.has(name)) return null
    tags.set(name, part.slice(equals + 1).trim())
  }
  return tags
}
