// Verifies the DKIM signatures of a message that came in (RFC 6376 section 6, ed25519 by RFC 8463).
import { createHash, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { parseMailbox } from '../../rules/addresses.ts'
import type { Dns } from '../dns/resolver.ts'
import { relaxedBodyHash } from './body.ts'
import { type Field, relaxedField } from './canonical.ts'
import { readPublicKey } from './publicKey.ts'
import { readTags } from './tags.ts'

const verifyOnThreadPool = promisify(verify)

const HEADER_BYTES_MAX = 128 * 1024
const FIELDS_MAX = 1_000
/** Signatures of one message that are looked at, which bounds questions to the DNS. */
const SIGNATURES_MAX = 2
const HEADER_END = Buffer.from('\r\n\r\n')

/** Headers that decide how a body is read. What is signed under one of them means nothing under another. */
const readingHeaders = ['mime-version', 'content-type', 'content-transfer-encoding']

export type Verdict =
  /** `domain` is the d= of a valid signature. */
  | { kind: 'signed'; domain: string }
  | { kind: 'unsigned' }
  /** No signature is valid so far, and the DNS did not answer for one: ask again later. */
  | { kind: 'unanswered'; error: string }

export interface VerifyOptions {
  /** Signatures of other domains are not looked at, and their keys not asked for. In lower case. */
  domains: readonly string[]
  dns: Pick<Dns, 'txt'>
  now: Date
  /** A signature counts only if it covers the message's one To, and that is this address alone. Absent: whatever To says. */
  to?: string
  /** A signature whose t= is older counts for nothing. Absent: any age. */
  ageMax_ms?: number
}

/**
 * Whether one of these domains has signed the whole message. Stricter than RFC 6376: a signature with l= counts for
 * nothing, and neither does one that leaves out a header by which the body is read. Never throws.
 * @param message as it came by SMTP, with CRLF
 */
export async function verifySigner(message: Buffer, options: VerifyOptions): Promise<Verdict> {
  const end = message.indexOf(HEADER_END)
  if (end < 0 || end > HEADER_BYTES_MAX) return { kind: 'unsigned' }
  const fields = readFields(message.toString('latin1', 0, end))
  if (fields === null) return { kind: 'unsigned' }
  const body = message.subarray(end + HEADER_END.length)
  let error: string | null = null
  if (options.to !== undefined && !isWrittenTo(options.to, fields)) return { kind: 'unsigned' }
  const candidates = fields
    .filter(({ name }) => name === 'dkim-signature')
    .flatMap((field) => readSignature(field, options) ?? [])
  for (const signature of candidates.slice(0, SIGNATURES_MAX)) {
    const verdict = await verifyOne(signature, fields, body, options.dns)
    if (verdict === true) return { kind: 'signed', domain: signature.domain }
    if (verdict !== false) error = verdict.error
  }
  return error === null ? { kind: 'unsigned' } : { kind: 'unanswered', error }
}

interface Signature {
  field: Field
  domain: string
  selector: string
  /** Of i=, in lower case. */
  identityDomain: string
  algorithm: 'rsa' | 'ed25519'
  relaxed: { header: boolean; body: boolean }
  /** Header names in the order of h=, in lower case. */
  names: string[]
  bodyHash: string
  value: Buffer
}

/** A signature that may count; null if it is malformed, expired, of another domain, or of a part of the body alone. */
function readSignature(field: Field, options: VerifyOptions): Signature | null {
  const { domains, now } = options
  const tags = readTags(field.raw.slice(field.raw.indexOf(':') + 1).replace(/\r\n/g, ''))
  if (tags?.get('v') !== '1' || tags.has('l')) return null
  const domain = (tags.get('d') ?? '').toLowerCase()
  const selector = tags.get('s') ?? ''
  if (!domains.includes(domain) || !/^[\w-]+(\.[\w-]+)*$/.test(selector)) return null
  const algorithm = /^(rsa|ed25519)-sha256$/.exec(tags.get('a') ?? '')?.[1]
  if (algorithm !== 'rsa' && algorithm !== 'ed25519') return null
  const form = /^(simple|relaxed)(?:\/(simple|relaxed))?$/.exec(tags.get('c') ?? 'simple/simple')
  const identity = (tags.get('i') ?? `@${domain}`).toLowerCase()
  const identityDomain = identity.slice(identity.lastIndexOf('@') + 1)
  const queries = (tags.get('q') ?? 'dns/txt').split(':').map((query) => query.trim())
  const names = (tags.get('h') ?? '').split(':').map((name) => name.trim().toLowerCase())
  const isOurs = identityDomain === domain || identityDomain.endsWith(`.${domain}`)
  if (!form || !isOurs || !queries.includes('dns/txt') || !names.includes('from')) return null
  if (options.to !== undefined && !names.includes('to')) return null
  if (isTooOld(tags.get('t'), options)) return null
  const expires = tags.get('x')
  if (expires !== undefined && !(Number(expires) * 1000 > now.getTime())) return null
  return {
    field,
    domain,
    selector,
    identityDomain,
    algorithm,
    relaxed: { header: form[1] === 'relaxed', body: form[2] === 'relaxed' },
    names,
    bodyHash: (tags.get('bh') ?? '').replace(/[ \t]/g, ''),
    value: Buffer.from((tags.get('b') ?? '').replace(/[ \t]/g, ''), 'base64'),
  }
}

/** Whether the message has one To, which is this address alone, with or without a name. */
function isWrittenTo(address: string, fields: readonly Field[]): boolean {
  const [only, ...more] = fields.filter(({ name }) => name === 'to')
  if (!only || more.length > 0) return false
  const value = only.raw.slice(only.raw.indexOf(':') + 1).replace(/\r\n(?=[ \t])/g, '')
  return parseMailbox(value)?.address.toLowerCase() === address.toLowerCase()
}

/** @param signedAt t= (RFC 6376 section 3.5), seconds since 1970 */
function isTooOld(signedAt: string | undefined, { now, ageMax_ms }: VerifyOptions): boolean {
  if (signedAt === undefined || ageMax_ms === undefined) return false
  return !(/^\d{1,12}$/.test(signedAt) && now.getTime() - Number(signedAt) * 1000 < ageMax_ms)
}

async function verifyOne(
  signature: Signature,
  fields: readonly Field[],
  body: Buffer,
  dns: Pick<Dns, 'txt'>,
): Promise<boolean | { error: string }> {
  const { names, relaxed, domain, selector, algorithm } = signature
  const covers = (name: string) =>
    fields.filter((field) => field.name === name).length <=
    names.filter((listed) => listed === name).length
  if (!readingHeaders.every(covers)) return false
  const hash = relaxed.body ? await relaxedBodyHash(body) : simpleBodyHash(body)
  if (hash === null || hash !== signature.bodyHash) return false
  const answer = await dns.txt(`${selector}._domainkey.${domain}`)
  if (answer.kind === 'servfail' || answer.kind === 'timeout') return { error: answer.error }
  const record = answer.kind === 'ok' && answer.records.length === 1 ? answer.records[0] : undefined
  const strict = signature.identityDomain !== domain
  const key = record === undefined ? null : readPublicKey(record, algorithm, strict)
  if (key === null) return false
  const data = Buffer.from(signedText(signature, fields), 'latin1')
  try {
    if (algorithm === 'rsa') return await verifyOnThreadPool('sha256', data, key, signature.value)
    const digest = createHash('sha256').update(data).digest()
    return await verifyOnThreadPool(null, digest, key, signature.value)
  } catch {
    return false
  }
}

/** The header as it was signed: each name of h= takes the lowest field that no name before it took. */
function signedText({ names, field, relaxed }: Signature, fields: readonly Field[]): string {
  const canonical = (raw: string) => (relaxed.header ? relaxedField(raw) : raw)
  const left = new Map<string, Field[]>()
  for (const one of fields) left.set(one.name, [...(left.get(one.name) ?? []), one])
  let text = ''
  for (const name of names) {
    const next = left.get(name)?.pop()
    if (next) text += `${canonical(next.raw)}\r\n`
  }
  const colon = field.raw.indexOf(':') + 1
  const emptied = field.raw.slice(colon).replace(/((?:^|;)\s*b\s*=)[^;]*/, '$1')
  return text + canonical(field.raw.slice(0, colon) + emptied)
}

/** RFC 6376 section 3.4.3: blank lines at the end are left out, and the last line has its end. */
function simpleBodyHash(body: Buffer): string {
  let end = body.length
  while (end >= 2 && body[end - 2] === 0x0d && body[end - 1] === 0x0a) end -= 2
  return createHash('sha256').update(body.subarray(0, end)).update('\r\n').digest('base64')
}

/** The fields of a header; null for half line ends, a field without a name, or too many fields. */
function readFields(header: string): Field[] | null {
  if (/\r(?!\n)|(?<!\r)\n/.test(header)) return null
  const raws = header.split(/\r\n(?![ \t])/)
  if (raws.length > FIELDS_MAX || !raws.every((raw) => /^[!-9;-~]+[ \t]*:/.test(raw))) return null
  return raws.map((raw) => ({ name: raw.slice(0, raw.indexOf(':')).trim().toLowerCase(), raw }))
}
