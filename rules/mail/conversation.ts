// The SMTP conversation of an attempt as one text: small to store, and readable without a tool.

/** One line of an SMTP conversation; credentials and the message itself are left out. */
export interface ConversationLine {
  /** ms since the attempt began */
  at_ms: number
  from: 'client' | 'server'
  text: string
}

const LINE = /^([\d.]+) ([CS]): (.*)$/s

/** `12.5 C: MAIL FROM:<…>` for each line. */
export function conversationText(lines: readonly ConversationLine[]): string {
  return lines
    .map(({ at_ms, from, text }) => `${at_ms} ${from === 'client' ? 'C' : 'S'}: ${text}`)
    .join('\n')
}

/** Reads the lines of such a text. Other text is left out. */
export function readConversation(text: string): ConversationLine[] {
  return text.split('\n').flatMap((line) => {
    const [, at, who, said] = LINE.exec(line) ?? []
    if (at === undefined || said === undefined) return []
    return { at_ms: Number(at), from: who === 'C' ? 'client' : 'server', text: said }
  })
}
