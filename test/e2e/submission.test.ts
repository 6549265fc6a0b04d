// Mail by SMTP from real clients, to the receiver: what was written arrives, signed; nothing that was taken is lost.
import { execFile, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { expect, onTestFinished, test } from 'vitest'
import { randomPort } from '../../dev/processes/ports.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { createHarness } from '../setup/harness.ts'
import { startOwnDatabase } from '../setup/ownDatabase.ts'
import { createRunFolder, removeRunFolder } from '../setup/runFolder.ts'
import { idOf, logIn, messageOf, sendOn } from '../setup/submission.ts'
import { toWire } from '../unit/inbound/client.ts'

const run = promisify(execFile)
const SETUP = join(import.meta.dirname, '..', 'setup')
const DEV = join(import.meta.dirname, '..', '..', 'dev')
const python = process.env['PYTHON'] || 'python3'
const database = await createTestDatabase()

async function start(given: Parameters<typeof createHarness>[0] = database) {
  const port = await randomPort()
  const h = await createHarness(given, { env: { SUBMISSION_PORT: String(port) } })
  const isSigned = async (raw: Buffer) => {
    const { results } = await dkimVerify(raw, {
      resolver: async () => [[`v=DKIM1; k=rsa; p=${h.publicKey}`]],
    })
    return results.map(({ status }) => status.result)
  }
  const arrived = (subject: string, count: number) =>
    eventually(async () => {
      const all = await Promise.all(
        h.smtp.mails.map(async (mail) => ({ ...mail, read: await PostalMime.parse(mail.raw) })),
      )
      const found = all.filter(({ read }) => read.subject === subject)
      expect(found).toHaveLength(count)
      return found
    })
  return { ...h, port, isSigned, arrived }
}

test('smtplib, nodemailer, curl and swaks: what they wrote arrives', {
  timeout: 240_000,
}, async () => {
  const h = await start()
  const folder = createRunFolder()
  onTestFinished(() => removeRunFolder(folder))

  const child = spawn(python, [join(SETUP, 'smtplibSend.py')], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(JSON.stringify({ port: h.port, key: h.key }))
  const [said, faults] = await Promise.all([readAll(child.stdout), readAll(child.stderr)])
  expect(faults).toBe('')
  const id = /Taken as (em_\w+)/.exec(said)?.[1]
  const fromPython = await h.arrived('Grüße aus Python', 2)
  expect(fromPython.flatMap(({ to }) => to).sort()).toEqual([
    'ada@example.test',
    'quiet@example.test',
  ])
  expect(fromPython[0]?.raw).toEqual(fromPython[1]?.raw)
  for (const { raw, read, from } of fromPython) {
    expect(await h.isSigned(raw)).toEqual(['pass'])
    expect(raw.toString()).not.toMatch(/quiet@|X-Dripline/)
    expect(from).toMatch(/^b\+.*@bounces\.sender\.test$/)
    expect(read.text?.trimEnd()).toBe('Grüße\n.\n..\nEnde')
    expect(read.html?.trimEnd()).toBe('<p>Grüße</p>')
    expect(new Uint8Array(read.attachments[0]?.content as ArrayBuffer)).toEqual(
      Uint8Array.from([0, 1, 255]),
    )
    expect(read.headers.find(({ key }) => key === 'feedback-id')?.value).toMatch(
      /^transactional:api:ws_\w+:dripline$/,
    )
  }
  const { body } = await h.request('GET', `/v1/emails/${id}?expand=details`)
  expect(body).toMatchObject({
    from: 'Jörg Python <hello@sender.test>',
    to: ['ada@example.test'],
    tags: { client: 'smtplib' },
    metadata: { long: 'x'.repeat(200) },
  })

  const nodemailer = createTransport({
    host: '127.0.0.1',
    port: h.port,
    pool: true,
    auth: { user: 'x', pass: h.key },
  })
  onTestFinished(() => nodemailer.close())
  await Promise.all(
    Array.from({ length: 20 }, () =>
      nodemailer.sendMail({
        from: 'hello@sender.test',
        to: 'ada@example.test',
        subject: 'from nodemailer',
        text: 'Hello',
      }),
    ),
  )
  const pooled = await h.arrived('from nodemailer', 20)
  expect(new Set(pooled.map(({ read }) => read.messageId)).size).toBe(20)

  const file = join(folder, 'mail.eml')
  writeFileSync(file, messageOf({ Subject: 'from curl' }).replaceAll('\r\n', '\n'))
  await run('curl', [
    ...['-sS', '--crlf', '--url', `smtp://127.0.0.1:${h.port}`, '--user', `apikey:${h.key}`],
    ...[
      '--mail-from',
      'hello@sender.test',
      '--mail-rcpt',
      'ada@example.test',
      '--upload-file',
      file,
    ],
  ])
  const [fromCurl] = await h.arrived('from curl', 1)
  expect(await h.isSigned(fromCurl?.raw ?? Buffer.alloc(0))).toEqual(['pass'])

  const { stdout } = await run(process.execPath, [join(DEV, 'installSwaks.mjs')])
  const { swaks } = JSON.parse(stdout) as { swaks: string }
  const sent = await run('perl', [
    ...[swaks, '--server', '127.0.0.1', '--port', String(h.port), '--auth', 'LOGIN'],
    ...['--auth-user', 'apikey', '--auth-password', h.key, '--from', 'hello@sender.test'],
    ...['--to', 'ada@example.test', '--header', 'Subject: from swaks'],
  ])
  expect(sent.stdout).toMatch(/250 2\.0\.0 Taken as em_/)
  await h.arrived('from swaks', 1)
})

test('8-bit, UTF-8 headers, a large one, and links that were asked to be tracked', {
  timeout: 180_000,
}, async () => {
  const h = await start()
  const client = await logIn(h.port, h.key)
  onTestFinished(() => client.close())
  const eight = messageOf(
    { Subject: 'Größe', 'Content-Type': 'text/plain; charset=utf-8' },
    'Grüße',
  )
  idOf(await sendOn(client, Buffer.from(eight).toString('latin1')))
  const [raw] = await h.arrived('Größe', 1)
  expect(raw?.raw.toString()).toContain('\r\n\r\nGrüße\r\n')
  expect(await h.isSigned(raw?.raw ?? Buffer.alloc(0))).toEqual(['pass'])

  const large = Buffer.alloc(6 * 1024 * 1024, 'attached ')
  const boundary = '--large\r\n'
  const parts = [
    `${boundary}Content-Type: text/html; charset=utf-8\r\n\r\n<a href="https://x.test/1">é</a>\r\n`,
    `${boundary}Content-Type: application/x; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\n`,
    large.toString('base64').replace(/.{1,76}/g, '$&\r\n'),
    '--large--',
  ]
  const options = JSON.stringify({ tracking: { opens: true, clicks: true } })
  const mixed = messageOf(
    {
      Subject: 'large',
      'Content-Type': 'multipart/mixed; boundary=large',
      'X-Dripline-Options': options,
    },
    parts.join(''),
  )
  const both = ['ada@example.test', 'grace@example.test']
  const id = idOf(await sendOn(client, Buffer.from(mixed).toString('latin1'), both))
  const mails = await h.arrived('large', 2)
  for (const mail of mails) {
    expect(await h.isSigned(mail.raw)).toEqual(['pass'])
    expect(mail.read.html).toMatch(/^<a href="http:\/\/[^"]+\/t\/c\/[\w.-]+">é<\/a>/)
    expect(mail.read.html).toMatch(/\/t\/o\//)
    expect(Buffer.from(mail.read.attachments[0]?.content as ArrayBuffer).equals(large)).toBe(true)
  }
  expect(mails[0]?.read.html).not.toBe(mails[1]?.read.html)
  const { body } = await h.request<{ html: string }>('GET', `/v1/emails/${id}`)
  expect(body.html.trim()).toBe('<a href="https://x.test/1">é</a>')
})

test('kill -9 of the worker and of Postgres: what was answered 250 arrives, identical at each attempt', {
  timeout: 240_000,
}, async () => {
  const { postgres, ...own } = await startOwnDatabase()
  const h = await start(own)
  const [worker] = h.workers
  h.smtp.setScript((_rcpt, attempt) =>
    attempt === 1 ? { at: 'dot', reply: '451 4.3.0 try again in 1 second' } : undefined,
  )
  const taken: string[] = []
  const load = async (c: number, until: number) => {
    for (let i = 0; taken.length < until; i++) {
      const to = `r${c}-${until}-${i}@example.test`
      const reply = await sendOnce(h.port, h.key, to)
      if (reply.startsWith('250')) taken.push(to)
    }
  }
  const some = Promise.all(Array.from({ length: 4 }, (_, c) => load(c, 40)))
  await eventually(() => expect(taken.length).toBeGreaterThan(10))
  await worker?.kill()
  await worker?.start()
  await some
  const more = Promise.all(Array.from({ length: 4 }, (_, c) => load(c, 80)))
  await eventually(() => expect(taken.length).toBeGreaterThan(50))
  await postgres.stop()
  await postgres.restart()
  await more
  await eventually(
    () => {
      const arrived = new Set(h.smtp.mails.flatMap(({ to }) => to))
      expect(taken.filter((to) => !arrived.has(to))).toEqual([])
    },
    { deadline_ms: 90_000 },
  )
  const all = [...h.smtp.refused, ...h.smtp.mails]
  const tries = taken.map((to) =>
    all.filter((one) => one.to[0] === to).map(({ raw }) => raw.toString('latin1')),
  )
  // An attempt that the kill broke off before its end is in neither list.
  expect(tries.filter((texts) => texts.length > 1).length).toBeGreaterThan(10)
  for (const texts of tries) expect(new Set(texts).size).toBe(1)
})

/** Sends one mail over a connection of its own; '' when that breaks. */
async function sendOnce(port: number, key: string, to: string): Promise<string> {
  try {
    const client = await logIn(port, key)
    try {
      for (const line of ['MAIL FROM:<a@b.test>', `RCPT TO:<${to}>`, 'DATA']) {
        if (!/^[23]/.test(await client.say(line))) return ''
      }
      return await client.say(toWire(messageOf({ To: to })))
    } finally {
      client.close()
    }
  } catch {
    return ''
  }
}
