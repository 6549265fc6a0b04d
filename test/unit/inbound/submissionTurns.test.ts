// Submitted messages of several workspaces: how much of each is read and committed at a time.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { SMTPServerDataStream } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import type { RequestKey } from '../../../commands/api-keys/keyCache.ts'
import { createInHand } from '../../../inbound/inHand.ts'
import { createReceiver } from '../../../inbound/submission/receive.ts'
import { stopping } from '../../../inbound/submission/replies.ts'
import type { WorkspaceId } from '../../../rules/ids.ts'
import { eventually } from '../../setup/eventually.ts'
import { messageOf } from '../../setup/messages.ts'
import { sendingOf } from '../../setup/sending.ts'

const MEBIBYTE = 1024 * 1024
const inHand = createInHand(stopping())

/** A receiver whose commits are under way until the test ends. */
function open() {
  const folder = mkdtempSync(join(tmpdir(), 'dripline-turns-'))
  const begun: string[] = []
  let letGo = () => {}
  const ending = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const receive = createReceiver({
    stateFolder: folder,
    now: () => new Date(),
    async submit({ workspaceId }) {
      begun.push(workspaceId)
      await ending
      return { id: 'em_1' }
    },
  })
  const all: Promise<string>[] = []
  onTestFinished(async () => {
    letGo()
    await Promise.all(all)
    rmSync(folder, { recursive: true })
  })
  return {
    count: (workspace: string) => begun.filter((one) => one === workspace).length,
    send(workspace: string, bytes: number) {
      const text = messageOf({ Subject: workspace }, `${'x'.repeat(78)}\r\n`.repeat(bytes / 80))
      const stream = Object.assign(Readable.from([Buffer.from(text)]), { sizeExceeded: false })
      const key = { id: 'key_1', workspace_id: workspace as WorkspaceId } as RequestKey
      const source = stream as unknown as SMTPServerDataStream
      const message = inHand.take(String(all.length))
      all.push(
        receive(
          source,
          sendingOf(async () => key),
          message,
        ),
      )
    },
  }
}

test('small messages of one workspace are bounded together, and those of another are not kept by them', async () => {
  const { send, count } = open()
  for (let n = 0; n < 100; n++) send('flood', MEBIBYTE / 4)
  await eventually(() => expect(count('flood')).toBeGreaterThan(10))
  send('other', MEBIBYTE / 4)
  await eventually(() => expect(count('other')).toBe(1))
  expect(count('flood'), 'of a share of 8 MiB').toBeLessThanOrEqual(32)
})

test('large messages of a workspace with many of them are taken in turns with those of others', async () => {
  const { send, count } = open()
  for (let n = 0; n < 12; n++) send('flood', 12 * MEBIBYTE)
  await eventually(() => expect(count('flood')).toBeGreaterThan(0))
  send('other', 12 * MEBIBYTE)
  await eventually(() => expect(count('other')).toBe(1))
  expect(count('flood'), 'of a share of 32 MiB').toBeLessThanOrEqual(2)
})
