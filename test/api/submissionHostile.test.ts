// Clients that mean harm, or are broken: those that stop in every phase, smuggle, flood, or lie about lengths.
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { guardRules } from '../../inbound/submission/guard.ts'
import { createTestApi, insertTestDomain } from '../setup/api.ts'
import { eventually } from '../setup/eventually.ts'
import {
  idOf,
  logIn,
  messageOf,
  plainToken,
  sendOn,
  startTestSubmission,
} from '../setup/submission.ts'
import { connectInbound, toWire } from '../unit/inbound/client.ts'

const api = await createTestApi()
await insertTestDomain(api, 'sender.test')
const times = { stranger_ms: 5_000, message_ms: 5_000 }
const server = await startTestSubmission(api)
const hasty = await startTestSubmission(api, { times })
const emails = () => api.db.selectFrom('emails').select('id').execute()
const loggedIn = async (port = server.port) => {
  const client = await logIn(port, api.key)
  onTestFinished(() => client.close())
  return client
}

const head = messageOf().split('\r\n\r\n')[0]
const second = messageOf({ Subject: 'smuggled' }).replaceAll('\r\n', '\n')
const ends = ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r\n.\r', '\r.\r\n', '\n.\r', '\r\n\0.\r\n']
test.each(ends)('no end but CRLF.CRLF ends a message: %j', async (end) => {
  const client = await loggedIn()
  const before = await emails()
  for (const line of ['MAIL FROM:<a@b.test>', 'RCPT TO:<ada@example.test>', 'DATA'])
    await client.say(line)
  const smuggled = `MAIL FROM:<x@y.test>\r\nRCPT TO:<eve@example.test>\r\nDATA\r\n${second}`
  const bytes = Buffer.from(`${head}\r\n\r\nHello${end}${smuggled}\r\n.\r\n`, 'latin1')
  expect(await client.say(bytes)).toMatch(/^550 5\.6\.0 invalid_message: /)
  expect(await client.say('NOOP')).toMatch(/^250/)
  expect(await emails()).toEqual(before)
  idOf(await sendOn(client, messageOf()))
})

test('the same, a byte at a time', { timeout: 90_000 }, async () => {
  const client = await loggedIn()
  const before = await emails()
  for (const line of ['MAIL FROM:<a@b.test>', 'RCPT TO:<ada@example.test>', 'DATA'])
    await client.say(line)
  client.socket.setNoDelay(true)
  for (const byte of Buffer.from(`${head}\r\n\r\nHello\n.\nQUIT`)) {
    client.socket.write(Buffer.from([byte]))
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await client.say(Buffer.from('\r\n.\r\n'))).toMatch(/^550 5\.6\.0 invalid_message: /)
  expect(await emails()).toEqual(before)
})

test('a client that stops is closed, in whatever phase, and nothing is written', {
  timeout: 120_000,
}, async () => {
  const before = await emails()
  const phases = [
    [],
    ['EHLO app.test'],
    ['EHLO app.test', 'AUTH LOGIN'],
    ['EHLO app.test', 'AUTH LOGIN', Buffer.from('user').toString('base64')],
  ]
  const stopped = phases.map(async (lines) => {
    const client = await connectInbound(hasty.port)
    for (const line of lines) await client.say(line)
    expect(await client.hear()).toBe('')
  })
  await Promise.all(stopped)
  // Whoever has shown a key may be silent for longer, but not in the middle of a message.
  const parts = ['', 'From: a', messageOf(), `${messageOf()}.`, `${messageOf()}.\r`]
  const halves = parts.map(async (part) => {
    const client = await loggedIn(hasty.port)
    for (const line of ['MAIL FROM:<a@b.test>', 'RCPT TO:<ada@example.test>', 'DATA'])
      await client.say(line)
    expect(await client.say(Buffer.from(part))).toBe('')
  })
  await Promise.all(halves)
  // One that goes away before the end.
  const gone = await loggedIn()
  for (const line of ['MAIL FROM:<a@b.test>', 'RCPT TO:<ada@example.test>', 'DATA'])
    await gone.say(line)
  gone.socket.end(messageOf())
  expect(await gone.hear()).not.toMatch(/^250/)
  expect(await emails()).toEqual(before)
  await eventually(async () => expect(await connectionsOf(hasty.registry)).toBe(0))
})

async function connectionsOf(registry: typeof server.registry): Promise<number> {
  const metric = await registry.getSingleMetric('dripline_submission_connections')?.get()
  return metric?.values[0]?.value ?? -1
}

test('100,000 recipients: fifty are taken, the flood ends the connection', {
  timeout: 90_000,
}, async () => {
  const client = await loggedIn()
  await client.say('MAIL FROM:<a@b.test>')
  const lines = Array.from({ length: 100_000 }, (_, i) => `RCPT TO:<r${i}@example.test>\r\n`)
  client.socket.write(lines.join(''))
  const replies = new Map<string, number>()
  for (let reply = await client.hear(); reply !== ''; reply = await client.hear()) {
    const code = reply.slice(0, 3)
    replies.set(code, (replies.get(code) ?? 0) + 1)
  }
  // The last replies may be lost with the connection.
  expect(replies.get('250')).toBe(50)
  expect(replies.get('452') ?? 0).toBeLessThanOrEqual(999)
  idOf(await sendOn(await loggedIn(), messageOf()))
})

