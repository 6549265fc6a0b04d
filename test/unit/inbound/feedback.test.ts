// Reports of feedback loops to the mailbox that was registered: which act, on what, and what forged ones do.
// Long because every report is made and signed by the same server and keys, which its head makes.
import type { KeyObject } from 'node:crypto'
import { dkimSign } from 'mailauth/lib/dkim/sign.js'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { MESSAGE_BYTES_MAX } from '../../../inbound/reports/listener.ts'
import { generateDkimKey, loadKey } from '../../../mail/dkim/keys.ts'
import { createDns } from '../../../mail/dns/resolver.ts'
import { parseFeedback } from '../../../mail/reports/parseFeedback.ts'
import { verpAddress } from '../../../mail/tracking/mailboxes.ts'
import { createSecrets } from '../../../runtime/secrets.ts'
import { expectLinear } from '../../setup/growth.ts'
import { type NameServer, startBadNameServer, startNameServer } from '../../setup/nameServer.ts'
import { signMessage } from '../../setup/signMessage.ts'
import { connectInbound, sendInbound, toWire } from './client.ts'
import { loops, reportOf } from './feedbackMails.ts'
import { feedbackReport, statusReport } from './reports.ts'
import { DOMAIN, listenForReports, ours } from './server.ts'

const FETCH_WAIT_MS = 300_000
const FBL = 'fbl@mail.example'
/** The only mail with one recipient, that of delivery 77. */
const SOLE = '01ARZ3NDEKTSV4RRFFQ69G5FAV.salt@shop.example'
const elsewhere = { returnPath: 'bounce-1@relay.example', messageId: SOLE }

const inbound = listenForReports()
let server: NameServer
let key: KeyObject
let pem = ''
let other: KeyObject
let port = 0
let stop = async () => {}
const asked: string[] = []
const workspaces: (string | null)[] = []
const clock = { time: Date.now() }

beforeAll(async () => {
  const [pair, another] = [await generateDkimKey(), await generateDkimKey()]
  key = loadKey(pair.privateKey)
  pem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  other = loadKey(another.privateKey)
  const record = (p: string) =>
    `s1._domainkey TXT ${(`v=DKIM1; k=rsa; p=${p}`.match(/.{1,200}/g) ?? []).map((text) => `"${text.replaceAll(';', '\\;')}"`).join(' ')}`
  server = await startNameServer({
    'loop.example': record(pair.publicKey),
    'evil.example': record(another.publicKey),
  })
  const listening = await listen(createDns({ servers: [server.address], timeoutMs: 2_000 }))
  port = listening.port
  stop = listening.stop
}, FETCH_WAIT_MS)
afterAll(async () => {
  await stop()
  await server.close()
})
beforeEach(() => {
  asked.length = 0
  workspaces.length = 0
  clock.time += 60_000
})

const listen = (
  dns: ReturnType<typeof createDns>,
  fblSigners = ['loop.example', 'second.example'],
) =>
  inbound.listen(
    { fblAddress: FBL, fblSigners },
    {
      dns,
      now: () => new Date(clock.time),
      findSoleDelivery: async ({ messageId, workspaceId }) => {
        asked.push(messageId)
        workspaces.push(workspaceId)
        return messageId === SOLE ? 77 : null
      },
    },
  )
const send = async (message: string | Buffer, to: string | string[] = FBL, at = port) =>
  (await sendInbound(at, { from: 'feedback@loop.example', to, message })).at(-1)
const sign = (message: string, domain = 'loop.example', by = key, date = new Date()) =>
  signMessage(Buffer.from(message), [{ domain, selector: 's1', key: by, date }])
const heard = () => inbound.heard.map(({ id, report }) => `${report.kind} ${id}`)

