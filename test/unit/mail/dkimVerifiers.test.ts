// DKIM signatures, checked by two independent verifiers: mailauth, and dkimpy in Python.
import type { KeyObject } from 'node:crypto'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { beforeAll, expect, test } from 'vitest'
import { generateDkimKey, loadKey } from '../../../mail/dkim/keys.ts'
import { verifyWithDkimpy } from '../../setup/dkimpy.ts'
import { signMessage } from '../../setup/signMessage.ts'

const INSTALL_WAIT_MS = 300_000
const date = new Date('2026-11-21T10:00:00.000Z')
const algorithms = ['rsa', 'ed25519'] as const
const keys = new Map<string, KeyObject>()
const records: Record<string, string> = {}

const head = 'From: Ann <ann@a.test>\r\nTo: b@b.test\r\nSubject: Hi  there \r\n'
const mails: Record<string, Buffer> = Object.fromEntries(
  Object.entries({
    plain: `${head}\r\nHello\r\n`,
    'no line end': `${head}\r\nHello`,
    'empty body': `${head}\r\n`,
    'blank lines alone': `${head}\r\n\r\n\r\n`,
    'trailing blank lines': `${head}\r\nHello\r\n\r\n\r\n\r\n`,
    'trailing blanks': `${head}\r\nHello  \r\n \t\r\n\r\n`,
    'tabs and spaces': `${head}\r\n\ta \t  b\t\r\n  c\r\n`,
    'long header': `${head}References: <${'a'.repeat(900)}@b.test>\r\n\r\nHi\r\n`,
    'folded header': `${head}References: <a@b.test>\r\n\t<c@d.test>\r\n   <e@f.test>\r\n\r\nHi\r\n`,
    'UTF-8 header': `${head}Reply-To: Grüße <r@a.test>\r\n\r\nHi\r\n`,
    'UTF-8 body': `${head}\r\nGrüße 🎈 ${'ä'.repeat(400)}\r\n`,
    'a header twice': `${head}Cc: 1@b.test\r\nCc: 2@b.test\r\n\r\nHi\r\n`,
    'dots and From lines': `${head}\r\n.\r\n..\r\nFrom me\r\n`,
  }).map(([name, text]) => [name, Buffer.from(text)]),
)
mails['8-bit body'] = Buffer.concat([
  Buffer.from(`${head}\r\n`),
  Buffer.of(0xe4, 0xff, 0x80, 13, 10),
])

beforeAll(async () => {
  for (const type of algorithms) {
    const { publicKey, privateKey } = await generateDkimKey(type)
    keys.set(type, loadKey(privateKey))
    records[`${type}._domainkey.a.test`] = `v=DKIM1; k=${type}; p=${publicKey}`
  }
  await verifyWithDkimpy([], {})
}, INSTALL_WAIT_MS)

const sign = (message: Buffer, types: readonly string[]) =>
  signMessage(
    message,
    types.flatMap((selector) => {
      const key = keys.get(selector)
      return key ? [{ domain: 'a.test', selector, key, date }] : []
    }),
  )

async function verifyWithMailauth(message: Buffer): Promise<string[]> {
  const resolver = async (name: string) => [[records[name] ?? '']]
  const { results } = await dkimVerify(message, { resolver, sender: 'x@a.test' })
  return results.map(({ status }) => String(status.result))
}

test.each([
  ['rsa', ['rsa']],
  ['ed25519', ['ed25519']],
  ['both', ['rsa', 'ed25519']],
])('%s: every message passes with both', async (_name, types) => {
  const signed = await Promise.all(Object.values(mails).map((mail) => sign(mail, types)))
  const passed = Object.fromEntries(
    Object.keys(mails).map((name) => [name, types.map(() => 'pass')]),
  )
  const named = (results: string[][]) =>
    Object.fromEntries(Object.keys(mails).map((name, i) => [name, results[i]]))
  expect(named(await verifyWithDkimpy(signed, records))).toEqual(passed)
  expect(named(await Promise.all(signed.map(verifyWithMailauth)))).toEqual(passed)
})

test('both refuse an altered message and a wrong key', async () => {
  const mail = await sign(mails['plain'] ?? Buffer.alloc(0), algorithms)
  // A signature is random base64, which may hold Ann or Hello by itself: one in five hundred does.
  const altered = (from: string, to: string) => {
    expect(mail.toString('latin1').split(from), `${from} stands once`).toHaveLength(2)
    return Buffer.from(mail.toString('latin1').replace(from, to), 'latin1')
  }
  const body = altered('\r\n\r\nHello', '\r\n\r\nHallo')
  const header = altered('\r\nFrom: Ann', '\r\nFrom: Eve')
  const other = (await generateDkimKey('rsa')).publicKey
  const swapped = { ...records, 'rsa._domainkey.a.test': `v=DKIM1; k=rsa; p=${other}` }
  for (const results of [
    ...(await verifyWithDkimpy([body, header], records)),
    ...(await Promise.all([body, header].map(verifyWithMailauth))),
  ]) {
    expect(results).toHaveLength(2)
    expect(results).not.toContain('pass')
  }
  const [[rsa, ed25519] = []] = await verifyWithDkimpy([mail], swapped)
  expect([rsa === 'pass', ed25519 === 'pass'].sort()).toEqual([false, true])
})

test('both refuse a second header of each kind that is over-signed, and one where there was none', async () => {
  const head = [
    'From: Ann <ann@a.test>',
    'To: b@b.test',
    'Cc: c@c.test',
    'Subject: Hi',
    'Date: Sat, 21 Nov 2026 10:00:00 +0000',
    'Reply-To: r@a.test',
    'Message-ID: <m1@a.test>',
    'MIME-Version: 1.0',
    'Content-Type: text/plain',
  ]
  const without = (...names: string[]) =>
    head.filter((line) => !names.some((name) => line.startsWith(`${name}:`)))
  const sent = async (lines: string[]) =>
    (await sign(Buffer.from(`${lines.join('\r\n')}\r\n\r\nHi\r\n`), algorithms)).toString('latin1')
  const whole = await sent(head)
  const bare = await sent(without('Cc', 'Reply-To'))
  const added = (mail: string, line: string) => [
    `${line}\r\n${mail}`,
    mail.replace('\r\n\r\n', `\r\n${line}\r\n\r\n`),
  ]
  const changed = [
    ...head.flatMap((line) => added(whole, line)),
    ...['Cc: d@d.test', 'Reply-To: e@e.test'].flatMap((line) => added(bare, line)),
  ].map((text) => Buffer.from(text, 'latin1'))
  const unchanged = [whole, bare].map((text) => Buffer.from(text, 'latin1'))
  for (const results of [
    ...(await verifyWithDkimpy(unchanged, records)),
    ...(await Promise.all(unchanged.map(verifyWithMailauth))),
  ]) {
    expect(results).toEqual(['pass', 'pass'])
  }
  const verdicts = [
    ...(await verifyWithDkimpy(changed, records)),
    ...(await Promise.all(changed.map(verifyWithMailauth))),
  ]
  expect(verdicts).toHaveLength(2 * 2 * (head.length + 2))
  for (const results of verdicts) {
    expect(results).toHaveLength(2)
    expect(results).not.toContain('pass')
  }
})
