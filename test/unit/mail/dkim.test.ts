// DKIM signatures, checked by an independent verifier, and stored keys.
import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { beforeAll, describe, expect, test } from 'vitest'
import { createBodies } from '../../../mail/compose/bodyCache.ts'
import type { ComposeInput } from '../../../mail/compose/input.ts'
import { composeMessage, composeSigned } from '../../../mail/compose/mime.ts'
import { relaxedBodyHash } from '../../../mail/dkim/body.ts'
import { DkimKeyError, generateDkimKey, loadKey } from '../../../mail/dkim/keys.ts'
import { DkimError } from '../../../mail/dkim/sign.ts'
import { createSecrets, SecretError } from '../../../runtime/secrets.ts'
import { signMessage } from '../../setup/signMessage.ts'

const date = new Date('2026-11-21T10:00:00.999Z')
const secrets = createSecrets(Buffer.alloc(32, 7))
const keys: Record<string, { publicKey: string; key: KeyObject }> = {}

beforeAll(async () => {
  for (const type of ['rsa', 'ed25519'] as const) {
    const { publicKey, privateKey } = await generateDkimKey(type)
    keys[type] = { publicKey, key: loadKey(privateKey) }
  }
})

const keyOf = (type: string): KeyObject => keys[type]?.key ?? createPrivateKey('')
const sign = (message: Buffer, type = 'rsa') =>
  signMessage(message, [{ domain: 'a.test', selector: 's1', key: keyOf(type), date }])

/** Results of the verifier for each signature: pass, or an error. */
async function verify(message: Buffer): Promise<string[]> {
  const resolver = async (name: string, type: string) => {
    if (type !== 'TXT' || name !== 's1._domainkey.a.test') throw new Error(`asked for ${name}`)
    const kind = /a=ed25519/.test(message.toString('latin1', 0, 2000)) ? 'ed25519' : 'rsa'
    return [[`v=DKIM1; k=${kind}; p=${keys[kind]?.publicKey}`]]
  }
  const { results } = await dkimVerify(message, { resolver, sender: 'x@a.test' })
  return results.map(({ status }) => String(status.result))
}

const head = 'From: Ann <ann@a.test>\r\nTo: b@b.test\r\nSubject: Hi  there \r\n'
const mails: Record<string, Buffer | string> = {
  plain: `${head}\r\nHello\r\n`,
  'no line end': `${head}\r\nHello`,
  'empty body': `${head}\r\n`,
  'blank lines alone': `${head}\r\n\r\n\r\n\r\n`,
  'trailing blank lines': `${head}\r\nHello\r\n\r\n \t\r\n\r\n`,
  'leading blank lines': `${head}\r\n\r\n\r\nHello\r\n`,
  'spaces everywhere': `${head}\r\n  a \t b  \r\n\t\r\n c\t\r\n`,
  '8-bit': Buffer.concat([Buffer.from(`${head}\r\n`), Buffer.from('Grüße \u00a0 ß\r\n', 'latin1')]),
  '8-bit header': Buffer.from(`${head}X: y\r\nReply-To: =?x?= ü <r@a.test>\r\n\r\nHi\r\n`),
  'folded header': `${head}References: <${'a'.repeat(60)}@b>\r\n\t<${'c'.repeat(900)}@d>\r\n  <e@f>\r\n\r\nHi\r\n`,
  'odd case': 'fROM :a@a.test\r\nSUBJECT:\t\tx\r\nList-Id: \r\n\r\nHi\r\n',
  'a header twice': `${head}Cc: 1@b.test\r\nCc: 2@b.test\r\n\r\nHi\r\n`,
  'blank lines in bulk': `${head}\r\nA\r\n${'\r\n'.repeat(20_000)}B\r\n`,
}