describe.each(loops)('a report as %s writes it', (loop) => {
  test('acts on the return path in the reported mail, without a signature', async () => {
    const report = reportOf(loop, { returnPath: ours(41), messageId: 'unknown@shop.example' })
    expect(await send(report)).toMatch(/^250 /)
    expect(heard()).toEqual(['complaint 41'])
    expect(inbound.counted).toEqual(['complaint taken'])
    expect(asked).toEqual([])
  })

  test('acts on the Message-ID of a mail with one recipient, signed by a configured loop', async () => {
    const report = reportOf(loop, elsewhere)
    expect(await send(await sign(report))).toMatch(/^250 /)
    expect([heard(), asked]).toEqual([['complaint 77'], [SOLE]])
  })

  test.each<[string, (report: string) => Promise<Buffer> | Buffer]>([
    ['without a signature', (report) => Buffer.from(report)],
    ['with the signature of another loop', (report) => sign(report, 'evil.example', other)],
    ['with a signature of another key', (report) => sign(report, 'loop.example', other)],
    [
      'changed after it was signed',
      async (report) => {
        const old = await sign(reportOf(loop, { ...elsewhere, messageId: SOLE.replace('5', '4') }))
        return Buffer.concat([old.subarray(0, old.indexOf('From: ')), Buffer.from(report)])
      },
    ],
  ])('acts on nothing %s; it is taken and counted', async (_, forge) => {
    expect(await send(await forge(reportOf(loop, elsewhere)))).toMatch(/^250 /)
    expect([heard(), asked, inbound.counted]).toEqual([[], [], ['complaint unmatched']])
  })
})

describe('a signed mail that was not written to this mailbox', () => {
  const DAY_MS = 24 * 60 * 60_000
  const to = (line: string) => reportOf('yahoo', elsewhere).replace(`To: ${FBL}`, line)
  const unmatched = () => {
    expect([heard(), asked, inbound.counted]).toEqual([[], [], ['complaint unmatched']])
  }

  test.each([
    ['to somebody else', 'To: friend@loop.example'],
    ['to several', `To: ${FBL}, friend@loop.example`],
    ['with the mailbox as a name', `To: "${FBL}" <friend@loop.example>`],
    ['with the mailbox in a comment', `To: friend@loop.example (${FBL})`],
    ['with two such fields', `To: friend@loop.example\r\nTo: ${FBL}`],
    ['without that field', 'X-To: nobody'],
  ])('%s acts on nothing, whoever signed it', async (_, line) => {
    expect(await send(await sign(to(line)))).toMatch(/^250 /)
    unmatched()
  })

  test.each(['To: Reports <FBL@mail.example>', `to:\r\n ${FBL}`])('"%s" names it', async (line) => {
    expect(await send(await sign(to(line)))).toMatch(/^250 /)
    expect(heard()).toEqual(['complaint 77'])
  })

  test('acts on nothing when the signature leaves the field out, so that it may have been added', async () => {
    const fields = 'from:subject:mime-version:content-type'
    const signer = { signingDomain: 'loop.example', selector: 's1', privateKey: pem }
    const message = Buffer.from(reportOf('yahoo', elsewhere))
    const options = { ...signer, headerList: fields, signTime: new Date(), signatureData: [signer] }
    const { signatures } = await dkimSign(
      message,
      options as unknown as Parameters<typeof dkimSign>[1],
    )
    expect(await send(Buffer.concat([Buffer.from(signatures), message]))).toMatch(/^250 /)
    unmatched()
  })

  test('a signature counts for seven days, so that an old report cannot be sent again', async () => {
    const report = reportOf('yahoo', elsewhere)
    const ago = (ms: number) => new Date(clock.time - ms)
    const of = (date: Date) => sign(report, 'loop.example', key, date)
    expect(await send(await of(ago(7 * DAY_MS + 60_000)))).toMatch(/^250 /)
    unmatched()
    expect(await send(await of(ago(7 * DAY_MS - 60_000)))).toMatch(/^250 /)
    expect(heard()).toEqual(['complaint 77'])
  })
})

describe('a return path in the reported mail', () => {
  const secret = createSecrets(Buffer.alloc(32, 8)).mac('verp')
  test.each([
    ['with another MAC', ours(41).replace(/\.(.)/, (_, x) => `.${x === '0' ? '1' : '0'}`)],
    ['with the MAC of another delivery', ours(42).replace('+42.', '+41.')],
    ['of another domain', ours(41).replace('sender', 'other')],
    ['of another service', verpAddress(secret, 41, DOMAIN)],
  ])('%s is none', async (_, returnPath) => {
    expect(await send(reportOf('fastmail', { returnPath, messageId: 'x@y.example' }))).toMatch(
      /^250 /,
    )
    expect([heard(), inbound.counted]).toEqual([[], ['complaint unmatched']])
  })

  test('counts in any case of letters, after others', async () => {
    const returnPath = `x@y.example>\n X-Before: <b+1.${'0'.repeat(20)}@${DOMAIN}>, <${ours(41).toUpperCase()}`
    await send(reportOf('fastmail', { returnPath, messageId: 'x@y.example' }))
    expect(heard()).toEqual(['complaint 41'])
  })

  test('counts neither in the body of the reported mail, nor in the words of the report', async () => {
    const quoted = reportOf('fastmail', { returnPath: 'x@y.example', messageId: 'x@y.example' })
      .replace('Much is new.', `Return-Path: <${ours(41)}>\r\n\r\nReturn-Path: <${ours(42)}>`)
      .replace('This is a spam report.', `Return-Path: <${ours(43)}>`)
      .replace('Subject: Spam report', `Subject: ${ours(44)}`)
    expect(await send(quoted)).toMatch(/^250 /)
    expect(heard()).toEqual([])
  })
})

