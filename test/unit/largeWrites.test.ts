// Large emails are written in turn: a bounded sum of bytes at a time, and none after it has waited for too long.
import { expect, test } from 'vitest'
import { createLargeWrites, LARGE_BYTES } from '../../commands/emails/largeWrites.ts'
import type { NewEmail } from '../../db/emails/insert.ts'
import { inScope } from '../../db/scope.ts'
import { ClientGone, NoPlace } from '../../db/shares.ts'
import type { WorkspaceId } from '../../rules/ids.ts'

const emailOf = (bytes: number) =>
  ({ row: { html: Buffer.alloc(bytes), text: null }, attachments: [] }) as unknown as NewEmail

/** Writes that last until they are ended. */
function open(wait_ms = 60_000) {
  const rests: (() => void)[] = []
  const rest = () => new Promise<void>((end) => rests.push(end))
  const inTurn = createLargeWrites({ bytesMax: 4 * LARGE_BYTES, wait_ms }, rest)
  const ends = new Map<string, () => void>()
  return {
    write: (name: string, owner: string, bytes: number) =>
      inTurn(
        owner as WorkspaceId,
        emailOf(bytes),
        () => new Promise<void>((end) => ends.set(name, end)),
      ),
    begun: async () => {
      for (let i = 0; i < 30; i++) await Promise.resolve()
      return [...ends.keys()]
    },
    end: (name: string) => {
      ends.get(name)?.()
      ends.delete(name)
    },
    endRest: () => rests.shift()?.(),
    rests: () => rests.length,
  }
}

test('one that is larger than all is written alone, and small ones wait for nobody', async () => {
  const { write, begun, end, endRest } = open()
  const first = write('a1', 'a', 100 * LARGE_BYTES)
  expect(await begun()).toEqual(['a1'])
  const all = [
    write('a2', 'a', 100 * LARGE_BYTES),
    write('a3', 'a', 100 * LARGE_BYTES),
    write('b1', 'b', LARGE_BYTES),
    write('small', 'b', LARGE_BYTES - 1),
  ]
  expect(await begun()).toEqual(['a1', 'small'])
  end('a1')
  expect(await begun(), 'in its rest').toEqual(['small', 'b1'])
  end('small')
  endRest()
  expect(await begun(), 'a2 is written alone').toEqual(['b1'])
  end('b1')
  expect(await begun()).toEqual(['a2'])
  end('a2')
  await Promise.all([first, all[0]])
  endRest()
  expect(await begun()).toEqual(['a3'])
  end('a3')
  await Promise.all(all)
})

test('one that is written alone is answered before its rest, also when it fails, and smaller ones have none', async () => {
  const { write, begun, end, rests, endRest } = open()
  const small = write('small', 'a', 4 * LARGE_BYTES)
  expect(await begun()).toEqual(['small'])
  end('small')
  await small
  expect(rests()).toBe(0)
  const failing = createLargeWrites(
    { bytesMax: LARGE_BYTES, wait_ms: 60_000 },
    () => new Promise(() => undefined),
  )
  const fail = () => Promise.reject(new Error('no'))
  await expect(failing('a' as WorkspaceId, emailOf(2 * LARGE_BYTES), fail)).rejects.toThrow('no')
  const large = write('large', 'a', 5 * LARGE_BYTES)
  await begun()
  end('large')
  await large
  expect(rests()).toBe(1)
  endRest()
})

test('one that waits for the rest of another is refused in time', async () => {
  const { write, begun, end, endRest } = open(20)
  const first = write('first', 'a', 5 * LARGE_BYTES)
  await begun()
  end('first')
  await first
  await expect(write('late', 'a', 5 * LARGE_BYTES)).rejects.toThrow(NoPlace)
  endRest()
  const next = write('next', 'a', 5 * LARGE_BYTES)
  expect(await begun()).toEqual(['next'])
  end('next')
  await next
})

test('what has waited for too long is refused while the first one hangs, and later ones are written after it', async () => {
  const { write, begun, end } = open(20)
  const first = write('first', 'a', 4 * LARGE_BYTES)
  expect(await begun()).toEqual(['first'])
  await expect(write('late', 'a', 4 * LARGE_BYTES)).rejects.toThrow(NoPlace)
  expect(await begun()).toEqual(['first'])
  end('first')
  const next = write('next', 'b', 4 * LARGE_BYTES)
  expect(await begun()).toEqual(['next'])
  end('next')
  await Promise.all([first, next])
})

test('one whose client goes away leaves the line at once', async () => {
  const { write, begun, end } = open()
  const first = write('first', 'a', 4 * LARGE_BYTES)
  expect(await begun()).toEqual(['first'])
  const client = new AbortController()
  const scope = { owner: { kind: 'process' }, signal: client.signal } as const
  const left = inScope(scope, () => write('left', 'a', 4 * LARGE_BYTES))
  const next = write('next', 'a', 4 * LARGE_BYTES)
  client.abort()
  await expect(left).rejects.toThrow(ClientGone)
  await expect(inScope(scope, () => write('gone', 'a', 4 * LARGE_BYTES))).rejects.toThrow(
    ClientGone,
  )
  end('first')
  expect(await begun()).toEqual(['next'])
  end('next')
  await Promise.all([first, next])
})
