// Look-ups of keys: shared queries, turns of addresses, errors.
import { expect, it } from 'vitest'
import { createKeyLookups } from '../../../commands/api-keys/keyLookups.ts'

/** A look-up whose queries end by hand; every hash is found but those that begin with `wrong`. */
function lookups() {
  const queries: { hashes: string[]; end: (err?: Error) => void }[] = []
  const find = createKeyLookups(
    (hashes) =>
      new Promise<{ token_hash: Buffer }[]>((resolve, reject) => {
        const known = hashes.filter((hash) => !hash.toString().startsWith('wrong'))
        queries.push({
          hashes: hashes.map(String),
          end: (err) => (err ? reject(err) : resolve(known.map((token_hash) => ({ token_hash })))),
        })
      }),
  )
  const ask = async (name: string, address = 'a') =>
    (await find(Buffer.from(name), address))?.token_hash.toString()
  /** Ends the query with that number, and lets what waits for it go on. */
  const end = async (n: number, err?: Error) => {
    queries[n]?.end(err)
    await new Promise(setImmediate)
  }
  return { queries, ask, end }
}

it('two queries run at once; what comes meanwhile shares the next one', async () => {
  const { queries, ask, end } = lookups()
  const answers = ['one', 'two', 'three', 'wrong', 'three'].map((name) => ask(name))
  expect(queries.map(({ hashes }) => hashes)).toEqual([['one'], ['two']])
  await end(0)
  expect(queries[2]?.hashes).toEqual(['three', 'wrong', 'three'])
  await end(1)
  await end(2)
  expect(await Promise.all(answers)).toEqual(['one', 'two', 'three', undefined, 'three'])
  expect(queries).toHaveLength(3)
})

it('thousands from one address leave other addresses their turn, and a good key of its own is found', async () => {
  const { queries, ask, end } = lookups()
  const flood = Array.from({ length: 2_000 }, (_, i) => ask(`wrong${i}`, 'flood'))
  const beside = ask('beside', 'other')
  const among = ask('among', 'flood')
  await end(0)
  const next = queries[2]?.hashes ?? []
  expect(next.indexOf('beside')).toBe(8)
  expect(next.length).toBeLessThanOrEqual(207)
  for (let n = 1; n < queries.length; n++) {
    expect(queries[n]?.hashes.length).toBeLessThanOrEqual(207)
    await end(n)
  }
  expect([await beside, await among]).toEqual(['beside', 'among'])
  expect(new Set(await Promise.all(flood))).toEqual(new Set([undefined]))
  expect(queries.length).toBeLessThan(16)
})

it('an error reaches those of its query alone', async () => {
  const { ask, end } = lookups()
  const [failing, other] = [ask('one'), ask('two')]
  const refused = expect(failing).rejects.toThrow('gone')
  await end(0, new Error('gone'))
  await end(1)
  await refused
  expect(await other).toBe('two')
  const later = ask('three')
  await end(2)
  expect(await later).toBe('three')
})
