// Receivers that do not read the mail with attachments that they asked for: other such mail goes out meanwhile, no
// message is cut or changed, and only a bounded part of what waits is in memory.
import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import type { Dns } from '../../mail/dns/resolver.ts'
import { createMxTransport } from '../../mail/smtp/mx.ts'
import { acceptMail } from '../setup/acceptedMail.ts'
import { createTestDatabase } from '../setup/database.ts'
import { eventually } from '../setup/eventually.ts'
import { seedWorkspace } from '../setup/harness.ts'
import { createTestWorker } from '../setup/lanes.ts'
import { startSmtp } from '../setup/smtp.ts'
import { leaves, readMessage } from '../unit/mail/reader.ts'

const database = await createTestDatabase()
const { db } = database
const workspace = { db, ...(await seedWorkspace(db)) }

const MIB = 1024 * 1024
const HELD_MAX = 64 * MIB

/** Each domain is one host: `h2.test` is 127.0.0.2. */
const dns = {
  mx: async (name: string) => ({ kind: 'ok', records: [{ priority: 1, exchange: `mx.${name}` }] }),
  a: async (name: string) => ({
    kind: 'ok',
    records: [`127.0.0.${/h(\d)\.test$/.exec(name)?.[1]}`],
  }),
  aaaa: async () => ({ kind: 'nodata' }),
} as unknown as Dns

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

/** Bytes of all buffers that are in use. */
function buffersHeld(): number {
  collect()
  return process.memoryUsage().arrayBuffers
}

/** A sink on 127.0.0.1 that takes everything, and one on each further address that reads nothing until `release`. */
async function startSinks(slow: readonly number[]) {
  const fast = await startSmtp()
  let release = () => {}
  const hold = new Promise<void>((resolve) => {
    release = resolve
  })
  const script = () => ({ at: 'read', reply: '250 2.0.0 ok', hold }) as const
  const slows = await Promise.all(
    slow.map((n) => startSmtp({ host: `127.0.0.${n}`, port: fast.port, script })),
  )
  onTestFinished(async () => {
    release()
    for (const sink of [fast, ...slows]) await sink.stop()
  })
  return { fast, slows, release }
}

const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex')

test('mail with attachments goes out beside receivers that do not read theirs', {
  timeout: 300_000,
}, async () => {
  const slow = [2, 3, 4]
  const { fast, slows, release } = await startSinks(slow)
  const transport = createMxTransport({
    dns,
    ehloName: 'mail.test',
    port: fast.port,
    allowPrivate: true,
  })
  const config = { deliveryMode: 'mx', smtpConnections: 10 } as const
  const worker = createTestWorker(database, '', { transport, config })
  const hashes = new Set<string>()
  const send = (to: string, byte: number, size: number) => {
    const content = Buffer.alloc(size, byte)
    hashes.add(hashOf(content))
    const file = { filename: 'a.bin', content_type: null, content_id: null, content }
    return acceptMail(workspace, { text: 'See.', to: [to] }, [file])
  }
  for (let n = 0; n < 36; n++) await send(`a${n}@h${slow[n % 3]}.test`, n, 4 * MIB)
  const before = buffersHeld()
  await worker.own({ lane: 0, lanes: 1 })
  // Ten to each of the three: twice as much as may stand in memory.
  const counts = async () => {
    const { rows } = await sql<{ state: string; count: number }>`
      select state, count(*) from deliveries group by state`.execute(db)
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
  }
  await eventually(
    async () => {
      expect(slows.map((sink) => sink.attempts.size)).toEqual([5, 5, 5])
      expect(await counts()).toEqual({ sending: 30, queued: 6 })
    },
    { deadline_ms: 90_000 },
  )
  await send('a@h1.test', 200, 20 * MIB)
  await send('b@h1.test', 201, 1 * MIB)
  worker.wake()
  await eventually(() => expect(fast.mails).toHaveLength(2), { deadline_ms: 90_000 })
  const received = fast.mails.reduce((sum, { raw }) => sum + raw.length, 0)
  await eventually(() => {
    // Beside what is kept: what is being written to fifteen connections, and what the servers have taken.
    const held = buffersHeld() - before - received
    expect(held).toBeLessThan(HELD_MAX + 40 * MIB)
    expect(held).toBeGreaterThan(HELD_MAX / 2)
  })

  release()
  const sinks = [fast, ...slows]
  await eventually(() => expect(sinks.reduce((sum, { mails }) => sum + mails.length, 0)).toBe(38), {
    deadline_ms: 90_000,
  })
  await eventually(async () => expect(await counts()).toEqual({ delivered: 38 }))
  const files = sinks.flatMap(({ mails }) =>
    mails.map(({ raw }) => hashOf(leaves(readMessage(raw)).at(-1)?.content ?? Buffer.alloc(0))),
  )
  expect(new Set(files)).toEqual(hashes)
  expect(files).toHaveLength(38)
})
