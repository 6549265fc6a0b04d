// Verifying the signatures of mail that came in: signed by another implementation, keys from a real name server.
// Long because every case is signed by the same keys and name server, which its head makes.
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadKey } from '../../../mail/dkim/keys.ts'
import { verifySigner } from '../../../mail/dkim/verify.ts'
import { createDns, type Dns } from '../../../mail/dns/resolver.ts'
import { type NameServer, startBadNameServer, startNameServer } from '../../setup/nameServer.ts'
import { signMessage } from '../../setup/signMessage.ts'

const FETCH_WAIT_MS = 300_000
const now = new Date('2026-11-22T10:00:00Z')
const LOOP = 'loop.test'

interface Pair {
  pem: string
  der: Buffer
  /** For the `p=` of its record. */
  p: string
}
const pairOf = (
  pair: { privateKey: KeyObject; publicKey: KeyObject },
  type: 'spki' | 'pkcs1',
): Pair => {
  const spki = pair.publicKey.export({ type, format: 'der' })
  const isRaw = pair.publicKey.asymmetricKeyType === 'ed25519'
  return {
    pem: String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    der: pair.privateKey.export({ type: 'pkcs8', format: 'der' }),
    p: (isRaw ? spki.subarray(-32) : spki).toString('base64'),
  }
}
const rsa = pairOf(generateKeyPairSync('rsa', { modulusLength: 2048 }), 'spki')
const bare = pairOf(generateKeyPairSync('rsa', { modulusLength: 1024 }), 'pkcs1')
const short = pairOf(generateKeyPairSync('rsa', { modulusLength: 768 }), 'spki')
const ed = pairOf(generateKeyPairSync('ed25519'), 'spki')

let server: NameServer
let dns: Dns
const txt = (text: string) =>
  (text.match(/.{1,200}/g) ?? []).map((chunk) => `"${chunk.replaceAll(';', '\\;')}"`).join(' ')
beforeAll(async () => {
  const records = {
    rsa: `v=DKIM1; k=rsa; p=${rsa.p}`,
    spaced: `k=rsa;  h=sha1:sha256; s=*; p= ${rsa.p.replace(/.{60}/g, '$& ')} ;`,
    bare: `p=${bare.p}`,
    short: `v=DKIM1; p=${short.p}`,
    ed: `v=DKIM1; k=ed25519; p=${ed.p}`,
    revoked: 'v=DKIM1; p=',
    testing: `v=DKIM1; t=y; p=${rsa.p}`,
    strict: `v=DKIM1; t=s; p=${rsa.p}`,
    tls: `v=DKIM1; s=tlsrpt; p=${rsa.p}`,
    sha1: `v=DKIM1; h=sha1; p=${rsa.p}`,
    other: `v=DKIM2; p=${rsa.p}`,
  }
  const lines = Object.entries(records).map(([name, text]) => `${name}._domainkey TXT ${txt(text)}`)
  lines.push(`two._domainkey TXT ${txt(records.rsa)}`, `two._domainkey TXT "v=DKIM1\\; p="`)
  server = await startNameServer({
    [LOOP]: lines.join('\n'),
    'stranger.test': `rsa._domainkey TXT ${txt(records.rsa)}`,
    'broken.test': null,
  })
  dns = createDns({ servers: [server.address], timeoutMs: 2_000 })
}, FETCH_WAIT_MS)
afterAll(() => server.close())

const head = [
  'From: Loop <feedback@loop.test>',
  'To: fbl@mx.mail.test',
  'Subject:  FW:  News ',
  'MIME-Version: 1.0',
  'Content-Type: text/plain;\r\n\tcharset=utf-8',
  'Content-Transfer-Encoding: 8bit',
]
const messageOf = (body: string, lines = head) =>
  Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
const plain = messageOf('Hello  you \r\n\r\n')

