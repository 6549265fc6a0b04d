// What npm start prints while something goes on: one line rewritten on a terminal, a line every ten seconds in a pipe.
import { expect, test } from 'vitest'
import { createConsole, showing } from '../../../dev/console.mjs'

function printed(isTTY: boolean, columns = 60) {
  const texts: string[] = []
  const clock = { ms: 0 }
  const out = { write: (text: string) => texts.push(text), isTTY, columns }
  return { texts, clock, console: createConsole(out, () => clock.ms) }
}

test('a pipe gets a line every ten seconds for each part, and nothing of what is over', () => {
  const { texts, clock, console } = printed(false)
  const part = console.part('temporal')
  for (let second = 0; second < 25; second++) {
    clock.ms = second * 1_000
    part.progress(`building, ${second} s`)
  }
  part.done()
  part.say('built')
  expect(texts).toEqual([
    ' 10.0 s  temporal  building, 10 s\n',
    ' 20.0 s  temporal  building, 20 s\n',
    ' 24.0 s  temporal  built\n',
  ])
})

test('a terminal gets one line that is rewritten, cut to its width, below the lines that stay', () => {
  const { texts, console } = printed(true, 40)
  const part = console.part('temporal')
  part.progress('building: 10%')
  part.progress(`building: 11%, ${'x'.repeat(80)}`)
  console.part('api').say('ready')
  part.done()
  const clear = '\r\u001b[K'
  const long = `  0.0 s  temporal  building: 11%, ${'x'.repeat(6)}`.slice(0, 39)
  expect(texts).toEqual([
    `${clear}  0.0 s  temporal  building: 10%`,
    `${clear}${long}`,
    clear,
    '  0.0 s  api       ready\n',
    `${clear}${long}`,
    clear,
  ])
})

test('parts that go on at the same time share the line of a terminal', () => {
  const { texts, console } = printed(true, 80)
  console.part('temporal').progress('building')
  console.part('api').progress('starting')
  expect(texts.at(-1)).toMatch(/temporal {2}building \| api starting$/)
})

test('what takes less than two seconds says nothing, also when it fails', async () => {
  const { texts, console } = printed(false)
  const part = console.part('api')
  expect(await showing(part, () => 'slow', Promise.resolve(7))).toBe(7)
  await expect(showing(part, () => 'slow', Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(texts).toEqual([])
})
