// Who gets memory for a body, and in which order.
import { describe, expect, it } from 'vitest'
import { createBodyBudget } from '../../../api/http/bodies/budget.ts'

describe('the order of those who wait', () => {
  const rules = { processBytesMax: 100, workspaceBytesMax: 60, wait_ms: 10_000 }

  it('goes in turns by workspace, and nobody passes a large one', async () => {
    const budget = createBodyBudget(rules)
    const [a, b] = [await budget.ask('a', 60), await budget.ask('b', 40)]
    const order: string[] = []
    const ask = (workspace: string, bytes: number, name: string) =>
      budget.ask(workspace, bytes).then((grant) => {
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
    const mine = await budget.ask('a', 60)
    const gone = new AbortController()
    const waits = budget.ask('a', 10, gone.signal)
    const other = await budget.ask('b', 40)
    gone.abort()
    await expect(waits).rejects.toThrow('as many large bodies as it can')
    mine.shrink(20)
    expect(budget.state()).toEqual({ used: 60, waiting: 0 })
    other.release()
  })
})
