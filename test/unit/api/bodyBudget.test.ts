// Who gets memory for a body, and in which order.
import { Hono } from 'hono'
import { describe, expect, it } from 'vitest'
import { createBodyBudget } from '../../../api/http/bodies/budget.ts'
import { createBodyReader } from '../../../api/http/bodies/read.ts'
import { bodyRules } from '../../../api/http/bodies/rules.ts'
import type { ApiEnv } from '../../../api/http/env.ts'
import { ClientGone } from '../../../db/shares.ts'
import { createRandom } from '../../setup/random.ts'

const rules = {
  processBytesMax: 100,
  workspaceBytesMax: 60,
  reserveBytes: 0,
  smallBytesMax: 10,
  wait_ms: 10_000,
}

describe('the order of those who wait', () => {
  it('goes in turns by workspace, and nobody passes a large one', async () => {
    const budget = createBodyBudget(rules)
    const [a, b] = [await budget.ask('a', { bytes: 60 }), await budget.ask('b', { bytes: 40 })]
    const order: string[] = []
    const ask = (workspace: string, bytes: number, name: string) =>
      budget.ask(workspace, { bytes }).then((grant) => {
        order.push(name)
        return grant
      })
    const waiting = [
      ask('c', 60, 'c large'),
      ask('c', 10, 'c small'),
      ask('d', 10, 'd1'),
      ask('d', 10, 'd2'),
    ]
    b.release()
    await new Promise(setImmediate)
    expect(order).toEqual([])
    a.release()
    const grants = await Promise.all(waiting.slice(0, 1).concat(waiting.slice(2)))
    expect(order).toEqual(['c large', 'd1', 'd2'])
    expect(budget.state()).toEqual({ used: 80, waiting: 1 })
    for (const grant of grants) {
      grant.release()
      grant.release()
    }
    ;(await waiting[1])?.release()
    expect(budget.state()).toEqual({ used: 0, waiting: 0 })
  })

  it('does not let a workspace that has used its share stop another one', async () => {
    const budget = createBodyBudget(rules)
    const mine = await budget.ask('a', { bytes: 60 })
    const gone = new AbortController()
    const waits = budget.ask('a', { bytes: 10 }, gone.signal)
    const other = await budget.ask('b', { bytes: 40 })
    gone.abort()
    await expect(waits).rejects.toThrow(ClientGone)
    mine.shrink(20)
    expect(budget.state()).toEqual({ used: 60, waiting: 0 })
    other.release()
  })

  it('keeps a part for small bodies, which pass the large ones there', async () => {
    const budget = createBodyBudget({ ...rules, reserveBytes: 20 })
    const held = await Promise.all([budget.ask('a', { bytes: 40 }), budget.ask('b', { bytes: 40 })])
    const gone = new AbortController()
    const large = budget.ask('c', { bytes: 30 }, gone.signal)
    held.push(await budget.ask('d', { bytes: 10 }), await budget.ask('e', { bytes: 10 }))
    expect(budget.state()).toEqual({ used: 100, waiting: 1 })
    gone.abort()
    await expect(large).rejects.toThrow()
    for (const grant of held) grant.release()
    expect(budget.state()).toEqual({ used: 0, waiting: 0 })
  })

  it('knows which body is in the way: the largest that comes, of those whose end would help', async () => {
    const budget = createBodyBudget(rules)
    const [small, large] = [
      await budget.ask('a', { bytes: 20 }),
      await budget.ask('a', { bytes: 40 }),
    ]
    const other = await budget.ask('b', { bytes: 30 })
    const inTheWay = () => [small, large, other].map((grant) => grant.isInTheWay())
    expect(inTheWay()).toEqual([false, false, false])
    const gone = new AbortController()
    const own = budget.ask('a', { bytes: 10 }, gone.signal).catch(() => undefined)
    expect(inTheWay(), 'a waits for its own share').toEqual([false, true, false])
    gone.abort()
    await own
    const waits = budget.ask('c', { bytes: 50 })
    expect(inTheWay(), 'c waits for the process').toEqual([false, true, false])
    large.shrink(40)
    expect(inTheWay(), 'the largest has come').toEqual([false, false, true])
    large.release()
    ;(await waits).release()
    small.release()
    other.release()
  })

  it('refuses with 503 who has waited too long, and with another error whose client has gone', async () => {
    const budget = createBodyBudget({ ...rules, wait_ms: 20 })
    const mine = await budget.ask('a', { bytes: 60 })
    await expect(budget.ask('a', { bytes: 10 })).rejects.toMatchObject({
      status: 503,
      reason: 'bodies',
    })
    mine.release()
    expect(budget.state()).toEqual({ used: 0, waiting: 0 })
  })
})