interface Sign {
  selector?: string
  domain?: string
  pair?: Pair
  canonicalization?: string
  /** The fields to sign, where not all are. */
  headers?: string[]
  expires?: Date
  maxBodyLength?: number
  algorithm?: string
}
async function sign(
  message: Buffer,
  { pair = rsa, domain = LOOP, selector = 'rsa', headers, ...more }: Sign = {},
) {
  const key = { signingDomain: domain, selector, privateKey: pair.pem, ...more }
  const headerList = headers ? { headerList: headers.join(':') } : {}
  const options = { ...key, ...headerList, signTime: now, signatureData: [key] }
  const { signatures, errors } = await dkimSign(message, options as Parameters<typeof dkimSign>[1])
  expect(errors).toEqual([])
  return Buffer.concat([Buffer.from(signatures), message])
}
const verdictOf = (message: Buffer, domains: readonly string[] = [LOOP]) =>
  verifySigner(message, { domains, dns, now })
const kindOf = async (message: Buffer, domains?: readonly string[]) =>
  (await verdictOf(message, domains)).kind
const change = (message: Buffer, from: string, to: string) => {
  const text = message.toString('latin1')
  expect(text).toContain(from)
  return Buffer.from(text.replace(from, to), 'latin1')
}

/** What the other implementation says of the topmost signature. */
async function byMailauth(message: Buffer): Promise<string> {
  const resolver = async (name: string) => {
    const answer = await dns.txt(name)
    return answer.kind === 'ok' ? answer.records.map((record) => [record]) : []
  }
  const { results } = await dkimVerify(message, {
    resolver,
    sender: 'x@loop.test',
    curTime: now,
  } as Parameters<typeof dkimVerify>[1])
  return String(results[0]?.status.result)
}

const bodies: Record<string, string> = {
  plain: 'Hello  you \r\n\r\n',
  'no line end': 'Hello',
  empty: '',
  'blank lines alone': '\r\n\r\n \t\r\n',
  'spaces at line ends': 'a \t b  \r\n\t\r\n c\t\r\n\r\n',
  '8-bit': 'Grüße ü\r\n',
}

describe.each(['relaxed/relaxed', 'simple/simple', 'relaxed/simple', 'simple/relaxed'])(
  '%s',
  (canonicalization) => {
    test.each([
      ['rsa', rsa, 'rsa-sha256'],
      ['ed', ed, 'ed25519-sha256'],
    ])('%s: every body passes, and none that was changed', async (selector, pair, algorithm) => {
      for (const [name, body] of Object.entries(bodies)) {
        const signed = await sign(messageOf(body), { selector, pair, algorithm, canonicalization })
        expect([name, await byMailauth(signed)]).toEqual([name, 'pass'])
        expect([name, await verdictOf(signed)]).toEqual([name, { kind: 'signed', domain: LOOP }])
        const longer = Buffer.concat([signed, Buffer.from('more')])
        expect([name, await kindOf(longer)]).toEqual([name, 'unsigned'])
        expect(await kindOf(change(signed, 'feedback@', 'feedbick@'))).toBe('unsigned')
      }
    })
  },
)

test('our own signatures pass', async () => {
  const key = loadKey(rsa.der)
  const signed = await signMessage(plain, [{ domain: LOOP, selector: 'rsa', key, date: now }])
  expect(await kindOf(signed)).toBe('signed')
})

test.each([
  ['spaced', rsa],
  ['bare', bare],
  ['strict', rsa],
])('the record %s has a key', async (selector, pair) => {
  expect(await kindOf(await sign(plain, { selector, pair }))).toBe('signed')
})

test.each([
  ['revoked', rsa],
  ['testing', rsa],
  ['tls', rsa],
  ['sha1', rsa],
  ['other', rsa],
  ['two', rsa],
  ['short', short],
  ['missing', rsa],
  ['ed', rsa],
  ['rsa', bare],
])('the record %s has none', async (selector, pair) => {
  expect(await kindOf(await sign(plain, { selector, pair }))).toBe('unsigned')
})

