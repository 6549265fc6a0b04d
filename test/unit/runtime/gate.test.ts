// The gate of work that may be suspected: ordinary ones share, a suspect is alone, neither starves, and nobody waits without end.
import { setImmediate as tick } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createGate, type Turn } from '../../../runtime/gate.ts'

const GIVEN_UP = new Error('given up')
const LONG = { drain_ms: 20_000, alone_ms: 20_000 }

/** Work that the test ends. */
function held() {
  let end = () => {}
  const ending = new Promise<void>((resolve) => {
    end = resolve
  })
  return { end, ending }
}

/** A gate whose events are noted in order. */
function noted(times = LONG) {
  const gate = createGate(times)
  const log: string[] = []
  const start = (name: string, isSuspect = false) => {
    const { end, ending } = held()
    let turn: Turn = { isAlone: () => false }
    const giveUp = new AbortController()
    const work = async (given: Turn) => {
      turn = given
      log.push(`${name} begins`)
      await ending
      log.push(`${name} ends`)
    }
    const done = gate.run(isSuspect, work, giveUp.signal)
    return { end, done, isAlone: () => turn.isAlone(), giveUp: () => giveUp.abort(GIVEN_UP) }
  }
  return { log, start, gate }
}

test('a suspect waits for those under way; who comes later waits for it', async () => {
  const { log, start } = noted()
  const [a, b] = [start('a'), start('b')]
  const bad = start('bad', true)
  const later = start('later')
  await tick()
  expect(log).toEqual(['a begins', 'b begins'])
  a.end()
  await tick()
  expect(log.at(-1)).toBe('a ends')
  b.end()
  await tick()
  expect(log.at(-1)).toBe('bad begins')
  expect(bad.isAlone()).toBe(true)
  bad.end()
  await bad.done
  await tick()
  expect(log.slice(-2)).toEqual(['bad ends', 'later begins'])
  later.end()
})

test('many suspects and many others take turns: neither starves', async () => {
  const { log, start } = noted()
  const first = start('bad1', true)
  const second = start('bad2', true)
  const good = start('good1')
  await tick()
  expect(log).toEqual(['bad1 begins'])
  first.end()
  await tick()
  expect(log.slice(1)).toEqual(['bad1 ends', 'good1 begins'])
  // The next suspect already waits: this one goes after it.
  const next = start('good2')
  good.end()
  await tick()
  expect(log.slice(3)).toEqual(['good1 ends', 'bad2 begins'])
  second.end()
  await tick()
  expect(log.slice(5)).toEqual(['bad2 ends', 'good2 begins'])
  next.end()
})

test('a segment that is stuck keeps a suspect and all others for a short time only', async () => {
  const { log, start } = noted({ ...LONG, drain_ms: 20 })
  const stuck = start('stuck')
  const bad = start('bad', true)
  const other = start('other')
  await expect(bad.done).rejects.toThrow('found no moment to run alone')
  await tick()
  expect(log).toEqual(['stuck begins', 'other begins'])
  stuck.end()
  other.end()
  await Promise.all([stuck.done, other.done])
  // The next try has its moment.
  const again = start('bad', true)
  await tick()
  expect(again.isAlone()).toBe(true)
  again.end()
})

test('a suspect that takes long is alone no more, and the others go on', async () => {
  const { log, start } = noted({ ...LONG, alone_ms: 20 })
  const bad = start('bad', true)
  const other = start('other')
  other.end()
  await other.done
  expect(log).toEqual(['bad begins', 'other begins', 'other ends'])
  expect(bad.isAlone()).toBe(false)
  bad.end()
  await bad.done
  const last = start('last')
  last.end()
  await last.done
})

test('one that fails leaves the gate open', async () => {
  const { gate, start } = noted()
  const fails = async () => {
    throw new Error('a fault of the segment')
  }
  for (const isSuspect of [true, false, true]) {
    await expect(gate.run(isSuspect, fails, new AbortController().signal)).rejects.toThrow(
      'a fault',
    )
  }
  const one = start('one')
  one.end()
  await one.done
})

test('one that is given up while it waits is never run, and keeps nobody waiting', async () => {
  const { log, start } = noted()
  const first = start('bad1', true)
  const [second, other, third] = [start('bad2', true), start('other'), start('bad3', true)]
  await tick()
  for (const one of [second, other]) {
    one.giveUp()
    await expect(one.done).rejects.toBe(GIVEN_UP)
  }
  first.end()
  await first.done
  await tick()
  expect(log).toEqual(['bad1 begins', 'bad1 ends', 'bad3 begins'])
  third.end()
  await third.done
})

test('a suspect that is given up while others leave lets those behind it in', async () => {
  const { log, start } = noted()
  const under = start('under way')
  const bad = start('bad', true)
  const later = start('later')
  await tick()
  bad.giveUp()
  await expect(bad.done).rejects.toBe(GIVEN_UP)
  under.end()
  later.end()
  await Promise.all([under.done, later.done])
  expect(log).toEqual(['under way begins', 'under way ends', 'later begins', 'later ends'])
})

test('long work does not rest while a suspect waits or is alone, and does again when none is there', async () => {
  let hurried = 0
  const gate = createGate(LONG, () => {
    hurried += 1
    return () => {
      hurried -= 1
    }
  })
  const [ordinary, suspect] = [held(), held()]
  const first = gate.run(false, () => ordinary.ending)
  await tick()
  expect(hurried).toBe(0)
  const giveUp = new AbortController()
  const gone = gate.run(true, () => suspect.ending, giveUp.signal).catch(() => undefined)
  const second = gate.run(true, () => suspect.ending)
  await tick()
  expect(hurried, 'one waits').toBe(1)
  giveUp.abort(GIVEN_UP)
  ordinary.end()
  await Promise.all([first, gone])
  await tick()
  expect(hurried, 'one is alone').toBe(1)
  suspect.end()
  await second
  await tick()
  expect(hurried).toBe(0)
})