test('lengths that lie: SIZE too large is refused at once, one that is wrong is not believed', async () => {
  const client = await loggedIn()
  expect(await client.say('MAIL FROM:<a@b.test> SIZE=134217729')).toMatch(/^552/)
  expect(await client.say('MAIL FROM:<a@b.test> SIZE=1 BODY=8BITMIME')).toMatch(/^250/)
  expect(await client.say('RCPT TO:<ada@example.test>')).toMatch(/^250/)
  expect(await client.say('DATA')).toMatch(/^354/)
  idOf(await client.say(toWire(messageOf())))
  const before = await emails()
  const long = messageOf({}, 'x'.repeat(999))
  expect(await sendOn(client, long)).toMatch(/^550 5\.6\.0 invalid_message: .*998 bytes/)
  expect(await sendOn(client, messageOf({ 'X-Long': 'y'.repeat(991) }))).toMatch(/^550 .*invalid_/)
  expect(await sendOn(client, `${'A: b\r\n'.repeat(1_001)}${messageOf()}`)).toMatch(
    /^550 .*invalid_header/,
  )
  expect(await client.say(`MAIL FROM:<${'a'.repeat(5_000)}@b.test>`)).toMatch(/^(421|50\d)/)
  expect(await emails()).toEqual(before)
})

test('a message over 128 MB is read to its end and refused', { timeout: 120_000 }, async () => {
  const client = await loggedIn()
  for (const line of ['MAIL FROM:<a@b.test>', 'RCPT TO:<ada@example.test>', 'DATA'])
    await client.say(line)
  const piece = Buffer.from(`${'x'.repeat(62)}\r\n`.repeat(16_384))
  client.socket.write(`${head}\r\n\r\n`)
  for (let i = 0; i < 129; i++) {
    if (!client.socket.write(piece))
      await new Promise((resolve) => client.socket.once('drain', resolve))
  }
  expect(await client.say(Buffer.from('.\r\n'))).toMatch(/^552/)
  expect(await client.say('NOOP')).toMatch(/^250/)
})

test('a workspace whose mail waits for a lock keeps no other one waiting', {
  timeout: 120_000,
}, async () => {
  const other = await api.createKey({ workspaceName: 'other' })
  await insertTestDomain({ ...api, workspaceId: other.workspaceId }, 'second.test')
  const email = 'held@example.test'
  await api.request('POST', '/v1/automation/events', { event_name: 'user.came', email })
  let answered = 0
  const sendHeld = async () => {
    const reply = await sendOn(await loggedIn(), messageOf({ To: email }), email)
    answered += 1
    return reply
  }
  const waiting = await api.db.transaction().execute(async (trx) => {
    await trx.selectFrom('contacts').select('id').where('email', '=', email).forUpdate().execute()
    const held = Array.from({ length: 30 }, sendHeld)
    await eventually(async () => {
      const { rows } = await sql`
        select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()
      `.execute(api.db)
      expect(rows.length).toBeGreaterThan(2)
    })
    const client = await logIn(server.port, other.token)
    onTestFinished(() => client.close())
    idOf(await sendOn(client, messageOf({ From: 'a@second.test' })))
    expect(answered).toBeLessThan(20)
    return { held }
  })
  for (const reply of await Promise.all(waiting.held)) {
    expect(reply).toMatch(/^(250 2\.0\.0 Taken|451 4\.3\.0 service_unavailable: )/)
  }
})

test('wrong keys without end keep no good one waiting', { timeout: 120_000 }, async () => {
  let isOver = false
  let wrong = 0
  const attack = async (begun: () => void) => {
    while (!isOver) {
      const client = await connectInbound(server.port)
      await client.say('EHLO eve.test')
      begun()
      for (let i = 0; i < 3; i++) {
        const reply = await client.say(`AUTH PLAIN ${plainToken(`drip_${Math.random()}`)}`)
        if (!reply.startsWith('535')) break
        wrong += 1
      }
      client.close()
    }
  }
  const attackers: Promise<void>[] = []
  // One behind the other: 150 that come again in one moment are more than one client may have without a key, whoever else comes then.
  for (let n = 0; n < 150; n++) {
    await new Promise<void>((begun) => attackers.push(attack(begun)))
  }
  try {
    await eventually(() => expect(wrong).toBeGreaterThan(300))
    const known = await loggedIn()
    for (let i = 0; i < 20; i++) {
      idOf(await sendOn(known, messageOf()))
      // A connection of its own, from the address of the attackers.
      const fresh = await loggedIn()
      idOf(await sendOn(fresh, messageOf()))
      fresh.close()
    }
  } finally {
    isOver = true
    await Promise.race([Promise.all(attackers), pause(20_000, undefined, { ref: false })])
  }
})

test('connections of a key that was revoked keep no place from another key of the workspace', {
  timeout: 90_000,
}, async () => {
  const { token, keyId } = await api.createKey()
  const crowd = await Promise.all(
    Array.from({ length: guardRules.connectionsPerWorkspaceMax }, () => logIn(server.port, token)),
  )
  onTestFinished(() => {
    for (const client of crowd) client.close()
  })
  await expect(logIn(server.port, api.key)).rejects.toThrow(/^421 4\.7\.0 rate_limited: /)
  await api.request('DELETE', `/v1/api-keys/${keyId}`)
  // The listener hears of it a moment later. None of them says a word.
  await eventually(async () => idOf(await sendOn(await loggedIn(), messageOf())))
  for (const client of crowd) expect(await client.hear()).toBe('')
})