test('a Message-ID counts for nothing of a mail with several recipients, unknown, twice, or that Postgres cannot be asked for', async () => {
  const several = SOLE.replace('salt', 'tlas')
  const twice = `a@b.example>\nMessage-ID: <${SOLE}`
  for (const messageId of [several, twice, '', `${SOLE} `, `${SOLE}\0`]) {
    expect(await send(await sign(reportOf('fastmail', { ...elsewhere, messageId })))).toMatch(
      /^250 /,
    )
  }
  expect([heard(), asked]).toEqual([[], [several]])
})

test.each<[string, string, string | null]>([
  ['of ours', 'Feedback-ID: transactional:api:ws_1:dripline\r\n', 'ws_1'],
  ['of another service', 'Feedback-ID: a:b:c:other\r\n', null],
  ['twice', 'Feedback-ID: a:b:ws_1:dripline\r\nFeedback-ID: a:b:ws_2:dripline\r\n', null],
  ['nowhere', '', null],
])('the workspace is that of Feedback-ID: %s', async (_, line, workspace) => {
  const report = reportOf('yahoo', elsewhere).replace(/^Feedback-ID: .*\r\n/m, line)
  expect(await send(await sign(report))).toMatch(/^250 /)
  expect([asked, workspaces]).toEqual([[SOLE], [workspace]])
})

test('without configured loops no signature counts, and no key is asked for', async () => {
  const bad = await startBadNameServer('silent')
  const dns = createDns({ servers: [bad.address], timeoutMs: 200, tries: 1 })
  const open = await listen(dns, [])
  onTestFinished(async () => {
    await open.stop()
    await bad.close()
  })
  expect(await send(await sign(reportOf('yahoo', elsewhere)), FBL, open.port)).toMatch(/^250 /)
  expect([heard(), asked, bad.asked()]).toEqual([[], [], 0])
})

test('while the DNS does not answer for the key, the report is to come again', async () => {
  const bad = await startBadNameServer(2)
  const dns = createDns({ servers: [bad.address], timeoutMs: 200, tries: 1 })
  const open = await listen(dns)
  onTestFinished(async () => {
    await open.stop()
    await bad.close()
  })
  expect(await send(await sign(reportOf('yahoo', elsewhere)), FBL, open.port)).toMatch(
    /^451 4\.4\.3 /,
  )
  expect(inbound.counted).toEqual([])
})

test('the mailbox takes what is no complaint, and it acts on nothing', async () => {
  const whole = reportOf('fastmail', { returnPath: ours(41), messageId: SOLE })
  for (const message of [
    whole.replace('Feedback-Type: abuse', 'Feedback-Type: not-spam'),
    statusReport(),
    'From: a@b.example\r\nSubject: Please confirm your loop\r\n\r\nHello',
  ]) {
    expect(await send(await sign(message))).toMatch(/^250 /)
  }
  expect(heard()).toEqual([])
  expect(inbound.counted).toEqual(Array(3).fill('nothing ignored'))
})

test('the mailbox is the configured one alone, in any case of letters', async () => {
  const report = String(reportOf('yahoo', { returnPath: ours(41), messageId: SOLE }))
  expect(await send(report, FBL.toUpperCase())).toMatch(/^250 /)
  expect(await send(report, 'fbl@other.example')).toMatch(/^550 5\.1\.1 /)
  expect(await send(report, FBL, inbound.port)).toMatch(/^550 5\.1\.1 /)
  expect(heard()).toEqual(['complaint 41'])
})

test('beside a return path each is taken for itself', async () => {
  expect(await send(feedbackReport(), [ours(7), FBL])).toMatch(/^250 /)
  expect(heard()).toEqual(['complaint 7'])
  expect(inbound.counted).toEqual(['complaint taken', 'complaint unmatched'])
})