describe.each(['rsa', 'ed25519'])('%s', (type) => {
  test.each(Object.keys(mails))('%s: passes', async (name) => {
    const message = Buffer.from(mails[name] ?? '')
    const signed = await sign(message, type)
    expect(signed.subarray(-message.length)).toEqual(message)
    expect(await verify(signed)).toEqual(['pass'])
  })

  test('the same message gives the same signature', async () => {
    const message = Buffer.from(`${head}\r\nHello\r\n`)
    expect(await sign(message, type)).toEqual(await sign(message, type))
  })
})

const composed: ComposeInput = {
  id: 'em_1',
  from: { name: 'Ünn', address: 'ann@a.test' },
  to: [{ name: 'Bö', address: 'b@b.test' }],
  cc: [],
  replyTo: [],
  subject: 'Grüße '.repeat(40),
  html: '<p>Grüße &amp; mehr</p>\n'.repeat(200),
  text: '.\r\nGrüße  \r\n\r\n',
  date,
  messageId: 'm@a.test',
  headers: { 'X-Long': 'y'.repeat(2000) },
  attachments: [
    { filename: 'a.bin', content: Buffer.alloc(5000, 1), contentType: null, contentId: null },
  ],
  unsubscribe: { url: 'https://u.test/u/abc' },
  feedbackId: 'a:b:c:d',
  automatic: 'no',
}

test('a composed multipart mail passes, and its marketing headers are covered', async () => {
  const signed = (await sign(await composeMessage(composed))).toString('latin1')
  expect(await verify(Buffer.from(signed, 'latin1'))).toEqual(['pass'])
  const [header = ''] = signed.split(/\r\n(?![ \t])/)
  expect(Math.max(...header.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(78)
  const names = /h=([^;]+);/.exec(header.replace(/\s/g, ''))?.[1]?.split(':')
  expect(names?.filter((name) => name === 'from')).toHaveLength(2)
  expect(names).toEqual(
    expect.arrayContaining(['list-unsubscribe', 'list-unsubscribe-post', 'feedback-id']),
  )
  expect(header).toMatch(/ t=1795255200;/)
  for (const [from, to] of [
    ['Feedback-ID: a', 'Feedback-ID: b'],
    ['https://u.test', 'https://v.test'],
    ['From: ', 'From: evil@a.test\r\nFrom: '],
    ['Subject: ', 'Subject: x'],
  ] as const) {
    expect(signed).toContain(from)
    expect(await verify(Buffer.from(signed.replace(from, to), 'latin1'))).not.toEqual(['pass'])
  }
})

test("the caller's own List-Unsubscribe is covered as well", async () => {
  const headers = {
    'list-unsubscribe': '<https://shop.test/u/1>',
    'LIST-UNSUBSCRIBE-POST': 'List-Unsubscribe=One-Click',
  }
  const own: ComposeInput = { ...composed, headers, unsubscribe: null }
  const options = { domain: 'a.test', selector: 's1', key: keyOf('rsa'), date }
  const signed = (await composeSigned(own, [options], createBodies())).toString('latin1')
  expect(await verify(Buffer.from(signed, 'latin1'))).toEqual(['pass'])
  for (const [from, to] of [
    ['shop.test/u/1', 'shop.test/u/2'],
    ['=One-Click', '=Two-Click'],
  ] as const) {
    expect(signed).toContain(from)
    expect(await verify(Buffer.from(signed.replace(from, to), 'latin1'))).not.toEqual(['pass'])
  }
})

test('a message that cannot be signed: DkimError', async () => {
  const from = 'From: a@a.test\r\n'
  await expect(sign(Buffer.from(`${from}\r\na\nb`))).rejects.toThrow(DkimError)
  await expect(sign(Buffer.from(`${from}\r\na\rb\r\n`))).rejects.toThrow(DkimError)
  await expect(sign(Buffer.from(`${from}\r\na\r`))).rejects.toThrow(DkimError)
  await expect(sign(Buffer.from(`${from}X: a\nb\r\n\r\na`))).rejects.toThrow(DkimError)
  await expect(sign(Buffer.from(from))).rejects.toThrow(DkimError)
  await expect(sign(Buffer.from('To: a@a.test\r\n\r\na'))).rejects.toThrow(DkimError)
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const options = { domain: 'a.test', selector: 's1', key: publicKey, date }
  await expect(signMessage(Buffer.from(`${from}\r\na`), [options])).rejects.toThrow(DkimError)
})

describe('the relaxed body hash', () => {
  /** A literal implementation of RFC 6376 section 3.4.4. */
  const reference = (body: string) => {
    const lines = body
      .replace(/[ \t]+/g, ' ')
      .replace(/ \r\n/g, '\r\n')
      .replace(/ $/, '')
    const ended = lines.replace(/(\r\n)+$/, '')
    return createHash('sha256')
      .update(ended === '' ? '' : `${ended}\r\n`)
      .digest('base64')
  }
  const pieces = fc.constantFrom(' ', '\t', '\r\n', 'a', 'é', '.')

  test('agrees with the RFC on any body', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 30 }), async (parts) => {
        const body = parts.join('')
        expect(await relaxedBodyHash(Buffer.from(body))).toBe(reference(body))
      }),
      { numRuns: 500 },
    )
  })

  test.each([1, 2, 3, 4])('agrees when a slice ends in the middle, by %i', async (shift) => {
    const line = `${' x  y\t'.repeat(8)} \r\n \r\n`
    const body = 'z'.repeat(shift) + line.repeat(60_000)
    expect(await relaxedBodyHash(Buffer.from(body))).toBe(reference(body))
  })
})

