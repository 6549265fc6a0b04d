// Writes that wait for the end of a turn of the event loop.
import { Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { gatherWrites } from '../../../runtime/gatheredWrites.ts'

/** @returns a stream that notes each write that it hands over, under its name */
const sink = (name: string, came: string[]) =>
  new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      came.push(`${name} ${chunk}`)
      done()
    },
    writev(chunks, done) {
      came.push(`${name} ${chunks.map(({ chunk }) => chunk).join('')}`)
      done()
    },
  })

test('what is written in one turn is handed over when it ends, each as one write', async () => {
  const came: string[] = []
  const [a, b] = [sink('a', came), sink('b', came)]
  for (const one of [a, b]) {
    gatherWrites(one)
    one.write('head,')
    one.write('body')
  }
  await Promise.resolve()
  expect(came).toEqual([])
  await turn()
  expect(came).toEqual(['a head,body', 'b head,body'])
  a.write('next')
  expect(came.at(-1)).toBe('a next')
})

test('one that is gathered twice writes everything, and one that was destroyed nothing', async () => {
  const came: string[] = []
  const [a, b] = [sink('a', came), sink('b', came)]
  for (const text of ['1', '2']) {
    gatherWrites(a)
    a.write(text)
  }
  gatherWrites(b)
  b.write('3')
  b.destroy()
  await turn()
  expect(came).toEqual(['a 12'])
})