describe('a signature counts for nothing', () => {
  test('of a domain that is not asked for, whose key is not even looked up', async () => {
    const bad = await startBadNameServer('silent')
    const silent = createDns({ servers: [bad.address], timeoutMs: 200, tries: 1 })
    const signed = await sign(plain, { domain: 'stranger.test' })
    expect(await kindOf(signed, ['stranger.test'])).toBe('signed')
    const options = { domains: [LOOP], dns: silent, now }
    expect(await verifySigner(signed, options)).toEqual({ kind: 'unsigned' })
    expect(bad.asked()).toBe(0)
    expect((await verifySigner(await sign(plain), options)).kind).toBe('unanswered')
    expect(bad.asked()).toBeGreaterThan(0)
    await bad.close()
  })

  test('below or above the domain', async () => {
    const signed = await sign(plain)
    expect(await kindOf(signed, ['test', `mail.${LOOP}`])).toBe('unsigned')
    expect(await kindOf(change(signed, `d=${LOOP}`, `d=evil.${LOOP}`))).toBe('unsigned')
  })

  test('of a part of the body', async () => {
    const signed = await sign(plain, { maxBodyLength: 5 })
    expect(signed.toString()).toMatch(/ l=5;/)
    expect(await kindOf(signed)).toBe('unsigned')
  })

  test('that leaves out how the body is read, or one of two fields that say so', async () => {
    const list = ['From', 'To', 'Subject', 'MIME-Version', 'Content-Transfer-Encoding']
    expect(await kindOf(await sign(plain, { headers: list }))).toBe('unsigned')
    const whole = await sign(plain, { headers: [...list, 'Content-Type'] })
    expect(await kindOf(whole)).toBe('signed')
    for (const line of head.slice(3)) {
      const second = Buffer.concat([Buffer.from(`${line}\r\n`), whole])
      expect(await kindOf(second)).toBe('unsigned')
    }
  })

  test('that has expired', async () => {
    const expires = new Date(now.getTime() - 1_000)
    expect(await kindOf(await sign(plain, { expires }))).toBe('unsigned')
    const later = new Date(now.getTime() + 60_000)
    expect(await kindOf(await sign(plain, { expires: later }))).toBe('signed')
  })

  test.each<[string, string, string]>([
    ['another version', 'v=1', 'v=2'],
    ['another algorithm', 'a=rsa-sha256', 'a=rsa-sha1'],
    ['a tag twice', 'v=1;', 'v=1; v=1;'],
    ['no From in h=', ': From;', ': Fram;'],
    ['an odd selector', 's=rsa', 's=rsa..'],
    ['an identity elsewhere', 'v=1;', 'v=1; i=a@evil.test;'],
    ['another query', 'v=1;', 'v=1; q=http;'],
    ['an unknown form', 'c=relaxed/relaxed', 'c=relaxed/free'],
  ])('with %s', async (_, from, to) => {
    const signed = await sign(plain, {
      headers: ['from', 'mime-version', 'content-type', 'content-transfer-encoding'],
    })
    expect(await kindOf(signed)).toBe('signed')
    const text = signed.toString('latin1')
    const at = text.search(new RegExp(from.replace('/', '\\/'), 'i'))
    expect(at).toBeGreaterThan(0)
    const changed = text.slice(0, at) + to + text.slice(at + from.length)
    expect(await kindOf(Buffer.from(changed, 'latin1'))).toBe('unsigned')
  })
})

test('among others one valid signature is enough, and no more than two are looked at', async () => {
  const good = await sign(plain)
  const line = (selector: string) =>
    good.toString('latin1', 0, good.length - plain.length).replace('s=rsa', `s=${selector}`)
  const under = (count: number) => Buffer.concat([Buffer.from(line('missing').repeat(count)), good])
  expect(await kindOf(under(1))).toBe('signed')
  expect(await kindOf(under(2))).toBe('unsigned')
})

test('hostile messages are unsigned, and take no time that grows faster than they', async () => {
  const kinds = await Promise.all(
    [
      Buffer.alloc(0),
      Buffer.from('\r\n\r\n'),
      Buffer.from('DKIM-Signature: v=1'),
      Buffer.alloc(
        1024 * 1024,
        'DKIM-Signature: v=1; d=loop.test; s=rsa; a=rsa-sha256; h=from; b=; bh=\r\n',
      ),
      Buffer.concat([Buffer.alloc(100_000, 'DKIM-Signature: x\r\n'), Buffer.from('\r\n\r\n')]),
      Buffer.concat([Buffer.from('A: '), Buffer.alloc(1024 * 1024, ';='), Buffer.from('\r\n\r\n')]),
      change(await sign(plain), '\r\nTo:', '\nTo:'),
    ].map((message) => kindOf(message)),
  )
  expect(kinds).toEqual(Array(7).fill('unsigned'))
})