describe('bodies of unknown size', () => {
  it('begin with a small part, as many as leave room for the rest of each', async () => {
    const budget = createBodyBudget(rules)
    const ask = () => budget.ask('a', { bytes: 10, most: 30 })
    const begun = await Promise.all([ask(), ask(), ask(), ask()])
    const fifth = ask()
    expect(budget.state()).toEqual({ used: 40, waiting: 1 })
    const order: number[] = []
    const growing = begun.map((grant, i) => grant.grow().then(() => order.push(i)))
    await growing[0]
    expect([order, budget.state()]).toEqual([[0], { used: 60, waiting: 4 }])
    for (const [i, grant] of begun.entries()) {
      await growing[i]
      grant.shrink(25)
      grant.release()
    }
    ;(await fifth).release()
    expect(order).toEqual([0, 1, 2, 3])
    expect(budget.state()).toEqual({ used: 0, waiting: 0 })
  })

  it('say 503 to who waited too long for its rest, and leave what they began with', async () => {
    const budget = createBodyBudget({ ...rules, wait_ms: 20 })
    const other = await budget.ask('a', { bytes: 50 })
    const begun = await budget.ask('a', { bytes: 10, most: 60 })
    await expect(begun.grow()).rejects.toMatchObject({ status: 503, reason: 'bodies' })
    begun.release()
    expect(budget.state()).toEqual({ used: 50, waiting: 0 })
    other.release()
  })

  it('know that one of them is in the way of another one', async () => {
    const budget = createBodyBudget(rules)
    const begun = await budget.ask('a', { bytes: 10, most: 60 })
    const whole = await budget.ask('a', { bytes: 20 })
    const waits = budget.ask('a', { bytes: 10, most: 60 })
    expect([begun.isInTheWay(), whole.isInTheWay()]).toEqual([true, false])
    begun.shrink(10)
    whole.release()
    begun.release()
    ;(await waits).release()
    expect(budget.state()).toEqual({ used: 0, waiting: 0 })
  })

  it('never wait for each other for ever, nor does a body of a known size wait for them', async () => {
    const random = createRandom(7)
    const budget = createBodyBudget({ ...rules, reserveBytes: 20 })
    const body = async () => {
      const most = random.between(1, 60)
      const bytes = random.next() < 0.7 ? Math.min(10, most) : most
      const grant = await budget.ask(random.pick(['a', 'b', 'c']), { bytes, most })
      for (let turns = random.between(0, 4); turns > 0; turns--) await new Promise(setImmediate)
      if (random.next() < 0.7) await grant.grow()
      expect(budget.state().used).toBeLessThanOrEqual(rules.processBytesMax)
      grant.shrink(random.between(0, most))
      await new Promise(setImmediate)
      grant.release()
    }
    await Promise.all(Array.from({ length: 2_000 }, body))
    expect(budget.state()).toEqual({ used: 0, waiting: 0 })
  })
})

it('does not give a body with large fields as text', async () => {
  const reader = createBodyReader(bodyRules)
  const app = new Hono<ApiEnv>()
  app.onError((err) => new Response(err.message, { status: 500 }))
  const largeFields = {
    texts: ['html'],
    textBytesMax: 10_000_000,
    base64: { list: 'attachments', field: 'content', bytesMax: 10_000_000, countMax: 100 },
  }
  app.post('/', async (c) => {
    const body = await reader.read(c, 'ws', { bodyBytesMax: 10_000_000, largeFields })
    return new Response(body.text())
  })
  const body = JSON.stringify({ html: 'x'.repeat(100_000) })
  const answer = await app.request('/', { method: 'POST', body })
  expect(await answer.text()).toBe('a body with large fields is read with json()')
})