test('40 MB: one copy, and the event loop stays free', async () => {
  const line = `${'x'.repeat(70)}  y\r\n`
  const message = Buffer.alloc(40 * 1024 * 1024, line)
  message.write('From: a@a.test\r\n\r\n')
  let turns = 0
  let signing = true
  const ticking = (async () => {
    for (; signing; turns++) await nextTurn()
  })()
  const before = process.memoryUsage().arrayBuffers
  const signed = await sign(message)
  const grown = process.memoryUsage().arrayBuffers - before
  signing = false
  await ticking
  expect(turns).toBeGreaterThan(35)
  expect(grown).toBeLessThan(message.length * 1.1)
  expect(await verify(signed)).toEqual(['pass'])
})

describe('keys', () => {
  test('RSA has 2048 bits and its public key is SPKI', async () => {
    expect(keyOf('rsa').asymmetricKeyDetails?.modulusLength).toBe(2048)
    expect(Buffer.from(keys['rsa']?.publicKey ?? '', 'base64')).toHaveLength(294)
    expect(Buffer.from(keys['ed25519']?.publicKey ?? '', 'base64')).toHaveLength(32)
  })

  test('are encrypted with a random nonce; a change or another secret is an error', () => {
    const plain = Buffer.from('private')
    const encrypted = secrets.encrypt('dkim-key', plain)
    expect(secrets.encrypt('dkim-key', plain)).not.toEqual(encrypted)
    expect(encrypted.includes(plain)).toBe(false)
    expect(secrets.decrypt('dkim-key', encrypted)).toEqual(plain)
    expect(() => createSecrets(Buffer.alloc(32, 8)).decrypt('dkim-key', encrypted)).toThrow(
      SecretError,
    )
    for (let i = 0; i < encrypted.length; i++) {
      const altered = Buffer.from(encrypted)
      altered[i] = (altered[i] ?? 0) ^ 1
      expect(() => secrets.decrypt('dkim-key', altered)).toThrow(SecretError)
    }
    expect(() => secrets.decrypt('dkim-key', encrypted.subarray(0, 29))).toThrow(SecretError)
    expect(() => loadKey(encrypted)).toThrow(DkimKeyError)
  })

  test('a key type that DKIM does not have is refused', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const der = privateKey.export({ type: 'pkcs8', format: 'der' })
    expect(() => loadKey(der)).toThrow(DkimKeyError)
  })
})
