// Signs a message with DKIM (RFC 6376, ed25519 by RFC 8463): relaxed/relaxed, on the thread pool.
import { hash, type KeyObject, sign } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { promisify } from 'node:util'
import { type Field, relaxedField } from './canonical.ts'

const signOnThreadPool = promisify(sign)

/**
 * Headers that are listed in h= once more than they occur (RFC 6376 sections 5.4.2 and 8.15): nobody can add one, also
 * where the message has none, without breaking the signature.
 */
const overSigned: readonly string[] = [
  'from',
  'to',
  'cc',
  'subject',
  'date',
  'reply-to',
  'message-id',
  'mime-version',
  'content-type',
]

/** Headers that are signed if the message has them. */
const signedHeaders: readonly string[] = [
  ...overSigned,
  'sender',
  'in-reply-to',
  'references',
  'content-transfer-encoding',
  'list-id',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'feedback-id',
]

const LINE_CHARS = 76

/** The message cannot be signed. It must not be sent unsigned. */
export class DkimError extends Error {
  override name = 'DkimError'
}

export interface DkimOptions {
  domain: string
  selector: string
  /** RSA or ed25519 private key. */
  key: KeyObject
  /** The date of the email, so that `t=` and the signature are the same for each attempt. */
  date: Date
}

/**
 * The DKIM-Signature headers for header fields and a body hash, folded, each with its CRLF.
 * @param fields the header of the message
 * @param bodyHash relaxed, base64
 * @throws DkimError without a key or a From, or for a key that cannot sign
 */
export async function signFields(
  fields: readonly Field[],
  bodyHash: string,
  signers: readonly DkimOptions[],
): Promise<string> {
  if (signers.length === 0) throw new DkimError('there is no key to sign with')
  const selected = selectFields(fields)
  const made = await Promise.all(signers.map((options) => signature(selected, bodyHash, options)))
  return made.join('')
}

async function signature(
  { names, canonical }: ReturnType<typeof selectFields>,
  bodyHash: string,
  options: DkimOptions,
): Promise<string> {
  const isRsa = options.key.asymmetricKeyType === 'rsa'
  const tags = [
    'v=1',
    `a=${isRsa ? 'rsa' : 'ed25519'}-sha256`,
    'c=relaxed/relaxed',
    `d=${asciiOf(options.domain)}`,
    `s=${options.selector}`,
    `t=${Math.floor(options.date.getTime() / 1000)}`,
    `h=${names.join(':')}`,
    `bh=${bodyHash}`,
  ]
  const unsigned = `DKIM-Signature: ${foldTags(tags)}\r\n b=`
  const data = Buffer.from(`${canonical}${relaxedField(unsigned)}`, 'latin1')
  const signed = await signData(data, options.key, isRsa)
  const b = signed.toString('base64').replace(/.{1,72}(?!$)/g, '$&\r\n ')
  return `${unsigned}${b}\r\n`
}

/** The domain that was asked for last: nearly always the next mail is of the same one. */
let lastDomain = { name: '', ascii: '' }

function asciiOf(name: string): string {
  if (lastDomain.name !== name) lastDomain = { name, ascii: domainToASCII(name) || name }
  return lastDomain.ascii
}

async function signData(data: Buffer, key: KeyObject, isRsa: boolean): Promise<Buffer> {
  try {
    if (isRsa) return await signOnThreadPool('sha256', data, key)
    // RFC 8463: PureEdDSA over the hash, not over the data
    return await signOnThreadPool(null, hash('sha256', data, 'buffer'), key)
  } catch (error) {
    throw new DkimError('the key does not sign', { cause: error })
  }
}

/**
 * The names for h=, and the canonical text of these fields. Of fields with the same name the last one is first.
 */
function selectFields(fields: readonly Field[]): { names: string[]; canonical: string } {
  const names: string[] = []
  let canonical = ''
  for (const name of signedHeaders) {
    for (let i = fields.length - 1; i >= 0; i--) {
      const field = fields[i]
      if (field?.name !== name) continue
      names.push(name)
      canonical += `${relaxedField(field.raw)}\r\n`
    }
    if (name === 'from' && names.length === 0) throw new DkimError('the message has no From')
    if (overSigned.includes(name)) names.push(name)
  }
  return { names, canonical }
}

/** The list of names that was cut last: nearly all mails have the same fields. */
let lastNames: { tag: string; pieces: string[] } = { tag: '', pieces: [] }

function cutNames(tag: string): string[] {
  if (lastNames.tag !== tag) lastNames = { tag, pieces: tag.split(/(?<=:)/) }
  return lastNames.pieces
}

/** Joins tags with `;` into lines. h= may break after a colon. */
function foldTags(tags: string[]): string {
  let line = 'DKIM-Signature: '.length
  let folded = ''
  for (const tag of tags) {
    const pieces = tag.startsWith('h=') ? cutNames(tag) : [tag]
    pieces.forEach((piece, i) => {
      const part = i === pieces.length - 1 ? `${piece};` : piece
      const space = i === 0 && folded !== '' ? ' ' : ''
      if (line + space.length + part.length > LINE_CHARS) {
        folded += `\r\n ${part}`
        line = 1 + part.length
      } else {
        folded += `${space}${part}`
        line += space.length + part.length
      }
    })
  }
  return folded
}
