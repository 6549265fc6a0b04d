// The changes of update_contact: set with variables, unset, increment, and what it leaves unchanged.
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../rules/json.ts'
import { limits } from '../../../rules/limits.ts'
import { applyUpdate, type PropertyChange } from '../../../rules/properties/update.ts'
import { factsOf } from './builders.ts'

/** It takes some ms; copies for each path took minutes. */
const HUNG_MS = 60_000

const stored: JsonObject = {
  plan: 'free',
  visits: 2,
  address: { city: 'Turin', zip: '10100' },
  tags: ['a'],
}
const facts = factsOf({
  contact: { email: 'ada@example.test', first_seen: 7, properties: stored },
  event: { plan: 'pro', gone: null, trap: { var: 'contact.email' }, address: { zip: null } },
  waitEvents: { paid: { total: 12 } },
})

function update(data: PropertyChange): { properties: string; notes: string[] } {
  const { properties, notes } = applyUpdate(data, facts)
  return { properties: JSON.stringify(properties), notes }
}

describe('applyUpdate', () => {
  const address = '"address":{"city":"Turin","zip":"10100"}'
  const tags = '"tags":["a"]'
  test.each<[string, PropertyChange, string, string[]]>([
    [
      'set merges',
      { set: { address: { zip: '1' }, new: true } },
      `{"plan":"free","visits":2,"address":{"city":"Turin","zip":"1"},${tags},"new":true}`,
      [],
    ],
    [
      'set null deletes',
      { set: { tags: null, address: { city: null } } },
      '{"plan":"free","visits":2,"address":{"zip":"10100"}}',
      [],
    ],
    [
      'a variable',
      { set: { plan: { var: 'event.plan' } } },
      `{"plan":"pro","visits":2,${address},${tags}}`,
      [],
    ],
    [
      'variables of every root',
      {
        set: {
          tags: [
            { var: 'contact.email' },
            { var: 'wait_events.paid.total' },
            { var: 'properties.plan' },
          ],
        },
      },
      `{"plan":"free","visits":2,${address},"tags":["ada@example.test",12,"free"]}`,
      [],
    ],
    [
      'a missing variable leaves its key',
      { set: { plan: { var: 'event.none' }, visits: 3 } },
      `{"plan":"free","visits":3,${address},${tags}}`,
      ['event.none is missing'],
    ],
    [
      'a missing variable in a list is null',
      { set: { tags: ['x', { var: 'event.none' }] } },
      `{"plan":"free","visits":2,${address},"tags":["x",null]}`,
      ['event.none is missing'],
    ],
    [
      'a variable that is null deletes',
      { set: { plan: { var: 'event.gone' } } },
      `{"visits":2,${address},${tags}}`,
      [],
    ],
    [
      'a variable that is an object merges',
      { set: { address: { var: 'event.address' } } },
      `{"plan":"free","visits":2,"address":{"city":"Turin"},${tags}}`,
      [],
    ],
    [
      'a variable inside data is data',
      { set: { plan: { var: 'event.trap' } } },
      `{"plan":{"var":"contact.email"},"visits":2,${address},${tags}}`,
      [],
    ],
    [
      'var beside another key is data',
      { set: { plan: { var: 'event.plan', x: 1 } } },
      `{"plan":{"var":"event.plan","x":1},"visits":2,${address},${tags}}`,
      [],
    ],
    [
      'unset',
      { unset: ['plan', 'address.city', 'properties.visits', 'none.at.all'] },
      `{"address":{"zip":"10100"},${tags}}`,
      [],
    ],
    [
      'unset does not enter lists or text',
      { unset: ['tags.0', 'plan.x', 'toString'] },
      JSON.stringify(stored),
      [],
    ],
    [
      'increment',
      { increment: { visits: 3, 'address.count': -1, 'properties.new.deep': 2 } },
      `{"plan":"free","visits":5,"address":{"city":"Turin","zip":"10100","count":-1},${tags},"new":{"deep":2}}`,
      [],
    ],
    [
      'increment of no number',
      { increment: { plan: 1, tags: 1, 'plan.x': 1, 'plan.x.y': 1, address: 1 } },
      JSON.stringify(stored),
      [
        'plan is not a number',
        'tags is not a number',
        'plan.x is not a number',
        'plan.x.y is not a number',
        'address is not a number',
      ],
    ],
    [
      'increment out of range',
      { set: { visits: Number.MAX_VALUE }, increment: { visits: Number.MAX_VALUE } },
      `{"plan":"free","visits":1.7976931348623157e+308,${address},${tags}}`,
      ['visits is not a number'],
    ],
    [
      'set, then unset, then increment',
      { set: { visits: 9, plan: 'x' }, unset: ['plan'], increment: { visits: 1 } },
      `{"visits":10,${address},${tags}}`,
      [],
    ],
  ])('%s', (_name, data, properties, notes) => {
    expect(update(data)).toEqual({ properties, notes })
  })

  test('prototypes cannot be reached', () => {
    const set = JSON.parse('{"__proto__":{"polluted":{"var":"event.plan"}}}')
    const { properties } = applyUpdate(
      { set, increment: { '__proto__.n': 1 } },
      factsOf({ event: { plan: 1 } }),
    )
    expect(JSON.stringify(properties)).toBe('{"__proto__":{"polluted":1,"n":1}}')
    expect(Object.getPrototypeOf(properties)).toBe(Object.prototype)
    expect('polluted' in {}).toBe(false)
  })
  test('returns the same object if nothing changed', () => {
    expect(applyUpdate({ set: { plan: 'free' }, unset: ['none'] }, facts).properties).toBe(stored)
  })
  test('a result that cannot be stored changes nothing', () => {
    const text = 'x'.repeat(limits.propertiesBytesMax / 2)
    const big = factsOf({
      event: { text },
      contact: { email: '', first_seen: 0, properties: { text } },
    })
    const { properties, notes } = applyUpdate(
      { set: { more: { var: 'event.text' }, plan: 'x' } },
      big,
    )
    expect(properties).toBe(big.contact.properties)
    expect(notes).toEqual([
      `properties are unchanged: they must not exceed ${limits.propertiesBytesMax} bytes of JSON`,
    ])

    let deep: JsonObject = {}
    for (let i = 0; i < limits.jsonDepthMax - 1; i++) deep = { deep }
    const nested = factsOf({ contact: { email: '', first_seen: 0, properties: { deep } } })
    const after = applyUpdate({ set: { deeper: { x: { var: 'properties.deep' } } } }, nested)
    expect(after.properties).toBe(nested.contact.properties)
    expect(after.notes[0]).toMatch(/nested deeper/)
  })
})

test(
  'thousands of paths into large properties take no longer than they are many',
  () => {
    const keys = Array.from({ length: 20_000 }, (_, i) => `k${i}`)
    const properties = Object.fromEntries(keys.map((key) => [key, 1]))
    const of = factsOf({ contact: { email: 'ada@example.test', first_seen: 7, properties } })
    const [unset, counted] = [keys.slice(0, 5_000), keys.slice(5_000, 10_000)]
    const increment = Object.fromEntries(counted.map((key) => [key, 1]))
    const updated = applyUpdate({ unset, increment }, of)
    expect(Object.keys(updated.properties)).toHaveLength(15_000)
    expect(updated.properties).toMatchObject({ k5000: 2, k9999: 2, k10000: 1 })
    expect(properties).toMatchObject({ k0: 1, k5000: 1 })
  },
  HUNG_MS,
)
