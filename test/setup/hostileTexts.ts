// Texts that try to escape from their field into another header, command or message.
import fc from 'fast-check'

/** A header that no message of the tests has. If a message has it, it was injected. */
const INJECTED_HEADER = 'X-Injected'
/** A recipient that nobody sends to. */
const INJECTED_RECIPIENT = 'injected@evil.test'

const header = `${INJECTED_HEADER}: yes`
const lineEnds = [
  '\r\n',
  '\n',
  '\r',
  '\u0085',
  '\u2028',
  '\u2029',
  '\v',
  '\f',
  '\0',
  '\r\n ',
  '\\r\\n',
]
const commands = [
  `MAIL FROM:<x@evil.test>\r\nRCPT TO:<${INJECTED_RECIPIENT}>\r\nDATA\r\n`,
  `RCPT TO:<${INJECTED_RECIPIENT}>`,
  'RSET',
  'QUIT',
]

export const hostilePieces = [
  ...lineEnds.map((end) => `a${end}${header}${end}b`),
  ...lineEnds.map((end) => `a${end}.${end}${commands[0]}`),
  ...lineEnds.map((end) => `a${end}${end}${header}`),
  `a\r\n.\r\n${commands.join('\r\n')}`,
  `a\n.\r\n${commands.join('\r\n')}`,
  `a\r.\r${commands.join('\r')}`,
  '\r\n.\r\n',
  '.',
  '>',
  '<',
  `>\r\nRCPT TO:<${INJECTED_RECIPIENT}>`,
  `a> <${INJECTED_RECIPIENT}>`,
  `x@evil.test>, <${INJECTED_RECIPIENT}`,
  `,${INJECTED_RECIPIENT}`,
  `";${INJECTED_RECIPIENT}`,
  `(${INJECTED_RECIPIENT})`,
  `=?utf-8?q?a=0D=0A${INJECTED_HEADER}=3A_yes?=`,
  `=?utf-8?b?${Buffer.from(`a\r\n${header}`).toString('base64')}?=`,
  `"\r\nContent-Type: text/html\r\n\r\n<script>`,
  '\u202egro.live@',
  '\ud800',
  '\u0130\u017f\u212a',
  'ａ＠evil．test',
  `{{ "\\r\\n${header}" }}`,
  'w'.repeat(1200),
  'ü'.repeat(700),
  '--=_\r\n--',
]

/** One hostile text, or several mixed with harmless text. */
export const hostileText = fc.oneof(
  fc.constantFrom(...hostilePieces),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(...hostilePieces, ...lineEnds),
        fc.string({ unit: 'binary', maxLength: 10 }),
      ),
      { minLength: 2, maxLength: 5 },
    )
    .map((pieces) => pieces.join('')),
)

/**
 * Finds faults of a sent message: bare CR or LF, bytes outside ASCII, long lines, header fields other than
 * `expected` (lower case), or a field twice.
 */
export function faultsOf(message: Buffer, expected: readonly string[]): string[] {
  const text = message.toString('latin1')
  const found: string[] = []
  if (/(?<!\r)\n|\r(?!\n)/.test(text)) found.push('half a line end')
  if (/[\x80-\xff]/.test(text)) found.push('a byte outside ASCII')
  if (text.includes('\0')) found.push('a NUL')
  if (text.split('\r\n').some((line) => line.length > 998)) found.push('a line over 998')
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return [...found, 'no end of the header']
  const names = text
    .slice(0, end)
    .split(/\r\n(?![ \t])/)
    .map((field) => field.slice(0, field.indexOf(':')).toLowerCase())
  for (const name of new Set(names)) {
    if (!expected.includes(name)) found.push(`the header ${name}`)
    const times = names.filter((one) => one === name).length
    if (times > 1 && name !== 'dkim-signature') found.push(`${times} headers ${name}`)
  }
  for (const part of text.slice(end).split(/\r\n--[^\r\n]+\r\n/)) {
    const inner = part.slice(0, part.indexOf('\r\n\r\n'))
    if (/^(bcc|x-injected):/im.test(inner) && /^content-type:/im.test(inner)) {
      found.push('a header in a part')
    }
  }
  return found
}