test('a report that cannot be committed is to come again', async () => {
  inbound.answer = () => Promise.reject(new Error('the database is away'))
  expect(await send(reportOf('yahoo', { returnPath: ours(41), messageId: SOLE }))).toMatch(/^451 /)
})

test.each([
  [7, 41],
  [41, 7],
])('valid return paths of the deliveries %i and %i act on nothing', async (one, two) => {
  const returnPath = `${ours(one)}>\n X-Ref: <${ours(two)}`
  expect(await send(reportOf('fastmail', { returnPath, messageId: SOLE }))).toMatch(/^250 /)
  expect(heard()).toEqual([])
})

describe('hostile reports', () => {
  const head = `From: a@b.example\r\nTo: ${FBL}\r\nMIME-Version: 1.0\r\nContent-Type: multipart/report; boundary=b\r\n\r\n`
  const feedback =
    '--b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n\r\n'
  const mail = '--b\r\nContent-Type: message/rfc822\r\n\r\n'
  const full = (piece: string) =>
    piece.repeat(Math.floor((MESSAGE_BYTES_MAX - 1_000) / piece.length))

  test.each<[string, string]>([
    ['a header without an end', mail + full('A: b\r\n')],
    ['folds', `${mail}A: b\r\n${full(' x\r\n')}`],
    ['almost return paths', mail + full('b+1.')],
    ['long numbers', mail + full('b+1111111111111111')],
    ['return paths without MACs', `${mail}A: ${full(`b+1.${'0'.repeat(20)}@a.b `)}`],
    ['a long domain', `${mail}A: b+1.${'0'.repeat(20)}@${full('a.')}`],
    ['Message-IDs', mail + full('Message-ID: <a@b>\r\n')],
    ['an open Message-ID', `${mail}Message-ID: <${full('a')}`],
    ['spaces', `${mail}Message-ID:${full(' ')}`],
    ['mails', full(`${mail}A: b\r\n\r\n`)],
    ['signatures', full('DKIM-Signature: v=1; d=loop.example\r\n')],
  ])('%s: taken, and cost what their size does', async (_, text) => {
    const bytes = Buffer.from(head + feedback + text)
    await expectLinear((share) => parseFeedback(bytes.subarray(0, bytes.length * share)))
    expect(await send(bytes)).toMatch(/^250 /)
    expect([heard(), asked]).toEqual([[], []])
  })

  test('of one client are read up to 8 MiB in a minute, then put off; others go on', async () => {
    const bytes = Buffer.from(full('A: b\r\n'))
    const replies: string[] = []
    for (let i = 0; i < 9; i++) replies.push(String(await send(bytes)).slice(0, 9))
    expect(replies).toEqual([...Array(8).fill('250 2.0.0'), '451 4.7.1'])
    const client = await connectInbound(port, '127.0.0.2')
    onTestFinished(() => client.close())
    for (const line of ['EHLO a.test', 'MAIL FROM:<>', `RCPT TO:<${FBL}>`, 'DATA']) {
      await client.say(line)
    }
    expect(await client.say(toWire('Hi'))).toMatch(/^250 /)
    clock.time += 60_000
    expect(await send(bytes)).toMatch(/^250 /)
  })

  test('parts inside parts: what lies too deep is not read', async () => {
    const nested = Array.from(
      { length: 200 },
      (_, i) => `Content-Type: multipart/mixed; boundary=n${i}\r\n\r\n--n${i}\r\n`,
    )
    const deep = `From: a@b.example\r\n${nested.join('')}${feedback}${mail}Return-Path: <${ours(41)}>\r\n\r\n`
    expect(await send(deep)).toMatch(/^250 /)
    expect(heard()).toEqual([])
  })

  test('a report inside the reported mail is part of that mail', async () => {
    const inner = reportOf('fastmail', { returnPath: ours(41), messageId: SOLE })
    const outer = `${head}${feedback}${mail}${inner}\r\n--b--\r\n`
    expect(await send(await sign(outer))).toMatch(/^250 /)
    expect([heard(), asked]).toEqual([[], ['4@fastmail.example']])
  })

  test('a report of the largest size acts', async () => {
    const report = reportOf('fastmail', elsewhere)
    const signed = await sign(
      `${report}${'x'.repeat(70)}\r\n`.padEnd(1000 * 1000, `${'y'.repeat(70)}\r\n`),
    )
    expect(await send(signed)).toMatch(/^250 /)
    expect(heard()).toEqual(['complaint 77'])
  })
})
