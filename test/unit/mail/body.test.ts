// Encoded bodies: any text can be decoded, lines are short, and the cache returns the same bytes within its
// bounds.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBodies } from '../../../mail/compose/bodyCache.ts'
import { encodeBody } from '../../../mail/compose/bodyEncode.ts'
import { createFairBudget } from '../../../runtime/fairBudget.ts'

const SLICE_CHARS = 128 * 1024

function decode(encoding: string, bytes: Buffer): string {
  const text = bytes.toString('latin1')
  if (encoding === '7bit') return text
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString()
  const octets = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(octets, 'latin1').toString()
}

/** The expected text: normalised line breaks, and one at the end. */
function expected(text: string): string {
  const lines = Buffer.from(text)
    .toString()
    .replace(/\r\n?|\n/g, '\r\n')
  return lines === '' || lines.endsWith('\r\n') ? lines : `${lines}\r\n`
}

async function expectCarried(text: string) {
  const { encoding, chunks } = await encodeBody(text)
  const bytes = Buffer.concat(chunks)
  const lines = bytes.toString('latin1').split('\r\n')
  expect(lines.every((line) => line.length <= 76 && /^[\t\x20-\x7e]*$/.test(line))).toBe(true)
  if (encoding === 'quoted-printable') {
    expect(lines.some((line) => /^\.|[ \t]$/.test(line))).toBe(false)
  }
  expect(decode(encoding, bytes).trimEnd()).toBe(expected(text).trimEnd())
  return encoding
}

const piece = fc.constantFrom(
  ...['a', 'word ', '.', '=', 'ü', '你', '😀', '\ud800', ' ', '\t', '\n', '\r', '\r\n', '\u0000'],
  'x'.repeat(75),
)

test('any text can be decoded', async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 80 }), async (pieces) => {
      seen.add(await expectCarried(pieces.join('')))
    }),
    { numRuns: 500 },
  )
  expect([...seen].sort()).toEqual(['7bit', 'base64', 'quoted-printable'])
})

test.each(['word ü \r\n', '你好，世界。\r\n', '  \t', 'plain words\n', '😀x'])(
  '%j in slices, cut at each place',
  async (text) => {
    for (let shift = 0; shift < 4; shift++) {
      await expectCarried('z'.repeat(shift) + text.repeat((2 * SLICE_CHARS) / text.length))
    }
  },
)

test('quoted-printable unless base64 is smaller', async () => {
  expect((await encodeBody('Grüße an alle, die hier wohnen')).encoding).toBe('quoted-printable')
  expect((await encodeBody('Привет всем')).encoding).toBe('base64')
})

const of = (
  bodies: ReturnType<typeof createBodies>,
  html: string | null,
  text: string | null,
  id: string,
) => bodies.of({ html, text, id })

test('content that was encoded twice is kept, different content is encoded again', async () => {
  const bodies = createBodies()
  const alone = await of(bodies, '<p>a</p>', null, 'em_0')
  expect(bodies.size()).toEqual({ entries: 0, bytes: 0 })
  const first = await of(bodies, '<p>a</p>', null, 'em_1')
  expect(first).toEqual(alone)
  expect(await of(bodies, '<p>a</p>', null, 'em_2')).toBe(first)
  expect(await of(bodies, '<p>a</p>', '', 'em_1')).not.toBe(first)
  expect(await of(bodies, '<p>a</p>', 'a', 'em_1')).not.toBe(first)
  expect((await of(bodies, '<p>', 'a</p>', 'em_1')).hash).not.toBe(first.hash)
  const anew = await of(createBodies(), '<p>a</p>', null, 'em_3')
  expect(Buffer.concat(anew.chunks)).toEqual(Buffer.concat(first.chunks))
  expect(anew.hash).toBe(first.hash)
})

