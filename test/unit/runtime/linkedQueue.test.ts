// A queue whose items leave it wherever they stand.
import { expect, test } from 'vitest'
import { LinkedQueue, type Queued, unqueued } from '../../../runtime/linkedQueue.ts'

interface Item extends Queued<Item> {
  name: string
}

const names = (queue: LinkedQueue<Item>) => {
  const found: string[] = []
  for (let item = queue.first; item; item = item.next) found.push(item.name)
  return found.join('')
}

test('items leave from everywhere, come back at the end, and stand in one queue at a time', () => {
  const [all, others] = [new LinkedQueue<Item>(), new LinkedQueue<Item>()]
  const items = [...'abcd'].map((name): Item => ({ name, ...unqueued }))
  for (const item of items) all.add(item)
  const [a, b, c, d] = items as [Item, Item, Item, Item]
  expect(names(all)).toBe('abcd')
  all.add(b)
  all.add(b)
  expect(names(all)).toBe('acdb')
  others.add(a)
  others.add(b)
  expect([names(all), names(others)]).toEqual(['cd', 'ab'])
  expect(a.queue).toBe(others)
  all.delete(d)
  all.delete(c)
  expect([names(all), c.queue, c.next, c.previous]).toEqual(['', null, null, null])
  all.add(d)
  all.add(c)
  expect(names(all)).toBe('dc')
})
