// Sends large parameters of a statement as they are: pg copies each twice, into buffers that grow by half. For 40 MB that keeps the
// process from everything else, and of batches of emails it made so many bytes that V8 marked its whole heap three times a second.
// It relies on how pg 8 binds; its test tells when that changes.
import type pg from 'pg'

/** Smaller Buffers, and all strings, are left to pg. The texts of a batch of emails are larger. */
const UNCOPIED_BYTES_MIN = 16 * 1024

/** What pg gives for a Bind message, and its types do not show. */
interface Bind {
  portal?: string
  statement?: string
  binary?: boolean
  values?: unknown[]
  /** Makes what is sent of a value: text, or a Buffer that is sent as it is. */
  valueMapper?: (value: unknown, index: number) => string | Buffer | null
}

interface Wire {
  connection: {
    bind(config: Bind): void
    stream: { writable: boolean; write(bytes: Buffer): void }
  }
}

/** Changes how a connection sends a Bind message that holds a large Buffer; all other messages stay with pg. */
export function sendLargeParameters(client: pg.ClientBase): void {
  const { connection } = client as unknown as Wire
  const bind = connection.bind.bind(connection)
  connection.bind = (config) => {
    const isLarge = (value: unknown) => Buffer.isBuffer(value) && value.length >= UNCOPIED_BYTES_MIN
    if (!config.values?.some(isLarge)) {
      bind(config)
      return
    }
    // As pg does: the connection has ended, and its error is told to the query.
    if (!connection.stream.writable) return
    for (const piece of bindPieces(config)) connection.stream.write(piece)
  }
}

/**
 * A Bind message in pieces, of which the large parameters are no copies (PostgreSQL documentation, Message Formats, Bind).
 * @throws what the mapper throws, before anything is sent
 */
function bindPieces({
  portal = '',
  statement = '',
  binary = false,
  values = [],
  valueMapper,
}: Bind): Buffer[] {
  const sent = values.map((value, i) => bytesOf(valueMapper ? valueMapper(value, i) : value))
  const body = [
    Buffer.from(`${portal}\0${statement}\0`),
    int16(sent.length),
    ...sent.map(({ format }) => int16(format)),
    int16(sent.length),
    ...sent.flatMap(({ bytes }) => (bytes ? [int32(bytes.length), bytes] : [int32(-1)])),
    int16(1),
    int16(binary ? 1 : 0),
  ]
  const length = body.reduce((sum, part) => sum + part.length, 4)
  return joinSmall([Buffer.from('B'), int32(length), ...body])
}

function bytesOf(value: unknown): { format: 0 | 1; bytes: Buffer | null } {
  if (value === null || value === undefined) return { format: 0, bytes: null }
  if (Buffer.isBuffer(value)) return { format: 1, bytes: value }
  return { format: 0, bytes: Buffer.from(value as string) }
}

function joinSmall(parts: readonly Buffer[]): Buffer[] {
  const pieces: Buffer[] = []
  let small: Buffer[] = []
  for (const part of parts) {
    if (part.length < UNCOPIED_BYTES_MIN) small.push(part)
    else {
      pieces.push(Buffer.concat(small), part)
      small = []
    }
  }
  return [...pieces, Buffer.concat(small)]
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}