test('the cache stays within its bounds and drops what was used least lately', async () => {
  const bodies = createBodies({ bytesMax: 10_000, charsMax: 3_000 })
  const body = (i: number) => of(bodies, null, `${i} ${'word '.repeat(400)}`, 'em_1')
  await body(0)
  const first = await body(0)
  for (let i = 1; i < 20; i++) {
    await body(i)
    await body(i)
    expect(await body(0)).toBe(first)
    expect(bodies.size().bytes).toBeLessThanOrEqual(10_000)
  }
  expect(bodies.size().entries).toBeGreaterThan(1)
  const before = bodies.size()
  await of(bodies, null, 'x'.repeat(3_001), 'em_1')
  await bodies.of({ html: null, text: 'of one mail', id: 'em_1' }, { once: true })
  expect(bodies.size()).toEqual(before)
})

test('long content counts by its bytes once it is encoded', async () => {
  const bodies = createBodies()
  const long = 'Grüße an alle. '.repeat(20_000)
  await of(bodies, null, long, 'em_1')
  const encoding = of(bodies, null, long, 'em_2')
  expect(bodies.size().bytes).toBeLessThan(long.length)
  const { length_bytes } = await encoding
  expect(length_bytes).toBeGreaterThan(long.length)
  expect(bodies.size().bytes).toBeGreaterThan(length_bytes)
  const kept = await of(bodies, null, long, 'em_3')
  expect(await of(bodies, null, long, 'em_4')).toBe(kept)
})

test('what cannot be encoded is not kept', async () => {
  const bodies = createBodies()
  const long = { html: null, text: 'word '.repeat(100_000), id: 'em_1' }
  let pieces = 0
  const watched = <T>(work: () => T): T => {
    pieces += 1
    if (pieces === 3) throw new Error('no memory')
    return work()
  }
  await bodies.of(long)
  const failing = bodies.of(long, { watched })
  expect(bodies.size().entries).toBe(1)
  await expect(failing).rejects.toThrow('no memory')
  expect(bodies.size()).toEqual({ entries: 0, bytes: 0 })
  expect((await bodies.of(long)).length_bytes).toBeGreaterThan(long.text.length)
})

test('kept bodies have memory of their own: a piece of a pool would hold all of it', async () => {
  const bodies = createBodies()
  await of(bodies, null, 'small', 'em_1')
  const { chunks } = await of(bodies, null, 'small', 'em_1')
  for (const chunk of chunks) expect(chunk.buffer.byteLength).toBe(chunk.length)
})

test('bodies of one mail each are not kept, however many; one that comes back among them is, unless too many came between', async () => {
  const bodies = createBodies()
  await of(bodies, null, 'comes back late', 'em_1')
  for (let i = 0; i < 30_000; i++) {
    await of(bodies, null, `text ${i}`, 'em_1')
    if (i % 1_000 === 0) await of(bodies, null, 'of a campaign', 'em_1')
  }
  await of(bodies, null, 'comes back late', 'em_1')
  expect(bodies.size().entries).toBe(1)
})

test('a budget: limits the bytes in use, runs larger work alone, keeps the order', async () => {
  const fair = createFairBudget({ bytesMax: 100, ownerBytesMax: 100 })
  const run = <T>(bytes: number, work: () => Promise<T>) => fair('ws_1', bytes, work)
  let used = 0
  let most = 0
  const order: number[] = []
  const sizes = [60, 60, 40, 500, 10, 5, 30]
  await Promise.all(
    sizes.map((bytes, i) =>
      run(bytes, async () => {
        used += bytes
        most = Math.max(most, used === bytes ? 0 : used)
        order.push(i)
        await new Promise((resolve) => setImmediate(resolve))
        used -= bytes
      }),
    ),
  )
  expect(most).toBeLessThanOrEqual(100)
  expect(order.filter((i) => i !== 5)).toEqual([0, 1, 2, 3, 4, 6])
  const failing = run(90, () => Promise.reject(new Error('x')))
  await expect(failing).rejects.toThrow('x')
  expect(await run(90, async () => 'room')).toBe('room')
})
