// Small messages, as clients submit them.

/** A small message of `hello@sender.test`. @param headers further lines, or others of the same name */
export function messageOf(headers: Record<string, string> = {}, body = 'Hello'): string {
  const all: Record<string, string> = {
    From: 'hello@sender.test',
    To: 'ada@example.test',
    Subject: 'Hello',
    ...headers,
  }
  const lines = Object.entries(all).filter(([, value]) => value !== '')
  return `${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n${body}\r\n`
}
