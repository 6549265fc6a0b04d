// Parses SMTP replies (RFC 5321 section 4.2) from chunks of any size.

export interface SmtpReply {
  /** 200-599. */
  code: number
  /** The texts of its lines, without code and separator. */
  lines: string[]
  /** The whole reply, lines joined by \n. */
  text: string
}

/** The server does not speak SMTP, or its reply is too long. */
class ReplyError extends Error {
  override name = 'ReplyError'
}

/** RFC 5321 section 4.5.3.1.5 says 512, but servers send longer lines. */
const LINE_BYTES_MAX = 4096
const REPLY_BYTES_MAX = 64 * 1024

const LF = 10
const LINE = /^([2-5]\d\d)(?:([ -])(.*))?$/s

/**
 * Makes a parser for one connection. `push` returns the replies that a chunk completes, and the error after them,
 * if any.
 */
export function createReplyParser(): {
  push(chunk: Buffer): { replies: SmtpReply[]; error: string | null }
} {
  let partial: Buffer | null = null
  let lines: string[] = []
  let texts: string[] = []
  let bytes = 0

  /** Adds one line. Returns the reply if this is its last line. */
  const take = (line: string): SmtpReply | null => {
    const [, code, separator, text = ''] = LINE.exec(line) ?? []
    if (code === undefined) throw new ReplyError('the server sent a line that is no reply')
    // RFC 5321 section 4.2.1 wants one code. Where all are of one class, the last one counts.
    if (texts.length > 0 && texts[0]?.charAt(0) !== code.charAt(0)) {
      throw new ReplyError('the lines of a reply have codes of different classes')
    }
    lines.push(text)
    texts.push(line)
    if (separator === '-') return null
    const reply = { code: Number(code), lines, text: texts.join('\n') }
    ;[lines, texts, bytes] = [[], [], 0]
    return reply
  }

  const parse = (chunk: Buffer, replies: SmtpReply[]): void => {
    const input = partial ? Buffer.concat([partial, chunk]) : chunk
    partial = null
    let start = 0
    for (;;) {
      const end = input.indexOf(LF, start)
      if (end < 0) break
      const length = end - start
      bytes += length + 1
      if (length > LINE_BYTES_MAX) throw new ReplyError('a line of a reply is over 4 KiB')
      if (bytes > REPLY_BYTES_MAX) throw new ReplyError('a reply is over 64 KiB')
      const hasCr = length > 0 && input[end - 1] === 13
      const reply = take(input.toString('utf8', start, hasCr ? end - 1 : end))
      if (reply) replies.push(reply)
      start = end + 1
    }
    if (start < input.length) {
      partial = start === 0 ? input : input.subarray(start)
      if (partial.length > LINE_BYTES_MAX) throw new ReplyError('a line of a reply is over 4 KiB')
    }
  }

  return {
    push(chunk) {
      const replies: SmtpReply[] = []
      try {
        parse(chunk, replies)
        return { replies, error: null }
      } catch (err) {
        if (!(err instanceof ReplyError)) throw err
        return { replies, error: err.message }
      }
    },
  }
}
