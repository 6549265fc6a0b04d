// Reads a message like a mail client: headers unfolded and decoded, parts decoded.

export interface ReadPart {
  headers: [name: string, value: string][]
  /** The first header of that name, decoded; null if there is none. */
  header(name: string): string | null
  parts: ReadPart[]
  /** Decoded bytes of a leaf. */
  content: Buffer
}

export function readMessage(message: Buffer): ReadPart {
  return readPart(message.toString('latin1'))
}

/** All leaves, in order. */
export function leaves(part: ReadPart): ReadPart[] {
  return part.parts.length === 0 ? [part] : part.parts.flatMap(leaves)
}

function readPart(text: string): ReadPart {
  const end = text.indexOf('\r\n\r\n')
  const headers = text
    .slice(0, end)
    .split(/\r\n(?![ \t])/)
    .map((field): [string, string] => {
      const colon = field.indexOf(':')
      return [
        field.slice(0, colon),
        field
          .slice(colon + 1)
          .replace(/\r\n/g, '')
          .trim(),
      ]
    })
  const header = (name: string) => {
    const found = headers.find(([one]) => one.toLowerCase() === name.toLowerCase())
    return found ? decodeWords(found[1]) : null
  }
  const body = text.slice(end + 4)
  const boundary = /boundary="?([^";]+)"?/.exec(header('content-type') ?? '')?.[1]
  const parts =
    boundary === undefined
      ? []
      : `\r\n${body}`
          .split(`\r\n--${boundary}`)
          .slice(1, -1)
          .map((one) => readPart(one.slice(2)))
  return { headers, header, parts, content: decodeBody(body, header('content-transfer-encoding')) }
}

function decodeBody(body: string, encoding: string | null): Buffer {
  if (encoding === 'base64') return Buffer.from(body, 'base64')
  if (encoding !== 'quoted-printable') return Buffer.from(body, 'latin1')
  return Buffer.from(decodeQ(body.replace(/=\r\n/g, '')), 'latin1')
}

function decodeQ(text: string): string {
  return text.replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
}

function decodeWords(value: string): string {
  return value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString()
        : Buffer.from(decodeQ(text.replace(/_/g, ' ')), 'latin1').toString(),
    )
}
