// A message that breaks off while a part of it is written to a file: nothing of it stays open.
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import type { SMTPServerDataStream } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import type { RequestKey } from '../../../commands/api-keys/keyCache.ts'
import { createInHand } from '../../../inbound/inHand.ts'
import { createReceiver } from '../../../inbound/submission/receive.ts'
import { stopping } from '../../../inbound/submission/replies.ts'
import { spoolLimits } from '../../../inbound/submission/spool.ts'
import { sendingOf } from '../../setup/sending.ts'

const key = { id: 'key_1', workspace_id: 'ws_1', domain_id: null } as RequestKey
const inHand = createInHand(stopping())

/** The files of a folder that this process has open, with or without a name. */
const openIn = (folder: string) =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      return []
    }
  })

test.each(['before its file is open', 'when its file is open'])(
  'a message that breaks off %s is refused, and leaves no file open',
  async (when) => {
    const stateFolder = mkdtempSync(join(tmpdir(), 'dripline-receive-'))
    onTestFinished(() => rmSync(stateFolder, { recursive: true }))
    const submit = () => Promise.reject(new Error('there is no whole message'))
    const receive = createReceiver({
      submit,
      now: () => new Date(),
      stateFolder,
    })
    const stream = Object.assign(new PassThrough(), { byteLength: 0, sizeExceeded: false })
    const source = stream as unknown as SMTPServerDataStream
    const taking = receive(
      source,
      sendingOf(async () => key),
      inHand.take('a'),
    )
    const line = `${'x'.repeat(70)}\r\n`
    const part = Buffer.from(
      line.repeat(Math.ceil((spoolLimits.messageMemoryMax + 1) / line.length)),
    )
    stream.write(part)
    if (when === 'when its file is open') {
      await expect.poll(() => openIn(stateFolder)).not.toEqual([])
      stream.write(part)
    }
    stream.destroy()
    await expect(taking).rejects.toThrow('4.4.2 The connection broke')
    expect(openIn(stateFolder)).toEqual([])
  },
)

test('a message that breaks off while its key is looked up is refused', async () => {
  const stateFolder = mkdtempSync(join(tmpdir(), 'dripline-receive-'))
  onTestFinished(() => rmSync(stateFolder, { recursive: true }))
  const submit = () => Promise.reject(new Error('there is no whole message'))
  const receive = createReceiver({ submit, now: () => new Date(), stateFolder })
  const stream = Object.assign(new PassThrough(), { byteLength: 0, sizeExceeded: false })
  const closed = once(stream, 'close')
  const keyNow = () => closed.then(() => key)
  const source = stream as unknown as SMTPServerDataStream
  const taking = receive(source, sendingOf(keyNow), inHand.take('b'))
  stream.write('Subject: half')
  stream.destroy()
  await expect(taking).rejects.toThrow('4.4.2 The connection broke')
})
